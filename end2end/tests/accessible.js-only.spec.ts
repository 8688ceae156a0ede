import { admin, test } from '../fixtures.ts';
import { everyPage } from '../pages.ts';

for (const [name, path] of everyPage) {
  test(`${name} is accessible in light and dark, on a desk and on a phone`, async ({
    signedInAs,
    somebody,
    visit,
    expectAccessible,
  }) => {
    await signedInAs(admin);
    await visit(path(await somebody('data-scientist')));
    await expectAccessible();
  });
}
