// Makes people for tests over HTTP, as an Owner would: quicker than by forms, which have tests of their own.

import type { APIRequestContext, Cookie, PlaywrightWorkerArgs } from '@playwright/test';

import type { Account } from './server.ts';

export type Role = 'reader' | 'data-scientist' | 'compute-operator' | 'contributor' | 'owner';

/** Somebody with an account. */
export interface Person extends Account {
  readonly id: string;
  readonly name: string;
  /** The page of the person. */
  readonly path: string;
}

export interface Wanted {
  /** What the name starts with; the rest makes it unique. */
  name?: string;
  /** The e-mail address, for a person who is called exactly `name`; a unique one unless it is given. */
  email?: string;
  why?: string;
  roles?: Role[];
  /** Leaves the person waiting for the first sign-in: `password` is the temporary one then. */
  waiting?: boolean;
}

/** What a server function answers. */
interface Done {
  message: string;
  next: string;
  secret: string;
}

/** A word that occurs nowhere else on the server. */
export function unique(): string {
  const letter = () => String.fromCharCode(97 + Math.floor(Math.random() * 26));
  return Array.from({ length: 9 }, letter).join('');
}

/** An Owner at a desk. */
export class Office {
  private constructor(
    private readonly playwright: PlaywrightWorkerArgs['playwright'],
    private readonly url: string,
    private readonly owner: APIRequestContext,
    private readonly cookies: Map<string, Cookie[]>,
  ) {}

  /** Signs an Owner in on the server at `url`. */
  static async open(playwright: PlaywrightWorkerArgs['playwright'], url: string, owner: Account): Promise<Office> {
    const cookies = new Map<string, Cookie[]>();
    const office = new Office(playwright, url, await newRequest(playwright, url), cookies);
    await call(office.owner, 'sign_in', { email: owner.email, password: owner.password });
    cookies.set(owner.email, (await office.owner.storageState()).cookies);
    return office;
  }

  /** The cookies of a session; each account signs in once, since passwords are slow to check, on purpose. */
  async session(account: Account): Promise<Cookie[]> {
    return this.cookies.get(account.email) ?? this.signIn(account);
  }

  /** Adds a person with a unique name, who has chosen a password unless still waiting. */
  async add(wanted: Wanted = {}): Promise<Person> {
    const { name = 'Noor', roles = ['data-scientist'], waiting = false, why = '' } = wanted;
    const word = unique();
    const email = wanted.email ?? `${word}@example.test`;
    const full = wanted.email ? name : `${name} ${word}`;
    const done = await call(this.owner, 'create_person', { name: full, email, 'roles[]': roles, why });
    const id = done.next.split('/').at(-1) ?? '';
    const person = { id, name: full, email, path: done.next, password: done.secret };
    if (waiting) return person;
    const password = `harbour-lantern-${word}`;
    const request = await newRequest(this.playwright, this.url);
    await call(request, 'sign_in', { email, password: done.secret });
    await call(request, 'change_password', { current: done.secret, password });
    this.cookies.set(email, (await request.storageState()).cookies);
    await request.dispose();
    return { ...person, password };
  }

  /** Shuts people out or lets them in again. */
  async change(verb: 'disable' | 'enable', ...people: Person[]): Promise<void> {
    await call(this.owner, 'change_accounts', { verb, 'ids[]': people.map((person) => person.id) });
  }

  /** Replaces somebody's roles. */
  async setRoles(person: Person, roles: Role[], why = ''): Promise<void> {
    await call(this.owner, 'set_roles', { user: person.id, 'roles[]': roles, why });
  }

  async close(): Promise<void> {
    await this.owner.dispose();
  }

  private async signIn(account: Account): Promise<Cookie[]> {
    const request = await newRequest(this.playwright, this.url);
    await call(request, 'sign_in', { email: account.email, password: account.password });
    const { cookies } = await request.storageState();
    await request.dispose();
    this.cookies.set(account.email, cookies);
    return cookies;
  }
}

async function newRequest(playwright: PlaywrightWorkerArgs['playwright'], url: string): Promise<APIRequestContext> {
  return playwright.request.newContext({ baseURL: url, extraHTTPHeaders: { origin: url, accept: 'application/json' } });
}

/** Calls a server function as a page's script would, and fails unless it was carried out. */
async function call(request: APIRequestContext, name: string, fields: Record<string, string | string[]>): Promise<Done> {
  const pairs = Object.entries(fields).flatMap(([key, value]) => [value].flat().map((one) => [key, one]));
  const answer = await request.post(`/fn/${name}`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    data: new URLSearchParams(pairs).toString(),
  });
  if (!answer.ok()) throw new Error(`${name} was refused with ${answer.status()}: ${await answer.text()}`);
  return (await answer.json()) as Done;
}
