// The servers under test: where they are, how they are started, and who may sign in from the beginning.
//
// Most tests share one server, which Playwright starts. Playwright reads its configuration again in every worker, so what
// is chosen once per run is kept in the environment, which workers inherit. A test that needs an empty server, the last
// Owner or a restart starts a `Server` of its own.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
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
  const words = [binary, ...serveArguments(directory, port, 'with-admin')];
  // exec, so that the signal to stop reaches the server and not a shell; our own variables are no settings of the server
  const foreign = Object.keys(process.env).filter(isSetting).map((name) => `-u ${name}`);
  return `exec env ${foreign.join(' ')} ${words.map((word) => `'${word}'`).join(' ')}`;
}

/** Where the Python environment of instances was built before; without it none is built. */
const environments = process.env['ATELIER_E2E_ENVIRONMENTS'];

const isSetting = (variable: string) => variable.startsWith('ATELIER_');

function serveArguments(directory: string, onPort: string | number, accounts: 'with-admin' | 'empty'): string[] {
  const owner = ['--admin-email', admin.email, '--admin-password-file', join(directory, 'admin-password')];
  return [
    'serve',
    '--listen', `127.0.0.1:${onPort}`,
    '--data', join(directory, 'data'),
    // Nodes of several tests at once, on a machine with few cores.
    '--local-overcommit', '16',
    ...(environments ? ['--environments', environments] : ['--environment', 'off']),
    ...(accounts === 'with-admin' ? owner : []),
  ];
}

function makeDirectory(): string {
  if (!existsSync(binary)) {
    throw new Error(`${binary} does not exist. Run the tests with \`cargo xtask test --only e2e\`, which builds it.`);
  }
  const directory = mkdtempSync(join(tmpdir(), 'atelier-e2e-'));
  writeFileSync(join(directory, 'admin-password'), admin.password, { mode: 0o600 });
  process.on('exit', () => clearAway(directory));
  return directory;
}

/** Ends the nodes that a stopped server leaves running, as it should, and removes what it kept. */
function clearAway(directory: string): void {
  if (!existsSync(directory)) return;
  spawnSync(binary, ['stop-all', '--data', join(directory, 'data')], { stdio: 'ignore' });
  rmSync(directory, { recursive: true, force: true });
}

/** How long a server may take to be ready or to be gone. */
const PATIENCE_MILLIS = 20_000;

/** A server of a test's own, with a port and a data directory of its own. */
export class Server {
  #process: ChildProcess | undefined;
  #log = '';

  private constructor(
    /** Where it listens. */
    readonly url: string,
    private readonly words: string[],
    private readonly directory: string,
    private readonly wanted: 'plain' | 'workstations' = 'plain',
  ) {}

  /** Lets time pass on the server, minute by minute. */
  async letPass(minutes: number): Promise<void> {
    const answer = await fetch(`${this.url}/test/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ minutes }),
    });
    if (answer.status !== 204) throw new Error(`the server does not let time pass: ${answer.status}`);
  }

  /** Starts a server without accounts, or with the one of `admin`. */
  static async start(
    accounts: 'with-admin' | 'empty',
    wanted: 'plain' | 'workstations' = 'plain',
    more: string[] = [],
  ): Promise<Server> {
    const directory = makeDirectory();
    const onPort = await freePort();
    const words = [...serveArguments(directory, onPort, accounts), ...more];
    // Applications live below localhost, so that is the portal's own name too.
    const host = wanted === 'plain' ? '127.0.0.1' : 'localhost';
    const server = new Server(`http://${host}:${onPort}`, words, directory, wanted);
    await server.start();
    return server;
  }

  /** Starts it, again after `stop`, and waits until it is ready. */
  async start(): Promise<void> {
    this.#log = '';
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
    if (this.wanted === 'workstations') env['ATELIER_TEST_CLOCK'] = '1';
    const child = spawn(binary, this.words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    await new Promise<void>((ready, fail) => {
      const giveUp = (why: string) => fail(new Error(`${why}. Its log:\n${this.#log}`));
      const timer = setTimeout(() => giveUp('the server was not ready in time'), PATIENCE_MILLIS);
      child.once('exit', () => giveUp('the server ended instead of getting ready'));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text;
        if (this.#log.includes('Atelier is ready')) {
          clearTimeout(timer);
          ready();
        }
      });
    });
  }

  /** Stops it as an operator does, and waits until it has gone. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    const gone = once(child, 'exit', { signal: AbortSignal.timeout(PATIENCE_MILLIS) });
    child.kill('SIGTERM');
    await gone.catch(() => {
      child.kill('SIGKILL');
      throw new Error(`the server did not stop at SIGTERM. Its log:\n${this.#log}`);
    });
  }

  /** Stops it and removes what it kept. */
  async remove(): Promise<void> {
    await this.stop();
    clearAway(this.directory);
  }

  /** The one-time code that the set-up page asks for, from the log. */
  get setUpCode(): string {
    const code = /set-up code ([a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4})/.exec(this.#log)?.[1];
    if (!code) throw new Error(`there is no set-up code in the log:\n${this.#log}`);
    return code;
  }
}

/** Two ports next to each other that nobody listens at. */
export async function freePair(): Promise<[number, number]> {
  for (;;) {
    const first = await freePort();
    const second = await freePort(first + 1).catch(() => 0);
    if (second) return [first, second];
  }
}

async function freePort(wanted = 0): Promise<number> {
  const probe = createServer().listen(wanted, '127.0.0.1');
  await once(probe, 'listening');
  const { port: found } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return found;
}
