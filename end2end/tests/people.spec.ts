import type { Page } from '@playwright/test';

import {
  admin,
  expect,
  fillSignIn,
  rowOf,
  secretOf,
  signIn,
  test,
  testOnOwnServer,
  toast,
  unique,
  type Person,
} from '../fixtures.ts';

const people = '/w/studio/admin/people';

const namesOf = (page: Page) => page.getByRole('rowheader').getByRole('link');

test('can add a person, whose temporary password is shown once and must be replaced', async ({
  signedInAs,
  visit,
  another,
}) => {
  const page = await signedInAs(admin);
  const name = `Mara ${unique()}`;
  const email = `${unique()}@example.test`;
  await visit(people);
  await page.getByRole('link', { name: 'Add person' }).click();
  await expect(page.getByRole('heading', { name: 'Add person', level: 1 })).toBeVisible();
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('E-mail').fill(email);
  await expect(page.getByRole('checkbox', { name: 'Data Scientist' })).toBeChecked();
  await page.getByRole('checkbox', { name: 'Contributor' }).check();
  await page.getByLabel('Why').fill('joins perception');
  await page.getByRole('button', { name: 'Add person' }).click();

  await expect(page.getByRole('heading', { name, level: 1 })).toContainText('Waiting for first sign-in');
  await expect(toast(page, `${name} was added.`)).toBeVisible();
  const temporary = await secretOf(page, `Temporary password of ${name}`);
  expect(temporary).toMatch(/^(\w{4}-){4}\w{4}$/);
  await expect(page.getByText('added').filter({ hasText: 'joins perception' })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
  await expect(page.getByText(temporary)).toHaveCount(0);

  const theirs = await another();
  await visit('/sign-in', theirs);
  await fillSignIn(theirs, { email, password: temporary });
  await expect(theirs).toHaveURL('/new-password');
  for (const path of ['/w/studio', '/profile', people]) {
    await visit(path, theirs);
    await expect(theirs, path).toHaveURL('/new-password');
  }
  await theirs.getByLabel('Temporary password').fill(temporary);
  await theirs.getByLabel('New password').fill(temporary);
  await theirs.getByRole('button', { name: 'Save password' }).click();
  await expect(theirs.getByLabel('New password')).toHaveAccessibleDescription(/This is the password you have/);
  await theirs.getByLabel('Temporary password').fill(temporary);
  await theirs.getByLabel('New password').fill(`quilt-harbour-${unique()}`);
  await theirs.getByRole('button', { name: 'Save password' }).click();
  await expect(theirs).toHaveURL('/w/studio');
  await expect(toast(theirs, 'Your password is changed.')).toBeVisible();
  await expect(theirs.getByRole('heading', { name: /, Mara$/, level: 1 })).toBeVisible();
});

test('the page for a new password is accessible', async ({ page, newPerson, expectAccessible, ready }) => {
  await signIn(page, await newPerson({ waiting: true }));
  await expect(page.getByRole('heading', { name: 'Choose your password' })).toBeVisible();
  await ready();
  await expectAccessible();
});

test('cannot add a person with an address that is taken or without a role, and keeps what was typed', async ({
  signedInAs,
  visit,
  newPerson,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  const twin = await newPerson({ waiting: true });
  await visit(`${people}/new`);
  await page.getByLabel('Name').fill('Twin');
  await page.getByLabel('E-mail').fill(twin.email);
  await page.getByRole('checkbox', { name: 'Owner' }).check();
  await page.getByLabel('Why').fill('because');
  await page.getByRole('button', { name: 'Add person' }).click();
  await expect(page.getByLabel('E-mail')).toHaveAccessibleDescription(/has an account already/);
  await expect(page.getByLabel('Name')).toHaveValue('Twin');
  await expect(page.getByRole('checkbox', { name: 'Owner' })).toBeChecked();
  await expect(page.getByLabel('Why')).toHaveValue('because');

  for (const role of ['Owner', 'Data Scientist']) await page.getByRole('checkbox', { name: role }).uncheck();
  await page.getByLabel('E-mail').fill(`${unique()}@example.test`);
  await page.getByRole('button', { name: 'Add person' }).click();
  await expect(page.getByRole('group', { name: 'Roles' })).toHaveAccessibleDescription(/Choose at least one role/);
  await expectAccessible();
});

test.describe('the list', () => {
  // Three people whose e-mail addresses share a word, so that the list shows them alone.
  async function trio(newPerson: (wanted: object) => Promise<Person>): Promise<[string, Person, Person, Person]> {
    const word = `trio${unique()}`;
    const a = await newPerson({ name: `${word} Ada`, roles: ['reader'], waiting: true });
    const b = await newPerson({ name: `${word} Bo`, roles: ['reader', 'contributor'] });
    const c = await newPerson({ name: `${word} Cy`, roles: ['contributor'], waiting: true });
    return [word, a, b, c];
  }

  test('can be filtered by typing, by state and by role, and the address holds it all', async ({
    signedInAs,
    visit,
    newPerson,
  }) => {
    const page = await signedInAs(admin);
    const [word, ada, bo, cy] = await trio(newPerson);
    await visit(people);
    await page.getByRole('searchbox', { name: 'Filter people' }).fill(word);
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(`${people}?q=${word}`);
    await expect(namesOf(page)).toHaveText([ada.name, bo.name, cy.name]);
    await expect(page.getByText('3 people', { exact: true })).toBeVisible();

    await page.getByRole('navigation', { name: 'Quick filters' }).getByRole('link', { name: 'Waiting' }).click();
    await expect(page).toHaveURL(`${people}?q=${word}&state=waiting`);
    await expect(namesOf(page)).toHaveText([ada.name, cy.name]);

    await page.getByRole('button', { name: 'Role: Any role' }).click();
    await page.getByRole('link', { name: 'Contributor', exact: true }).click();
    await expect(namesOf(page)).toHaveText([cy.name]);
    await page.reload();
    await expect(namesOf(page), 'the address alone shows the same').toHaveText([cy.name]);

    await page.getByRole('searchbox', { name: 'Filter people' }).fill(`${word} nobody`);
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { name: `No one matches “${word} nobody”` })).toBeVisible();
    await page.getByRole('link', { name: 'Clear filter', exact: true }).click();
    await expect(page).toHaveURL(people);
  });

  test('can be sorted by its headings', async ({ signedInAs, visit, newPerson }) => {
    const page = await signedInAs(admin);
    const [word, ada, bo, cy] = await trio(newPerson);
    await visit(`${people}?q=${word}`);
    const heading = (name: string) => page.getByRole('columnheader', { name });
    await expect(heading('Person')).toHaveAttribute('aria-sort', 'ascending');
    await page.getByRole('link', { name: 'Person', exact: true }).click();
    await expect(heading('Person')).toHaveAttribute('aria-sort', 'descending');
    await expect(namesOf(page)).toHaveText([cy.name, bo.name, ada.name]);
    await page.getByRole('link', { name: 'Added' }).click();
    await expect(heading('Added')).toHaveAttribute('aria-sort', 'descending');
    await page.getByRole('link', { name: 'Last seen' }).click();
    await expect(namesOf(page).first(), 'only one of them was ever here').toHaveText(bo.name);
  });

  test('marks who looks, who waits and who is disabled', async ({ signedInAs, visit, newPerson, office }) => {
    const page = await signedInAs(admin);
    const [word, ada, bo, cy] = await trio(newPerson);
    await office.change('disable', cy);
    await visit(`${people}?q=${word}`);
    await expect(rowOf(page, ada)).toContainText('Waiting for first sign-in');
    await expect(rowOf(page, bo)).toContainText('Online');
    await expect(rowOf(page, cy)).toContainText('Disabled');
    await visit(`${people}?q=${admin.email}`);
    await expect(page.getByRole('rowheader', { name: admin.email })).toContainText('you');
  });
});

