import { admin, expect, signIn, test, toast, unique } from '../fixtures.ts';

const people = '/w/studio/admin/people';

test('a question is a dialog: the safe button has the focus and Escape goes back to the opener', async ({
  signedInAs,
  visit,
  newPerson,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ waiting: true });
  await visit(person.path);
  const opener = page.getByRole('link', { name: 'Disable' });
  await opener.click();
  const dialog = page.getByRole('dialog', { name: `Disable ${person.name}?` });
  await expect(dialog).toBeVisible();
  await expect(page, 'it is no page of its own').toHaveURL(person.path);
  await expect(dialog.getByRole('link', { name: 'Keep as it is' })).toBeFocused();
  await expectAccessible();
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(opener).toBeFocused();

  await page.keyboard.press('Enter');
  await dialog.getByRole('link', { name: 'Keep as it is' }).click();
  await expect(dialog).toBeHidden();
  await expect(opener).toBeFocused();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Waiting for first sign-in');
});

test('a question from the menu of a row is a dialog over the list', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ waiting: true });
  await visit(`${people}?q=${person.email}`);
  await page.getByRole('button', { name: `More about ${person.name}` }).click();
  await page.getByRole('link', { name: 'Reset password…' }).click();
  const dialog = page.getByRole('dialog', { name: `Reset the password of ${person.name}?` });
  await dialog.getByRole('button', { name: 'Reset password' }).click();
  await expect(page).toHaveURL(person.path);
  await expect(page.getByRole('region', { name: `Temporary password of ${person.name}` })).toBeVisible();
});

test('ticked rows are counted, all at once too, and can be cleared', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const word = `tick${unique()}`;
  const [ada, bo] = [
    await newPerson({ name: `${word} Ada`, waiting: true }),
    await newPerson({ name: `${word} Bo`, waiting: true }),
  ];
  await visit(`${people}?q=${word}`);
  const bar = page.getByRole('group', { name: 'Actions for the selected people' });
  const all = page.getByRole('checkbox', { name: 'Select all people on this page' });
  await expect(bar).toBeHidden();

  await page.getByRole('checkbox', { name: `Select ${ada.name}` }).check();
  await expect(bar).toContainText('1 selected');
  await expect(bar.getByRole('button', { name: 'Disable 1' })).toBeVisible();
  await expect(all).toHaveJSProperty('indeterminate', true);
  await page.getByRole('checkbox', { name: `Select ${bo.name}` }).check();
  await expect(all).toBeChecked();
  await expect(bar.getByRole('button', { name: 'Enable 2' })).toBeVisible();

  await bar.getByRole('button', { name: 'Clear selection' }).click();
  await expect(bar).toBeHidden();
  await expect(all).not.toBeChecked();
  await all.check();
  await expect(bar).toContainText('2 selected');

  await bar.getByRole('button', { name: 'Disable 2' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disable 2 people?' });
  await dialog.getByRole('button', { name: 'Disable 2' }).click();
  await expect(toast(page, '2 people were disabled and can no longer sign in.')).toBeVisible();
});

test('a button shows that its form is on its way, which is sent once', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ roles: ['reader'], waiting: true });
  await visit(person.path);
  // An answer without content leaves the page as it is, on its way for ever.
  let posts = 0;
  await page.route('**/fn/set_roles', (route) => {
    posts += 1;
    return route.fulfill({ status: 204 });
  });
  await page.getByRole('button', { name: 'Save roles' }).click();
  const busy = page.getByRole('button', { name: 'Saving…' });
  await expect(busy).toHaveAttribute('aria-busy', 'true');
  await busy.click();
  await page.getByLabel('Why').press('Enter');
  expect(posts).toBe(1);
});

test('a temporary password can be copied', async ({ signedInAs, visit, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await signedInAs(admin);
  const name = `Priya ${unique()}`;
  await visit(`${people}/new`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('E-mail').fill(`${unique()}@example.test`);
  await page.getByRole('button', { name: 'Add person' }).click();
  const secret = page.getByRole('region', { name: `Temporary password of ${name}` });
  await expect(secret).toBeVisible();
  await page.getByRole('button', { name: 'Copy' }).click();
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await secret.innerText());
});

test('the first password comes with the time zone of the browser', async ({ page, newPerson, visit, ready }) => {
  const person = await newPerson({ waiting: true });
  await signIn(page, person);
  await ready();
  await expect(page.getByLabel('Time zone')).toHaveValue('Europe/Berlin');
  await page.getByLabel('Temporary password').fill(person.password);
  await page.getByLabel('New password').fill(`quilt-harbour-${unique()}`);
  await page.getByRole('button', { name: 'Save password' }).click();
  await expect(page).toHaveURL('/w/studio');
  await visit('/profile');
  await expect(page.getByLabel('Time zone')).toHaveValue('Europe/Berlin');
});
