// A day at the workplace: a file is uploaded and edited, opened in JupyterLab, run as a job with the packages of the instance,
// and its output found among the files; then the same for a notebook.

import type { Page } from '@playwright/test';

import { admin, expect, testOnWorkstations as test, toast } from '../fixtures.ts';
import { create, desk } from '../workstation.ts';

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(500_000);

const files = '/w/studio/files';

const script = `import os
import numpy

os.makedirs("outputs", exist_ok=True)
with open("outputs/answer.txt", "w") as answer:
    answer.write(f"{numpy.arange(4).sum()} by job\\n")
print("written")
`;

const notebook = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: { kernelspec: { name: 'frozen-1', display_name: 'frozen (v1)', language: 'python' } },
  cells: [{ id: 'one', cell_type: 'code', execution_count: null, metadata: {}, outputs: [], source: 'import numpy\nprint("sum", numpy.arange(5).sum())' }],
};

async function upload(page: Page, name: string, text: string): Promise<void> {
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) });
  await page.getByRole('button', { name: 'Upload' }).click();
  await expect(page.getByRole('link', { name, exact: true })).toBeVisible();
}

/** Submits the job of the form, waits for its end, and opens the folder of Files that holds its outputs. */
async function submitted(page: Page, ready: (page?: Page) => Promise<void>): Promise<void> {
  await expect(page.getByLabel('Python packages')).toHaveValue('frozen:1');
  await expect(page.getByLabel('Keep outputs in')).toHaveValue(/^Users\/.+\/results$/);
  await page.getByRole('button', { name: 'Submit job' }).click();
  await expect(page).toHaveURL(/\/jobs\/job-\d+/);
  await expect(page.getByText('The outputs are in Files')).toBeVisible({ timeout: 120_000 });
  await page.getByRole('link', { name: /Users\/.+\/results\/job-\d+/ }).click();
  await ready();
}

test('from an upload to the output of a job', async ({ signedInAs, visit, ready }) => {
  const page = await signedInAs(admin);
  await create(page, visit);

  await visit(files);
  await page.getByRole('link', { name: 'My folder' }).click();
  await ready();
  const home = page.url();
  await upload(page, 'train.py', 'print("as it was uploaded")\n');
  await page.getByRole('link', { name: 'train.py', exact: true }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await ready();
  await page.getByLabel('Text').fill(script);
  await expect(page.locator('.coded .source .k').first()).toHaveText('import');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, '“train.py” was saved.')).toBeVisible();
  const file = page.url();

  // JupyterLab opens the very file.
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  await visit(file);
  await page.getByRole('link', { name: 'Open in JupyterLab on desk' }).click();
  await page.waitForURL(/jupyter--desk--studio\.localhost/, { timeout: 60_000 });
  await expect(page.locator('.jp-FileEditor .cm-content')).toContainText('numpy.arange(4).sum()', { timeout: 60_000 });

  // What the instance holds is not an environment yet; it is frozen into one.
  await visit(`${desk}/jobs`);
  const path = decodeURIComponent(new URL(file).searchParams.get('path') ?? '');
  await page.getByLabel('File', { exact: true }).fill(path);
  await page.getByRole('button', { name: 'Fill in a job' }).click();
  await expect(page.getByText('No environment holds what desk holds')).toBeVisible();
  await page.getByRole('link', { name: 'Freeze desk' }).click();
  await ready();
  await page.getByRole('textbox', { name: 'Name' }).fill('frozen');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, 'frozen:1 is saved. It is being built.')).toBeVisible();

  // The form finds it at once, also while it is being built.
  await visit(`${desk}/jobs`);
  await page.getByLabel('File', { exact: true }).fill(path);
  await page.getByRole('button', { name: 'Fill in a job' }).click();
  await ready();
  await expect(page.getByLabel('Command')).toHaveValue(/^python3 .*train\.py$/);
  await expect(page.getByLabel('Python packages')).toHaveValue('frozen:1');
  await visit('/w/studio/environments/frozen');
  await expect(page.getByText('JupyterLab offers it as a kernel')).toBeVisible({ timeout: 300_000 });

  await visit(`${desk}/jobs`);
  await page.getByLabel('File', { exact: true }).fill(path);
  await page.getByRole('button', { name: 'Fill in a job' }).click();
  await ready();
  await submitted(page, ready);
  await page.getByRole('link', { name: 'answer.txt', exact: true }).click();
  await expect(page.locator('.source')).toContainText('6 by job');

  // A notebook finds its environment by its kernel.
  await visit(home);
  await upload(page, 'book.ipynb', JSON.stringify(notebook));
  await page.getByRole('link', { name: 'book.ipynb', exact: true }).click();
  await page.getByRole('link', { name: 'Run as a job' }).click();
  await ready();
  await submitted(page, ready);
  await page.getByRole('link', { name: 'book.ipynb', exact: true }).click();
  await expect(page.getByText('sum 10')).toBeVisible();
});
