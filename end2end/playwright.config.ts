import { existsSync } from 'node:fs';

import { defineConfig, devices } from '@playwright/test';

import { baseURL, serverCommand } from './server.ts';

// The system's Chromium where there is one, else the one that Playwright has downloaded.
const systemChromium = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

const chromium = {
  ...devices['Desktop Chrome'],
  viewport: { width: 1440, height: 900 },
  launchOptions: {
    ...(existsSync(systemChromium) ? { executablePath: systemChromium } : {}),
    args: [
      '--no-sandbox', // in a container, and as root, there is none to be had
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  },
};

export default defineConfig({
  testDir: './tests',
  fullyParallel: true,
  forbidOnly: !!process.env['CI'],
  // A test that fails now and then is a bug to find, not noise to hide.
  retries: 0,
  workers: 2,
  reporter: 'list',
  use: {
    baseURL,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    trace: 'retain-on-failure',
  },
  projects: [
    { name: 'js', use: chromium },
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
