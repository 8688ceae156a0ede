// The end of a day, with a clock that is moved: a stop by schedule that is announced and put off, and a stop for idleness.

import type { Page } from '@playwright/test';

import { admin, expect, testOnWorkstations as test, toast } from '../fixtures.ts';
import { create, desk, open, run } from '../workstation.ts';

// What applications print in their own pages is their own business.
test.use({ allowedConsoleErrors: /./ });
test.setTimeout(240_000);

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Pacific/Auckland'];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** What a clock there shows. */
function localTime(zone: string, at: Date): { day: string; hours: number; text: string } {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone: zone, weekday: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const part = (type: string) => parts.formatToParts(at).find((one) => one.type === type)?.value ?? '';
  return { day: part('weekday'), hours: Number(part('hour')), text: `${part('hour')}:${part('minute')}` };
}

async function started(page: Page, visit: (path: string) => Promise<unknown>): Promise<void> {
  await create(page, visit);
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible({ timeout: 60_000 });
}

test('a stop by schedule is announced, put off, and says why it came', async ({ signedInAs, visit, ready, server }) => {
  const page = await signedInAs(admin);
  await started(page, visit);

  // Hours of this very day somewhere where it is day: awake until 40 minutes from now.
  const zone = zones.find((one) => localTime(one, new Date()).hours >= 5 && localTime(one, new Date()).hours < 20)!;
  const [now, end] = [localTime(zone, new Date()), localTime(zone, new Date(Date.now() + 40 * 60_000))];
  expect(days).toContain(now.day);
  await visit(`${desk}/schedules`);
  await page.getByLabel('Time zone').first().selectOption(zone);
  const bar = page.getByRole('group', { name: new RegExp(`^${now.day}`) });
  const box = (await bar.boundingBox())!;
  await page.mouse.move(box.x + (box.width * 2) / 24, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + (box.width * 22) / 24, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await expect(page.getByRole('checkbox', { name: now.day })).toBeChecked();
  await expect(page.getByLabel(`${now.day}, start`)).toHaveValue('02:00');
  await page.getByLabel(`${now.day}, stop`).fill(end.text);
  await page.getByLabel('After so long without activity').fill('4320');
  await page.getByRole('button', { name: 'Save schedule' }).click();
  await expect(toast(page, `desk is awake ${now.day.slice(0, 3)} 02:00 to ${end.text}, ${zone}.`)).toBeVisible();
  await ready();
  const next = page.getByRole('region', { name: 'Next times' });
  await expect(next.getByRole('listitem')).toHaveCount(5);
  await expect(next.getByRole('listitem').first()).toContainText(end.text);

  // A quarter of an hour before, every page says so.
  await visit(desk);
  await expect(page.getByText(/Stops .* by schedule/).first()).toBeVisible();
  await server.letPass(27);
  const corner = page.locator('.toasts.warnings');
  await expect(corner.getByText(/desk stops at .* by schedule, in 1\d min\./)).toBeVisible();
  await page.getByRole('button', { name: 'Notifications' }).click();
  await expect(page.locator('#m-bell').getByText(/desk stops at/)).toBeVisible();
  await page.keyboard.press('Escape');
  await corner.getByRole('button', { name: '+1 h: desk' }).click();
  await expect(toast(page, /desk stops .* instead\./)).toBeVisible();
  await ready();
  await server.letPass(20);
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible();
  await expect(corner.getByText(/desk stops at/)).toHaveCount(0);

  // It comes an hour later, and the history says by what.
  await server.letPass(60);
  await visit(desk);
  await expect(page.getByText('Stopped').first()).toBeVisible({ timeout: 30_000 });
  await visit(`${desk}/history`);
  await expect(page.getByText(/Stop.* by schedule/i).first()).toBeVisible();
});

test('a kernel that only computes keeps it awake, an open tab does not', async ({ signedInAs, visit, context, server }) => {
  const page = await signedInAs(admin);
  await started(page, visit);
  await visit(`${desk}/schedules`);
  await page.getByLabel('After so long without activity').fill('15');
  await page.getByRole('button', { name: 'Save schedule' }).click();
  await expect(toast(page, 'desk')).toBeVisible();

  await visit(desk);
  const lab = await open(page, context, /JupyterLab/);
  await lab.waitForURL(/jupyter--desk--studio\.localhost/, { timeout: 60_000 });
  await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: 60_000 });
  await expect(lab.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')).toBeAttached({ timeout: 60_000 });
  await run(lab, 'while True: pass');
  await expect(lab.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]')).toBeAttached({ timeout: 60_000 });
  await server.letPass(40);
  await visit(desk);
  await expect(page.getByText('Running').first()).toBeVisible();
  const awake = page.locator('[data-live="awake"]');
  await expect(awake).toContainText('Why is it awake?');
  await expect(awake.getByRole('listitem').filter({ hasText: /kernel/i }).first()).toContainText(/busy/i);

  // The same tab, left alone with a kernel that waits.
  await lab.bringToFront();
  await lab.locator('.jp-Notebook').first().click();
  await lab.keyboard.press('Escape');
  await lab.keyboard.press('i');
  await lab.keyboard.press('i');
  await expect(lab.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')).toBeAttached({ timeout: 60_000 });
  await page.bringToFront();
  // JupyterLab saves what was changed some seconds later, which counts; after that nothing does.
  await expect(async () => {
    await server.letPass(3);
    await visit(desk);
    await expect(page.locator('.toasts.warnings').getByText(/desk stops at .* in \d min/)).toBeVisible({ timeout: 2_000 });
  }).toPass({ timeout: 120_000 });
  await expect(awake).toContainText(/not busy/);
  await server.letPass(7);
  await visit(desk);
  await expect(page.getByText('Stopped').first()).toBeVisible({ timeout: 30_000 });
  await visit(`${desk}/history`);
  await expect(page.getByText(/idle|without activity/i).first()).toBeVisible();
});
