// VS Code, installed through the operator's button: a terminal and a file in it, and when somebody counts as being at work.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Page } from '@playwright/test';

import { admin, expect, testOnWorkstations } from '../fixtures.ts';
import { Server } from '../server.ts';
import { create, desk, open } from '../workstation.ts';

/** A server that has no environment and no editor yet, and a place for them. */
const test = testOnWorkstations.extend<{ server: Server }>({
  server: async ({}, use) => {
    const place = mkdtempSync(join(tmpdir(), 'atelier-vscode-'));
    const server = await Server.start('with-admin', 'workstations', ['--environments', join(place, 'environments')]);
    await use(server);
    await server.remove();
    rmSync(place, { recursive: true, force: true });
  },
});

test.use({ allowedConsoleErrors: /./, viewport: { width: 1440, height: 900 } });
test.setTimeout(1_800_000);

/** Runs a line in a terminal of VS Code, made anew if there is none. */
async function inTerminal(code: Page, line: string): Promise<void> {
  await code.keyboard.press('Control+Shift+Backquote');
  await expect(code.locator('.terminal-wrapper .xterm-helper-textarea').last()).toBeAttached({ timeout: 60_000 });
  await code.locator('.terminal-wrapper .xterm-helper-textarea').last().focus();
  await code.keyboard.type(`${line}\n`, { delay: 20 });
}

test('VS Code is installed by a button, opens a file and runs a terminal, and only typing is activity', async ({
  signedInAs,
  visit,
  context,
  server,
}) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/environment');
  await page.getByRole('button', { name: 'Install VS Code' }).click();
  const card = page.locator('#vscode');
  await expect(card).toContainText('Installing', { timeout: 30_000 });
  await expect(card).toContainText(/Every instance offers it|could not be installed/, { timeout: 1_500_000 });
  await expect(card).toContainText('Every instance offers it');

  await create(page, visit);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  await visit(desk);
  await expect(page.getByRole('link', { name: /VS Code/ }).first()).toContainText('Starts when you open it');
  const code = await open(page, context, /VS Code/);
  await code.waitForURL(/vscode--desk--studio\.localhost/, { timeout: 60_000 });
  await expect(code.locator('.monaco-workbench .part.editor')).toBeVisible({ timeout: 120_000 });

  // A tab that is only open is nobody at work, however long.
  await expect(code.locator('.monaco-workbench .part.statusbar')).toBeVisible({ timeout: 60_000 });
  await server.letPass(1);
  await server.letPass(5);
  await visit(desk);
  await expect(page.getByText('Typing in VS Code')).toHaveCount(0);
  await code.bringToFront();

  // A terminal writes a file.
  await inTerminal(code, 'echo "the answer is $((40 + 2))" > note.txt');
  // It is opened by its name.
  await expect(async () => {
    await code.keyboard.press('Control+p');
    await code.keyboard.type('note.txt', { delay: 20 });
    await expect(code.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'note.txt' }).first()).toBeVisible({ timeout: 5_000 });
    await code.keyboard.press('Enter');
    await expect(code.locator('.editor-instance .view-lines').first()).toContainText('the answer is 42', { timeout: 10_000 });
  }).toPass({ timeout: 120_000 });

  // Typing counts.
  await server.letPass(1);
  await visit(desk);
  await expect(page.getByText('Typing in VS Code').first()).toBeVisible({ timeout: 30_000 });

  // What is typed is saved, and is what a terminal reads.
  await code.bringToFront();
  await code.locator('.editor-instance .view-lines').first().click();
  await code.keyboard.press('Control+End');
  await code.keyboard.type('and so on', { delay: 20 });
  await code.keyboard.press('Control+s');
  await inTerminal(code, 'cp note.txt copy.txt');
  await expect(async () => {
    await code.keyboard.press('Control+p');
    await code.keyboard.type('copy.txt', { delay: 20 });
    await code.keyboard.press('Enter');
    await expect(code.locator('.editor-instance .view-lines').last()).toContainText('and so on', { timeout: 10_000 });
  }).toPass({ timeout: 120_000 });
});
