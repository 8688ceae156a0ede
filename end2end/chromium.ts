// The browser, for tests and screenshots alike.

import { existsSync } from 'node:fs';

import { devices } from '@playwright/test';

// The one that is named, or the system's, or the one that Playwright has downloaded. The headless shell is Chromium without
// the windows that nobody sees here; on two cores the tests take about half the time in it.
const systemChromium =
  process.env['CHROMIUM'] ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ??
  '';

export const chromium = {
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
