// What every browser test starts from: `import { expect, test } from '../fixtures.ts'`.

import {
  test as base,
  expect,
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
  type Response,
} from '@playwright/test';
import axe from 'axe-core';

import { Office, unique, type Person, type Role, type Wanted } from './office.ts';
import { Server, admin, baseURL, type Account } from './server.ts';

export { admin, expect, unique, type Account, type Person, type Role };

interface Options {
  /** The console errors that a test is about, such as the one Chromium prints for a page with status 404. */
  allowedConsoleErrors: RegExp | undefined;
}

interface Fixtures {
  /** Fails the test when any of its pages prints an error or throws; always on. Watches one more browser context. */
  watch: (context: BrowserContext) => void;
  /** Opens an address and, where there is script, waits until it is ready. */
  visit: (path: string, page?: Page) => Promise<Response | null>;
  /** Waits until the page's script is ready; at once where there is none. */
  ready: (page?: Page) => Promise<void>;
  /** Fails when axe finds anything on the page as it is now, in light and dark, on a desk and on a phone. */
  expectAccessible: (page?: Page) => Promise<void>;
  /** Signs the test's page in and returns it. */
  signedInAs: (account: Account) => Promise<Page>;
  /** Opens a browser of its own in which `account` is signed in, or nobody. */
  another: (account?: Account) => Promise<Page>;
  /** Adds somebody whom no other test knows. */
  newPerson: (wanted?: Wanted) => Promise<Person>;
}

interface WorkerFixtures {
  /** Makes people on the server that the tests share. */
  office: Office;
  /** Somebody with one role, for tests that only look. */
  somebody: (role: Role) => Promise<Person>;
}

export const test = base.extend<Options & Fixtures, WorkerFixtures>({
  allowedConsoleErrors: [undefined, { option: true }],

  watch: [
    async ({ context, allowedConsoleErrors }, use) => {
      const errors: string[] = [];
      const watch = (watched: BrowserContext) => {
        watched.on('console', (message) => {
          if (message.type() === 'error') errors.push(`${message.text()} (${message.location().url})`);
        });
        watched.on('weberror', (error) => errors.push(String(error.error().stack ?? error.error())));
      };
      watch(context);
      await use(watch);
      const unexpected = errors.filter((error) => !allowedConsoleErrors?.test(error));
      expect(unexpected, 'errors in the browser console').toEqual([]);
    },
    { auto: true },
  ],

  visit: async ({ page: own, ready }, use) => {
    await use(async (path, page = own) => {
      const response = await page.goto(path);
      await ready(page);
      return response;
    });
  },

  ready: async ({ page: own, javaScriptEnabled }, use) => {
    await use(async (page = own) => {
      // The script waits for a moment in which the browser is idle, which can be long in coming on a machine with other work.
      if (javaScriptEnabled) await expect(page.locator('html[data-hydrated]')).toBeAttached({ timeout: 30_000 });
    });
  },

  expectAccessible: async ({ page: own, browser, javaScriptEnabled }, use) => {
    await use(async (page = own) => {
      const judged = javaScriptEnabled ? page : await scriptableTwin(page, browser);
      const size = page.viewportSize();
      const findings: string[] = [];
      for (const width of [1440, 390]) {
        await judged.setViewportSize({ width, height: 900 });
        for (const colorScheme of ['light', 'dark'] as const) {
          await judged.emulateMedia({ colorScheme });
          findings.push(...(await violations(judged)).map((found) => `${width} px, ${colorScheme}: ${found}`));
        }
      }
      if (judged !== page) await judged.context().close();
      await page.emulateMedia({ colorScheme: null });
      if (size) await page.setViewportSize(size);
      expect(findings, `accessibility of ${page.url()}`).toEqual([]);
    });
  },

  signedInAs: async ({ page, context, office }, use) => {
    await use(async (account) => {
      await context.addCookies(await office.session(account));
      return page;
    });
  },

  another: async ({ browser, office, watch }, use) => {
    const opened: BrowserContext[] = [];
    await use(async (account) => {
      const context = await browser.newContext();
      opened.push(context);
      watch(context);
      if (account) await context.addCookies(await office.session(account));
      return context.newPage();
    });
    for (const context of opened) await context.close();
  },

  newPerson: async ({ office }, use) => use((wanted) => office.add(wanted)),

  office: [
    async ({ playwright }, use) => {
      const office = await Office.open(playwright, baseURL, admin);
      await use(office);
      await office.close();
    },
    { scope: 'worker' },
  ],

  somebody: [
    async ({ office }, use) => {
      const known = new Map<Role, Promise<Person>>();
      await use((role) => {
        const person = known.get(role) ?? office.add({ roles: [role] });
        known.set(role, person);
        return person;
      });
    },
    { scope: 'worker' },
  ],
});

