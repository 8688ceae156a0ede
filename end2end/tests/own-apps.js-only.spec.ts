// An application that somebody added, for real: on a port in a network of its own, at an address of its own.

import { admin, expect, testOnWorkstations as test } from '../fixtures.ts';
import { create, desk, open, typed } from '../workstation.ts';

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(180_000);

test('an application on a port opens at its own address, and goes when it is removed', async ({ signedInAs, visit, context }) => {
  const page = await signedInAs(admin);
  await create(page, visit);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  await visit(`${desk}/apps`);
  await page.getByLabel('Name', { exact: true }).fill('pages');
  await page.getByLabel('Name for people').fill('My pages');
  await page.getByRole('textbox', { name: 'Command' }).fill('python3 -m http.server {port} --bind 127.0.0.1 --directory {home}');
  await page.locator('#f-port').fill('8123');
  await page.getByRole('button', { name: 'Add application' }).click();
  const row = page.getByRole('table', { name: 'Applications' }).getByRole('row', { name: /My pages/ });
  await expect(row).toContainText('Ready after', { timeout: 30_000 });

  // Something to be seen there, and nobody who looks for the port on the machine finds it.
  await visit(desk);
  const shell = await open(page, context, /Terminal/);
  await shell.waitForURL(/terminal--desk--studio\.localhost/);
  await typed(shell, 'echo from my own pages > hello.txt; echo wrote $?', /wrote 0/);
  const isRoot = process.getuid?.() === 0;
  const look = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8123), 2)' 2>/dev/null && echo is seen || echo is hidden";
  await typed(shell, look, isRoot ? /is hidden\s*\n/ : /is (seen|hidden)\s*\n/);
  await shell.close();

  const app = await open(page, context, /My pages/);
  await app.waitForURL(/pages--desk--studio\.localhost/, { timeout: 30_000 });
  await app.getByRole('link', { name: 'hello.txt' }).click();
  await expect(app.getByText('from my own pages')).toBeVisible();

  // A program that ends says what it printed, and a change mends it.
  await visit(`${desk}/apps?edit=pages`);
  await page.getByRole('textbox', { name: 'Command' }).fill('python3 -c "raise SystemExit(\'no such thing\')"');
  await page.getByRole('button', { name: 'Save application' }).click();
  await expect(page.getByText('no such thing').first()).toBeVisible({ timeout: 30_000 });
  await row.getByRole('button', { name: 'Remove My pages' }).click();
  await expect(row).toHaveCount(0);
  const gone = await app.goto(app.url());
  expect(gone?.url()).not.toContain('pages--desk');
});
