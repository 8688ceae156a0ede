import { admin, expect, testOnOwnServer as test } from '../fixtures.ts';

/** Addresses as routes: what differs from one thing to the next is left out. */
function routeOf(href: string): string {
  const path = href.split(/[?#]/)[0] ?? '';
  return path.replace(/\/people\/user-[^/]+/, '/people/:id').replace(/\/sizes\/local-[^/]+/, '/sizes/:name');
}

test('every page can be reached by links alone, and every form can be sent', async ({ signedInAs, newPerson, ownOffice, visit }) => {
  const page = await signedInAs(admin);
  // Somebody disabled, so that there is something to enable.
  await ownOffice.change('disable', await newPerson({ waiting: true }));
  const seen = new Map<string, string>();
  const functions = new Set<string>();
  const waiting = ['/'];
  for (let path = waiting.pop(); path; path = waiting.pop()) {
    const response = await visit(path);
    expect(response?.status(), path).toBe(200);
    const { forms, links } = await page.evaluate(() => ({
      forms: [...document.forms].map((form) => ({
        method: form.method,
        action: form.getAttribute('action') ?? '',
        // The return key sends a form with one field, as it always has; any other needs a button.
        canBeSent: !!form.querySelector('button[type=submit]') || form.querySelectorAll('input').length === 1,
      })),
      // A download is no page.
      links: [...document.querySelectorAll('a[href^="/"]')]
        .map((link) => link.getAttribute('href') ?? '')
        .filter((href) => !/\/files\/(zip|download)/.test(href)),
    }));
    for (const { method, action, canBeSent } of forms) {
      if (method === 'post') functions.add(action.replace('/fn/', ''));
      expect(canBeSent, `${path}: the form for ${action} can be sent`).toBe(true);
    }
    for (const href of links) {
      if (!seen.has(routeOf(href))) {
        seen.set(routeOf(href), href);
        waiting.push(href);
      }
    }
  }
  expect([...seen.keys()].sort()).toEqual([
    '/profile',
    '/w/studio',
    '/w/studio/activity',
    '/w/studio/admin/engines',
    '/w/studio/admin/environment',
    '/w/studio/admin/people',
    '/w/studio/admin/people/:id',
    '/w/studio/admin/people/confirm/disable',
    '/w/studio/admin/people/confirm/enable',
    '/w/studio/admin/people/confirm/reset-password',
    '/w/studio/admin/people/new',
    '/w/studio/admin/quota',
    '/w/studio/admin/roles',
    '/w/studio/admin/settings',
    '/w/studio/admin/shares',
    '/w/studio/admin/sizes',
    '/w/studio/admin/sizes/:name',
    '/w/studio/admin/sizes/:name/remove',
    '/w/studio/admin/sizes/new',
    '/w/studio/compute/attached',
    '/w/studio/compute/clusters',
    '/w/studio/compute/clusters/new',
    '/w/studio/compute/instances',
    '/w/studio/compute/instances/new',
    '/w/studio/compute/serverless',
    '/w/studio/cost',
    '/w/studio/cost/budgets',
    '/w/studio/environments',
    '/w/studio/environments/new',
    '/w/studio/files',
    '/w/studio/files/new',
    '/w/studio/files/trash',
    '/w/studio/files/usage',
    '/w/studio/jobs',
    '/w/studio/jobs/new',
    '/w/studio/schedules',
    '/w/studio/search',
  ]);
  expect([...functions].sort()).toEqual([
    '/w/studio/compute/instances/new/step',
    '/w/studio/files/save',
    '/w/studio/files/upload',
    '/w/studio/jobs/upload',
    'add_ssh_key',
    'change_accounts',
    'change_password',
    'create_cluster',
    'create_person',
    'create_token',
    'install_editor',
    'make_folder',
    'pause_engine',
    'put_size',
    'rebuild_environment',
    'remove_size',
    'save_environment',
    'set_budget',
    'set_environment',
    'set_files_limit',
    'set_half_life',
    'set_idle_rules',
    'set_limit',
    'set_nav',
    'set_queue_policy',
    'set_roles',
    'set_share',
    'set_theme',
    'sign_out',
    'sign_out_everywhere',
    'update_profile',
  ]);
});

test('nothing that needs script is shown without it', async ({ signedInAs, visit, page: own }) => {
  const page = await signedInAs(admin);
  await visit('/w/studio/admin/people');
  await expect(page.getByText('Ctrl K')).toBeHidden();
  await expect(page.getByText('Live updates off')).toBeHidden();
  await own.context().clearCookies();
  await visit('/sign-in');
  await page.getByText('Forgot your password?').click();
  await expect(page.getByRole('button', { name: 'Copy' })).toBeHidden();
});
