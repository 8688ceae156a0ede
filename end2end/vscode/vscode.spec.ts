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

test.use({ allowedConsoleErrors: /^/, viewport: { width: 1440, height: 900 } });
test.setTimeout(1_800_000);

/** The line of a file in the explorer. */
const inExplorer = (code: Page, file: string) => code.locator('.explorer-viewlet .monaco-list-row').filter({ hasText: file }).first();

/** The editor that shows a text; it draws blanks as something else, and has more than one such part. */
const written = (code: Page, text: string) =>
  code.locator('.editor-instance .view-lines').filter({ hasText: new RegExp(text.replaceAll(' ', '\\s+')) }).first();

/** Has a terminal of VS Code make a file. A shell that has just begun may lose what is typed, so it is typed until the file is there. */
async function inTerminal(code: Page, line: string, file: string): Promise<void> {
  await code.keyboard.press('Control+Shift+Backquote');
  const input = code.locator('.terminal-wrapper .xterm-helper-textarea').last();
  await expect(input).toBeAttached({ timeout: 60_000 });
  await expect(async () => {
    await input.focus();
    await code.keyboard.type(`${line}\n`, { delay: 20 });
    await expect(inExplorer(code, file)).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: 120_000 });
}

/** Opens a file from the explorer and waits until it shows that. */
async function opens(code: Page, file: string, text: string): Promise<void> {
  await expect(async () => {
    await inExplorer(code, file).dblclick();
    await expect(code.locator('.tab.active').filter({ hasText: file }).first()).toBeVisible({ timeout: 5_000 });
    await expect(written(code, text)).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: 120_000 });
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

  // The editor, its extensions and a terminal want more than the smallest size has.
  await create(page, visit, 'local-2');
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

  // Typing into an editor counts.
  await expect(async () => {
    await code.keyboard.press('F1');
    await expect(code.locator('.quick-input-widget input').first()).toBeFocused({ timeout: 5_000 });
    await code.keyboard.type('New Untitled Text File', { delay: 20 });
    await expect(code.locator('.quick-input-list .monaco-list-row').first()).toContainText('New Untitled Text File', { timeout: 5_000 });
    await code.keyboard.press('Enter');
    await expect(code.locator('.tab.active').filter({ hasText: 'Untitled-1' })).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: 60_000 });
  await code.keyboard.type('typed by hand', { delay: 20 });
  await expect(written(code, 'typed by hand')).toBeVisible();
  await server.letPass(1);
  await visit(desk);
  await expect(page.getByText('Typing in VS Code').first()).toBeVisible({ timeout: 30_000 });
  await code.bringToFront();

  // A terminal writes a file, and it is opened.
  await inTerminal(code, 'echo "the answer is $((40 + 2))" > note.txt', 'note.txt');
  await opens(code, 'note.txt', 'the answer is 42');

  // What is typed is saved, and is what a terminal reads.
  await written(code, 'the answer is 42').click();
  await code.keyboard.press('Control+End');
  await code.keyboard.type('and so on', { delay: 20 });
  await code.keyboard.press('Control+s');
  await inTerminal(code, 'cp note.txt copy.txt', 'copy.txt');
  await opens(code, 'copy.txt', 'and so on');
});
