// The card of SSH keys on the profile page.

import type { Page } from '@playwright/test';

import { expect, test, toast, unique } from '../fixtures.ts';

/** A key of its own for each test: thirty-two bytes that nobody else has. */
function publicKey(): string {
  const head = Buffer.from('0000000b7373682d6564323535313900000020', 'hex');
  const body = Buffer.alloc(32);
  crypto.getRandomValues(body);
  return `ssh-ed25519 ${Buffer.concat([head, body]).toString('base64')}`;
}

const rowOf = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Your SSH keys' }).getByRole('row').filter({ hasText: name });

async function add(page: Page, key: string, name: string): Promise<void> {
  await page.getByLabel('Public key').fill(key);
  await page.locator('#ssh-key-name').fill(name);
  await page.getByRole('button', { name: 'Add the key' }).click();
}

test('a key is added with its fingerprint, and removed', async ({
  signedInAs,
  newPerson,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(await newPerson());
  const name = `Laptop ${unique()}`;
  await visit('/profile');
  await expect(page.getByText('0 keys')).toBeVisible();
  await add(page, publicKey(), name);
  await expect(toast(page, `The key “${name}” was added.`)).toBeVisible();
  await ready();
  await expectAccessible();
  const row = rowOf(page, name);
  await expect(row).toContainText('ed25519 SHA256:');
  await expect(row).toContainText('never');
  await row.getByRole('button', { name: `Remove the SSH key ${name}` }).click();
  await expect(toast(page, `The key “${name}” was removed.`)).toBeVisible();
  await expect(page.getByRole('table', { name: 'Your SSH keys' })).toHaveCount(0);
});

test('what is no key, or a private one, is refused beside its field', async ({ signedInAs, newPerson, visit }) => {
  const page = await signedInAs(await newPerson());
  await visit('/profile');
  await add(page, '-----BEGIN OPENSSH PRIVATE KEY-----', 'mine');
  await expect(page.getByLabel('Public key')).toHaveAccessibleDescription(/private half of a key/);
  await expect(page.locator('#ssh-key-name')).toHaveValue('mine');
  await add(page, 'ssh-dss AAAAB3NzaC1kc3M', 'old');
  await expect(page.getByLabel('Public key')).toHaveAccessibleDescription(/DSA keys are not safe/);
  const key = publicKey();
  await add(page, key, 'first');
  await add(page, key, 'second');
  await expect(page.getByLabel('Public key')).toHaveAccessibleDescription(/You have this key already: it is called “first”/);
});
