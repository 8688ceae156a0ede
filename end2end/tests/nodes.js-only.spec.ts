// Real nodes and real processes: a cluster from zero and back, with jobs on it that people watch.

import type { Page } from '@playwright/test';

import { admin, expect, testOnOwnServer as test, toast } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';
const jobs = '/w/studio/jobs';

type Visit = (path: string) => Promise<unknown>;

interface Wanted {
  readonly name: string;
  readonly script: string;
  readonly nodes?: string;
  readonly array?: string;
  readonly cluster?: string;
}

/** Submits a job through its page and waits for what follows. */
async function submit(page: Page, visit: Visit, ready: () => Promise<void>, wanted: Wanted): Promise<void> {
  await visit(`${jobs}/new?cluster=${wanted.cluster ?? 'pool'}`);
  await page.getByLabel('Script').fill(wanted.script);
  await page.getByLabel('Name').fill(wanted.name);
  await page.getByRole('textbox', { name: /^Nodes/ }).fill(wanted.nodes ?? '1');
  await page.getByLabel('Array').fill(wanted.array ?? '');
  await page.getByRole('button', { name: 'Submit job' }).click();
  await ready();
}

async function addCluster(page: Page, visit: Visit, idle: string): Promise<void> {
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill('pool');
  await page.getByRole('radio', { name: 'local-half' }).check();
  await page.getByLabel('Fewest nodes').fill('0');
  await page.getByLabel('Most nodes').fill('4');
  await page.getByLabel(/idle/i).first().fill(idle);
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(toast(page, 'pool was created.')).toBeVisible();
}

test('a cluster grows from nothing with its jobs, and goes back to nothing', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  await addCluster(page, visit, '3');
  await expect(page.getByText('0 nodes', { exact: false }).first()).toBeVisible();

  // A job that goes on until it is told, followed line by line.
  const talk = 'i=0; while [ ! -e $ATELIER_SHARED_DIR/enough ]; do i=$((i+1)); printf "\\033[32mline\\033[0m $i\\n"; sleep 0.2; done; echo the end';
  await submit(page, visit, ready, { name: 'Talks', script: talk });
  const lines = page.getByRole('list', { name: 'Log lines' });
  await expect(lines).toContainText('line 2');
  await expect(page.getByRole('heading', { name: 'Talks', level: 1 })).toContainText('Running');
  // It grows without anybody asking.
  await expect(lines).toContainText('line 6');
  await expect(lines.locator('.a-g').first()).toBeVisible();
  const address = page.url();

  // One that takes two nodes, each of which knows its number.
  await submit(page, visit, ready, {
    name: 'Pair',
    script: 'echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR; touch outputs/rank-$RANK',
    nodes: '2',
  });
  await expect(page.getByRole('heading', { name: 'Pair', level: 1 })).toContainText('Completed');
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText(/rank [01] of 2 at \d+\.\d+\.\d+\.\d+/);
  await expect(page.getByRole('link', { name: /rank-0/ })).toBeVisible();
  await expectAccessible();

  // An array, as one line of the list.
  await submit(page, visit, ready, { name: 'Sweep', script: 'echo number $ATELIER_ARRAY_INDEX', array: '5' });
  await expect(page.getByRole('rowheader')).toHaveCount(5);
  await visit(`${jobs}?q=Sweep`);
  await expect(page.getByRole('row', { name: /Sweep/ })).toContainText('5 completed');

  // Nodes are there, with what runs on them.
  await visit(`${clusters}/pool`);
  await expect(page.getByRole('link', { name: /Talks|job-1/ }).first()).toBeVisible();
  await expectAccessible();

  // One more, which somebody cancels.
  await submit(page, visit, ready, { name: 'Sleeper', script: 'echo waiting; sleep 1000' });
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText('waiting');
  await page.getByRole('link', { name: 'Cancel job' }).click();
  await page.getByRole('button', { name: 'Cancel 1 job' }).click();
  await expect(toast(page, '1 job is being canceled.')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Sleeper', level: 1 })).toContainText('Canceled');

  // The first is told that it is enough.
  await submit(page, visit, ready, { name: 'Enough', script: 'touch $ATELIER_SHARED_DIR/enough' });
  await visit(address);
  await expect(page.getByRole('heading', { name: 'Talks', level: 1 })).toContainText('Completed');
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText('the end');

  // Back at nothing, and the page says why.
  await visit(`${clusters}/pool`);
  await expect(page.getByText(/0 nodes/).first()).toBeVisible({ timeout: 60_000 });
  await expect(page.getByText(/idle for/i).first()).toBeVisible();
  await expectAccessible();
});

test('a serverless job has a machine of its own for as long as it runs', async ({ signedInAs, visit, ready }) => {
  const page = await signedInAs(admin);
  await visit(`${jobs}/new`);
  await page.getByLabel('Command').fill('uname -s');
  await page.getByLabel('Name').fill('Alone');
  await page.getByRole('button', { name: 'Submit job' }).click();
  await ready();
  await expect(page.getByRole('heading', { name: 'Alone', level: 1 })).toContainText('Completed');
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText('Linux');
  await visit('/w/studio/admin/engines');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByText(/control groups|Control groups/).first()).toBeVisible();
});