/** Tests with a server of their own, which nobody has set up. Paths are on that server. */
export const testOnFreshServer = test.extend<{ server: Server }>({
  server: async ({}, use) => {
    const server = await Server.start('empty');
    await use(server);
    await server.remove();
  },
  baseURL: async ({ server }, use) => use(server.url),
});

/** Tests with a server of their own on which `admin` is the only person. Paths and people are on that server. */
export const testOnOwnServer = test.extend<{ server: Server; ownOffice: Office }>({
  server: async ({}, use) => {
    const server = await Server.start('with-admin');
    await use(server);
    await server.remove();
  },
  baseURL: async ({ server }, use) => use(server.url),
  ownOffice: async ({ playwright, server }, use) => {
    const office = await Office.open(playwright, server.url, admin);
    await use(office);
    await office.close();
  },
  signedInAs: async ({ page, context, ownOffice }, use) => {
    await use(async (account) => {
      await context.addCookies(await ownOffice.session(account));
      return page;
    });
  },
  another: async ({ browser, ownOffice, watch, server }, use) => {
    const opened: BrowserContext[] = [];
    await use(async (account) => {
      const context = await browser.newContext({ baseURL: server.url });
      opened.push(context);
      watch(context);
      if (account) await context.addCookies(await ownOffice.session(account));
      return context.newPage();
    });
    for (const context of opened) await context.close();
  },
  newPerson: async ({ ownOffice }, use) => use((wanted) => ownOffice.add(wanted)),
});

/** Tests with a server of their own that has real workstations, whose clock can be moved. */
export const testOnWorkstations = testOnOwnServer.extend({
  server: async ({}, use) => {
    const server = await Server.start('with-admin', 'workstations');
    await use(server);
    await server.remove();
  },
});

/** Signs in through the page, as a person does. */
export async function signIn(page: Page, { email, password }: Account): Promise<void> {
  await page.goto('/sign-in');
  await fillSignIn(page, { email, password });
  await expect(page).not.toHaveURL(/\/sign-in/);
}

/** Fills in the sign-in form that is shown, and sends it. */
export async function fillSignIn(page: Page, { email, password }: Account): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** The good news in the corner. */
export function toast(page: Page, text: string | RegExp): Locator {
  return page.getByRole('status').filter({ hasText: text });
}

/** The row of a person in the list. */
export function rowOf(page: Page, person: { name: string }): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: person.name }) });
}

/** The secret that is shown once, such as a temporary password. */
export async function secretOf(page: Page, label: string): Promise<string> {
  return page.getByRole('region', { name: label }).innerText();
}

/** What axe finds wrong with a page as it is now. Run by hand: its own wrapper for Playwright takes eight times as long. */
async function violations(page: Page): Promise<string[]> {
  const isThere = await page.evaluate(() => 'axe' in window);
  if (!isThere) await page.evaluate(axe.source);
  return page.evaluate(async () => {
    // Colours change over a frame or two, however short the transition; only then do they count.
    const frame = () => new Promise((next) => requestAnimationFrame(next));
    await frame();
    await frame();
    const changing = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
    await Promise.allSettled(changing.map((transition) => transition.finished));
    const { axe: judge } = window as unknown as { axe: typeof axe };
    const found = await judge.run({ resultTypes: ['violations'] });
    return found.violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help} at ${target.join(' ')}\n${failureSummary ?? ''}`),
    );
  });
}

/**
 * Opens what a page without scripts shows in a context where axe, itself a script, can run: the same document, minus its
 * script elements, with the same cookies and styles.
 */
async function scriptableTwin(page: Page, browser: Browser): Promise<Page> {
  const html = (await page.content()).replace(/<script\b[\s\S]*?<\/script>/gi, '');
  const context = await browser.newContext({
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
