// The card of personal tokens on the profile page, and what a token opens.

import type { APIRequestContext, Page } from '@playwright/test';

import { expect, secretOf, test, toast, unique } from '../fixtures.ts';

const DAY_MILLIS = 86_400_000;

/** The row of a token in the list. */
const rowOf = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Your tokens for the API' }).getByRole('row').filter({ hasText: name });

async function make(page: Page, name: string, days?: string): Promise<void> {
  await page.locator('#token-name').fill(name);
  if (days !== undefined) await page.getByLabel('Days').fill(days);
  await page.getByRole('button', { name: 'Make a token' }).click();
}

/** What the API answers to a secret. */
async function answer(request: APIRequestContext, secret: string): Promise<number> {
  const response = await request.get('/api/v1', { headers: { authorization: `Bearer ${secret}` } });
  return response.status();
}

test('a token is shown once, works until it expires, and is revoked', async ({
  signedInAs,
  newPerson,
  visit,
  ready,
  request,
  expectAccessible,
}) => {
  const page = await signedInAs(await newPerson());
  const name = `Night runs ${unique()}`;
  await visit('/profile');
  await expect(page.getByText('0 tokens work')).toBeVisible();
  await expect(page.getByRole('table', { name: 'Your tokens for the API' })).toHaveCount(0);
  await make(page, name, '7');
  await expect(toast(page, `The token “${name}” was made. It works for 7 days.`)).toBeVisible();
  const secret = await secretOf(page, `Token “${name}”`);
  expect(secret).toMatch(/^atl_[\w-]{43}$/);
  await ready();
  await expectAccessible();
  await expect(page.getByText('1 token works')).toBeVisible();
  const row = rowOf(page, name);
  await expect(row).toContainText('never');
  const ends = await row.locator('time').last().getAttribute('datetime');
  const days = (Date.parse(ends ?? '') - Date.now()) / DAY_MILLIS;
  expect(Math.round(days), `works until ${ends}`).toBe(7);

  await page.reload();
  await ready();
  await expect(row, 'the token stays').toBeVisible();
  expect(await page.content(), 'its secret does not').not.toContain(secret);
  expect(await answer(request, secret)).toBe(200);
  await page.reload();
  await ready();
  await expect(row, 'its use is noted').not.toContainText('never');

  await row.getByRole('button', { name: `Revoke the token ${name}` }).click();
  await expect(toast(page, `The token “${name}” was revoked and works no more.`)).toBeVisible();
  await expect(row).toHaveCount(0);
  expect(await answer(request, secret)).toBe(401);
});

test('what is wrong with a token stands beside its fields, and nothing is made', async ({
  signedInAs,
  newPerson,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(await newPerson());
  await visit('/profile');
  for (const days of ['0', '367']) {
    await make(page, 'Too long or too short', days);
    await expect(page.getByLabel('Days')).toHaveAccessibleDescription(new RegExp(`1 to 366 days, not for “${days}”`));
    await expect(page.locator('#token-name')).toHaveValue('Too long or too short');
    await ready();
  }
  await expectAccessible();
  await make(page, '   ', '30');
  await expect(page.locator('#token-name')).toHaveAccessibleDescription(/Give the token a name/);
  await expect(page.getByLabel('Days')).toHaveValue('30');
  await ready();
  await expect(page.getByText('0 tokens work')).toBeVisible();
  // Left as it is, a token works for the usual time.
  await make(page, 'As usual', '');
  await expect(toast(page, 'It works for 90 days.')).toBeVisible();
  await expect(rowOf(page, 'As usual')).toBeVisible();
});

test('everybody has only their own tokens', async ({ signedInAs, newPerson, visit, another }) => {
  const page = await signedInAs(await newPerson());
  const name = `Mine ${unique()}`;
  await visit('/profile');
  await make(page, name);
  await expect(rowOf(page, name)).toBeVisible();
  const theirs = await another(await newPerson());
  await visit('/profile', theirs);
  await expect(theirs.getByText('0 tokens work')).toBeVisible();
  await expect(theirs.getByText(name)).toHaveCount(0);
});
