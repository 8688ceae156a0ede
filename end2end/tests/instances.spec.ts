// Instances by their pages alone: none of them starts here. What running ones do is tested with real nodes elsewhere.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const instances = '/w/studio/compute/instances';

/** A name that no other test uses: a letter first, at most 24 characters. */
const named = (kind: string) => `${kind}-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 24).replace(/-$/, '');

const script = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };

/** Calls a server function in the name of whoever is signed in on the page. */
async function call(page: Page, name: string, form: Record<string, string>): Promise<{ secret: string }> {
  const answer = await page.request.post(`/fn/${name}`, { headers: script, form });
  expect(answer.ok(), await answer.text()).toBe(true);
  return answer.json() as Promise<{ secret: string }>;
}

/** Makes an instance over the API that does not start, of a size of its own. Returns its name and that of its size. */
async function addInstance(page: Page, more: Record<string, unknown> = {}): Promise<[name: string, size: string]> {
  const [name, size] = [named('lab'), named('size')];
  await call(page, 'put_size', {
    name: size, family: 'general', site: 'local', cores: '0.5', memory: '0.25', gpus: '0', price: '0.4',
  });
  const token = (await call(page, 'create_token', { name: `for ${name}`, days: '1' })).secret;
  const made = await page.request.post('/api/v1/instances', {
    headers: { authorization: `Bearer ${token}` },
    data: { name, size, starts: false, ...more },
  });
  expect(made.status(), await made.text()).toBe(201);
  return [name, size];
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });

test('instances are found, looked at tab by tab, and changed', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const [name, size] = await addInstance(page, { tags: { project: 'fusion' } });
  await visit(`${instances}?q=${name}`);
  const row = rowOf(page, name);
  await expect(row).toContainText('Stopped');
  await expect(row).toContainText('Starts when you open an application');
  await expect(row).toContainText(size);
  await expect(row.getByRole('button', { name: `Start ${name}` })).toBeVisible();
  await expectAccessible();
  await row.getByRole('link', { name, exact: true }).click();
  await ready();
  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Stopped');
  await expect(page.getByRole('link', { name: 'JupyterLab' })).toBeVisible();
  await expect(page.getByText('project: fusion')).toBeVisible();
  await expectAccessible();
  for (const tab of ['Jobs', 'Logs', 'Monitoring', 'History', 'Settings']) {
    await page.getByRole('navigation', { name: 'Instance' }).getByRole('link', { name: tab }).click();
    await expect(page).toHaveURL(`${instances}/${name}/${tab.toLowerCase()}`);
    await ready();
    await expectAccessible();
  }

  await page.getByLabel('Stop after so many minutes').fill('5');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByLabel('Stop after so many minutes')).toHaveAccessibleDescription(/between 15 min and 3 days/);
  await page.getByLabel('Stop after so many minutes').fill('90');
  await page.getByRole('checkbox', { name: 'Keep its quota' }).check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(toast(page, `${name} stops after 1 h 30 min without activity`)).toBeVisible();
  await page.getByLabel('Tags').fill('team=blue');
  await page.getByRole('button', { name: 'Save tags' }).click();
  await expect(toast(page, `The tags of ${name} were saved.`)).toBeVisible();
  const startup = page.getByRole('group', { name: 'Startup script' });
  await startup.getByLabel('Text').fill('echo hello');
  await startup.getByLabel('Arguments').fill("'never closed");
  await page.getByRole('button', { name: 'Save scripts' }).click();
  await expect(startup.getByLabel('Arguments')).toHaveAccessibleDescription(/never closed/);
  await expect(startup.getByLabel('Text')).toHaveValue('echo hello');
  await startup.getByLabel('Arguments').fill('--fast');
  await page.getByRole('button', { name: 'Save scripts' }).click();
  await expect(toast(page, `The scripts of ${name} were saved.`)).toBeVisible();
  await expect(startup.getByLabel('Text')).toHaveValue('echo hello');
});

test('several are chosen, the question says what comes of each, and they are deleted', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  const word = unique();
  const [first] = await addInstance(page, { tags: { bulk: word } });
  const [second] = await addInstance(page, { tags: { bulk: word } });
  await visit(`${instances}?q=tag:bulk=${word}`);
  for (const name of [first, second]) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('button', { name: /^Stop / }).click();
  await expect(page.getByText('Nothing to do for these 2')).toBeVisible();
  await page.getByRole('link', { name: 'Go back' }).click();
  await ready();
  await visit(`${instances}?q=tag:bulk=${word}`);
  for (const name of [first, second]) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('button', { name: /^Delete / }).click();
  await expect(page.getByRole('heading', { name: 'Delete 2 instances?' })).toBeVisible();
  await expect(page.getByText('Its home, its environment and its schedules go.')).toHaveCount(2);
  await expectAccessible();
  await page.getByRole('button', { name: 'Delete 2 instances' }).click();
  await expect(toast(page, '2 instances are being deleted.')).toBeVisible();
  await visit(`${instances}?q=tag:bulk=${word}`);
  await expect(page.getByText('No instance fits this filter')).toBeVisible();
});

test('an application of a sleeping instance offers a start', async ({ signedInAs, visit, expectAccessible }) => {
  const page = await signedInAs(admin);
  const [name] = await addInstance(page);
  await visit(`/w/studio/instances/${name}/open/jupyter?next=%2Flab`);
  await expect(page.getByRole('heading', { name: `JupyterLab on ${name}`, level: 1 })).toContainText('Stopped');
  await expect(page.getByRole('button', { name: 'Start and open' })).toBeVisible();
  await expectAccessible();
  await page.getByRole('link', { name: 'Not now' }).click();
  await expect(page).toHaveURL(`${instances}/${name}`);
});

test.describe('of somebody else', () => {
  test.use({ allowedConsoleErrors: /403/ });

  test('a Reader sees an instance, opens nothing, and reads what is missing', async ({
    signedInAs,
    somebody,
    visit,
    another,
    expectAccessible,
  }) => {
    const theirs = await another(admin);
    const [name] = await addInstance(theirs);
    const page = await signedInAs(await somebody('reader'));
    await visit(`${instances}/${name}`);
    for (const [button, right] of [
      ['Start', 'instance.operate'],
      ['Restart', 'instance.operate'],
    ] as const) {
      await expect(page.getByRole('button', { name: button, exact: true })).toBeDisabled();
      await expect(page.getByRole('button', { name: button, exact: true })).toHaveAccessibleDescription(
        new RegExp(`does not include ${right.replace('.', '\\.')}`),
      );
    }
    await expect(page.getByRole('link', { name: 'JupyterLab' })).toHaveCount(0);
    await expectAccessible();
    await visit(`/w/studio/instances/${name}/open/terminal`);
    await expect(page.getByRole('heading', { name: /is not yours to open/ })).toBeVisible();
    await expectAccessible();
    await visit(`${instances}?q=${name}`);
    await expect(rowOf(page, name).getByRole('button')).toHaveCount(0);
  });
});
