// The browser, for tests and screenshots alike.

import { existsSync } from 'node:fs';

import { devices } from '@playwright/test';

// The system's Chromium where there is one, else the one that Playwright has downloaded.
const systemChromium = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

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
