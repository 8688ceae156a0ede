import { admin, expect, test, unique } from '../fixtures.ts';

test('the navigation leads to every part and marks where one is', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit('/');
  const nav = page.getByRole('navigation', { name: 'Main', exact: true });
  for (const [label, path] of [
    ['Compute', '/w/studio/compute/instances'],
    ['Jobs', '/w/studio/jobs'],
    ['Activity', '/w/studio/activity'],
    ['People', '/w/studio/admin/people'],
    ['Roles', '/w/studio/admin/roles'],
    ['Home', '/w/studio'],
  ] as const) {
    await nav.getByRole('link', { name: label, exact: true }).click();
    await expect(page).toHaveURL(path);
    await expect(nav.getByRole('link', { name: label, exact: true })).toHaveAttribute('aria-current', 'page');
    await expect(page).toHaveTitle(label === 'Compute' ? 'Instances · Atelier' : `${label} · Atelier`);
  }
});

test('the navigation can be folded, stays so, and keeps its names', async ({ signedInAs, somebody, visit }) => {
  const page = await signedInAs(await somebody('reader'));
  await visit('/w/studio');
  const width = async () => (await page.getByRole('navigation', { name: 'Main', exact: true }).boundingBox())?.width ?? 0;
  const open = await width();
  await page.getByRole('button', { name: 'Collapse the navigation' }).click();
  await expect(page.getByRole('button', { name: 'Expand the navigation' })).toBeVisible();
  expect(await width()).toBeLessThan(open / 2);
  await page.getByRole('link', { name: 'People', exact: true }).first().click();
  await expect(page).toHaveURL('/w/studio/admin/people');
  await page.reload();
  await page.getByRole('button', { name: 'Expand the navigation' }).click();
  await expect(page, 'one stays on the page').toHaveURL('/w/studio/admin/people');
  await expect(page.getByRole('button', { name: 'Collapse the navigation' })).toBeVisible();
  expect(await width()).toBe(open);
});

test('the user menu says who one is, leads to the profile and sets the theme', async ({
  signedInAs,
  newPerson,
  visit,
}) => {
  const person = await newPerson({ name: 'Jonas Weber' });
  const page = await signedInAs(person);
  await visit('/w/studio/compute/clusters');
  const menu = page.getByRole('button', { name: `Account: ${person.name}` });
  const html = page.locator('html');
  await menu.click();
  await expect(page.getByRole('heading', { name: `${person.name} Data Scientist · Studio` })).toBeVisible();
  const themes = page.getByRole('group', { name: 'Theme' });
  await expect(themes.getByRole('button', { name: 'System' })).toHaveAttribute('aria-pressed', 'true');
  await themes.getByRole('button', { name: 'Dark' }).click();
  await expect(html).toHaveAttribute('data-theme', 'dark');
  await expect(page).toHaveURL('/w/studio/compute/clusters');
  await menu.click();
  await expect(themes.getByRole('button', { name: 'Dark' })).toHaveAttribute('aria-pressed', 'true');
  await themes.getByRole('button', { name: 'System' }).click();
  await expect(html).not.toHaveAttribute('data-theme');
  await menu.click();
  await page.getByRole('link', { name: 'Profile' }).click();
  await expect(page).toHaveURL('/profile');
});

test('the bell tells of a change of roles until it is read', async ({ signedInAs, newPerson, office, visit }) => {
  const person = await newPerson({ roles: ['reader'] });
  const page = await signedInAs(person);
  await visit('/w/studio');
  const before = await page.getByRole('button', { name: /^Notifications/ }).getAttribute('aria-label');
  await office.setRoles(person, ['reader', 'contributor'], 'deputy');
  await visit('/w/studio');
  const bell = page.getByRole('button', { name: /^Notifications, \d+ unread$/ });
  await expect(bell).not.toHaveAttribute('aria-label', before ?? '');
  await bell.click();
  await expect(page.getByRole('heading', { name: 'Notifications' })).toBeVisible();
  const notice = page
    .getByRole('listitem')
    .filter({ hasText: 'from Reader to Reader and Contributor' })
    .filter({ has: page.getByRole('img', { name: 'New' }) });
  await expect(notice).toBeVisible();
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await expect(page.getByRole('button', { name: 'Notifications, none unread' })).toBeVisible();
});

test('can search people and pages from anywhere', async ({ signedInAs, newPerson, visit }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ name: 'Priya Raman', waiting: true });
  await visit('/w/studio/compute/attached');
  const search = page.getByRole('searchbox', { name: 'Search people and pages' });
  await search.fill(person.email);
  await search.press('Enter');
  await expect(page).toHaveURL(`/w/studio/search?q=${encodeURIComponent(person.email)}`);
  await expect(page.getByText('1 result', { exact: true })).toBeVisible();
  await page.getByRole('main').getByRole('link', { name: person.name }).click();
  await expect(page).toHaveURL(person.path);
  const nowhere = unique();
  await visit(`/w/studio/search?q=${nowhere}`);
  await expect(page.getByRole('heading', { name: `Nothing found for “${nowhere}”` })).toBeVisible();
});

test('the first stop of the keyboard skips to the content', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/roles');
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to content' });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('main').getByRole('link', { name: 'People and their roles' })).toBeFocused();
});

test('on a phone the bar at the thumb takes the place of the navigation', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await page.setViewportSize({ width: 390, height: 844 });
  await visit('/w/studio');
  await expect(page.getByRole('navigation', { name: 'Main', exact: true })).toBeHidden();
  const bar = page.getByRole('navigation', { name: 'Main, compact' });
  for (const [label, path] of [
    ['Compute', '/w/studio/compute/instances'],
    ['Jobs', '/w/studio/jobs'],
    ['People', '/w/studio/admin/people'],
    ['Profile', '/profile'],
    ['Home', '/w/studio'],
  ] as const) {
    await bar.getByRole('link', { name: label }).click();
    await expect(page).toHaveURL(path);
    await expect(bar.getByRole('link', { name: label })).toHaveAttribute('aria-current', 'page');
    await expect(bar).toBeInViewport({ ratio: 1 });
  }
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  await expect(page).toHaveURL('/w/studio/search');
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect(bar).toBeHidden();
});
