import { admin, expect, test, unique } from '../fixtures.ts';

const people = '/w/studio/admin/people';

test('a question is a page of its own, whose safe button leads back', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const person = await newPerson({ waiting: true });
  await visit(person.path);
  await page.getByRole('link', { name: 'Disable' }).click();
  await expect(page).toHaveURL(`${people}/confirm/disable?id=${person.id}`);
  await expect(page.getByRole('heading', { name: 'Disable accounts', level: 1 })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Keep as it is' })).toBeFocused();
  await page.getByRole('link', { name: 'Keep as it is' }).click();
  await expect(page).toHaveURL(person.path);
});

test('ticked rows lead to the question without being counted first', async ({ signedInAs, visit, newPerson }) => {
  const page = await signedInAs(admin);
  const word = `tick${unique()}`;
  const [ada, bo] = [
    await newPerson({ name: `${word} Ada`, waiting: true }),
    await newPerson({ name: `${word} Bo`, waiting: true }),
  ];
  await visit(`${people}?q=${word}`);
  await expect(page.getByRole('checkbox', { name: 'Select all people on this page' })).toBeHidden();
  const bar = page.getByRole('group', { name: 'Actions for the selected people' });
  await page.getByRole('checkbox', { name: `Select ${ada.name}` }).check();
  await page.getByRole('checkbox', { name: `Select ${bo.name}` }).check();
  await expect(bar.getByRole('button', { name: 'Enable selected' })).toBeVisible();
  await bar.getByRole('button', { name: 'Clear selection' }).click();
  await expect(page.getByRole('checkbox', { name: `Select ${ada.name}` })).not.toBeChecked();
  await page.getByRole('checkbox', { name: `Select ${ada.name}` }).check();
  await page.getByRole('checkbox', { name: `Select ${bo.name}` }).check();
  await bar.getByRole('button', { name: 'Disable selected' }).click();
  await expect(page).toHaveURL(`${people}/confirm/disable?id=${ada.id}&id=${bo.id}`);
  await expect(page.getByRole('heading', { name: 'Disable 2 people?' })).toBeVisible();
});

test('the question for nobody says so', async ({ signedInAs, visit }) => {
  const page = await signedInAs(admin);
  await visit(`${people}/confirm/disable`);
  await expect(page.getByRole('heading', { name: 'Nobody is selected' })).toBeVisible();
  await page.getByRole('link', { name: 'Go back' }).click();
  await expect(page).toHaveURL(people);
});
