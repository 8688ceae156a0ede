import { admin, expect, fillSignIn, signIn, test, toast, unique } from '../fixtures.ts';

test('the sign-in page is accessible and says what to do without a password', async ({
  page,
  visit,
  expectAccessible,
}) => {
  await visit('/sign-in');
  await expect(page.getByRole('heading', { name: 'Sign in', level: 1 })).toBeVisible();
  await expect(page.getByText('to Studio')).toBeVisible();
  await expect(page.getByLabel('E-mail')).toBeFocused();
  await page.getByText('Forgot your password?').click();
  await expect(page.getByText('Ask an Owner of your workspace.')).toBeVisible();
  await expectAccessible();
});

test('cannot sign in with a wrong password, and is told how many tries are left', async ({
  page,
  visit,
  expectAccessible,
}) => {
  await visit('/sign-in');
  const email = `${unique()}@example.test`;
  await fillSignIn(page, { email, password: 'not-the-password' });
  const password = page.getByLabel('Password', { exact: true });
  await expect(password).toHaveAccessibleDescription(
    'That password does not fit this e-mail address. 4 tries left before a pause of 15 min.',
  );
  await expect(password).toBeFocused();
  await expect(password).toHaveValue('');
  await expect(page.getByLabel('E-mail')).toHaveValue(email);
  await expectAccessible();
});

test('signed out, every page leads to the sign-in page and from there to where one wanted to go', async ({
  page,
  visit,
}) => {
  await visit('/w/studio/admin/people?q=admin');
  await expect(page).toHaveURL('/sign-in?next=%2Fw%2Fstudio%2Fadmin%2Fpeople%3Fq%3Dadmin');
  await fillSignIn(page, { email: ` ${admin.email.toUpperCase()}`.trim(), password: admin.password });
  await expect(page).toHaveURL('/w/studio/admin/people?q=admin');
  await visit('/sign-in');
  await expect(page, 'nobody signs in twice').toHaveURL('/w/studio');
});

test('cannot be led to another site by signing in', async ({ page, visit, newPerson }) => {
  const person = await newPerson();
  await visit('/sign-in?next=https%3A%2F%2Fevil.example%2F');
  await fillSignIn(page, person);
  await expect(page).toHaveURL('/w/studio');
});

test('can sign out, and is out', async ({ page, visit, newPerson }) => {
  await signIn(page, await newPerson());
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL('/sign-in');
  await expect(toast(page, 'You are signed out.')).toBeVisible();
  await visit('/w/studio');
  await expect(page).toHaveURL(/\/sign-in/);
});

test('can stay signed in after the browser is closed, but only when asked to', async ({ page, visit, newPerson, another }) => {
  const person = await newPerson();
  const sessionOf = async (which: typeof page) =>
    (await which.context().cookies()).find((cookie) => cookie.name === 'atelier_session');

  await signIn(page, person);
  expect((await sessionOf(page))?.expires, 'ends with the browser').toBe(-1);

  const kept = await another();
  await visit('/sign-in', kept);
  await kept.getByLabel('Keep me signed in').check();
  await fillSignIn(kept, person);
  await expect(kept).toHaveURL('/w/studio');
  const inDays = ((await sessionOf(kept))?.expires ?? 0) / 86_400 - Date.now() / 86_400_000;
  expect(inDays, 'a week, as the server is configured').toBeGreaterThan(6.9);
  expect(inDays).toBeLessThan(7.1);
});

test('cannot sign in to a disabled account, and is told who can help', async ({ page, visit, newPerson, office }) => {
  const person = await newPerson();
  await office.change('disable', person);
  await visit('/sign-in');
  await fillSignIn(page, person);
  await expect(page.getByRole('alert')).toContainText('This account is disabled. Ask admin to enable it.');
});
