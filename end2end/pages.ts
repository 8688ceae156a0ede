// Every page of the portal for somebody who is signed in, as src/app.rs routes them.

import type { Person } from './office.ts';

const studio = '/w/studio';

/** What each page is called in the title of a test, and where it is; `person` is somebody to look at. */
export const everyPage: [name: string, path: (person: Person) => string][] = [
  ['home', () => studio],
  ['instances', () => `${studio}/compute/instances`],
  ['the form for a new instance', () => `${studio}/compute/instances/new`],
  ['schedules', () => `${studio}/schedules`],
  ['settings', () => `${studio}/admin/settings`],
  ['clusters', () => `${studio}/compute/clusters`],
  ['attached computes', () => `${studio}/compute/attached`],
  ['serverless jobs', () => `${studio}/compute/serverless`],
  ['jobs', () => `${studio}/jobs`],
  ['an empty filter of jobs', () => `${studio}/jobs?q=nothing-fits-this`],
  ['the form for a new job', () => `${studio}/jobs/new`],
  ['files', () => `${studio}/files`],
  ['the form for a new file', () => `${studio}/files/new`],
  ['the trash', () => `${studio}/files/trash`],
  ['what uses room', () => `${studio}/files/usage`],
  ['environments', () => `${studio}/environments`],
  ['the form for a new environment', () => `${studio}/environments/new`],
  ['the comparison of environments', () => `${studio}/environments/compare`],
  ['cost', () => `${studio}/cost`],
  ['quota', () => `${studio}/admin/quota`],
  ['fair shares', () => `${studio}/admin/shares`],
  ['the question before holding jobs', () => `${studio}/jobs/confirm/hold`],
  ['activity', () => `${studio}/activity`],
  ['an empty filter of activity', () => `${studio}/activity?q=nothing-fits-this`],
  ['people', () => `${studio}/admin/people`],
  ['an empty filter of people', () => `${studio}/admin/people?q=nothing-fits-this`],
  ['the form for a new person', () => `${studio}/admin/people/new`],
  ['a person', (person) => person.path],
  ['the question before disabling', (person) => `${studio}/admin/people/confirm/disable?id=${person.id}`],
  ['roles', () => `${studio}/admin/roles`],
  ['the form for a new cluster', () => `${studio}/compute/clusters/new`],
  ['sizes', () => `${studio}/admin/sizes`],
  ['the form for a new size', () => `${studio}/admin/sizes/new`],
  ['engines', () => `${studio}/admin/engines`],
  ['the environment', () => `${studio}/admin/environment`],
  ['search', () => `${studio}/search`],
  ['what was found', () => `${studio}/search?q=ad`],
  ['the profile', () => '/profile'],
];
