// Applications that somebody adds to their instance, by the page alone: nothing starts here.

import type { Page } from '@playwright/test';

import { admin, expect, test, unique } from '../fixtures.ts';

const script = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };

/** Makes an instance over the API that does not start. Returns its name. */
async function asleep(page: Page): Promise<string> {
  const name = `app-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 24).replace(/-$/, '');
  const call = async (fn: string, form: Record<string, string>) => {
    const answer = await page.request.post(`/fn/${fn}`, { headers: script, form });
    expect(answer.ok(), await answer.text()).toBe(true);
    return answer.json() as Promise<{ secret: string }>;
  };
  await call('put_size', { name, family: 'general', site: 'local', cores: '0.5', memory: '0.25', gpus: '0', price: '0.4' });
  const token = (await call('create_token', { name: `for ${name}`, days: '1' })).secret;
  const made = await page.request.post('/api/v1/instances', {
    headers: { authorization: `Bearer ${token}` },
    data: { name, size: name, starts: false },
  });
  expect(made.status(), await made.text()).toBe(201);
  return name;
}

test('an application is added from a preset, corrected, changed and removed', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const name = await asleep(page);
  await visit(`/w/studio/compute/instances/${name}/apps`);
  const list = page.getByRole('table', { name: 'Applications' });
  await expect(list.getByRole('row', { name: /JupyterLab/ })).toBeVisible();
  await page.getByRole('navigation', { name: 'Presets' }).getByRole('link', { name: 'TensorBoard' }).click();
  await ready();
  await expect(page.getByRole('textbox', { name: 'Command' })).toHaveValue(/^tensorboard --logdir/);
  await expect(page.getByText('pip install tensorboard').first()).toBeVisible();
  await expectAccessible();

  // What is wrong stands beside its field, and what was typed is still there.
  await page.getByLabel('Name', { exact: true }).fill('jupyter');
  await page.locator('#f-port').fill('80');
  await page.getByRole('button', { name: 'Add application' }).click();
  await ready();
  await expect(page.getByLabel('Name', { exact: true })).toHaveAccessibleDescription(/a name that Atelier uses itself/);
  await expect(page.locator('#f-port')).toHaveAccessibleDescription(/from 1025 to 65534; this is 80/);
  await expect(page.getByRole('textbox', { name: 'Command' })).toHaveValue(/^tensorboard --logdir/);
  await expectAccessible();

  await page.getByLabel('Name', { exact: true }).fill('charts');
  await page.locator('#f-port').fill('6006');
  await page.getByRole('button', { name: 'Add application' }).click();
  await ready();
  const row = list.getByRole('row', { name: /TensorBoard/ });
  await expect(row).toContainText('on port 6006, private network');
  await expectAccessible();

  // An open network is warned of.
  await row.getByRole('link', { name: 'Change' }).click();
  await ready();
  await page.getByRole('radio', { name: /^Open/ }).check();
  await page.getByRole('button', { name: 'Save application' }).click();
  await ready();
  await expect(page.getByText('Other people of this machine can reach TensorBoard')).toBeVisible();
  await expect(row).toContainText('open network');

  await row.getByRole('button', { name: 'Remove TensorBoard' }).click();
  await ready();
  await expect(list.getByRole('row', { name: /TensorBoard/ })).toHaveCount(0);
  await expect(page.getByText('Other people of this machine')).toHaveCount(0);
});
