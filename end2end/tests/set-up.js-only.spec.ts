import { expect, testOnFreshServer as test } from '../fixtures.ts';

test('the time zone is proposed from the browser', async ({ page, visit }) => {
  await visit('/set-up');
  await expect(page.getByLabel('Time zone')).toHaveValue('Europe/Berlin');
  await expect(page.getByText('Proposed by your browser.')).toBeVisible();
});

test('a weak password is said beside the field as soon as it is left', async ({ page, visit }) => {
  await visit('/set-up');
  const password = page.getByLabel('Password', { exact: true });
  await password.fill('short');
  await expect(password, 'nobody is told off while typing').not.toHaveAttribute('aria-invalid');
  await page.getByLabel('Your name').focus();
  await expect(password).toHaveAccessibleDescription(/Use at least 12 characters; this has 5\./);
  await password.fill('harbour-lantern-quilt');
  await expect(password).not.toHaveAttribute('aria-invalid');
  await expect(page.getByText(/Use at least 12 characters/)).toBeHidden();
});
