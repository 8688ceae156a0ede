// What every browser test starts from: `import { expect, test } from '../fixtures.ts'`.

import { AxeBuilder } from '@axe-core/playwright';
import { test as base, expect, type Browser, type BrowserContextOptions, type Cookie, type Page } from '@playwright/test';

import { admin, type Account } from './server.ts';

export { admin, expect, type Account };

interface Options {
  /** Console errors that a test is about, such as the one Chromium prints for a page with status 404. */
  allowedConsoleErrors: RegExp[];
}

interface Fixtures {
  /** Fails the test when any of its pages prints an error or throws; always on. */
  noConsoleErrors: void;
  /** Fails when axe finds anything on the page as it is now. */
  expectAccessible: (page: Page) => Promise<void>;
  /** Signs the test's page in and returns it. */
  signedInAs: (account: Account) => Promise<Page>;
}

interface WorkerFixtures {
  /** The cookies of accounts that signed in before, by e-mail: passwords are slow to check, on purpose. */
  sessions: Map<string, Cookie[]>;
}

export const test = base.extend<Options & Fixtures, WorkerFixtures>({
  allowedConsoleErrors: [[], { option: true }],

  noConsoleErrors: [
    async ({ context, allowedConsoleErrors }, use) => {
      const errors: string[] = [];
      context.on('console', (message) => {
        if (message.type() === 'error') errors.push(`${message.text()} (${message.location().url})`);
      });
      context.on('weberror', (error) => errors.push(String(error.error().stack ?? error.error())));
      await use();
      const unexpected = errors.filter((error) => !allowedConsoleErrors.some((allowed) => allowed.test(error)));
      expect(unexpected, 'errors in the browser console').toEqual([]);
    },
    { auto: true },
  ],

  expectAccessible: async ({ browser, javaScriptEnabled, colorScheme }, use) => {
    await use(async (page) => {
      const twin = javaScriptEnabled ? undefined : await scriptableTwin(page, browser, { colorScheme });
      const { violations } = await new AxeBuilder({ page: twin ?? page }).analyze();
      await twin?.context().close();
      const findings = violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${target.join(' ')}\n${failureSummary ?? ''}`),
      );
      expect(findings, `accessibility of ${page.url()}`).toEqual([]);
    });
  },

  sessions: [async ({}, use) => use(new Map()), { scope: 'worker' }],

  signedInAs: async ({ page, context, sessions }, use) => {
    await use(async (account) => {
      const cookies = sessions.get(account.email);
      if (cookies) {
        await context.addCookies(cookies);
        return page;
      }
      await signIn(page, account);
      sessions.set(account.email, await context.cookies());
      return page;
    });
  },
});

/** Signs in through the page, as a person does. */
export async function signIn(page: Page, { email, password }: Account): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).not.toHaveURL(/\/sign-in/);
}

/**
 * Opens what a page without scripts shows in a context where axe, itself a script, can run: the same document, minus its
 * script elements, with the same cookies, size and styles.
 */
async function scriptableTwin(page: Page, browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const html = (await page.content()).replace(/<script\b[\s\S]*?<\/script>/gi, '');
  const context = await browser.newContext({
    ...options,
    viewport: page.viewportSize(),
    storageState: await page.context().storageState(),
    javaScriptEnabled: true,
  });
  const twin = await context.newPage();
  await twin.route('**/*', (route) =>
    route.request().isNavigationRequest() ? route.fulfill({ contentType: 'text/html', body: html }) : route.continue(),
  );
  await twin.goto(page.url());
  return twin;
}
