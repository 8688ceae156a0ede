import type { Page } from '@playwright/test';

import { expect, testOnFreshServer as test, toast } from '../fixtures.ts';

const password = 'harbour-lantern-quilt';

/** Fills in everything; what is given wins. */
async function fill(page: Page, code: string, chosen = password): Promise<void> {
  await page.getByLabel('Set-up code').fill(code);
  await page.getByLabel('Workspace').fill('Perception');
  await page.getByLabel('Your name').fill('Ines Okafor');
  await page.getByLabel('E-mail').fill('ines@nordlicht.example');
  await page.getByLabel('Password', { exact: true }).fill(chosen);
  await page.getByLabel('Time zone').selectOption('Africa/Lagos');
}

async function expectKept(page: Page): Promise<void> {
  await expect(page.getByLabel('Workspace')).toHaveValue('Perception');
  await expect(page.getByLabel('Your name')).toHaveValue('Ines Okafor');
  await expect(page.getByLabel('E-mail')).toHaveValue('ines@nordlicht.example');
  await expect(page.getByLabel('Time zone')).toHaveValue('Africa/Lagos');
  await expect(page.getByLabel('Password', { exact: true }), 'passwords never come back').toHaveValue('');
}

test('a fresh server sends every visitor to the set-up page, which is accessible', async ({
  page,
  visit,
  expectAccessible,
}) => {
  for (const path of ['/', '/sign-in', '/w/perception/admin/people', '/no/such/page']) {
    await visit(path);
    await expect(page, path).toHaveURL('/set-up');
  }
  await expect(page.getByRole('heading', { name: 'Set up Atelier', level: 1 })).toBeVisible();
  await expect(page.getByLabel('Set-up code')).toBeFocused();
  await page.getByText('Where is the set-up code?').click();
  await expect(page.getByRole('region', { name: 'Command line' })).toContainText("grep 'set-up code'");
  await expectAccessible();
});

test('cannot take a server without the code from its log, and keeps what was typed', async ({
  page,
  visit,
  expectAccessible,
}) => {
  await visit('/set-up');
  await fill(page, 'aaaa-bbbb-cccc');
  await page.getByRole('button', { name: 'Create the workspace' }).click();
  await expect(page.getByLabel('Set-up code')).toHaveAccessibleDescription(/This is not the code/);
  await expect(page.getByLabel('Set-up code')).toHaveValue('aaaa-bbbb-cccc');
  await expectKept(page);
  await expectAccessible();
});

test('cannot choose a weak password: the reason stands beside the field and the rest is kept', async ({
  page,
  server,
  visit,
  ready,
}) => {
  await visit('/set-up');
  for (const [weak, reason] of [
    ['short', /Use at least 12 characters; this has 5\./],
    ['Password2024!!', /one of the first passwords anyone would try/],
    ['ines-ines-12', /your e-mail name with little added/],
  ] as const) {
    await fill(page, server.setUpCode, weak);
    await page.getByRole('button', { name: 'Create the workspace' }).click();
    await expect(page.getByLabel('Password', { exact: true })).toHaveValue('');
    await expect(page.getByLabel('Password', { exact: true })).toHaveAccessibleDescription(reason);
    await expect(page.getByLabel('Password', { exact: true })).toHaveAttribute('aria-invalid', 'true');
    await expect(page.getByLabel('Set-up code')).toHaveValue(server.setUpCode);
    await expectKept(page);
    await ready();
  }
});

test('can be set up once with the code, and lands in the studio', async ({ page, server, visit, another, baseURL }) => {
  await visit('/set-up');
  await fill(page, server.setUpCode.toUpperCase());
  await page.getByRole('button', { name: 'Create the workspace' }).click();
  await expect(page).toHaveURL('/w/perception');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Good (morning|afternoon|evening), Ines$/);
  await expect(toast(page, 'Welcome, Ines Okafor. Perception is ready.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Workspace: Perception' })).toBeVisible();

  // The next visitor finds the door shut.
  const stranger = await another();
  await stranger.goto(`${baseURL}/set-up`);
  await expect(stranger).toHaveURL(/\/sign-in/);
  await expect(stranger.getByText('to Perception')).toBeVisible();
  await visit('/set-up');
  await expect(page, 'nor can the first one do it again').toHaveURL('/w/perception');
});
