// Makes the pictures of the README: `npm run screenshots`. Not a part of the tests.

import { defineConfig } from '@playwright/test';

import { chromium } from './chromium.ts';

export default defineConfig({
  testDir: './screenshots',
  workers: 1,
  reporter: 'list',
  timeout: 120_000,
  use: {
    ...chromium,
    deviceScaleFactor: 1,
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    contextOptions: { reducedMotion: 'reduce' },
  },
});
