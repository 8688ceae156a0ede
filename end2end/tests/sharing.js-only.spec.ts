// Two people at one workstation: shared, used, taken back while it is open, and given away.

import { admin, expect, testOnWorkstations as test } from '../fixtures.ts';
import { create, desk, open, text, typed } from '../workstation.ts';

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(180_000);

test('a colleague works in a shared terminal until it is taken back, and then owns the desk', async ({ signedInAs, visit, context, another, newPerson }) => {
  const page = await signedInAs(admin);
  const mara = await newPerson({ name: 'Mara' });
  await create(page, visit);
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  const own = await open(page, context, /Terminal/);
  await expect(own.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  await typed(own, 'echo mine $((40 + 2)); echo secret > .netrc', /mine 42/);

  const share = async (level: string) => {
    await visit(`${desk}/sharing`);
    await page.getByLabel('With', { exact: true }).selectOption({ label: `${mara.name} (${mara.email})` });
    await page.getByLabel('Application', { exact: true }).selectOption('terminal');
    await page.getByLabel('What they may do').selectOption(level);
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await expect(page.getByRole('row').filter({ hasText: mara.name })).toContainText(`to ${level}`);
  };

  // To read: she sees what is printed, and what she types goes nowhere.
  await share('read');
  const theirs = await another(mara);
  await visit('/w/studio/compute/instances', theirs);
  const link = theirs.getByRole('link', { name: 'Open Terminal of desk' });
  const [looking] = await Promise.all([theirs.context().waitForEvent('page'), link.click()]);
  await expect(looking.getByText('You may look only')).toBeVisible({ timeout: 30_000 });
  await expect.poll(() => text(looking)).toMatch(/mine 42/);
  await looking.locator('.xterm-helper-textarea').focus();
  await looking.keyboard.type('echo not $((1 + 1))\n');
  await typed(own, 'echo after $((1 + 1))', /after 2/);
  expect(await text(own)).not.toMatch(/not 2/);

  // To use: what was open with less closes, and opens again with more.
  await share('use');
  await looking.reload();
  await expect(looking.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  await expect(looking.getByText('You may look only')).toBeHidden();
  await typed(looking, 'echo from Mara $((2 + 3))', /from Mara 5/);
  await expect.poll(() => text(own)).toMatch(/from Mara 5/);
  await visit(desk);
  await expect(page.getByText(`used by ${mara.name}`)).toBeVisible({ timeout: 60_000 });

  // Taken back while she has it open.
  await expect(looking.locator('#state')).toBeHidden();
  await visit(`${desk}/sharing`);
  await page.getByRole('button', { name: `Revoke Terminal for ${mara.name}` }).click();
  await expect(page.getByText('Nobody but you opens')).toBeVisible();
  await expect(looking.locator('#state')).toContainText('may not open this any more', { timeout: 2_000 });
  await looking.reload();
  await expect(looking.getByText('not yours to open')).toBeVisible();

  // Given away: stopped first, said what is taken out, and then it is hers.
  await own.close();
  await visit(desk);
  await page.getByRole('link', { name: 'Stop', exact: true }).click();
  await page.getByRole('button', { name: 'Stop desk' }).click();
  await expect(page.getByText('Stopped').first()).toBeVisible({ timeout: 30_000 });
  await visit(`${desk}/transfer`);
  await expect(page.getByText('.netrc')).toBeVisible();
  await page.getByLabel('To', { exact: true }).selectOption({ label: `${mara.name} (${mara.email})` });
  await page.getByRole('button', { name: 'Give desk away' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Stopped', { timeout: 30_000 });
  await visit(desk, theirs);
  // What somebody else left in it may run as her: she says first that it may.
  await theirs.getByRole('button', { name: /^Accept/ }).click();
  await expect(theirs.getByRole('button', { name: /^Accept/ })).toHaveCount(0);
  await theirs.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(theirs.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
  const [hers] = await Promise.all([
    theirs.context().waitForEvent('page'),
    theirs.getByRole('link', { name: /Terminal/ }).first().click(),
  ]);
  await expect(hers.locator('.xterm-helper-textarea')).toBeAttached({ timeout: 30_000 });
  await typed(hers, 'ls -a; test -e .netrc || echo clean $((6 * 7))', /clean 42/);
});
