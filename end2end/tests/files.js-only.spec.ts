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

test('code has its colours while it is typed', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit(`${files}/new`);
  await page.getByLabel('Name').fill('fit.py');
  const text = page.getByLabel('Text');
  await text.fill('def fit(x):\n    return "a" # more');
  const shown = page.locator('.coded .source');
  await expect(shown.locator('.k')).toHaveText(['def', 'return']);
  await expect(shown.locator('.s')).toHaveText('"a"');
  // Both show the same text at the same place.
  await text.fill(Array.from({ length: 100 }, (_, line) => `line_${line} = ${'1 + '.repeat(80)}${line}`).join('\n'));
  await text.evaluate((field) => field.scrollTo(300, 1_000));
  await expect.poll(() => shown.evaluate((copy) => [copy.scrollLeft, copy.scrollTop])).toEqual([300, 1_000]);
  const [own, copy] = await Promise.all([text, shown].map((one) => one.evaluate(({ scrollHeight, scrollWidth }) => ({ scrollHeight, scrollWidth }))));
  expect(copy?.scrollHeight).toBe(own?.scrollHeight);
  // A field leaves no room behind its longest line.
  expect(copy?.scrollWidth).toBeGreaterThanOrEqual(own?.scrollWidth ?? Infinity);
  // What is very long stays plain, and can be read.
  await text.fill('word '.repeat(20_000));
  await expect(page.locator('.coded')).not.toHaveAttribute('data-coloured');
  await expect(shown).toHaveText('');
  await text.fill('def fit(x): ...');
  await expect(shown.locator('.k')).toHaveText(['def']);
  // Another name, another language.
  await page.getByLabel('Name').fill('notes.txt');
  await expect(shown.locator('span')).toHaveCount(0);
});
