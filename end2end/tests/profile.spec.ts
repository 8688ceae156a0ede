import type { Page } from '@playwright/test';

import { expect, fillSignIn, signIn, test, toast, unique } from '../fixtures.ts';

const background = (page: Page) =>
  page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

test('can change the own name and time zone', async ({ signedInAs, newPerson, visit }) => {
  const page = await signedInAs(await newPerson());
  await visit('/profile');
  const name = `Zoë ${unique()}`;
  await page.getByLabel('Name').first().fill(name);
  await page.getByLabel('Time zone').selectOption('Asia/Kathmandu');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await expect(toast(page, 'Your profile is saved.')).toBeVisible();
  await expect(page.getByRole('button', { name: `Account: ${name}` })).toBeVisible();
  await page.reload();
  await expect(page.getByLabel('Name').first()).toHaveValue(name);
  await expect(page.getByLabel('Time zone')).toHaveValue('Asia/Kathmandu');
  await visit('/w/studio');
  await expect(page.getByRole('heading', { name: /, Zoë$/, level: 1 })).toBeVisible();
});

test('cannot save a name of nothing but spaces, and keeps the rest', async ({ signedInAs, newPerson, visit }) => {
  const page = await signedInAs(await newPerson());
  await visit('/profile');
  await page.getByLabel('Name').first().fill('   ');
  await page.getByRole('radio', { name: 'Dark' }).check();
  await page.getByRole('button', { name: 'Save profile' }).click();
  await expect(page.getByLabel('Name').first()).toHaveAccessibleDescription('Enter a name.');
  await expect(page.getByRole('radio', { name: 'Dark' })).toBeChecked();
});

test('can choose a theme, which really changes the page and stays', async ({ signedInAs, newPerson, visit }) => {
  const page = await signedInAs(await newPerson());
  await visit('/profile');
  const html = page.locator('html');
  await expect(html).not.toHaveAttribute('data-theme');
  const light = await background(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.reload(); // a colour may be on its way to another just after the change
  const dark = await background(page);
  expect(dark, 'as the system').not.toBe(light);
  await page.emulateMedia({ colorScheme: 'light' });
  await visit('/profile');

  await page.getByRole('radio', { name: 'Dark' }).check();
  await page.getByRole('button', { name: 'Save profile' }).click();
  await expect(html).toHaveAttribute('data-theme', 'dark');
  expect(await background(page)).toBe(dark);

  await visit('/w/studio/compute/instances');
  await expect(html, 'on every page').toHaveAttribute('data-theme', 'dark');
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL('/sign-in');
  await expect(html, 'also signed out, in this browser').toHaveAttribute('data-theme', 'dark');
  expect(await background(page)).toBe(dark);
});

test('can change the password, which ends the other sessions', async ({ page, newPerson, visit, another, ready }) => {
  const person = await newPerson();
  const elsewhere = await another(person);
  await signIn(page, person);
  await visit('/profile');
  const next = `quilt-harbour-${unique()}`;
  const send = async (current: string, wanted: string) => {
    await page.getByLabel('Current password').fill(current);
    await page.getByLabel('New password').fill(wanted);
    await page.getByRole('button', { name: 'Change password' }).click();
  };
  await send('not-my-password', next);
  await expect(page.getByLabel('Current password')).toHaveAccessibleDescription('This is not your present password.');
  await ready();
  await send(person.password, 'short');
  await expect(page.getByLabel('New password')).toHaveAccessibleDescription(/Use at least 12 characters; this has 5\./);
  await expect(page.getByLabel('New password')).toHaveValue('');
  await ready();
  await send(person.password, next);
  await expect(toast(page, 'Your password is changed. 1 session elsewhere ended.')).toBeVisible();

  await visit('/profile', elsewhere);
  await expect(elsewhere).toHaveURL(/\/sign-in/);
  await fillSignIn(elsewhere, { email: person.email, password: next });
  await expect(elsewhere).toHaveURL('/profile');
});

test('can see the own sessions and end one of them', async ({ page, newPerson, visit, another }) => {
  const person = await newPerson();
  const elsewhere = await another();
  await signIn(elsewhere, person);
  await signIn(page, person);
  await visit('/profile');
  const sessions = page.getByRole('table', { name: 'Where you are signed in' }).getByRole('row');
  // The heads, this one, the other browser, and the one of the account's first sign-in.
  await expect(sessions).toHaveCount(4);
  await expect(sessions.nth(1)).toContainText('This session');
  await expect(sessions.nth(1)).toContainText(/^Chrome on \w+/);
  await expect(sessions.nth(1)).toContainText('127.0.0.1');
  await expect(sessions.nth(1).getByRole('button')).toHaveCount(0);
  await sessions.nth(2).getByRole('button', { name: /^End the session on / }).click();
  await expect(toast(page, 'The session has ended.')).toBeVisible();
  await expect(sessions).toHaveCount(3);
  await visit('/profile', elsewhere);
  await expect(elsewhere).toHaveURL(/\/sign-in/);
});

test('can sign out everywhere', async ({ page, newPerson, visit, another }) => {
  const person = await newPerson();
  const elsewhere = await another();
  await signIn(elsewhere, person);
  await signIn(page, person);
  await visit('/profile');
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await expect(page).toHaveURL('/sign-in');
  await expect(toast(page, 'You are signed out everywhere.')).toBeVisible();
  await visit('/profile', elsewhere);
  await expect(elsewhere).toHaveURL(/\/sign-in/);
});
