// Schedules of an instance, the week of all, and the settings, with and without script.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const instances = '/w/studio/compute/instances';
const named = (kind: string) => `${kind}-${unique()}`.slice(0, 24);

/** Makes a stopped instance through the wizard and returns its name. */
async function makeInstance(page: Page, visit: (path: string) => Promise<unknown>, ready: () => Promise<void>): Promise<string> {
  const size = named('size');
  await visit('/w/studio/admin/sizes/new');
  await page.getByLabel('Name').fill(size);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('1');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, 'is in the catalogue')).toBeVisible();
  const name = named('week');
  await visit(`${instances}/new?name=${name}&size=${size}`);
  await page.getByRole('button', { name: 'Review + create' }).click();
  await ready();
  await page.getByRole('radio', { name: 'Leave it stopped' }).check();
  await page.getByRole('button', { name: 'Create instance' }).click();
  await expect(toast(page, `${name} was created.`)).toBeVisible();
  return name;
}

test('hours are saved, shown in the week, and changed', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const name = await makeInstance(page, visit, ready);
  const path = `${instances}/${name}/schedules`;
  await visit(path);
  await expect(page.getByRole('heading', { name: `When is ${name} awake?`, level: 1 })).toBeVisible();
  await expect(page.getByText('Nothing is planned.')).toBeVisible();
  await expectAccessible();
  for (const day of ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']) await page.getByRole('checkbox', { name: day }).check();
  await page.getByLabel('Time zone').first().selectOption('Europe/Berlin');
  await page.getByRole('radio', { name: 'Leave the stop out' }).check();
  await page.getByRole('button', { name: 'Save schedule' }).click();
  await expect(toast(page, `${name} is awake workdays 08:30 to 18:00, Europe/Berlin.`)).toBeVisible();
  await ready();
  await expect(page.getByRole('rowheader', { name: /Start Mon–Fri at 08:30/ })).toBeVisible();
  await expect(page.locator('.price')).toContainText('per month');
  await expectAccessible();

  await page.getByText('Add a rule by cron').click();
  await page.getByLabel('Cron').fill('0 12 1 * *');
  await page.getByRole('button', { name: 'Add rule' }).click();
  await expect(toast(page, 'on the 1st of the month at 12:00')).toBeVisible();
  await ready();
  const rule = page.getByRole('row').filter({ hasText: '1st of the month' });
  await rule.getByRole('button', { name: /Skip next/ }).click();
  await ready();
  await expect(rule).toContainText('skipped');
  await rule.getByRole('button', { name: /Disable/ }).click();
  await ready();
  await expect(rule).toContainText('disabled');
  await rule.getByRole('button', { name: /Delete/ }).click();
  await expect(toast(page, 'The schedule was deleted.')).toBeVisible();
  await ready();

  await visit('/w/studio/schedules');
  await expect(page.getByRole('heading', { name: 'Schedules', level: 1 })).toBeVisible();
  await expect(page.getByRole('link', { name }).first()).toBeVisible();
  await expectAccessible();
  await page.getByRole('link', { name: 'Everybody’s' }).click();
  await ready();
  await expect(page.getByRole('link', { name }).first()).toBeVisible();
});

test('what is wrong comes back as it was typed', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const name = await makeInstance(page, visit, ready);
  await visit(`${instances}/${name}/schedules`);
  await page.getByRole('checkbox', { name: 'Monday' }).check();
  await page.getByLabel('Monday, stop').fill('08:30');
  await page.getByLabel('After so long without activity').fill('5');
  await page.getByRole('button', { name: 'Save schedule' }).click();
  await ready();
  await expect(page.getByLabel('Monday, stop')).toHaveAccessibleDescription(/start and stop at 08:30/);
  await expect(page.getByLabel('After so long without activity')).toHaveAccessibleDescription(/between 15 min and 3 days/);
  await expect(page.getByLabel('After so long without activity')).toHaveValue('5');
  await expectAccessible();
});

test('a Reader sees hours and changes nothing', async ({ signedInAs, somebody, visit, ready, another, expectAccessible }) => {
  const theirs = await another(admin);
  const name = await makeInstance(theirs, (path) => visit(path, theirs), () => ready(theirs));
  const page = await signedInAs(await somebody('reader'));
  await visit(`${instances}/${name}/schedules`);
  await expect(page.getByRole('button', { name: 'Save schedule' })).toBeDisabled();
  await expect(page.getByRole('button', { name: 'Save schedule' })).toHaveAccessibleDescription(/does not include instance\.configure/);
  await expectAccessible();
  await visit('/w/studio/admin/settings');
  await expect(page.getByRole('button', { name: 'Save rules' })).toBeDisabled();
  await expectAccessible();
});

test('administrators set the rules of idle shutdown', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/settings');
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible();
  await expectAccessible();
  await page.getByLabel('Shortest, minutes').fill('5');
  await page.getByRole('button', { name: 'Save rules' }).click();
  await expect(page.getByLabel('Shortest, minutes')).toHaveAccessibleDescription(/between 15 min and 3 days/);
  await expectAccessible();
});
