// The server under test: where it is, how it is started, and who may sign in from the beginning.
//
// Playwright reads its configuration again in every worker, so what is chosen once per run is kept in the environment,
// which workers inherit.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Account {
  readonly email: string;
  readonly password: string;
}

/** The account that the server makes when it starts on an empty data directory. */
export const admin: Account = { email: 'admin@example.test', password: 'correct-horse-battery-staple' };

const port = process.env['ATELIER_E2E_PORT'] ?? '3117';
export const baseURL = `http://127.0.0.1:${port}`;

const binary = resolve(import.meta.dirname, process.env['ATELIER_BIN'] ?? '../target/debug/atelier');

/** Makes the data directory, once per run, and returns the command line that serves it. */
export function serverCommand(): string {
  const directory = (process.env['ATELIER_E2E_DIR'] ??= makeDirectory());
  const words = [
    binary, 'serve',
    '--listen', `127.0.0.1:${port}`,
    '--data', join(directory, 'data'),
    '--admin-email', admin.email,
    '--admin-password-file', join(directory, 'admin-password'),
  ];
  // exec, so that the signal to stop reaches the server and not a shell
  return `exec ${words.map((word) => `'${word}'`).join(' ')}`;
}

function makeDirectory(): string {
  if (!existsSync(binary)) {
    throw new Error(`${binary} does not exist. Run the tests with \`cargo xtask test --only e2e\`, which builds it.`);
  }
  const directory = mkdtempSync(join(tmpdir(), 'atelier-e2e-'));
  writeFileSync(join(directory, 'admin-password'), admin.password, { mode: 0o600 });
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
