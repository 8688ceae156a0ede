// The list of packages of the environment: bad lists, and people without the right.

import { admin, expect, test } from '../fixtures.ts';

const page = '/w/studio/admin/environment';

test('a list that cannot be taken comes back as it was typed, with the line that is to blame', async ({
  signedInAs,
  visit,
  expectAccessible,
}) => {
  const browser = await signedInAs(admin);
  await visit(page);
  await expect(browser.getByRole('heading', { name: 'Environment', level: 1 })).toBeVisible();
  const list = browser.getByRole('textbox', { name: 'Packages' });
  await expect(list).toHaveValue(/^jupyterlab/);
  await list.fill('jupyterlab\nnumpy\n--pre');
  await browser.getByRole('button', { name: 'Save and build' }).click();
  await expect(list).toHaveAccessibleDescription(/Line 3, “--pre”: options are not taken here/);
  await expect(list).toHaveValue('jupyterlab\nnumpy\n--pre');
  await expectAccessible();
});

test.describe('behind a closed door', () => {
  test.use({ allowedConsoleErrors: /status of 403/ });

  test('a Data Scientist is told which right is missing', async ({ signedInAs, somebody, visit }) => {
    const browser = await signedInAs(await somebody('data-scientist'));
    const response = await visit(page);
    expect(response?.status()).toBe(403);
    await expect(browser.getByText('engine.read').first()).toBeVisible();
  });
});
