// Named environments by their pages: lists with wrong lines, versions, the difference between two, and the question before
// they go. Nothing here is built; that is tested elsewhere.

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const environments = '/w/studio/environments';

/** A name that no other test uses. */
const named = () => `env-${unique()}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, '').slice(0, 24).replace(/-$/, '');

test('an environment is written, mended, versioned, compared and deleted', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  const name = named();
  await visit(`${environments}/new`);
  await expect(page.getByRole('heading', { name: 'New environment', level: 1 })).toBeVisible();
  await expectAccessible();

  // Every wrong line is named, and nothing typed is lost.
  const list = page.getByRole('textbox', { name: 'List' });
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await list.fill('# the model\nsix\n--pre\nnumpy=1');
  await page.getByLabel('Note').fill('the first');
  const build = page.getByRole('checkbox', { name: 'Build it now' });
  if (await build.count()) await build.uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(list).toHaveAccessibleDescription(/Line 3, “--pre”: options are not taken here[\s\S]*Line 4, “numpy=1”/);
  await expect(list).toHaveValue('# the model\nsix\n--pre\nnumpy=1');
  await expect(page.getByLabel('Note')).toHaveValue('the first');
  await expectAccessible();
  await list.fill('# the model\nsix\nnumpy>=1');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, `${name}:1 is saved.`)).toBeVisible();
  await expect(page.getByRole('heading', { name: `${name}, version 1`, level: 1 })).toBeVisible();
  await expect(page.getByText('Not built yet')).toBeVisible();
  await expectAccessible();
  await ready();

  // The next version begins with the list of the last; conda's way of writing is taken too.
  await page.getByRole('link', { name: 'New version' }).click();
  await ready();
  await expect(list).toHaveValue(/numpy>=1/);
  await list.fill('dependencies:\n  - numpy=2.1\n  - pip:\n    - polars\n');
  if (await build.count()) await build.uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, `${name}:2 is saved.`)).toBeVisible();
  await ready();

  await page.getByRole('link', { name: 'compare with 1' }).click();
  await expect(page.getByText('1 added, 1 removed, 1 changed')).toBeVisible();
  const row = (of: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: of, exact: true }) });
  await expect(row('polars')).toContainText('added');
  await expect(row('six')).toContainText('removed');
  await expect(row('numpy')).toContainText('==2.1.*');
  await expectAccessible();

  await visit(environments);
  const line = page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await expect(line).toContainText('Not built');
  await expectAccessible();
  await line.getByRole('link', { name, exact: true }).click();
  await ready();
  await page.getByRole('link', { name: 'Delete', exact: true }).click();
  await expect(page.getByRole('heading', { name: `Delete ${name}?` })).toBeVisible();
  await expectAccessible();
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(toast(page, `${name} is deleted.`)).toBeVisible();
  await expect(page.getByRole('link', { name, exact: true })).toHaveCount(0);
});

test('the form of jobs offers what there is', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  const name = named();
  await visit(`${environments}/new`);
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByRole('textbox', { name: 'List' }).fill('six');
  const build = page.getByRole('checkbox', { name: 'Build it now' });
  if (await build.count()) await build.uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, `${name}:1 is saved.`)).toBeVisible();
  await visit('/w/studio/jobs/new');
  await page.getByLabel('Python packages').selectOption(name);
  await expect(page.getByLabel('Python packages')).toHaveValue(name);
});
