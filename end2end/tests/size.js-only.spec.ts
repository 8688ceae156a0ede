// What a first visit costs: every byte that comes over the wire, headers included, fonts apart.

import type { Page } from '@playwright/test';

import { expect, test } from '../fixtures.ts';

const LIMIT_KB = 300;

/** Opens a page in a browser that knows nothing yet, and returns the sizes of what it fetched, compressed. */
async function firstLoad(page: Page, visit: (path: string) => Promise<unknown>, path: string): Promise<Map<string, number>> {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send('Network.enable');
  await protocol.send('Network.setCacheDisabled', { cacheDisabled: true });
  const names = new Map<string, string>();
  const sizes = new Map<string, number>();
  protocol.on('Network.responseReceived', ({ requestId, response }) => names.set(requestId, response.url));
  protocol.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = names.get(requestId);
    if (url && !url.endsWith('.woff2')) sizes.set(`${requestId} ${url}`, encodedDataLength);
  });
  await visit(path);
  await expect.poll(() => [...sizes.keys()].some((url) => url.endsWith('.wasm')), 'the wasm has come').toBe(true);
  return sizes;
}

function total(sizes: Map<string, number>, what: string): number {
  const kb = [...sizes.values()].reduce((sum, size) => sum + size, 0) / 1000;
  console.log(`first load of ${what}: ${kb.toFixed(1)} kB compressed, without fonts, in ${sizes.size} files`);
  for (const [url, size] of sizes) console.log(`  ${(size / 1000).toFixed(1).padStart(6)} kB  ${url.replace(/^.* https?:\/\/[^/]+/, '')}`);
  return kb;
}

test('the first load of the sign-in page is small', async ({ page, visit }) => {
  const kb = total(await firstLoad(page, visit, '/sign-in'), 'the sign-in page');
  expect(kb).toBeGreaterThan(20);
  expect(kb).toBeLessThan(LIMIT_KB);
});

test('the first load of the signed-in home is small', async ({ signedInAs, somebody, visit }) => {
  const page = await signedInAs(await somebody('data-scientist'));
  const kb = total(await firstLoad(page, visit, '/w/studio'), 'the signed-in home');
  expect(kb).toBeGreaterThan(20);
  expect(kb).toBeLessThan(LIMIT_KB);
});