test('can change roles, with a reason that the history keeps', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ roles: ['reader'], waiting: true });
  await visit(person.path);
  await expect(page.getByRole('checkbox', { name: 'Reader' })).toBeChecked();
  await page.getByRole('checkbox', { name: 'Compute Operator' }).check();
  await page.getByLabel('Why').fill('looks after the machines');
  await page.getByRole('button', { name: 'Save roles' }).click();
  await expect(toast(page, `${person.name} is now Reader and Compute Operator.`)).toBeVisible();
  await expect(page.getByRole('listitem').filter({ hasText: 'looks after the machines' })).toContainText(
    'from Reader to Reader and Compute Operator',
  );
  for (const role of ['Reader', 'Compute Operator']) await page.getByRole('checkbox', { name: role }).uncheck();
  await page.getByRole('button', { name: 'Save roles' }).click();
  await expect(page.getByRole('group', { name: 'Roles' })).toHaveAccessibleDescription(/Choose at least one role/);
});

test('can disable a person after a question, and enable again', async ({ signedInAs, visit, newPerson, another }) => {
  const page = await signedInAs(admin);
  const person = await newPerson();
  const theirs = await another(person);
  await visit('/w/studio', theirs);
  await visit(person.path);
  await page.getByRole('link', { name: 'Disable' }).click();
  const question = page.getByRole('region', { name: `Disable ${person.name}?` });
  await expect(question).toContainText('Will be shut out at once: open sessions end.');
  await question.getByLabel('Why').fill('left the team');
  await question.getByRole('button', { name: `Disable ${person.name}` }).click();
  await expect(toast(page, `${person.name} was disabled and can no longer sign in.`)).toBeVisible();
  await expect(page).toHaveURL(person.path);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Disabled');
  await expect(page.getByRole('listitem').filter({ hasText: 'left the team' })).toBeVisible();
  await visit('/w/studio', theirs);
  await expect(theirs, 'they are out').toHaveURL(/\/sign-in/);

  await page.getByRole('link', { name: 'Enable' }).click();
  await page.getByRole('button', { name: `Enable ${person.name}` }).click();
  await expect(toast(page, `${person.name} was enabled again.`)).toBeVisible();
  await fillSignIn(theirs, person);
  await expect(theirs).toHaveURL('/w/studio');
});

