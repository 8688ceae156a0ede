// A named environment for real: built on the server, used by a job and by a notebook, frozen from a workstation.

import { admin, expect, testOnWorkstations as test, toast } from '../fixtures.ts';
import { create, desk, open, run } from '../workstation.ts';

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(400_000);

const environments = '/w/studio/environments';

test('what is built once runs in a job and in a notebook, and what was installed can be frozen', async ({
  signedInAs,
  visit,
  ready,
  context,
}) => {
  const page = await signedInAs(admin);
  await create(page, visit);
  await visit(`${environments}/new`);
  await page.getByRole('textbox', { name: 'Name' }).fill('churn');
  await page.getByRole('textbox', { name: 'List' }).fill('six==1.16.0');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(toast(page, 'churn:1 is saved. It is being built.')).toBeVisible();
  // The page follows the build by itself.
  await expect(page.getByText('JupyterLab offers it as a kernel')).toBeVisible({ timeout: 300_000 });

  await visit('/w/studio/jobs/new');
  await page.getByLabel('Command').fill('python3 -c "import six; print(six.__version__, \'from the environment\')"');
  await page.getByLabel('Python packages').selectOption('churn');
  await page.getByRole('button', { name: 'Submit job' }).click();
  await expect(page.getByText('1.16.0 from the environment')).toBeVisible({ timeout: 60_000 });
  await expect(page.getByRole('link', { name: 'churn:1' })).toBeVisible();

  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  const lab = await open(page, context, /JupyterLab/);
  await lab.waitForURL(/jupyter--desk--studio\.localhost/, { timeout: 60_000 });
  const card = lab.locator('.jp-LauncherCard[data-category="Notebook"]').filter({ hasText: 'churn (v1)' });
  await card.click({ timeout: 60_000 });
  await expect(lab.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')).toBeAttached({ timeout: 60_000 });
  await run(lab, 'import six, sys; print(six.__version__, "environments" in sys.prefix)');
  await expect(lab.locator('.jp-OutputArea-output').first()).toContainText('1.16.0 True', { timeout: 60_000 });
  await lab.close();

  await visit(`${desk}/settings`);
  await page.getByRole('link', { name: 'Freeze into an environment' }).click();
  await ready();
  await expect(page.getByText('Frozen from desk')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'List' })).toHaveValue(/numpy==/);
});
