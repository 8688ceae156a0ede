import { admin, expect, test } from '../fixtures.ts';

test('Ctrl+K reaches the search and / the filter, but not while typing', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/people');
  const search = page.getByRole('searchbox', { name: 'Search people and pages' });
  const filter = page.getByRole('searchbox', { name: 'Filter people' });
  await page.keyboard.press('/');
  await expect(filter).toBeFocused();
  await page.keyboard.press('Control+k');
  await expect(search).toBeFocused();
  await page.keyboard.type('a/b');
  await expect(search).toHaveValue('a/b');
});

test('a toast can be dismissed in place', async ({ signedInAs, newPerson, visit, ready }) => {
  const page = await signedInAs(await newPerson());
  await visit('/profile');
  await page.getByRole('button', { name: 'Save profile' }).click();
  const toast = page.getByText('Your profile is saved.');
  await expect(toast).toBeVisible();
  await ready();
  await page.getByRole('link', { name: 'Dismiss' }).click();
  await expect(toast).toBeHidden();
  await expect(page).toHaveURL('/profile');
});

test('the live indicator says that changes arrive', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/compute/instances');
  await expect(page.getByRole('status').filter({ hasText: /^Live$/ })).toBeVisible();
});

test('open menus are accessible', async ({ signedInAs, newPerson, office, visit, expectAccessible }) => {
  const person = await newPerson({ roles: ['reader'] });
  await office.setRoles(person, ['contributor']);
  const page = await signedInAs(person);
  await visit('/w/studio');
  for (const name of [/^Account: /, /^Notifications/, /^Workspace: /]) {
    await page.getByRole('button', { name }).click();
    await expectAccessible();
    await page.keyboard.press('Escape');
  }
});
