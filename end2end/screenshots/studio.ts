// The studio that the pictures show: a server of its own, and people who do not exist.

import { test as base, expect, type Page } from '@playwright/test';

import { Office, type Wanted } from '../office.ts';
import { Server, type Account } from '../server.ts';

export { expect };

const owner: Account = { email: 'ines@nordlicht.example', password: 'harbour-lantern-quilt' };

const team: Wanted[] = [
  { name: 'Mara Lindqvist', email: 'mara@nordlicht.example', why: 'joins perception' },
  { name: 'Jonas Weber', email: 'jonas@nordlicht.example', why: 'tracking, until the end of the year' },
  { name: 'Priya Raman', email: 'priya@nordlicht.example', roles: ['contributor'], why: 'leads the language team' },
  { name: 'Tomasz Nowak', email: 'tomasz@nordlicht.example', roles: ['data-scientist', 'compute-operator'] },
  { name: 'Yuki Tanaka', email: 'yuki@nordlicht.example' },
  { name: 'Noor Haddad', email: 'noor@nordlicht.example', roles: ['reader'], why: 'looks after the budget' },
  { name: 'Léa Moreau', email: 'lea@uni.example', waiting: true, why: 'thesis, from Monday on' },
  { name: 'Sam Adeyemi', email: 'sam@nordlicht.example', roles: ['compute-operator'] },
  { name: 'Erik Holm', email: 'erik@nordlicht.example', roles: ['reader'] },
  { name: 'Bianca Rossi', email: 'bianca@partner.example', waiting: true },
];

interface Worker {
  /** A server with the whole team on it. */
  studio: { url: string; office: Office };
}

export const test = base.extend<{ signedIn: Page }, Worker>({
  studio: [
    async ({ playwright, browser }, use) => {
      const server = await Server.start('empty');
      const page = await browser.newPage({ baseURL: server.url });
      await page.goto('/set-up');
      await page.getByLabel('Set-up code').fill(server.setUpCode);
      await page.getByLabel('Workspace').fill('Perception');
      await page.getByLabel('Your name').fill('Ines Okafor');
      await page.getByLabel('E-mail').fill(owner.email);
      await page.getByLabel('Password', { exact: true }).fill(owner.password);
      await page.getByLabel('Time zone').selectOption('Europe/Berlin');
      await page.getByRole('button', { name: 'Create the workspace' }).click();
      await expect(page).toHaveURL('/w/perception');
      await page.close();
      const office = await Office.open(playwright, server.url, owner);
      for (const wanted of team) {
        const person = await office.add(wanted);
        if (person.name === 'Erik Holm') await office.change('disable', person);
        if (person.name === 'Jonas Weber') await office.setRoles(person, ['data-scientist', 'contributor'], 'stands in for Priya');
      }
      await use({ url: server.url, office });
      await office.close();
      await server.remove();
    },
    { scope: 'worker' },
  ],

  baseURL: async ({ studio }, use) => use(studio.url),

  signedIn: async ({ page, context, studio }, use) => {
    await context.addCookies(await studio.office.session(owner));
    await use(page);
  },
});

/** Opens a page and waits until nothing moves any more. */
export async function settle(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.locator('html[data-hydrated]')).toBeAttached();
  await page.evaluate(() => document.fonts.ready);
  if (path !== '/sign-in') await expect(page.getByRole('status').filter({ hasText: /^Live$/ })).toBeAttached();
}
