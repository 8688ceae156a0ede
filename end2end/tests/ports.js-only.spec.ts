// Applications at ports of their own, where names cannot be had.

import { admin, expect, testOnWorkstations } from '../fixtures.ts';
import { Server, freePair } from '../server.ts';
import { create, desk, open, typed } from '../workstation.ts';

const test = testOnWorkstations.extend({
  server: async ({}, use) => {
    const [first, last] = await freePair();
    const server = await Server.start('with-admin', 'workstations', ['--apps-ports', `${first}-${last}`]);
    await use(server);
    await server.remove();
  },
});

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(120_000);

test('an application has a port of its own, and says what that costs', async ({ signedInAs, visit, context, server, expectAccessible }) => {
  const page = await signedInAs(admin);
  await create(page, visit);
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText('Reduced isolation of applications')).toBeVisible();
  await expectAccessible();
  const shell = await open(page, context, /Terminal/);
  await expect(shell.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  const [there, portal] = [new URL(shell.url()), new URL(server.url)];
  expect(there.hostname).toBe(portal.hostname);
  expect(there.port).not.toBe(portal.port);
  await typed(shell, 'echo here $((40 + 2))', /here 42/);

  // A script there is a stranger to the portal all the same: it reads nothing, and its forms are refused.
  const tried = await shell.evaluate(async (address) => {
    const answer = (init: RequestInit) => fetch(`${address}/w/studio`, init).then(
      () => 'answered',
      () => 'refused',
    );
    document.body.insertAdjacentHTML('beforeend', `<form method="post" action="${address}/fn/stop_instance"><input name="instance" value="desk"></form>`);
    return { cookie: document.cookie, read: await answer({ credentials: 'include' }) };
  }, server.url);
  expect(tried.cookie).not.toMatch(/atelier/);
  expect(tried.read).toBe('refused');
  await shell.evaluate(() => document.querySelector('form')?.submit());
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible();

  // The port stays the application's after a restart.
  await server.stop();
  await server.start();
  const again = await context.newPage();
  await again.goto(there.origin);
  await expect(again.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  expect(new URL(again.url()).origin).toBe(there.origin);
});
