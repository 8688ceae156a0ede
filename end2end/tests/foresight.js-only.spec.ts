// What comes, before it comes, with real nodes and real processes: when a waiting job starts, when one would start, what other
// settings would have done, and a budget that warns and then refuses.

import type { Page } from '@playwright/test';

import { admin, expect, testOnOwnServer as test, toast } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';
const jobs = '/w/studio/jobs';
const budgets = '/w/studio/cost/budgets';

type Visit = (path: string) => Promise<unknown>;

async function fill(page: Page, visit: Visit, name: string, script: string, limit: string): Promise<void> {
  await visit(`${jobs}/new?cluster=pool`);
  await page.getByLabel('Script').fill(script);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Time limit').fill(limit);
}

async function submit(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Submit job' }).click();
  await expect(page).toHaveURL(/\/jobs\/job-\d+/);
}

test('a waiting job says when it starts, settings are tried on what ran, and a budget warns and refuses', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  // A price that makes moments count.
  await visit('/w/studio/admin/sizes/local-half');
  await page.getByLabel(/Price/).fill('3600');
  await page.getByRole('button', { name: /Save|Change/ }).click();
  await expect(toast(page, 'local-half')).toBeVisible();
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill('pool');
  await page.getByRole('radio', { name: 'local-half' }).check({ force: true });
  await page.getByLabel('Most nodes').fill('1');
  await page.getByLabel('Idle seconds').fill('600');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(toast(page, 'pool was created.')).toBeVisible();

  // Without history there is nothing to try settings on.
  await page.getByRole('link', { name: 'Preview on last week' }).click();
  await expect(page.getByText('There is no history yet')).toBeVisible();

  await fill(page, visit, 'first', 'true', '10');
  await submit(page);
  await expect(page.getByText('Completed').first()).toBeVisible();

  // Before the click: when it would start, and for how much.
  await fill(page, visit, 'long', 'sleep 1000', '10');
  await page.getByRole('button', { name: 'When would it start?' }).click();
  const table = page.getByRole('table', { name: 'When it would start on each compute' });
  await expect(table.getByRole('row').filter({ hasText: 'pool' })).toContainText('as typed');
  await expect(table.getByRole('row').filter({ hasText: 'pool' })).toContainText('€600.00');
  await expect(page.getByLabel('Script')).toHaveValue('sleep 1000');
  await expectAccessible();
  await ready();
  await submit(page);
  await expect(page.getByText('Running').first()).toBeVisible();

  await fill(page, visit, 'next', 'true', '5');
  await submit(page);
  await expect(page.getByText(/It starts about .*\d\d:\d\d, in \d+ min.*, because 1 job before it ends by then\./)).toBeVisible();
  await expect(page.getByText(/1 of 1/).first()).toBeVisible();
  await expectAccessible();
  await visit(`${clusters}/pool`);
  await expect(page.getByRole('columnheader', { name: 'Starts about' })).toBeVisible();

  // Other settings, tried on what ran.
  await page.getByRole('link', { name: 'Preview on last week' }).click();
  await page.getByLabel('Idle, s').fill('0');
  await page.getByRole('button', { name: 'Try on last week' }).click();
  const side = page.getByRole('table', { name: 'What came out, side by side' });
  await expect(side.getByRole('row').filter({ hasText: 'Wait, median' })).toBeVisible();
  await expect(side.getByRole('row').filter({ hasText: 'Cost' }).first()).toContainText('€');
  const chart = page.getByRole('img', { name: /Waiting jobs and nodes over time/ });
  await expect.poll(() => chart.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  await expectAccessible();
  await visit(`${clusters}/pool/preview?run=1&min=0&max=many&idle=0&warm=0&order=fifo&backfill=on`);
  await expect(page.getByLabel('Most')).toHaveAccessibleDescription(/many/);

  // A node at one euro a second has spent this budget already.
  await visit(budgets);
  await expect(page.getByText('The workspace has no budget')).toBeVisible();
  await page.getByLabel('Amount a month').fill('much');
  await page.getByRole('button', { name: 'Set budget' }).click();
  await expect(page.getByLabel('Amount a month')).toHaveAccessibleDescription(/between €0\.01 and/);
  await expect(page.getByLabel('Amount a month')).toHaveValue('much');
  await page.getByLabel('Amount a month').fill('1');
  await page.getByRole('radio', { name: /^Refuse new work\s*Jobs/ }).check();
  await ready();
  await page.getByRole('button', { name: 'Set budget' }).click();
  await expect(toast(page, 'The workspace may spend €1.00 a month.')).toBeVisible();
  await expect(page.getByText('All of it is spent.')).toBeVisible();
  await expectAccessible();
  await page.getByRole('button', { name: /Notifications/ }).click();
  await expect(page.getByRole('link', { name: /The workspace has spent €.* of €1\.00 for this month/ })).toBeVisible();
  await fill(page, visit, 'refused', 'true', '5');
  await page.getByRole('button', { name: 'Submit job' }).click();
  await expect(page.getByText(/The workspace has spent €.* of €1\.00 for this month\. An Owner can raise/)).toBeVisible();
  await expect(page.getByLabel('Name')).toHaveValue('refused');
});
