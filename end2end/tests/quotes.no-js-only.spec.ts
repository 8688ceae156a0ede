// Without script a button asks for the price, and nothing that was typed is lost on the way.

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';

test('a button asks what a cluster would cost', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  const [size, name] = [`size-${unique()}`, `pool-${unique()}`];
  await visit('/w/studio/admin/sizes/new');
  await page.getByLabel('Name').fill(size);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('0.4');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, `The size ${size} is in the catalogue.`)).toBeVisible();

  await visit(`${clusters}/new`);
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByLabel('Most nodes').fill('5');
  await page.getByLabel('Tags').fill('project=churn');
  await page.getByRole('button', { name: 'Check price' }).click();
  await expect(page.getByText('€2.00 an hour at most')).toBeVisible();
  await expect(page.getByRole('radio', { name: size })).toBeChecked();
  await expect(page.getByLabel('Tags')).toHaveValue('project=churn');
  await expectAccessible();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(page).toHaveURL(`${clusters}/${name}`);

  await page.getByLabel('Most', { exact: true }).fill('7');
  await page.getByRole('button', { name: 'Check price' }).click();
  await expect(page.getByText('€2.80 an hour at most')).toBeVisible();
  await expect(page.getByText(/As it is saved: €0\.00\/h while nothing runs, .* a month, and €2\.00\/h at its most\./)).toBeVisible();
  await page.getByLabel('Most', { exact: true }).fill('6');
  await page.getByRole('button', { name: 'Save scaling' }).click();
  await expect(toast(page, `${name} keeps 0 to 6 nodes`)).toBeVisible();
  await expect(page.getByLabel('Most', { exact: true })).toHaveValue('6');
});
