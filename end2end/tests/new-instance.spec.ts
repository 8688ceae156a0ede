// The wizard that makes an instance, with and without script. Nothing here needs a node: what is made stays stopped.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const instances = '/w/studio/compute/instances';
const sizes = '/w/studio/admin/sizes';

/** A name that no other test uses. */
const named = (kind: string) => `${kind}-${unique()}`.slice(0, 24);

/** Adds a small size through its page and returns its name. */
async function addSize(page: Page, visit: (path: string) => Promise<unknown>): Promise<string> {
  const name = named('size');
  await visit(`${sizes}/new`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('0.4');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, `The size ${name} is in the catalogue.`)).toBeVisible();
  return name;
}

const step = (page: Page, name: string) => page.getByRole('list', { name: 'Steps' }).getByRole('button', { name });

test('an instance is made step by step, and nothing typed is lost', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const size = await addSize(page, visit);
  const name = named('mara');
  await visit(`${instances}/new`);
  await expect(page.getByRole('heading', { name: 'New instance', level: 1 })).toBeVisible();
  await expectAccessible();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByRole('button', { name: 'Next: schedule' }).click();
  await ready();

  await expect(step(page, 'Schedule')).toHaveAttribute('aria-current', 'step');
  await page.getByRole('checkbox', { name: 'Start and stop it by a weekly schedule' }).check();
  await page.getByLabel('Monday, start').fill('07:30');
  await page.getByLabel('Friday, stop').fill('16:00');
  await page.getByRole('radio', { name: 'Wait for jobs' }).check();
  await page.getByLabel('Wait at most, minutes').fill('45');
  await expectAccessible();
  await step(page, 'Applications').click();
  await ready();

  await page.getByRole('textbox', { name: 'Creation script' }).fill('#!/bin/sh\necho "<b>hello</b>"');
  await page.getByLabel('Arguments').first().fill("--fast 'two words'");
  await expectAccessible();
  await step(page, 'Tags').click();
  await ready();
  await page.getByLabel('Tags').fill('project=churn');
  await expectAccessible();
  await step(page, 'Access').click();
  await ready();
  await page.getByRole('radio', { name: 'Keep it' }).check();
  await expectAccessible();

  await step(page, 'Size').click();
  await ready();
  await expect(page.getByLabel('Name')).toHaveValue(name);
  await page.getByRole('button', { name: 'Review + create' }).click();
  await ready();
  await expect(page.getByText('Mon 07:30 to 18:00, Tue–Thu 08:30 to 18:00, Fri 08:30 to 16:00', { exact: false }).first()).toBeVisible();
  await expect(page.getByText('waits up to 45 min for jobs')).toBeVisible();
  await expect(page.getByText("2 lines, with --fast 'two words', 15 min at most")).toBeVisible();
  await expect(page.getByText('project=churn')).toBeVisible();
  await expect(page.getByText('Kept')).toBeVisible();
  await expectAccessible();
  await page.reload();
  await ready();
  await page.goBack();
  await ready();
  await expect(page.getByLabel('Name')).toHaveValue(name);
  await page.goForward();
  await ready();
  await page.getByRole('radio', { name: 'Leave it stopped' }).check();
  await page.getByRole('button', { name: 'Create instance' }).click();
  await expect(page).toHaveURL(`${instances}/${name}`);
  await expect(toast(page, `${name} was created.`)).toBeVisible();
});

test('what is wrong stands beside its field', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  await addSize(page, visit);
  await visit(`${instances}/new`);
  await page.getByLabel('Name').fill('a_b');
  await page.getByRole('button', { name: 'Review + create' }).click();
  await ready();
  await expect(page.getByLabel('Name')).toHaveAccessibleDescription(/this has “_”/);
  await expect(page.getByLabel('Name')).toHaveValue('a_b');
  await expectAccessible();
  await page.getByLabel('Name').fill(named('b'));
  await step(page, 'Schedule').click();
  await ready();
  await page.getByLabel('After so long without activity').fill('5');
  await page.getByRole('button', { name: 'Review + create' }).click();
  await ready();
  await expect(page.getByLabel('After so long without activity')).toHaveAccessibleDescription(/between 15 min and 3 days/);
  await expectAccessible();
});

test('a Reader is told which right is missing', async ({ signedInAs, somebody, visit, expectAccessible }) => {
  const page = await signedInAs(await somebody('reader'));
  await visit(`${instances}/new`);
  await expect(page.getByText('instance.create', { exact: false }).first()).toBeVisible();
  await expectAccessible();
});

test.use({ allowedConsoleErrors: /status of 403/ });
