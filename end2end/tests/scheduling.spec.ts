// Whose turn it is: weights, the order of a queue, jobs that are held, moved and wait for each other. With and without script;
// the queue is paused, so that nothing needs nodes.

import type { Page } from '@playwright/test';

import { admin, expect, testOnOwnServer as test, toast } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';
const jobs = '/w/studio/jobs';
const shares = '/w/studio/admin/shares';

type Visit = (path: string) => Promise<unknown>;

async function submit(page: Page, visit: Visit, ready: () => Promise<void>, name: string, after = ''): Promise<void> {
  await visit(`${jobs}/new?cluster=pool`);
  await page.getByLabel('Command').fill('true');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('After success of').fill(after);
  await page.getByRole('button', { name: 'Submit job' }).click();
  await ready();
}

test('a queue is paused, its jobs are held, moved and wait for each other', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill('pool');
  await page.getByRole('radio', { name: 'local-half' }).check();
  await page.getByLabel('Most nodes').fill('1');
  await page.getByRole('radio', { name: /Preemptible/ }).check();
  await expectAccessible();
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(toast(page, 'pool was created.')).toBeVisible();
  await expect(page.getByText('Preemptible').first()).toBeVisible();
  await ready();
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByText(/paused the queue since/)).toBeVisible();

  await submit(page, visit, ready, 'First');
  await submit(page, visit, ready, 'Second');
  await submit(page, visit, ready, 'Third', 'job-99');
  await expect(page.getByLabel('After success of')).toHaveAccessibleDescription(/none waits in a circle/);
  await submit(page, visit, ready, 'Third', 'job-1');
  await expect(page.getByText('job-1, after its success')).toBeVisible();
  await expectAccessible();

  await visit(`${jobs}/job-2`);
  await expect(page.getByText('Place 2 of 2')).toBeVisible();
  await page.getByRole('button', { name: 'First', exact: true }).click();
  await expect(toast(page, 'Second was moved to the front.')).toBeVisible();
  await expect(page.getByText('Place 1 of 2')).toBeVisible();
  await ready();
  await page.getByRole('link', { name: 'Hold' }).click();
  await page.getByLabel('Why').fill('wait for the data');
  await page.getByRole('button', { name: 'Hold 1 job' }).click();
  await expect(toast(page, '1 job is held')).toBeVisible();
  await expect(page.getByRole('heading', { name: /Held back by .* wait for the data/ })).toBeVisible();
  await expectAccessible();
  await ready();
  await page.getByRole('button', { name: 'Release' }).click();
  await expect(toast(page, '1 job is released')).toBeVisible();

  // The queue of the cluster says place, owner and share; how it is served can be changed.
  await visit(`${clusters}/pool`);
  const queue = page.getByRole('table', { name: 'Waiting jobs with their place and the reason' });
  await expect(queue.getByRole('row').filter({ hasText: 'Second' })).toContainText('weight 100');
  await expectAccessible();
  await page.getByRole('radio', { name: /By arrival/ }).check();
  await page.getByRole('button', { name: 'Save queue' }).click();
  await expect(toast(page, 'The queue of pool is served by arrival')).toBeVisible();
  await ready();
  await page.getByText('Keep more at certain hours').click();
  await page.getByLabel('Nodes', { exact: true }).fill('1');
  await page.getByRole('button', { name: 'Add hours' }).click();
  await expect(page.getByText(/Set the minimum to 1 node/).first()).toBeVisible();
  await expectAccessible();
});

test('weights are set and absurd ones refused beside their field', async ({ signedInAs, visit, ready, newPerson, expectAccessible }) => {
  const mara = await newPerson({ name: 'Mara Lindqvist', email: 'mara@example.test' });
  const page = await signedInAs(admin);
  await visit(shares);
  await expect(page.getByRole('heading', { name: 'Fair shares', level: 1 })).toBeVisible();
  await expectAccessible();
  await page.getByLabel('Person').fill(mara.email);
  await page.getByLabel('Weight', { exact: true }).fill('-3');
  await page.getByRole('button', { name: 'Set weight' }).click();
  await expect(page.getByLabel('Weight', { exact: true })).toHaveAccessibleDescription(/between 1 and 1000, not -3/);
  await ready();
  await page.getByLabel('Weight', { exact: true }).fill('300');
  await page.getByRole('button', { name: 'Set weight' }).click();
  await expect(toast(page, 'Mara Lindqvist has the weight 300 now.')).toBeVisible();
  await expect(page.getByRole('row').filter({ hasText: 'Mara Lindqvist' })).toContainText('300');
  await visit('/w/studio/activity');
  await expect(page.getByText('gave Mara Lindqvist a share of 300')).toBeVisible();
});
