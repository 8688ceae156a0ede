import { defineConfig } from '@playwright/test';

import { chromium } from './chromium.ts';
import { baseURL, serverCommand } from './server.ts';

export default defineConfig({
  testDir: './tests',
  fullyParallel: true,
  forbidOnly: !!process.env['CI'],
  // A test that fails now and then is a bug to find, not noise to hide.
  retries: 0,
  workers: 2,
  // Generous, for machines that do other work at the same time; nothing here waits for time to pass.
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: 'list',
  use: {
    baseURL,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    // Nothing is still on its way from one colour to another when axe looks.
    contextOptions: { reducedMotion: 'reduce' },
    trace: { mode: 'retain-on-failure', screenshots: false, sources: false },
  },
  projects: [
    { name: 'js', testIgnore: '**/*.no-js-only.spec.ts', use: chromium },
    { name: 'no-js', testIgnore: '**/*.js-only.spec.ts', use: { ...chromium, javaScriptEnabled: false } },
  ],
  webServer: {
    command: serverCommand(),
    url: `${baseURL}/healthz`,
    reuseExistingServer: false,
    timeout: 30_000,
    gracefulShutdown: { signal: 'SIGTERM', timeout: 5_000 },
    stdout: 'ignore',
    stderr: 'pipe',
  },
});