test('can think better of it', async ({ signedInAs, visit, newPerson, ready }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ waiting: true });
  await visit(`${people}?q=${person.email}`);
  await page.getByRole('button', { name: `More about ${person.name}` }).click();
  await page.getByRole('link', { name: 'Disable…' }).click();
  await page.getByRole('link', { name: 'Keep as it is' }).click();
  await expect(page.getByRole('region', { name: `Disable ${person.name}?` })).toBeHidden();
  await ready();
  await visit(person.path);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Waiting for first sign-in');
});

test('can disable several people at once, and each of them is accounted for', async ({
  signedInAs,
  visit,
  newPerson,
  office,
}) => {
  const page = await signedInAs(admin);
  const word = `crew${unique()}`;
  const [a, b, c] = [
    await newPerson({ name: `${word} Ada`, waiting: true }),
    await newPerson({ name: `${word} Bo`, waiting: true }),
    await newPerson({ name: `${word} Cy`, waiting: true }),
  ];
  await office.change('disable', c);
  await visit(`${people}?q=${word}`);
  for (const person of [a, b, c]) await page.getByRole('checkbox', { name: `Select ${person.name}` }).check();
  const bar = page.getByRole('group', { name: 'Actions for the selected people' });
  await bar.getByRole('button', { name: /^Disable/ }).click();
  const question = page.getByRole('region', { name: 'Disable 2 of 3 selected people?' });
  await expect(question.getByRole('listitem').filter({ hasText: c.name })).toContainText('no change');
  await question.getByRole('button', { name: 'Disable 2' }).click();
  await expect(toast(page, '2 people were disabled and can no longer sign in.')).toBeVisible();
  await visit(`${people}?q=${word}&state=disabled`);
  await expect(namesOf(page)).toHaveText([a.name, b.name, c.name]);
});

test('can reset a password: the old one and every session end', async ({ signedInAs, visit, newPerson, another }) => {
  const page = await signedInAs(admin);
  const person = await newPerson();
  const theirs = await another(person);
  await visit(person.path);
  await page.getByRole('link', { name: 'Reset password' }).click();
  await page.getByRole('region', { name: `Reset the password of ${person.name}?` }).getByRole('button').click();
  await expect(toast(page, `The password of ${person.name} was reset and all sessions have ended.`)).toBeVisible();
  const temporary = await secretOf(page, `Temporary password of ${person.name}`);
  await visit('/profile', theirs);
  await expect(theirs).toHaveURL(/\/sign-in/);
  await fillSignIn(theirs, { email: person.email, password: temporary });
  await expect(theirs).toHaveURL('/new-password');
});

test('cannot disable oneself or reset the own password, and is told what to do instead', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit(`${people}?q=${admin.email}`);
  await page.getByRole('rowheader').getByRole('link').click();
  const reset = page.getByRole('button', { name: 'Reset password' });
  await expect(reset).toBeDisabled();
  await expect(reset).toHaveAccessibleDescription('This is your own account. Change your password in your profile.');
});

testOnOwnServer('cannot remove the last Owner, whoever tries', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const reason = 'This is the last Owner who can sign in. Give the role Owner to somebody else first.';
  await visit(people);
  await page.getByRole('rowheader').getByRole('link').click();
  const disable = page.getByRole('button', { name: 'Disable' });
  await expect(disable).toBeDisabled();
  await expect(disable).toHaveAccessibleDescription(reason);
  await page.getByRole('checkbox', { name: 'Reader' }).check();
  await page.getByRole('checkbox', { name: 'Owner' }).uncheck();
  await page.getByRole('button', { name: 'Save roles' }).click();
  await expect(page.getByRole('alert')).toContainText(reason);

  // The question names them too, and changes the others only.
  const other = await newPerson({ waiting: true });
  await visit(people);
  await page.getByRole('checkbox', { name: `Select ${other.name}` }).check();
  await page.getByRole('checkbox', { name: 'Select admin' }).check();
  await page.getByRole('group', { name: 'Actions for the selected people' }).getByRole('button', { name: /^Disable/ }).click();
  const question = page.getByRole('region', { name: 'Disable 1 of 2 selected people?' });
  await expect(question.getByRole('listitem').filter({ hasText: 'admin' })).toContainText(reason);

  // With a second Owner the first one can be demoted.
  const second = await newPerson({ roles: ['owner'] });
  await signedInAs(second);
  await visit(people);
  await page.getByRole('rowheader', { name: admin.email }).getByRole('link').click();
  await page.getByRole('checkbox', { name: 'Reader' }).check();
  await page.getByRole('checkbox', { name: 'Owner' }).uncheck();
  await page.getByRole('button', { name: 'Save roles' }).click();
  await expect(toast(page, 'admin is now Reader.')).toBeVisible();
});
