// What all tests of the page share: a browser, a page that fails its test where it complains, and the API beside it.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const collectors = JSON.parse(process.env.PAGE_COLLECTORS);
const browserPath =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const folder = (path) => fileURLToPath(new URL(`../../../../../${path}/`, import.meta.url));
const images = folder('build/page-images');
export const recorded = '#topology=bullet&from=2026-11-21T15%3A49%3A00Z&to=2026-11-21T15%3A52%3A00Z&slice=10s';
export const madeUp = `#${new URLSearchParams({ topology: collectors.topology, range: '15m', slice: '10s' })}`;

const mostWait = 120_000; // ms: ends a test that hangs, on a machine that others use too

let browser;
let kept = null; // the page that tests share as long as one after the other asks for it
before(async () => {
  mkdirSync(images, { recursive: true });
  browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
});
after(() => browser?.close());

/**
 * open shows the page, and fails the test at its end where the browser had anything to complain of. With `keep` the
 * page stays for the next test, which gets it with its own address, width and colours, if it keeps the same state:
 * loading it again costs more than most tests.
 */
export async function open(
  t,
  { keep = false, expected = [], width = 1200, height = 900, colorScheme = 'light', ...what } = {},
) {
  const key = JSON.stringify(what);
  if (kept && (!keep || kept.key !== key)) {
    await kept.context.close();
    kept = null;
  }
  const opened = kept
    ? await renewed(kept, what, { width, height }, colorScheme)
    : await load(what, { width, height }, colorScheme);
  if (keep) kept = { ...opened, key };
  t.after(async () => {
    const title = await opened.page.title().catch(() => 'Bullet Metrics');
    if (!keep) await opened.context.close();
    assert.deepEqual(
      opened.complaints.splice(0).filter((c) => !expected.some((e) => c.includes(e))),
      [],
    );
    assert.equal(title, 'Bullet Metrics');
  });
  return opened.page;
}

async function load({ base = collectors.full, hash = recorded, shown = true, ...more }, viewport, colorScheme) {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', locale: 'en-GB', ...more });
  context.setDefaultTimeout(mostWait);
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()));
  page.on('pageerror', (e) => complaints.push(e.stack));
  page.on('request', (r) => r.url().startsWith(`${base}/`) || complaints.push(`asked elsewhere: ${r.url()}`));
  await page.addInitScript(() =>
    addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)),
  );
  await page.goto(`${base}/${hash}`);
  if (shown) await figuresShown(page);
  return { context, page, complaints };
}

async function renewed(opened, { hash = recorded, shown = true }, viewport, colorScheme) {
  const { page } = opened;
  if (new URL(page.url()).hash !== hash) {
    await again(page);
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    if (shown)
      await page.waitForFunction(() => globalThis.bulletPage.board.grid && !globalThis.bulletPage.page.loading);
  }
  await page.evaluate(() => {
    scrollTo(0, 0);
    document.activeElement.blur();
    globalThis.bulletPage.board.move(null);
  });
  await look(page, viewport, colorScheme);
  return opened;
}

/** look has a page in another size and colours, and waits until it is drawn. */
export async function look(page, viewport, colorScheme) {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  await page.evaluate(
    () =>
      new Promise((drawn) => {
        requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      }),
  );
}

export const figuresShown = (page) =>
  page.waitForFunction(() => performance.getEntriesByName('figures-shown').length > 0);
/** unfold shows the charts that an alert has folded. */
export async function unfold(page) {
  await page.waitForFunction(() => globalThis.bulletPage.page.burning != null);
  await page.locator('#rest').evaluate((d) => {
    d.open = true;
  });
}
export const again = (page) => page.evaluate(() => performance.clearMarks('figures-shown'));
/** picture takes a screenshot. UPDATE_IMAGES=1 replaces those that the documentation shows. */
export function picture(page, name, fullPage = true) {
  const shown = `${folder('docs/images')}page-${name}.png`;
  const path = process.env.UPDATE_IMAGES && existsSync(shown) ? shown : `${images}page-${name}.png`;
  return page.screenshot({ path, fullPage });
}
export const data = (page, figure) =>
  page.evaluate((name) => {
    const f = globalThis.bulletPage.figures.find((x) => x.definition.name === name);
    return {
      times: f.times,
      drawnAt: [...f.chart.data[0]],
      step: f.grid.step,
      lines: f.columns.map((c, i) => ({
        name: c.metric.worker,
        drawn: [...f.chart.data[i + 1]],
        spansGaps: f.chart.series[i + 1].spanGaps,
      })),
      limit: f.limit(),
    };
  }, figure);
export const api = async (path, form) => {
  const answer = await (await fetch(`${collectors.full}${path}?${new URLSearchParams(form)}`)).json();
  assert.equal(answer.status, 'success', JSON.stringify(answer));
  return answer.data;
};
export const ask = async (query, time) => (await api('/api/v1/query', { query, time })).result;

/** numberIn reads the first number of a text as the page writes it. */
export const numberIn = (text) =>
  Number(/[−-]?[0-9][0-9,]*(\.[0-9]+)?/.exec(text)[0].replace('−', '-').replaceAll(',', ''));

/** near holds what is written, with three digits, against what the API has. */
export const near = (got, want, what) =>
  assert.ok(
    Math.abs(got - want) <= Math.max(0.006 * Math.abs(want), 0.0006),
    `${what}: ${got}, and the API has ${want}`,
  );
