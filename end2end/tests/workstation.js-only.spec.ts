// A workstation for real: JupyterLab and a terminal at addresses of their own, through stops, restarts and an evening.

import { admin, expect, testOnWorkstations as test } from '../fixtures.ts';
import { create, desk, open, run, text, typed } from '../workstation.ts';

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(180_000);

test('a workstation: a notebook, a terminal, a stop and all of it again', async ({ signedInAs, visit, context, server }) => {
  const page = await signedInAs(admin);
  await create(page, visit);

  // JupyterLab, at its own address.
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  const lab = await open(page, context, /JupyterLab/);
  await lab.waitForURL(/jupyter--desk--studio\.localhost/, { timeout: 60_000 });
  await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: 60_000 });
  await expect(lab.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')).toBeAttached({ timeout: 60_000 });
  await run(lab, 'print(6 * 7, "from a real kernel")');
  await expect(lab.locator('.jp-OutputArea-output').first()).toContainText('42 from a real kernel', { timeout: 60_000 });
  await lab.keyboard.press('Control+s');

  // The terminal, in the same home.
  await visit(desk);
  const shell = await open(page, context, /Terminal/);
  await shell.waitForURL(/terminal--desk--studio\.localhost/);
  await typed(shell, 'ls; echo kept > note.txt; echo wrote $?', /Untitled\.ipynb[\s\S]*wrote 0/);

  // A restarted server finds both, and both find it.
  await server.stop();
  await expect(shell.locator('#state')).toContainText('The shell goes on');
  // What is typed meanwhile is not lost.
  await shell.locator('.xterm-helper-textarea').focus();
  await shell.keyboard.type('echo early $((30 + 3))\n');
  // JupyterLab says that its server was away; that is to be read and closed.
  const dialog = lab.locator('.jp-Dialog');
  await lab.addLocatorHandler(dialog, () => dialog.getByRole('button').last().click());
  await server.start();
  await expect(shell.locator('#state')).toBeHidden({ timeout: 30_000 });
  await expect.poll(() => text(shell)).toMatch(/early 33/);
  await typed(shell, 'echo still $((40 + 2))', /still 42/);
  await run(lab, 'print("the same kernel:", 6 * 7)');
  await expect(lab.locator('.jp-OutputArea-output').last()).toContainText('the same kernel: 42', { timeout: 60_000 });
  await lab.close();
  await shell.close();

  // Stopped and started again: the files are there.
  await visit(desk);
  await page.getByRole('link', { name: 'Stop', exact: true }).click();
  await page.getByRole('button', { name: 'Stop desk' }).click();
  await expect(page.getByText('Stopped').first()).toBeVisible();
  const again = await context.newPage();
  const address = new URL(server.url);
  await again.goto(`http://terminal--desk--studio.localhost:${address.port}/`);
  await again.getByRole('button', { name: 'Start and open' }).click();
  await again.waitForURL(/terminal--desk--studio\.localhost/, { timeout: 60_000 });
  await expect(again.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  await typed(again, 'cat note.txt; ls *.ipynb', /kept[\s\S]*Untitled\.ipynb/);
});

test('nobody else gets in, and a page of an application gets nowhere', async ({ signedInAs, visit, context, another, newPerson, server }) => {
  const page = await signedInAs(admin);
  await create(page, visit);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  const shell = await open(page, context, /Terminal/);
  await shell.waitForURL(/terminal--desk--studio\.localhost/);
  await expect(shell.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  const origin = new URL(shell.url()).origin;
  const port = new URL(server.url).port;

  // Another Owner: not the page, not the socket, not by any link.
  const other = await another(await newPerson({ roles: ['owner'] }));
  await other.goto(`${server.url}/w/studio/instances/desk/open/terminal`);
  await expect(other.getByText(/not yours to open/i).first()).toBeVisible();
  await other.goto(`${origin}/`);
  expect(new URL(other.url()).origin).not.toBe(origin);
  const refused = await other.request.get(`http://127.0.0.1:${port}/session/1`, {
    headers: { host: new URL(origin).host, origin, upgrade: 'websocket', connection: 'upgrade' },
  });
  expect([400, 401, 403]).toContain(refused.status());

  // A script of the application's own page, as an attacker would write it there.
  const tried = await shell.evaluate(
    async ({ portal, sibling }) => {
      const fetched = async (address: string, init: RequestInit) => {
        try {
          const answer = await fetch(address, init);
          return answer.type === 'opaque' ? 'opaque' : String(answer.status);
        } catch {
          return 'refused';
        }
      };
      const socket = (address: string) =>
        new Promise<string>((done) => {
          const opened = new WebSocket(address);
          opened.onopen = () => done('open');
          opened.onerror = () => done('refused');
        });
      return {
        cookie: document.cookie,
        read: await fetched(`${portal}/w/studio`, { credentials: 'include' }),
        api: await fetched(`${portal}/api/v1/instances`, { credentials: 'include' }),
        post: await fetched(`${portal}/fn/stop_instance`, { method: 'POST', credentials: 'include', mode: 'no-cors' }),
        other: await fetched(`${sibling}/api/kernels`, { credentials: 'include' }),
        socket: await socket(`${sibling.replace('http', 'ws')}/api/events`),
      };
    },
    { portal: `http://localhost:${port}`, sibling: `http://jupyter--desk--studio.localhost:${port}` },
  );
  expect(tried.cookie).not.toMatch(/atelier/);
  expect(tried.read).toBe('refused');
  expect(tried.api).toBe('refused');
  expect(tried.other).toBe('refused');
  expect(tried.socket).toBe('refused');
  // Framed, the portal shows nothing.
  const framed = await shell.evaluate(
    (address) =>
      new Promise<string>((done) => {
        const frame = document.createElement('iframe');
        frame.onload = () => done('loaded');
        frame.src = address;
        document.body.append(frame);
      }),
    `http://localhost:${port}/w/studio`,
  );
  expect(framed).toBe('loaded');
  expect(shell.frames().map((frame) => frame.url())).not.toContainEqual(expect.stringContaining('/w/studio'));
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible();
});
