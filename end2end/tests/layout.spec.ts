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

test('every page fits into every width', async ({ signedInAs, newPerson, visit }) => {
  test.slow(); // one visit to each page, in one browser: starting anew for each would take much longer
  const page = await signedInAs(admin);
  const person = await newPerson({
    // Long words find the places that do not break them.
    name: 'Wolfeschlegelsteinhausenbergerdorff-Hohenlohe-Waldenburg Maximiliana',
    roles: ['reader', 'data-scientist', 'compute-operator', 'contributor'],
    waiting: true,
  });
  for (const [name, path] of everyPage) {
    await test.step(name, async () => {
      await visit(path(person));
      await expectNoOverflow(page);
    });
  }
});

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
