import { admin, expect, test } from '../fixtures.ts';

test.use({ allowedConsoleErrors: /status of (403|404)/ });

const wrong: [string, string, string][] = [
  ['an unknown address', '/no/such/page', 'There is no such page here'],
  ['a workspace of others', '/w/other-team/admin/people', 'There is no such workspace here'],
  ['a person who does not exist', '/w/studio/admin/people/user-nobody', 'There is no such person here'],
  ['an unknown kind of compute', '/w/studio/compute/toasters', 'There is no such kind of compute here'],
  ['an unknown action on people', '/w/studio/admin/people/confirm/burn', 'There is no such action on people here'],
];

for (const [what, path, heading] of wrong) {
  test(`${what} is answered with a page that helps and names the request`, async ({ signedInAs, visit }) => {
    const page = await signedInAs(admin);
    const response = await visit(path);
    expect(response?.status()).toBe(404);
    await expect(page.getByRole('heading', { name: heading, level: 1 })).toBeVisible();
    // The page may have been fetched again since, under another id: the news of others reach it too.
    expect(await response?.text()).toContain(`request ${response?.headers()['x-request-id'] ?? 'without an id'}`);
    await expect(page.getByText(/request [0-9a-f]{8}/)).toBeVisible();
    await expect(page.getByRole('navigation', { name: 'Main', exact: true })).toBeVisible();
    const search = page.getByRole('main').getByRole('searchbox', { name: 'Search everywhere' });
    await search.fill('roles');
    await search.press('Enter');
    await expect(page).toHaveURL('/w/studio/search?q=roles');
    await expect(page.getByRole('main').getByRole('link', { name: /^Roles/ })).toBeVisible();
  });
}

test('the ways out of a page that does not exist lead somewhere', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  for (const [label, path] of [
    ['Home', '/w/studio'],
    ['Compute', '/w/studio/compute/instances'],
    ['Activity', '/w/studio/activity'],
  ] as const) {
    await visit('/no/such/page');
    await page.getByRole('main').getByRole('link', { name: label }).click();
    await expect(page).toHaveURL(path);
  }
  await visit('/w/other-team');
  await expectAccessible();
});

test('signed out, an unknown address says nothing of what exists', async ({ page, visit }) => {
  await visit('/no/such/page');
  await expect(page).toHaveURL('/sign-in?next=%2Fno%2Fsuch%2Fpage');
});

test('what is forbidden names the missing right, the request and the people who can help', async ({
  signedInAs,
  somebody,
  visit,
}) => {
  const page = await signedInAs(await somebody('reader'));
  const response = await visit('/w/studio/admin/people/confirm/disable?id=x');
  expect(response?.status()).toBe(403);
  await expect(page.getByRole('alert')).toContainText('member.write');
  await expect(page.getByRole('alert')).toContainText(response?.headers()['x-request-id'] ?? 'without an id');
  await expect(page.getByRole('heading', { name: 'How this was decided' })).toBeVisible();
  await page.getByRole('link', { name: 'Go to Home' }).click();
  await expect(page).toHaveURL('/w/studio');
});
