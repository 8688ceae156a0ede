import type { Page } from '@playwright/test';

import { admin, expect, rowOf, test, testOnOwnServer, unique } from '../fixtures.ts';

const people = '/w/studio/admin/people';

const indicator = (page: Page) => page.getByRole('status').filter({ hasText: /^(Live|Reconnecting|Stale since .*)$/ });

/** When the document was made: another one after a reload. */
const born = (page: Page) => page.evaluate(() => performance.timeOrigin);

test('a change that somebody else makes appears without a reload, and is announced', async ({
  signedInAs,
  another,
  visit,
  newPerson,
  somebody,
}) => {
  const page = await signedInAs(await somebody('contributor'));
  const word = `live${unique()}`;
  const known = await newPerson({ name: word, waiting: true });
  await visit(`${people}?q=${word}`);
  await expect(indicator(page)).toHaveText('Live');
  const birth = await born(page);

  const owner = await another(admin);
  await visit(`${people}/new`, owner);
  await owner.getByLabel('Name').fill(`${word} newcomer`);
  await owner.getByLabel('E-mail').fill(`${unique()}@example.test`);
  await owner.getByRole('button', { name: 'Add person' }).click();
  await expect(owner.getByRole('heading', { level: 1 })).toContainText('newcomer');
  await expect(rowOf(page, { name: `${word} newcomer` })).toContainText('Waiting for first sign-in');
  await expect(page.getByText('1 person added.')).toBeAttached();

  await visit(known.path, owner);
  await owner.getByRole('link', { name: 'Disable' }).click();
  await owner.getByRole('button', { name: `Disable ${known.name}` }).click();
  await expect(rowOf(page, known)).toContainText('Disabled');
  await expect(page.getByText('1 person changed.')).toBeAttached();
  expect(await born(page), 'the page was never loaded again').toBe(birth);
});

test('what one is doing survives a change: ticks, an open menu, what is typed', async ({
  signedInAs,
  office,
  visit,
  newPerson,
}) => {
  const page = await signedInAs(admin);
  const word = `keep${unique()}`;
  const ada = await newPerson({ name: `${word} Ada`, waiting: true });
  await visit(`${people}?q=${word}`);
  await page.getByRole('checkbox', { name: `Select ${ada.name}` }).check();
  await page.getByRole('searchbox', { name: 'Filter people' }).fill('half a wo');
  await page.getByRole('button', { name: `More about ${ada.name}` }).click();
  const bo = await office.add({ name: `${word} Bo`, waiting: true });
  await expect(rowOf(page, bo)).toBeVisible();
  await expect(page.getByRole('checkbox', { name: `Select ${ada.name}` })).toBeChecked();
  await expect(page.getByRole('group', { name: 'Actions for the selected people' })).toContainText('1 selected');
  await expect(page.getByRole('searchbox', { name: 'Filter people' })).toHaveValue('half a wo');
  await expect(page.getByRole('link', { name: 'Disable…' })).toBeVisible();
});

test('the page of a person follows what is done to them', async ({ signedInAs, office, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ waiting: true });
  await visit(person.path);
  await expect(page.getByRole('link', { name: 'Reset password' })).toBeVisible();
  await office.change('disable', person);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Disabled');
  await expect(page.getByRole('link', { name: 'Enable' })).toBeVisible();
  await expect(page.getByRole('listitem').filter({ hasText: 'disabled' })).toBeVisible();
});

test('somebody who is disabled is told at once that they are signed out', async ({
  signedInAs,
  office,
  visit,
  newPerson,
}) => {
  const person = await newPerson();
  const page = await signedInAs(person);
  await visit(people);
  await expect(indicator(page)).toHaveText('Live');
  await office.change('disable', person);
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('You are signed out. What is shown stays as it was.');
  await expect(page.getByRole('table', { name: 'People' })).toBeVisible();
  await alert.getByRole('link', { name: 'Sign in again' }).click();
  await expect(page).toHaveURL(`/sign-in?next=${encodeURIComponent(people)}`);
});

testOnOwnServer.describe('while the server is away', () => {
  testOnOwnServer.use({ allowedConsoleErrors: /net::ERR_/ });

  testOnOwnServer('the page says so, comes back by itself and shows what it missed', async ({
    signedInAs,
    server,
    visit,
    newPerson,
    ownOffice,
  }) => {
    const page = await signedInAs(admin);
    const before = await newPerson({ waiting: true });
    await visit(people);
    await expect(indicator(page)).toHaveText('Live');
    await expect(rowOf(page, before)).toBeVisible();
    const birth = await born(page);

    await server.stop();
    await expect(indicator(page)).toHaveText('Reconnecting');
    await expect(indicator(page)).toHaveAttribute('aria-live', 'polite');
    // The page cannot reach the server yet when the change is made.
    await page.context().setOffline(true);
    await server.start();
    const after = await ownOffice.add({ waiting: true });
    await expect(rowOf(page, after)).toBeHidden();
    await page.context().setOffline(false);

    await expect(indicator(page)).toHaveText('Live', { timeout: 20_000 });
    await expect(rowOf(page, after)).toBeVisible();
    expect(await born(page)).toBe(birth);
  });
});
