// Quotas and cost by their pages. What nodes cost is tested elsewhere; here a cluster without nodes is enough.

import { admin, expect, testOnOwnServer as test, toast } from '../fixtures.ts';

const quota = '/w/studio/admin/quota';
const cost = '/w/studio/cost';

test('a limit is set, refused below what is held, and lifted', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/compute/clusters/new');
  await page.getByLabel('Name').fill('train-pool');
  await page.getByRole('radio').first().check({ force: true });
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByLabel('Most nodes').fill('1');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(toast(page, 'train-pool was created.')).toBeVisible();

  await visit(quota);
  await expect(page.getByRole('heading', { name: 'Quota', level: 1 })).toBeVisible();
  await expect(page.getByRole('link', { name: 'train-pool' }).first()).toBeVisible();
  await expectAccessible();
  const workspace = page.getByRole('table', { name: 'Limits of the workspace' });
  const row = workspace.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'Computes' }) });

  await page.getByLabel('Whose').selectOption('The workspace, all together');
  await page.getByLabel('What').selectOption('Computes');
  await page.getByLabel('Limit', { exact: true }).fill('0');
  await page.getByLabel('Why').fill('a small machine');
  await page.getByRole('button', { name: 'Set limit' }).click();
  await expect(page.getByLabel('Limit', { exact: true })).toHaveAccessibleDescription(
    /The limit cannot be 0 computes: 1 is in use: 1 by train-pool\./,
  );
  await expect(page.getByLabel('Limit', { exact: true })).toHaveValue('0');
  await expect(page.getByLabel('What')).toHaveValue('computes');
  await expect(page.getByLabel('Why')).toHaveValue('a small machine');
  await expectAccessible();
  await ready();

  await page.getByLabel('Limit', { exact: true }).fill('4');
  await page.getByRole('button', { name: 'Set limit' }).click();
  await expect(toast(page, 'The workspace may hold 4 computes.')).toBeVisible();
  await expect(row).toContainText('1 of 4');
  await expect(row.getByRole('meter', { name: 'Computes: 1 of 4 held' })).toBeVisible();
  await expectAccessible();

  await row.getByRole('link', { name: 'Set the limit: Computes of the workspace' }).click();
  await expect(page.getByLabel('Limit', { exact: true })).toHaveValue('4');
  await ready();
  await row.getByRole('button', { name: 'Lift the limit: Computes of the workspace' }).click();
  await expect(toast(page, 'The limit on computes was lifted')).toBeVisible();
  await expect(row).toContainText('none');
});

test('cost has its days in the address, and a day that cannot be is named', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  await visit(cost);
  await expect(page.getByRole('heading', { name: 'Cost', level: 1 })).toBeVisible();
  await expect(page.getByText('Nothing was used in these days')).toBeVisible();
  await expect(page.getByRole('link', { name: '30 days' })).toHaveAttribute('aria-current', 'true');
  await expectAccessible();
  await page.getByRole('link', { name: '7 days' }).click();
  await expect(page).toHaveURL(`${cost}?days=7`);
  await page.getByRole('link', { name: 'By person' }).click();
  await expect(page).toHaveURL(`${cost}?days=7&by=person`);
  await ready();
  await page.getByLabel('From').fill('2026-03-02');
  await page.getByLabel('To', { exact: true }).fill('2026-03-01');
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(page.getByLabel('From')).toHaveAccessibleDescription(/The first day, 2026-03-02, is after the last, 2026-03-01\./);
  await expect(page.getByLabel('From')).toHaveValue('2026-03-02');
  await expectAccessible();
});

test('nodes that run have a price, a bar and a line in the file', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/sizes/new');
  await page.getByLabel('Name').fill('dear');
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('900000');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, 'The size dear is in the catalogue.')).toBeVisible();
  await visit('/w/studio/compute/clusters/new');
  await page.getByLabel('Name').fill('dear-pool');
  await page.getByRole('radio', { name: 'dear' }).check({ force: true });
  await page.getByLabel('Fewest nodes').fill('1');
  await page.getByLabel('Most nodes').fill('1');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(toast(page, 'dear-pool was created.')).toBeVisible();

  await visit(cost);
  await expect(page.getByText('€900,000.00')).toBeVisible();
  await expect(page.getByRole('img', { name: /What each day from .* cost/ })).toBeVisible();
  await expect(page.getByRole('table', { name: 'By compute' }).getByRole('link', { name: 'dear-pool' })).toBeVisible();
  await expectAccessible();
  await visit(`${cost}?by=day`);
  await expect(page.getByRole('table', { name: 'By day' })).toContainText('Total');
  await expectAccessible();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  expect((await download).suggestedFilename()).toMatch(/^cost-.*-by-day\.csv$/);

  await visit(quota);
  await expect(page.getByRole('table', { name: 'Limits of the workspace' })).toContainText('dear-pool 0.5');
  await expectAccessible();
});

test.describe('without the right', () => {
  test('a Reader sees quotas and cannot set them, and sees only own cost', async ({ signedInAs, newPerson, visit, expectAccessible }) => {
    const page = await signedInAs(await newPerson({ roles: ['reader'] }));
    await visit(quota);
    await expect(page.getByRole('button', { name: 'Set limit' })).toBeDisabled();
    await expect(page.getByRole('button', { name: 'Set limit' })).toHaveAccessibleDescription(/does not include quota\.write/);
    await expectAccessible();
    await visit(cost);
    await expect(page.getByText('Only your own cost')).toBeVisible();
    await expectAccessible();
  });
});
