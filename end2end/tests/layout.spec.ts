import type { Page } from '@playwright/test';

import { admin, expect, test } from '../fixtures.ts';
import { everyPage } from '../pages.ts';

const widths = [360, 390, 800, 1180, 1440];

/** Whether the page can be scrolled sideways, and which elements stick out. */
async function expectNoOverflow(page: Page): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const { room, needed, guilty } = await page.evaluate(() => {
      const { clientWidth: room, scrollWidth: needed } = document.documentElement;
      const wide = needed > room ? [...document.querySelectorAll('body *')] : [];
      const guilty = wide
        .filter((element) => element.getBoundingClientRect().right > room + 1)
        .map((element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`);
      return { room, needed, guilty };
    });
    expect(needed, `${page.url()} at ${width} px: ${guilty.slice(-4).join(', ')}`).toBeLessThanOrEqual(room);
  }
}

for (const [name, path] of everyPage) {
  test(`${name} fits into every width`, async ({ signedInAs, newPerson, visit }) => {
    const page = await signedInAs(admin);
    // Long words find the places that do not break them.
    const name = 'Wolfeschlegelsteinhausenbergerdorff-Hohenlohe-Waldenburg Maximiliana';
    await visit(path(await newPerson({ name, roles: ['reader', 'data-scientist', 'compute-operator', 'contributor'], waiting: true })));
    await expectNoOverflow(page);
  });
}

test('the pages before one is in fit into every width', async ({ page, visit }) => {
  await visit('/sign-in');
  await page.getByText('Forgot your password?').click();
  await expectNoOverflow(page);
});

test.describe('pages that refuse', () => {
  test.use({ allowedConsoleErrors: /status of (403|404)/ });

  test('fit into every width', async ({ signedInAs, somebody, visit }) => {
    const page = await signedInAs(await somebody('reader'));
    for (const path of ['/no/such/page', '/w/studio/admin/people/new', '/w/studio/admin/people', '/w/studio']) {
      await visit(path);
      await expectNoOverflow(page);
    }
  });
});
