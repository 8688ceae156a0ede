// VS Code for real: `cargo xtask test --only vscode`. It downloads and compiles code-server, so it is no part of the other tests.

import { defineConfig } from '@playwright/test';

import { chromium } from './chromium.ts';
import config from './playwright.config.ts';

export default defineConfig({
  ...config,
  testDir: './vscode',
  workers: 1,
  projects: [{ name: 'js', use: chromium }],
});
