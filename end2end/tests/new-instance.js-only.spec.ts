// What script adds to the wizard: the name is checked and the price follows while one types, and hours are dragged.

import { admin, expect, test, toast, unique } from '../fixtures.ts';

const instances = '/w/studio/compute/instances';

test('the name, the price and the hours follow the typing', async ({ signedInAs, visit, ready }) => {
  const page = await signedInAs(admin);
  const size = `size-${unique()}`.slice(0, 20);
  await visit('/w/studio/admin/sizes/new');
  await page.getByLabel('Name').fill(size);
  await page.getByLabel('Cores').fill('0.5');
  await page.getByLabel('Memory, GiB').fill('0.25');
  await page.getByLabel('Price per hour').fill('1');
  await page.getByRole('button', { name: 'Save size' }).click();
  await expect(toast(page, 'is in the catalogue')).toBeVisible();
  const name = `typed-${unique()}`.slice(0, 20);
  await visit(`${instances}/new?size=${size}`);
  const field = page.getByLabel('Name');
  await field.pressSequentially('my_desk');
  await expect(field).toHaveAccessibleDescription(/this has “_”/);
  await field.fill(name);
  await expect(field).toHaveAccessibleDescription(/Free\./);
  await expect(page.locator('.price')).toContainText('€1.00');
  await page.getByRole('button', { name: 'Next: schedule' }).click();
  await ready();
  await page.getByRole('checkbox', { name: 'Start and stop it by a weekly schedule' }).check();
  await expect(page.locator('.price')).toContainText('per month');
  const before = await page.locator('.price').innerText();

  // The end of Monday is dragged to the right, and Tuesday's is moved by keys.
  const bar = page.getByRole('group', { name: /^Monday: awake/ });
  const box = (await bar.boundingBox())!;
  const at = (hours: number) => box.x + (box.width * hours) / 24;
  await page.mouse.move(at(18), box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(at(20), box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await expect(page.getByLabel('Monday, stop')).toHaveValue('20:00');
  await expect(bar).toHaveAccessibleName('Monday: awake 08:30 to 20:00');
  await expect(page.locator('.price')).not.toHaveText(before);
  const grip = page.getByRole('slider', { name: 'Tuesday, drag the start' });
  await grip.focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('PageDown');
  await expect(page.getByLabel('Tuesday, start')).toHaveValue('07:15');
  await expect(grip).toHaveAttribute('aria-valuetext', '07:15');

  // A new stretch on a day that has none, and Monday's hours for all.
  const saturday = (await page.getByRole('group', { name: /^Saturday/ }).boundingBox())!;
  const there = (hours: number) => saturday.x + (saturday.width * hours) / 24;
  await page.mouse.move(there(9), saturday.y + 10);
  await page.mouse.down();
  await page.mouse.move(there(12), saturday.y + 10, { steps: 4 });
  await page.mouse.up();
  await expect(page.getByRole('checkbox', { name: 'Saturday' })).toBeChecked();
  await expect(page.getByLabel('Saturday, start')).toHaveValue('09:00');
  await expect(page.getByLabel('Saturday, stop')).toHaveValue('12:00');
  await page.getByRole('button', { name: 'every day' }).click();
  await expect(page.getByLabel('Sunday, stop')).toHaveValue('20:00');
  await expect(page).toHaveURL(/step=schedule/);
});
