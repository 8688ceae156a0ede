// Prices that follow the typing. What they are is tested over HTTP; here it counts that nobody has to press anything.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';
const sizes = '/w/studio/admin/sizes';

test.use({ allowedConsoleErrors: /ERR_FAILED|Failed to load resource/ });

const named = (kind: string) => `${kind}-${unique()}`.slice(0, 24);

async function addSize(page: Page, visit: (path: string) => Promise<unknown>, price: string): Promise<string> {
  const name = named('size');
  await visit(`${sizes}/new`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill(price);
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, `The size ${name} is in the catalogue.`)).toBeVisible();
  return name;
}

const price = (page: Page) => page.locator('[data-quote-part]');

test('the price of a cluster follows its numbers and its size', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  const [cheap, dear] = [await addSize(page, visit, '0.4'), await addSize(page, visit, '2')];
  await visit(`${clusters}/new`);
  await expect(page.getByRole('button', { name: 'Check price' }), 'nothing needs to be pressed').toBeHidden();
  await page.getByRole('radio', { name: cheap }).check({ force: true });
  await page.getByLabel('Most nodes').fill('5');
  await expect(price(page)).toContainText('€2.00 an hour at most');
  await page.getByLabel('Fewest nodes').fill('2');
  await expect(price(page)).toContainText('It keeps 2 nodes also when nothing runs: €0.80 an hour');
  await page.getByRole('radio', { name: dear }).check({ force: true });
  await expect(price(page)).toContainText('€10.00 an hour at most');
  await page.getByLabel('Fewest nodes').fill('9');
  await expect(price(page)).toContainText('The minimum of 9 is above the maximum of 5.');
  await expectAccessible();

  const name = named('pool');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(page).toHaveURL(`${clusters}/${name}`);
  await visit(`${clusters}/${name}`);
  await expect(price(page)).toBeEmpty();
  await page.getByLabel('Most', { exact: true }).fill('7');
  await expect(price(page)).toContainText('€14.00 an hour at most');
  await expect(page.getByText(/As it is saved: €0\.00\/h while nothing runs, .* a month, and €10\.00\/h at its most\./)).toBeVisible();
  await expectAccessible();
  await page.getByLabel('Most', { exact: true }).fill('5');
  await expect(price(page)).toBeEmpty();
});

test('a price that arrives while a button is pressed does not take the click away', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  const size = await addSize(page, visit, '0.4');
  await visit(`${clusters}/new`);
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByLabel('Most nodes').fill('2');
  await expect(price(page)).toContainText('€0.80 an hour at most');
  await page.getByLabel('Name').fill('a_b');

  let letGo = () => {};
  const isHeld = new Promise<void>((resolve) => (letGo = resolve));
  await page.route(/fn\/quote_cluster\?.*min=9(&|$)/, async (route) => {
    await isHeld;
    await route.continue();
  });
  const asked = page.waitForRequest(/fn\/quote_cluster\?.*min=9(&|$)/);
  const answered = page.waitForResponse(/fn\/quote_cluster\?.*min=9(&|$)/);
  await page.getByLabel('Fewest nodes').fill('9');
  await asked;
  await page.getByRole('button', { name: 'Create cluster' }).hover();
  await page.mouse.down();
  letGo();
  await (await answered).finished();
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
  await expect(price(page), 'what it says now is longer and would push the button down').toContainText('€0.80 an hour at most');
  await page.mouse.up();
  await expect(page.getByLabel('Name')).toHaveAccessibleDescription(/this has “_”/);
});

test('the price of a job follows its fields, and only the newest answer counts', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  const size = await addSize(page, visit, '0.4');
  await visit('/w/studio/jobs/new');
  await expect(page.getByRole('button', { name: 'Check price' })).toBeHidden();
  await page.getByRole('radio', { name: size }).check({ force: true });
  await expect(price(page)).toContainText('€0.40 an hour at most');
  await page.getByLabel('Time limit').fill('2 h');
  await expect(price(page)).toContainText('In all at most €0.80 for one run of 2 h');

  // The answer for 3 nodes comes after the one for 4: it is of no interest any more.
  let letGo = () => {};
  const isHeld = new Promise<void>((resolve) => (letGo = resolve));
  await page.route(/fn\/quote_job\?.*nodes=3(&|$)/, async (route) => {
    await isHeld;
    await route.continue();
  });
  const asked = page.waitForRequest(/fn\/quote_job\?.*nodes=3(&|$)/);
  await page.getByRole('textbox', { name: /^Nodes/ }).fill('3');
  await asked;
  await page.getByRole('textbox', { name: /^Nodes/ }).fill('4');
  await expect(price(page)).toContainText('€1.60 an hour at most');
  const late = page.waitForResponse(/fn\/quote_job\?.*nodes=3(&|$)/);
  letGo();
  await (await late).finished();
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
  await expect(price(page)).toContainText('€1.60 an hour at most');
});

test('what decides is sent, and nothing else', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/jobs/new');
  await page.getByLabel('Variables').fill('PASSWORD=hush');
  await page.getByLabel('Command').fill('echo hush');
  const asked = page.waitForRequest(/fn\/quote_job\?.*nodes=2(&|$)/);
  await page.getByRole('textbox', { name: /^Nodes/ }).fill('2');
  const sent = new URL((await asked).url()).searchParams;
  expect([...sent.keys()].sort()).toEqual(['array', 'cluster', 'cores', 'gpus', 'memory', 'nodes', 'retries', 'size', 'timeout']);
});

test('a price that could not be asked for is marked as old', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await addSize(page, visit, '0.4');
  await visit('/w/studio/jobs/new');
  const lost = page.getByText('The server did not answer: this is the price from before the last change.');
  await expect(lost).toBeHidden();
  await page.route(/fn\/quote_job/, (route) => route.abort());
  await page.getByRole('textbox', { name: /^Nodes/ }).fill('2');
  await expect(lost).toBeVisible();
  await page.unroute(/fn\/quote_job/);
  await page.getByRole('textbox', { name: /^Nodes/ }).fill('3');
  await expect(lost).toBeHidden();
  await expect(price(page)).toContainText('3 nodes of size');
});
