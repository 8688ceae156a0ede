// Real nodes and real processes: two people share a cluster by weight, and an evicted job goes on from its checkpoint.

import type { Page } from '@playwright/test';

import { admin, expect, testOnOwnServer as test, toast } from '../fixtures.ts';

const clusters = '/w/studio/compute/clusters';
const jobs = '/w/studio/jobs';
const shares = '/w/studio/admin/shares';

type Visit = (path: string, page?: Page) => Promise<unknown>;
type Ready = (page?: Page) => Promise<void>;

async function addCluster(page: Page, visit: Visit): Promise<void> {
  await visit(`${clusters}/new`);
  await page.getByLabel('Name').fill('pool');
  await page.getByRole('radio', { name: 'local-half' }).check();
  await page.getByLabel('Most nodes').fill('1');
  await page.getByLabel('Idle seconds').fill('600');
  await page.getByRole('button', { name: 'Create cluster' }).click();
  await expect(toast(page, 'pool was created.')).toBeVisible();
}

async function submit(page: Page, visit: Visit, ready: Ready, name: string, script: string, array = ''): Promise<void> {
  await visit(`${jobs}/new?cluster=pool`, page);
  await page.getByLabel('Script').fill(script);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Array').fill(array);
  await page.getByRole('button', { name: 'Submit job' }).click();
  await ready(page);
}

test('two people share a cluster by weight, and who waits sees place and reason', async ({
  signedInAs,
  another,
  visit,
  ready,
  newPerson,
  expectAccessible,
}) => {
  const mara = await newPerson({ name: 'Mara Lindqvist', email: 'mara@example.test', roles: ['data-scientist'] });
  const page = await signedInAs(admin);
  await visit(shares);
  await page.getByLabel('Person').fill(mara.email);
  await page.getByLabel('Weight', { exact: true }).fill('300');
  await page.getByRole('button', { name: 'Set weight' }).click();
  await expect(toast(page, 'has the weight 300 now.')).toBeVisible();
  await ready();
  await addCluster(page, visit);
  await ready();
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByText(/paused the queue since/)).toBeVisible();

  // Both submit while nothing starts; each job takes the whole node for about as long.
  const run = (who: string) => `sleep 1; touch $ATELIER_SHARED_DIR/$(date +%s%N)-${who}`;
  await submit(page, visit, ready, 'Of admin', run('admin'), '12');
  const hers = await another(mara);
  await submit(hers, visit, ready, 'Of Mara', run('mara'), '12');
  await visit(`${clusters}/pool`);
  await ready();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(toast(page, 'goes on with its queue')).toBeVisible();

  // The last of hers waits: at a place, for a reason with numbers, and the page says so by itself.
  await visit(`${jobs}/job-24`, hers);
  await expect(hers.getByText(/Place \d+ of \d+/)).toBeVisible();
  await expect(hers.getByText(/has a share of 300 of 400/).first()).toBeVisible();

  // Most of what has run first was hers.
  const over = () => page.getByRole('row').filter({ hasText: 'Of Mara' });
  await visit(jobs);
  await expect(over()).toContainText(/(9|1\d) completed/, { timeout: 90_000 });
  await visit(shares);
  const row = page.getByRole('row').filter({ hasText: 'Mara Lindqvist' });
  await expect(row).toContainText('75 % meant');
  await expect(row).toContainText(/\d+ % of 75 % meant/);
  await expectAccessible();
  await visit(jobs);
  await expect(over()).toContainText('12 completed', { timeout: 90_000 });
  await expect(page.getByRole('row').filter({ hasText: 'Of admin' })).toContainText('12 completed', { timeout: 90_000 });
  await submit(page, visit, ready, 'Order', 'echo hers of the first 12: $(ls $ATELIER_SHARED_DIR | sort | head -n 12 | grep -c mara)');
  await expect(page.getByRole('heading', { name: 'Order', level: 1 })).toContainText('Completed');
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText(/hers of the first 12: (8|9|10)/);
});

test('an evicted job keeps a checkpoint and its next attempt goes on from there', async ({
  signedInAs,
  visit,
  ready,
  expectAccessible,
}) => {
  const page = await signedInAs(admin);
  await addCluster(page, visit);
  const script = [
    '[ -e checkpoint ] && echo "attempt $ATELIER_ATTEMPT resumes at $(cat checkpoint)" && exit 0',
    `trap '[ -f "$ATELIER_EVICTION_FILE" ] && echo noticed && echo 41 >checkpoint; exit 1' TERM`,
    'echo at work; while :; do sleep 0.1; done',
  ].join('\n');
  await submit(page, visit, ready, 'Careful', script);
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText('at work');
  await page.getByRole('link', { name: 'Evict now' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('30 s of grace');
  await expect(dialog).toContainText('as attempt 2');
  await expectAccessible();
  await dialog.getByRole('button', { name: 'Evict 1 job' }).click();
  await expect(toast(page, '1 job is being evicted')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Careful', level: 1 })).toContainText('Completed');
  await visit(page.url());
  await expect(page.getByRole('list', { name: 'Log lines' })).toContainText('attempt 2 resumes at 41');
  await expect(page.getByText('whose capacity was taken back').first()).toBeVisible();
});
