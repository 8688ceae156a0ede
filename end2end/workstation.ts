// A workstation of a test's own, and what people do there: make it, open its applications, run a cell, type a line.

import type { BrowserContext, Page } from '@playwright/test';

import { expect } from './fixtures.ts';

export const instances = '/w/studio/compute/instances';
export const desk = `${instances}/desk`;

type Visit = (path: string) => Promise<unknown>;

/** Makes the instance `desk` through the wizard and waits for its page. */
export async function create(page: Page, visit: Visit, size = 'local-half'): Promise<void> {
  await visit(`${instances}/new`);
  await page.getByLabel('Name', { exact: true }).fill('desk');
  // Its label lies over it and takes the click.
  await page.getByRole('radio', { name: size }).check({ force: true });
  await page.getByRole('button', { name: 'Review + create' }).click();
  await page.getByRole('button', { name: 'Create instance' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('desk');
}

/** Opens an application from the instance's page, in the tab that opens for it. */
export async function open(page: Page, context: BrowserContext, name: RegExp): Promise<Page> {
  const coming = context.waitForEvent('page');
  await page.getByRole('link', { name }).first().click();
  return coming;
}

/** Runs a line in the last cell of the notebook. */
export async function run(lab: Page, line: string): Promise<void> {
  const cells = lab.locator('.jp-Notebook .jp-Cell');
  const cell = cells.nth((await cells.count()) - 1);
  const editor = cell.locator('.cm-content');
  // The editor is made a moment after the cell, and the kernel takes work a moment after that; what comes before is lost.
  await expect(async () => {
    await editor.fill(line);
    await expect(editor).toHaveText(line, { timeout: 1_000 });
    await editor.press('Shift+Enter');
    await expect(cell.locator('.jp-InputPrompt').first()).toHaveText(/\[[*\d]+\]/, { timeout: 3_000 });
  }).toPass({ timeout: 60_000 });
}

/** Types a line into a terminal and waits until it prints what is expected. */
export async function typed(shell: Page, line: string, printed: RegExp): Promise<void> {
  await shell.locator('.xterm-helper-textarea').focus();
  await shell.keyboard.type(`${line}\n`);
  await expect.poll(() => text(shell)).toMatch(printed);
}

/** All that a terminal shows; nothing before its script has run. */
export async function text(shell: Page): Promise<string> {
  return shell.evaluate(() => {
    const buffer = (window as unknown as { atelierTerminal?: { buffer: { active: { length: number; getLine(row: number): { translateToString(trim: boolean): string } | undefined } } } })
      .atelierTerminal?.buffer.active;
    if (!buffer) return '';
    return Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row)?.translateToString(true) ?? '').join('\n');
  });
}
