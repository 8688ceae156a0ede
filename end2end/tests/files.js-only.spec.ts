// What script adds to Files: uploads in pieces that go on after a cut.

import { admin, expect, test, unique } from '../fixtures.ts';

const files = '/w/studio/files';

// The cuts are meant.
test.use({ allowedConsoleErrors: /ERR_CONNECTION_RESET/ });

test('an upload that was cut goes on where it was', async ({ signedInAs, visit, ready }) => {
  const page = await signedInAs(admin);
  const folder = `cut-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '');
  await visit(files);
  await page.getByRole('textbox', { name: 'Name' }).fill(folder);
  await page.getByRole('button', { name: 'Make folder' }).click();
  await expect(page.getByRole('heading', { name: folder, level: 1 })).toBeVisible();
  await ready();

  // Two pieces and a bit. The second is cut twice on its way.
  const size = 17 * 1024 * 1024;
  const offsets: number[] = [];
  let cuts = 0;
  await page.route('**/files/uploads/**', async (route) => {
    const offset = Number(new URL(route.request().url()).searchParams.get('offset'));
    if (route.request().method() === 'PUT') {
      offsets.push(offset);
      if (offset > 0 && cuts < 2) {
        cuts += 1;
        return route.abort('connectionreset');
      }
    }
    return route.continue();
  });
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(size, 7) });
  await page.getByRole('button', { name: 'Upload' }).click();
  await expect(page.getByRole('link', { name: 'large.bin', exact: true })).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText('17.0 MiB', { exact: true })).toBeVisible();
  expect(cuts).toBe(2);
  expect(new Set(offsets).size, 'each piece has its own place').toBe(3);
});
