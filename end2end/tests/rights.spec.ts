import { admin, expect, test, type Role } from '../fixtures.ts';

const people = '/w/studio/admin/people';
const forbidden = /status of 403/;

const roles: [Role, string][] = [
  ['reader', 'Reader'],
  ['data-scientist', 'Data Scientist'],
];

for (const [role, label] of roles) {
  const reason = `Your role ${label} does not include member.write. The role Owner does. admin can grant it.`;

  test(`a ${label} sees people, but what cannot be done is disabled and says why and who can help`, async ({
    signedInAs,
    somebody,
    visit,
    expectAccessible,
  }) => {
    const person = await somebody(role);
    const page = await signedInAs(person);
    await visit(`${people}?q=${person.email}`);
    const add = page.getByRole('button', { name: 'Add person' });
    await expect(add).toBeDisabled();
    await expect(add).toHaveAccessibleDescription(reason);
    const shown = page.getByText(reason).filter({ visible: true });
    await page.getByRole('button', { name: 'Why?' }).click();
    await expect(shown).toHaveCount(1);
    await page.keyboard.press('Escape');
    await page.mouse.move(0, 0); // the pointer over the button would show it too
    await expect(shown).toHaveCount(0);

    await page.getByRole('button', { name: `More about ${person.name}` }).click();
    for (const name of ['Disable…', 'Reset password…']) {
      await expect(page.getByRole('button', { name }), name).toBeDisabled();
      await expect(page.getByRole('button', { name }), name).toHaveAccessibleDescription(reason);
    }
    await expect(shown, 'the menu says why').toHaveCount(1);
    await expectAccessible();
    await page.keyboard.press('Escape');

    await page.getByRole('checkbox', { name: `Select ${person.name}` }).check();
    const bar = page.getByRole('group', { name: 'Actions for the selected people' });
    for (const name of [/^Disable/, /^Enable/]) {
      await expect(bar.getByRole('button', { name })).toBeDisabled();
      await expect(bar.getByRole('button', { name })).toHaveAccessibleDescription(reason);
    }
    await expect(bar.getByText(reason), 'the bar says why').toBeVisible();
    await expectAccessible();

    await page.getByRole('rowheader').getByRole('link').click();
    for (const name of ['Disable', 'Reset password', 'Save roles']) {
      await expect(page.getByRole('button', { name }), name).toBeDisabled();
      await expect(page.getByRole('button', { name }), name).toHaveAccessibleDescription(reason);
    }
    for (const box of await page.getByRole('checkbox').all()) await expect(box).toBeDisabled();
    await expect(page.getByRole('checkbox', { name: label })).toBeChecked();
    await expectAccessible();
  });

  test.describe('behind a closed door', () => {
    test.use({ allowedConsoleErrors: forbidden });

    test(`a ${label} cannot open the form for a new person, and the page helps`, async ({
      signedInAs,
      somebody,
      visit,
      expectAccessible,
    }) => {
      const page = await signedInAs(await somebody(role));
      const response = await visit(`${people}/new`);
      expect(response?.status()).toBe(403);
      await expect(page.getByRole('heading', { name: 'You cannot manage people and their roles' })).toBeVisible();
      const alert = page.getByRole('alert');
      await expect(alert).toContainText('Permission member.write is missing');
      await expect(alert).toContainText(`request ${response?.headers()['x-request-id'] ?? 'without an id'}`);
      await expect(page.getByRole('heading', { name: 'Who can help' })).toBeVisible();
      await expect(page.getByRole('listitem').filter({ hasText: /^[A-Z]*\s*admin$/ })).toBeVisible();
      await expectAccessible();
      await page.getByRole('link', { name: 'See what your roles allow' }).click();
      await expect(page).toHaveURL('/w/studio/admin/roles');
    });
  });
}

test('the page of roles shows every right of every role, and marks the own ones', async ({
  signedInAs,
  somebody,
  visit,
}) => {
  const page = await signedInAs(await somebody('data-scientist'));
  await visit('/w/studio/admin/roles');
  const table = page.getByRole('table', { name: 'Roles and their rights' });
  await expect(table.getByRole('columnheader')).toContainText([
    'Right',
    'Reader',
    'Data Scientist',
    'Compute Operator',
    'Contributor',
    'Owner',
  ]);
  await expect(table.getByRole('columnheader', { name: 'Data Scientist' })).toContainText('yours');
  await expect(table.getByRole('columnheader', { name: 'Reader' })).not.toContainText('yours');
  const grants = table.getByRole('row', { name: /instance\.create$|instance\.create / }).getByRole('cell');
  await expect(grants).toHaveText(['', 'own', '', '', '']);
  await expect(grants.first().getByRole('img', { name: 'Not allowed' })).toBeVisible();
  await expect(grants.last().getByRole('img', { name: 'Allowed' })).toBeVisible();
});

test('rights change with the roles from the next page on', async ({ signedInAs, newPerson, office, visit }) => {
  const person = await newPerson({ roles: ['reader'] });
  const page = await signedInAs(person);
  await visit('/w/studio/activity');
  await expect(page.getByRole('heading', { name: 'Only what concerns you' })).toBeVisible();
  await office.setRoles(person, ['contributor'], 'helps out');
  await visit('/w/studio/activity');
  await expect(page.getByRole('heading', { name: 'Only what concerns you' })).toBeHidden();
});

test('an Owner may do all of it', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit(people);
  await expect(page.getByRole('link', { name: 'Add person' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Why?' })).toHaveCount(0);
});
