// Sharing and giving away by their pages alone, with script and without: nothing starts here.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

// Chromium prints one for the page that says why an application is not opened.
test.use({ allowedConsoleErrors: /status of 403/ });

const instances = '/w/studio/compute/instances';

const named = (kind: string) => `${kind}-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 24).replace(/-$/, '');

const script = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };

async function call(page: Page, name: string, form: Record<string, string>): Promise<{ secret: string }> {
  const answer = await page.request.post(`/fn/${name}`, { headers: script, form });
  expect(answer.ok(), await answer.text()).toBe(true);
  return answer.json() as Promise<{ secret: string }>;
}

/** Makes an instance over the API that does not start, of a size of its own. */
async function addInstance(page: Page): Promise<string> {
  const [name, size] = [named('lab'), named('size')];
  await call(page, 'put_size', {
    name: size, family: 'general', site: 'local', cores: '0.5', memory: '0.25', gpus: '0', price: '0.4',
  });
  const token = (await call(page, 'create_token', { name: `for ${name}`, days: '1' })).secret;
  const made = await page.request.post('/api/v1/instances', {
    headers: { authorization: `Bearer ${token}` },
    data: { name, size, starts: false },
  });
  expect(made.status(), await made.text()).toBe(201);
  return name;
}

test('an application is shared by a form, seen by a colleague, and taken back', async ({ signedInAs, visit, ready, newPerson, another, expectAccessible }) => {
  const page = await signedInAs(admin);
  const name = await addInstance(page);
  const colleague = await newPerson({ name: 'Mara' });
  await visit(`${instances}/${name}`);
  await page.getByRole('navigation', { name: 'Instance' }).getByRole('link', { name: 'Sharing' }).click();
  await ready();
  await expect(page.getByText('Nobody but you opens applications')).toBeVisible();

  // What is wrong stands beside its field.
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await expect(page.getByText('Choose a colleague.')).toBeVisible();
  await ready();
  await page.getByLabel('With', { exact: true }).selectOption({ label: `${colleague.name} (${colleague.email})` });
  await page.getByLabel('Application', { exact: true }).selectOption('terminal');
  await page.getByLabel('What they may do').selectOption('read');
  await page.getByLabel('Until').fill('2099-01-01T12:00');
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await expect(toast(page, `Terminal of ${name} is shared with ${colleague.name} to read`)).toBeVisible();
  await ready();
  const row = page.getByRole('row').filter({ hasText: colleague.name });
  await expect(row).toContainText('to read');
  await expect(row).toContainText('never');
  await expectAccessible();

  const theirs = await another(colleague);
  await visit(instances, theirs);
  const shared = theirs.getByRole('row').filter({ hasText: `Terminal of ${name}` });
  await expect(shared).toContainText('What they type');
  await expect(shared).toContainText('starts it');
  await expectAccessible(theirs);
  await visit(`/w/studio/instances/${name}/open/terminal`, theirs);
  await expect(theirs.getByText('A share does not start instances')).toBeVisible();
  await expectAccessible(theirs);

  await row.getByRole('button', { name: `Revoke Terminal for ${colleague.name}` }).click();
  await expect(toast(page, 'is not shared with')).toBeVisible();
  await visit(instances, theirs);
  await expect(theirs.getByText('Shared with you')).toBeHidden();
});

test('an instance is given to a colleague after a question that says what stays behind', async ({ signedInAs, visit, ready, newPerson, another, expectAccessible }) => {
  const page = await signedInAs(admin);
  const name = await addInstance(page);
  const colleague = await newPerson({ name: 'Mara' });
  await visit(`${instances}/${name}/settings`);
  await page.getByRole('link', { name: 'Give to somebody else' }).click();
  await ready();
  await expect(page.getByText('None of the known places of keys')).toBeVisible();
  await expectAccessible();
  await page.getByRole('button', { name: `Give ${name} away` }).click();
  await expect(page.getByText('Choose a colleague.')).toBeVisible();
  await ready();
  await page.getByLabel('To', { exact: true }).selectOption({ label: `${colleague.name} (${colleague.email})` });
  await page.getByLabel('Why').fill('leaves the team');
  await page.getByRole('button', { name: `Give ${name} away` }).click();
  await expect(toast(page, `${name} is ${colleague.name}’s now`)).toBeVisible();
  const theirs = await another(colleague);
  await expect(async () => {
    await visit(`${instances}?view=mine`, theirs);
    await expect(theirs.getByRole('row').filter({ hasText: name })).toContainText('Stopped', { timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
  await expect(theirs.getByRole('button', { name: `Start ${name}` })).toBeVisible();
});
