// Clusters and sizes by their pages alone: nothing here needs a node. What nodes and jobs do is tested elsewhere.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';
const sizes = '/w/studio/admin/sizes';

/** A name that no other test uses: a letter first, at most 24 characters. */
const named = (kind: string) => `${kind}-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 24).replace(/-$/, '');

/** Adds a small size through its page and returns its name. */
async function addSize(page: Page, visit: (path: string) => Promise<unknown>): Promise<string> {
  const name = named('size');
  await visit(sizes);
  await page.getByRole('link', { name: 'Add size' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('0.4');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, `The size ${name} is in the catalogue.`)).toBeVisible();
  return name;
}

async function addCluster(page: Page, visit: (path: string) => Promise<unknown>, size: string): Promise<string> {
  const name = named('pool');
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill(name);
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByLabel('Most nodes').fill('3');
  await page.getByLabel('Tags').fill('project=churn');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(page).toHaveURL(`${clusters}/${name}`);
  await expect(toast(page, `${name} was created.`)).toBeVisible();
  return name;
}

test('a cluster is made, changed, paused and deleted', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const size = await addSize(page, visit);
  await visit(`${clusters}/new`);
  await expect(page.getByRole('heading', { name: 'Create cluster', level: 1 })).toBeVisible();
  await expectAccessible();
  const name = await addCluster(page, visit, size);
  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Steady');
  await expect(page.getByText('Nothing waits.')).toBeVisible();
  await expectAccessible();

  await page.getByLabel('Most', { exact: true }).fill('5');
  await page.getByLabel('Idle, s').fill('30');
  await page.getByLabel('Why').fill('more to do');
  await page.getByRole('button', { name: 'Save scaling' }).click();
  await expect(toast(page, `${name} keeps 0 to 5 nodes, idle ones for 30 s.`)).toBeVisible();
  await page.getByLabel('Tags').fill('team=blue');
  await page.getByRole('button', { name: 'Save tags' }).click();
  await expect(toast(page, `The tags of ${name} were saved.`)).toBeVisible();

  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Paused');
  await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  await expectAccessible();
  await visit(`${clusters}?q=${name}`);
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
  await expect(row).toContainText('0 to 5');
  await expect(row).toContainText('team: blue');
  await expectAccessible();
  await row.getByRole('link', { name }).click();
  await ready();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Steady');
  await ready();

  await page.getByRole('link', { name: 'Delete', exact: true }).click();
  await expect(page.getByRole('heading', { name: `Delete ${name}?` })).toBeVisible();
  await expect(page.getByRole('radio', { name: 'Wait for running jobs' })).toBeChecked();
  await expectAccessible();
  await page.getByRole('radio', { name: 'End them now' }).check();
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(toast(page, `${name} is being deleted`)).toBeVisible();
  await expect(page).toHaveURL(clusters);
  await expect(page.getByRole('rowheader', { name })).toHaveCount(0);
});

test('what is wrong with a cluster stands beside its fields, and nothing typed is lost', async ({
  signedInAs,
  visit,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  const size = await addSize(page, visit);
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill('a_b');
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByLabel('Fewest nodes').fill('9');
  await page.getByLabel('Most nodes').fill('2');
  await page.getByLabel('Tags').fill('a=1\na=2');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(page.getByLabel('Name')).toHaveAccessibleDescription(/this has “_”/);
  await expect(page.getByLabel('Fewest nodes')).toHaveAccessibleDescription(/The minimum of 9 is above the maximum of 2/);
  await expect(page.getByLabel('Tags')).toHaveAccessibleDescription(/The tag “a” is there twice/);
  await expect(page.getByLabel('Name')).toHaveValue('a_b');
  await expect(page.getByRole('radio', { name: size })).toBeChecked();
  await expect(page.getByLabel('Tags')).toHaveValue('a=1\na=2');
  await expectAccessible();
});

test('a size is added, changed and removed, unless something is made of it', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  const size = await addSize(page, visit);
  await expectAccessible();
  await page.getByRole('link', { name: `Change ${size}` }).click();
  await expect(page.getByLabel('Memory, GiB')).toHaveValue('0.25');
  await page.getByLabel('Price per hour').fill('1,25');
  await page.getByLabel('Cores').fill('many');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(page.getByLabel('Cores')).toHaveAccessibleDescription(/this is “many”/);
  await expectAccessible();
  await page.getByLabel('Cores').fill('0.5');
  await page.getByRole('button', { name: 'Save size' }).click();
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: size }) });
  await expect(row).toContainText('€1.25');

  const name = await addCluster(page, visit, size);
  await visit(sizes);
  await page.getByRole('link', { name: `Remove ${size}` }).click();
  await page.getByRole('button', { name: `Remove ${size}` }).click();
  await expect(page.getByText(name).first()).toBeVisible();
  await visit(`${clusters}/${name}/delete`);
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(toast(page, `${name} is being deleted`)).toBeVisible();
  await visit(sizes);
  await page.getByRole('link', { name: `Remove ${size}` }).click();
  await ready();
  await page.getByRole('button', { name: `Remove ${size}` }).click();
  await expect(toast(page, `The size ${size} was removed from the catalogue.`)).toBeVisible();
});

test('a Reader sees clusters, and what cannot be done says why', async ({
  signedInAs,
  somebody,
  visit,
  another,
  expectAccessible,
}) => {
  const theirs = await another(admin);
  const go = (path: string) => visit(path, theirs);
  const name = await addCluster(theirs, go, await addSize(theirs, go));
  const page = await signedInAs(await somebody('reader'));
  await visit(`${clusters}/${name}`);
  for (const [button, right] of [
    ['Submit job', 'job.submit'],
    ['Pause', 'cluster.scale'],
    ['Delete', 'cluster.delete'],
    ['Save scaling', 'cluster.scale'],
  ] as const) {
    await expect(page.getByRole('button', { name: button, exact: true })).toBeDisabled();
    await expect(page.getByRole('button', { name: button, exact: true })).toHaveAccessibleDescription(
      new RegExp(`does not include ${right.replace('.', '\\.')}`),
    );
  }
  await expectAccessible();
  await visit(clusters);
  await expect(page.getByRole('button', { name: 'Create cluster' })).toBeDisabled();
});

test('the engine says where nodes are made and how it does', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/engines');
  await expect(page.getByRole('heading', { name: 'Engines', level: 1 })).toBeVisible();
  await expect(page.getByText('Epoch')).toBeVisible();
  await expectAccessible();
});
