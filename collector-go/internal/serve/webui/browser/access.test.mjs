// WCAG 2 A and AA by axe-core, every rule of them, in every state, theme and width.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { collectors, look, madeUp, open, picture, recorded } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const states = {
  healthy: { hash: '#topology=well' },
  burning: { hash: '#topology=slow-filter&component=FilterBolt', ready: (page) => page.locator('#cause').waitFor() },
  hostile: { hash: madeUp },
  recorded: { hash: recorded },
  query: {
    hash: '#from=2026-11-21T15:49:00Z&to=2026-11-21T15:51:00Z&query=storm_capacity_ratio',
    shown: false,
    ready: async (page) => {
      await page.locator('#answer-rows tbody tr').first().waitFor();
      await page.locator('#editor .cm-content').click();
      await page.keyboard.press('End');
      await page.keyboard.type('{');
      await page.locator('.cm-tooltip-autocomplete li', { hasText: 'component' }).waitFor();
    },
  },
  'a refused query': {
    hash: '#query=sum(up',
    shown: false,
    expected: ['400'],
    ready: (page) => page.locator('#go-to-error').waitFor(),
  },
  live: {
    hash: '#topology=sampled&range=5m',
    ready: (page) => page.locator('#figure-heap time', { hasText: 'provisional' }).waitFor(),
  },
  old: { hash: '#topology=bullet', ready: (page) => page.locator('#go-there').waitFor() },
  overview: { hash: '', shown: false, ready: (page) => page.locator('#overview-body tbody tr').first().waitFor() },
  empty: {
    base: collectors.empty,
    hash: '',
    shown: false,
    expected: ['404'],
    ready: (page) => page.getByText('No topology has reported yet').waitFor(),
  },
  storeless: {
    base: collectors.storeless,
    hash: '',
    shown: false,
    expected: ['503', '404'],
    ready: (page) => page.locator('#away .problem').waitFor(),
  },
};

for (const [name, { ready, ...how }] of Object.entries(states)) {
  test(`${name}: no violation in any theme and width`, async (t) => {
    const page = await open(t, { ...how, width: 390, height: 844 });
    await ready?.(page);
    const everyLook = async (then) => {
      for (const width of [390, 768, 1440]) {
        for (const colorScheme of ['light', 'dark']) {
          await look(page, { width, height: 844 }, colorScheme);
          await then(width, colorScheme);
        }
      }
    };
    if (['healthy', 'burning', 'empty', 'old'].includes(name))
      await everyLook((width, colorScheme) => picture(page, `${name}-${width}-${colorScheme}`, false));
    const protocol = await page.context().newCDPSession(page); // past the page's policy, which lets no script in
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await protocol.send('Runtime.evaluate', {
        awaitPromise: true,
        returnByValue: true,
        expression,
      });
      assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
      return result.value;
    };
    await evaluate(`${axe};0`);
    await page.locator('details').evaluateAll((all) =>
      all.forEach((d) => {
        d.open = true;
      }),
    ); // what is folded is looked at too
    await everyLook(async (width, colorScheme) => {
      const result = await evaluate(
        `axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then((r) => ({ checked: r.passes.length, violations: r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')) }))`,
      );
      assert.deepEqual(result.violations, [], `${name} at ${width} px, ${colorScheme}`);
      assert.ok(result.checked >= 10, `${result.checked} rules had something to look at`);
    });
  });
}
