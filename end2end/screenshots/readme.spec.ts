import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { Page } from '@playwright/test';

import { repacked } from './png.ts';
import { expect, settle, test } from './studio.ts';

const directory = resolve(import.meta.dirname, '../../docs/screenshots');

async function save(page: Page, name: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.png`), repacked(await page.screenshot({ animations: 'disabled' })));
}

for (const [name, path] of [
  ['home', '/w/perception'],
  ['people', '/w/perception/admin/people'],
  ['roles', '/w/perception/admin/roles'],
] as const) {
  test(name, async ({ signedIn: page }) => {
    await settle(page, path);
    await save(page, name);
  });
}

test('people-dark', async ({ signedIn: page }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await settle(page, '/w/perception/admin/people');
  await page.getByRole('checkbox', { name: 'Select Mara Lindqvist' }).check();
  await page.getByRole('checkbox', { name: 'Select Yuki Tanaka' }).check();
  await save(page, 'people-dark');
});

test('people-phone', async ({ signedIn: page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await settle(page, '/w/perception/admin/people');
  await save(page, 'people-phone');
});

test('cluster and job', async ({ signedIn: page }) => {
  test.setTimeout(180_000);
  await settle(page, '/w/perception/compute/clusters/new');
  await page.getByLabel('Name').fill('tracking');
  await page.getByRole('radio', { name: 'local-half' }).check();
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByLabel('Most nodes').fill('4');
  await page.getByLabel('Tags').fill('project=tracking');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(page).toHaveURL('/w/perception/compute/clusters/tracking');
  const submit = async (name: string, script: string, array: string) => {
    await settle(page, '/w/perception/jobs/new?cluster=tracking');
    await page.getByLabel('Script').fill(script);
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Array').fill(array);
    await page.getByRole('button', { name: 'Submit job' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  };
  const train = [
    'for epoch in $(seq 1 400); do',
    '  printf "\\033[36mepoch %3d\\033[0m  loss %s  \\033[32mval-acc 0.%d\\033[0m\\n" $epoch 0.$((900 - epoch)) $((700 + epoch / 2))',
    '  sleep 0.4',
    'done',
  ].join('\n');
  await submit('Train tracker', train, '');
  const job = page.url();
  await submit('Sweep learning rates', 'echo rate $ATELIER_ARRAY_INDEX; sleep 60', '12');
  await settle(page, job);
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText('epoch  16', { timeout: 60_000 });
  await save(page, 'job');
  await settle(page, '/w/perception/compute/clusters/tracking');
  await save(page, 'cluster');
});

test('instance', async ({ signedIn: page }) => {
  test.setTimeout(180_000);
  await settle(page, '/w/perception/compute/instances/new');
  await page.getByLabel('Name', { exact: true }).fill('mara-fusion');
  await page.getByRole('radio', { name: 'local-half' }).check();
  await page.getByRole('button', { name: 'Review + create' }).click();
  await page.getByRole('button', { name: 'Create instance' }).click();
  await expect(page).toHaveURL('/w/perception/compute/instances/mara-fusion');
  await settle(page, '/w/perception/compute/instances/mara-fusion/schedules');
  for (const day of ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']) await page.getByRole('checkbox', { name: day }).check();
  await page.getByRole('button', { name: 'Save schedule' }).click();
  await expect(page.getByText('is awake workdays').first()).toBeVisible();
  await settle(page, '/w/perception/compute/instances/mara-fusion/schedules');
  await save(page, 'schedules');
  await settle(page, '/w/perception/compute/instances/mara-fusion');
  await expect(page.getByRole('link', { name: /JupyterLab/ }).first()).toBeVisible({ timeout: 60_000 });
  await expect(page.locator('[data-live="apps"]')).toContainText('Ready after', { timeout: 60_000 });
  await expect(page.locator('[data-live="used"]')).toContainText('Memory', { timeout: 60_000 });
  await save(page, 'instance');
});

test('files and environment', async ({ signedIn: page }) => {
  test.setTimeout(300_000);
  await settle(page, '/w/perception/files');
  await page.getByRole('link', { name: 'My folder' }).click();
  await expect(page.locator('html[data-hydrated]')).toBeAttached();
  const home = page.url();
  await page.getByRole('textbox', { name: 'Name' }).fill('results');
  await page.getByRole('button', { name: 'Make folder' }).click();
  await expect(page.getByRole('heading', { name: 'results', level: 1 })).toBeVisible();
  await settle(page, home);
  const train = 'import pandas as pd\n\n\ndef fit(path: str) -> float:\n    table = pd.read_csv(path)\n    return table["churn"].mean()\n\n\nprint(fit("customers.csv"))\n';
  const customers = ['city,months,churn', ...Array.from({ length: 40 }, (_, row) => `Ulm,${row + 3},${row % 3 === 0 ? 1 : 0}`)].join('\n');
  const uploads = { 'train.py': train, 'customers.csv': customers, 'notes.md': '# Churn\n\nWhat we know so far.\n' };
  await page
    .getByLabel('Files', { exact: true })
    .setInputFiles(Object.entries(uploads).map(([name, text]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })));
  await page.getByRole('button', { name: 'Upload' }).click();
  await expect(page.getByRole('link', { name: 'train.py', exact: true })).toBeVisible();
  await settle(page, home);
  await save(page, 'files');

  await settle(page, '/w/perception/environments/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('churn');
  await page.getByRole('textbox', { name: 'List' }).fill('# What the churn model needs\npandas>=2,<3\npyarrow');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('JupyterLab offers it as a kernel')).toBeVisible({ timeout: 240_000 });
  await settle(page, '/w/perception/environments/churn');
  await save(page, 'environment');
});

test('sign-in', async ({ page }) => {
  await settle(page, '/sign-in');
  await save(page, 'sign-in');
});
