// Jobs by their pages alone: nothing here needs a node, so every job waits. What running ones do is tested elsewhere.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const jobs = '/w/studio/jobs';
const clusters = '/w/studio/compute/clusters';
const sizes = '/w/studio/admin/sizes';

type Visit = (path: string) => Promise<unknown>;

/** A name that no other test uses: a letter first, at most 24 characters. */
const named = (kind: string) => `${kind}-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 24).replace(/-$/, '');

/** A paused cluster: whatever is sent there waits. Returns its name. */
async function quietCluster(page: Page, visit: Visit): Promise<string> {
  const [size, cluster] = [named('size'), named('quiet')];
  await visit(`${sizes}/new`);
  await page.getByLabel('Name').fill(size);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('0.4');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, `The size ${size} is in the catalogue.`)).toBeVisible();
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill(cluster);
  // The label covers the whole row, and the button in it.
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByLabel('Most nodes').fill('3');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(page).toHaveURL(`${clusters}/${cluster}`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('heading', { name: cluster, level: 1 })).toContainText('Paused');
  return cluster;
}

async function submit(page: Page, visit: Visit, cluster: string, name: string, array = ''): Promise<void> {
  await visit(`${jobs}/new?cluster=${cluster}`);
  await page.getByLabel('Command').fill('sleep 1000');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Array').fill(array);
  await page.getByRole('button', { name: 'Submit job' }).click();
}

test('a job is priced, submitted with a file, found and canceled', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const cluster = await quietCluster(page, visit);
  const name = `Train ${unique()}`;
  await visit(`${jobs}/new?cluster=${cluster}`);
  await expect(page.getByRole('heading', { name: 'Submit job', level: 1 })).toBeVisible();
  await expect(page.getByLabel('Compute')).toHaveValue(cluster);
  await expectAccessible();
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Time limit').fill('2 h');
  await page.getByLabel('Tags').fill(`test=${cluster}`);
  await page.getByLabel('Add files').setInputFiles({ name: 'train.py', mimeType: 'text/x-python', buffer: Buffer.from('print(1)\n') });
  // Without script a button asks for the price; with script it is there by itself. Either way nothing says what to run yet.
  const check = page.getByRole('button', { name: 'Check price' });
  if (await check.isVisible()) await check.click();
  else {
    await expect(page.getByText('In all at most €0.80 for one run of 2 h')).toBeVisible();
    await page.getByRole('button', { name: 'Submit job' }).click();
  }
  await ready();
  // Everything is kept, the file too.
  await expect(page.getByLabel('Command')).toHaveAccessibleDescription(/Say what to run/);
  await expect(page.getByLabel('Name')).toHaveValue(name);
  await expect(page.getByRole('checkbox', { name: 'train.py' })).toBeChecked();
  await expect(page.getByText('In all at most €0.80 for one run of 2 h')).toBeVisible();
  await page.getByLabel('Command').fill("python train.py --name 'two words'");
  await page.getByRole('button', { name: 'Submit job' }).click();
  await ready();
  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Queued');
  await expect(page.getByText(`paused`).first()).toBeVisible();
  await expect(page.getByText('1 file, 9 B')).toBeVisible();
  await expect(page.getByText('It has printed nothing yet.').or(page.getByText('Following'))).toBeVisible();
  await expectAccessible();

  await visit(`${jobs}?tag=${encodeURIComponent(`test=${cluster}`)}`);
  await expect(page.getByRole('rowheader')).toHaveCount(1);
  await expectAccessible();
  await page.getByRole('link', { name }).click();
  await ready();
  await page.getByRole('link', { name: 'Cancel job' }).click();
  await page.getByRole('button', { name: 'Cancel 1 job' }).click();
  await expect(toast(page, '1 job is being canceled.')).toBeVisible();
  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Canceled');
  await page.getByRole('link', { name: 'Copy and change' }).click();
  await expect(page.getByLabel('Command')).toHaveValue("python train.py --name 'two words'");
  await expect(page.getByLabel('Compute')).toHaveValue(cluster);
});

test('an array is one line, and several lines are canceled at once', async ({ signedInAs, visit, ready }) => {
  const page = await signedInAs(admin);
  const cluster = await quietCluster(page, visit);
  const [sweep, alone] = [`Sweep ${unique()}`, `Alone ${unique()}`];
  await submit(page, visit, cluster, sweep, '4');
  await expect(toast(page, /4 jobs were submitted/)).toBeVisible();
  await expect(page.getByRole('rowheader')).toHaveCount(4);
  await submit(page, visit, cluster, alone);
  await ready();
  await visit(`${jobs}?compute=${cluster}`);
  await expect(page.getByRole('rowheader')).toHaveCount(2);
  await expect(page.getByRole('row', { name: sweep })).toContainText('4 queued');
  for (const name of [sweep, alone]) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
  await page.getByRole('button', { name: /^Cancel (2|selected)$/ }).click();
  await expect(page.getByText('0 running and 4 waiting are ended')).toBeVisible();
  await page.getByRole('button', { name: 'Cancel 5 jobs' }).click();
  await expect(toast(page, '5 jobs are being canceled.')).toBeVisible();
  await visit(`${jobs}?compute=${cluster}&state=canceled`);
  await expect(page.getByRole('rowheader')).toHaveCount(2);
});

test('a form that is wrong says everything at once', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit(`${jobs}/new`);
  await page.getByLabel('Command').fill("echo 'open");
  await page.getByLabel('Variables').fill('NOPE');
  await page.getByLabel('Cores').fill('many');
  await page.getByLabel('Memory').fill('2 cups');
  await page.getByRole('button', { name: 'Submit job' }).click();
  await expect(page.getByLabel('Command')).toHaveAccessibleDescription(/quotation mark/);
  await expect(page.getByLabel('Variables')).toHaveAccessibleDescription(/Line 1 has no “=”/);
  await expect(page.getByLabel('Cores')).toHaveAccessibleDescription(/not “many”/);
  await expect(page.getByLabel('Memory')).toHaveAccessibleDescription(/2 cups/);
});
