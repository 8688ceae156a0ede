import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { Page } from '@playwright/test';

import { repacked } from './png.ts';
import { settle, test } from './studio.ts';

const directory = resolve(import.meta.dirname, '../../docs/screenshots');

async function save(page: Page, name: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.png`), repacked(await page.screenshot({ animations: 'disabled' })));
}

for (const [name, path] of [
  ['home', '/w/perception'],
  ['people', '/w/perception/admin/people'],
  ['roles', '/w/perception/admin/roles'],
] as const) {
  test(name, async ({ signedIn: page }) => {
    await settle(page, path);
    await save(page, name);
  });
}

test('people-dark', async ({ signedIn: page }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await settle(page, '/w/perception/admin/people');
  await page.getByRole('checkbox', { name: 'Select Mara Lindqvist' }).check();
  await page.getByRole('checkbox', { name: 'Select Yuki Tanaka' }).check();
  await save(page, 'people-dark');
});

test('people-phone', async ({ signedIn: page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await settle(page, '/w/perception/admin/people');
  await save(page, 'people-phone');
});

test('sign-in', async ({ page }) => {
  await settle(page, '/sign-in');
  await save(page, 'sign-in');
});
