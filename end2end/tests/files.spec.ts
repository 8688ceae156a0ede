// Files by their pages, with and without script: what a person does in a day, and files that try to do something themselves.

import type { Page } from '@playwright/test';

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const files = '/w/studio/files';

const named = (kind: string) => `${kind}-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 40);
const at = (page: string, path: string) => `${files}${page}?path=${encodeURIComponent(path)}`;

type Visit = (path: string) => Promise<unknown>;

/** A shared folder that no other test knows. */
async function ownFolder(page: Page, visit: Visit): Promise<string> {
  const folder = named('folder');
  await visit(files);
  await page.getByRole('textbox', { name: 'Name' }).fill(folder);
  await page.getByRole('button', { name: 'Make folder' }).click();
  await expect(page.getByRole('heading', { name: folder, level: 1 })).toBeVisible();
  return folder;
}

async function upload(page: Page, files: { name: string; text: string }[]): Promise<void> {
  const chosen = files.map(({ name, text }) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) }));
  await page.getByLabel('Files', { exact: true }).setInputFiles(chosen);
  await page.getByRole('button', { name: 'Upload' }).click();
  for (const { name } of files) await expect(page.getByRole('link', { name, exact: true })).toBeVisible();
}

test('a file is uploaded, seen, edited, renamed, deleted and brought back', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const folder = await ownFolder(page, visit);
  await expect(page.getByText('This folder is empty')).toBeVisible();
  await expectAccessible();
  await ready();
  await upload(page, [{ name: 'train.py', text: 'def fit(x):\n    return x + 1  # more\n' }, { name: 'data.csv', text: 'city,people\nUlm,126000\n' }]);
  await expectAccessible();

  await page.getByRole('link', { name: 'data.csv', exact: true }).click();
  await expect(page.getByRole('columnheader', { name: 'people' })).toBeVisible();
  await expectAccessible();
  await visit(at('/view', `${folder}/train.py`));
  await expect(page.locator('.source .k').first()).toHaveText('def');
  await expect(page.getByRole('link', { name: 'Run as a job' })).toBeVisible();
  await expectAccessible();

  await page.getByRole('link', { name: 'Edit' }).click();
  await ready();
  await expect(page.getByLabel('Text')).toHaveValue('def fit(x):\n    return x + 1  # more\n');
  await expectAccessible();
  await ready();
  await page.getByLabel('Text').fill('print("edited")\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, '“train.py” was saved.')).toBeVisible();
  await expect(page.locator('.source')).toContainText('print("edited")');

  await page.getByRole('link', { name: 'Rename or move' }).click();
  await ready();
  await page.getByLabel('Name').fill('fit.py');
  await page.getByRole('button', { name: 'Rename or move' }).click();
  await expect(page.getByRole('link', { name: 'fit.py', exact: true })).toBeVisible();

  await visit(`${files}/delete?id=${encodeURIComponent(`${folder}/fit.py`)}`);
  await expect(page.getByRole('heading', { name: 'Delete fit.py?' })).toBeVisible();
  await expectAccessible();
  await ready();
  await page.getByRole('button', { name: 'Delete it' }).click();
  await expect(page.getByRole('link', { name: 'fit.py', exact: true })).toHaveCount(0);
  await visit(`${files}/trash`);
  await expectAccessible();
  await ready();
  await page.getByRole('button', { name: `Bring back ${folder}/fit.py` }).click();
  await expect(page.getByRole('link', { name: 'fit.py', exact: true })).toBeVisible();
  await visit(`${files}/usage`);
  await expectAccessible();
});

test('a tree of folders leads up and sideways', async ({ signedInAs, visit, ready, expectAccessible }) => {
  const page = await signedInAs(admin);
  const folder = await ownFolder(page, visit);
  for (const name of ['first', 'second']) {
    await visit(at('', folder));
    await page.getByRole('textbox', { name: 'Name' }).fill(name);
    await page.getByRole('button', { name: 'Make folder' }).click();
    await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
  }
  await ready();
  const tree = page.getByRole('navigation', { name: 'Folders' });
  await expect(tree.locator('[aria-current=page]')).toHaveText('second');
  await expectAccessible();
  await tree.getByRole('link', { name: 'first', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'first', level: 1 })).toBeVisible();
  await page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name: 'Files', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Files', level: 1 })).toBeVisible();
});

test('the second of two writers is told, and both versions are kept', async ({ signedInAs, visit, another, ready }) => {
  const page = await signedInAs(admin);
  const folder = await ownFolder(page, visit);
  await ready();
  await upload(page, [{ name: 'plan.txt', text: 'one\n' }]);
  await visit(at('/edit', `${folder}/plan.txt`));
  const other = await another(admin);
  await other.goto(at('/edit', `${folder}/plan.txt`));
  await other.getByLabel('Text').fill('theirs\n');
  await other.getByRole('button', { name: 'Save' }).click();
  await expect(other.locator('.source')).toContainText('theirs');
  await page.getByLabel('Text').fill('mine\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { name: 'plan (yours).txt', level: 1 })).toBeVisible();
  await expect(page.locator('.source')).toContainText('mine');
  await visit(at('/view', `${folder}/plan.txt`));
  await expect(page.locator('.source')).toContainText('theirs');
});

test('files that try to run something are harmless', async ({ signedInAs, visit, ready, context }) => {
  const page = await signedInAs(admin);
  const folder = await ownFolder(page, visit);
  await ready();
  const dialogs: string[] = [];
  context.on('page', (opened) => opened.on('dialog', (dialog) => dialogs.push(dialog.message())));
  page.on('dialog', (dialog) => dialogs.push(dialog.message()));
  const bad = '<script>window.ran = true; alert("ran")</script><img src=x onerror="window.ran = true; alert(1)">';
  const notebook = {
    metadata: {},
    cells: [
      { cell_type: 'markdown', source: bad + ' [link](javascript:alert(2))' },
      { cell_type: 'code', source: bad, outputs: [{ output_type: 'display_data', data: { 'text/html': bad, 'application/javascript': 'window.ran = true' } }] },
    ],
  };
  const hostile = [
    { name: 'page.html', text: `<!doctype html>${bad}` },
    { name: 'drawing.svg', text: `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(3)"><script>alert(4)</script></svg>` },
    { name: 'notes.md', text: `${bad}\n\n# Notes\n\n[x](javascript:alert(5))` },
    { name: 'book.ipynb', text: JSON.stringify(notebook) },
    { name: 'table.csv', text: `${bad.replaceAll(',', '')},b\n` },
  ];
  await upload(page, hostile);
  for (const { name } of hostile) {
    await visit(at('/view', `${folder}/${name}`));
    await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
    await expect(page.locator('main script:not([src])')).toHaveCount(0);
    await expect(page.locator('.preview img[src="x"]')).toHaveCount(0);
    expect(await page.evaluate(() => (window as unknown as { ran?: boolean }).ran), name).toBeUndefined();
    for (const address of await page.locator('.preview a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))) {
      expect(address).not.toContain('javascript');
    }
  }
  // Asked for directly the file is saved, not shown.
  for (const name of ['page.html', 'drawing.svg']) {
    const download = page.waitForEvent('download');
    await page.goto(at('/download', `${folder}/${name}`)).catch(() => undefined);
    expect((await download).suggestedFilename()).toBe(name);
  }
  expect(dialogs).toEqual([]);
});
