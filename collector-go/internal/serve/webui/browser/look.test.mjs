// The first look: state, tiles, order of figures, the causes, at three widths.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, collectors, data, figuresShown, near, numberIn, open, picture } from './harness.mjs';

const noRuns = { expected: ['404'] };
const topology = (name, more = {}) => `#${new URLSearchParams({ topology: name, ...more })}`;

// What a tile has, asked otherwise than the page asks, at the tile's own time over its own slice. The latency is the
// alert's.
const questions = {
  queries: [
    (t, w) =>
      `sum(sum_over_time(bullet_active_queries{topology="${t}",component="JoinBolt"}[${w}s]) / count_over_time(bullet_active_queries{topology="${t}",component="JoinBolt"}[${w}s]))`,
  ],
  records: [(t, w) => `sum(deriv(bullet_source_records_total{topology="${t}"}[${w + 10}s]))`],
  lag: [(t, w) => `sum(avg_over_time(bullet_source_lag_records{topology="${t}"}[${w}s]))`],
  // over two minutes and an interval at least, since the busy share needs that many tuples
  busy: [
    (t, w) =>
      `100 * max(avg_over_time(storm_capacity_ratio{topology="${t}",component="FilterBolt"}[${Math.max(w, 120) + 10}s]))`,
  ],
  workers: [
    (t, w) => `count(count by (worker) (present_over_time(bullet_worker_heap_used_bytes{topology="${t}"}[${w}s])))`,
  ],
};

for (const [width, colorScheme] of [
  [390, 'light'],
  [768, 'dark'],
  [1440, 'light'],
]) {
  test(`tiles are the API’s numbers at ${width} px, and lead to their figures`, async (t) => {
    const page = await open(t, { keep: true, hash: topology('slow-filter'), width, height: 844, colorScheme });
    const { step } = await data(page, 'busy');
    for (const [name, [query]] of Object.entries(questions)) {
      const tile = page.locator(`#tile-${name}`);
      const [answer] = await ask(query('slow-filter', step), await tile.getAttribute('data-time'));
      near(numberIn(await tile.locator('b').textContent()), Number(answer.value[1]), `${name} at ${width} px`);
      assert.ok(new URL(await tile.getAttribute('href'), page.url()).hash.includes(`figure=${name}`));
    }
    await page.waitForFunction(() => {
      const text = (selector) => document.querySelector(selector)?.textContent;
      return (
        text('#state').includes(` is ${text('#tile-latency b')} `) &&
        text('.alert.firing').includes(` is ${text('#tile-latency b')} `) &&
        text('.box[data-component="FilterBolt"] [data-busy]') === `${text('#tile-busy b')} busy`
      );
    }); // one value for one thing
    assert.match(await page.locator('#tile-busy').textContent(), /FilterBolt/);
    assert.match(await page.locator('#tile-workers').textContent(), /of 3/);
    await page.locator('#tile-lag').click();
    await page.waitForFunction(() => document.activeElement.id === 'figure-lag');
    const top = await page.locator('#figure-lag').evaluate((e) => e.getBoundingClientRect().top);
    assert.ok(top >= -1 && top < 844, `the figure is in sight: ${top}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, 'no sideways scrolling');
  });
}

test('a diagnosis is marked on the figures, and its rows lead to their moment', async (t) => {
  const page = await open(t, { keep: true, hash: topology('slow-filter'), width: 1440 });
  const card = page.locator('.alert.firing').first();
  await card.getByText('What changed').waitFor();
  const text = await card.textContent();
  assert.ok(text.indexOf('What changed') < text.indexOf('Events in the'), 'figures first');
  assert.match(text, /No data for: .*filter latency \(p99\)/);
  const marks = await page.evaluate(() => {
    const f = globalThis.bulletPage.board.byName.get('busy');
    return f.host
      .over(f)
      .marks.filter((m) => m.cause)
      .map((m) => [m.figure, m.labelled]);
  });
  assert.ok(
    marks.some(([figure, labelled]) => figure === 'busy' && labelled) &&
      marks.some(([figure, labelled]) => figure === 'latency' && !labelled),
    JSON.stringify(marks),
  );
  await card.getByRole('link', { name: /busy share of the busiest task/ }).click();
  await page.waitForFunction(
    () => document.activeElement.id === 'figure-busy' && globalThis.bulletPage.board.pointed != null,
  );
  const { hash } = new URL(page.url());
  const [, at] = /at=([^&]+)/.exec(hash);
  const pointed = await page.evaluate(() => {
    const { board } = globalThis.bulletPage;
    const f = board.figures[0];
    return [f.times[board.pointed] - f.grid.step, f.times[board.pointed]];
  });
  const moment = Date.parse(decodeURIComponent(at)) / 1000;
  assert.ok(moment > pointed[0] - 1 && moment <= pointed[1], `${moment} in ${pointed}`);
  await picture(page, 'diagnosis-1440-light');
  const copy = await open(t, { hash, width: 1440 });
  await copy.waitForFunction(
    () => globalThis.bulletPage.board.pointed != null && document.activeElement.id === 'figure-busy',
  );
});

// Five causes, five sentences, each within one screen of a phone.
for (const [name, base, figure, cause, advice] of [
  [
    'slow-filter',
    'full',
    'latency',
    /FilterBolt has been busy 9\d% of the time since \d\d:\d\d \(3\d% before\)/,
    /bullet\.topology\.filter\.bolt\.parallelism/,
  ],
  [
    'slow-gc',
    'full',
    'latency',
    /Garbage collection pauses have taken \d\d% of the worst worker's time since .* \(1% before\)/,
    /larger heap/,
  ],
  [
    'slow-source',
    'full',
    'latency',
    /The source has been slow since \d\d:\d\d: \d+(\.\d)? records\/s .* no component is busy/,
    /Check the source/,
  ],
  ['slow-worker', 'full', 'latency', /A worker is lost: 2 workers report since .* \(3 before\)/, /lack of memory/],
  [
    'was-away',
    'away',
    'workers',
    /The collector did not run from \d\d:\d\d to \d\d:\d\d; for this time, only samples that the plugin buffered are known/,
    /why the collector was down/,
  ],
]) {
  test(`${name}: a phone's first screen names the alert, its cause and what to do`, async (t) => {
    const page = await open(t, {
      ...(base === 'away' ? noRuns : {}),
      base: collectors[base],
      hash: topology(name),
      width: 390,
      height: 844,
      hasTouch: true,
    });
    await page.locator('#cause').waitFor();
    assert.match(
      await page.locator('#state').textContent(),
      // its last report is as old as this test's start, and after 90 s the page says so
      base === 'away'
        ? /No samples from was-away|No report since/
        : /Filter latency of .* is \d.*, above the 200 ms limit/,
    );
    assert.match(await page.locator('#cause').textContent(), cause);
    assert.match(await page.locator('#advice').textContent(), advice);
    for (const part of ['#state', '#cause', '#advice', '.box[data-component="FilterBolt"]']) {
      // in one step, because a refresh may replace the element
      const [top, bottom] = await page.evaluate((selector) => {
        const box = document.querySelector(selector).getBoundingClientRect();
        return [box.top, box.bottom];
      }, part);
      assert.ok(top >= 0 && bottom <= 844, `${part} ends at ${bottom}`);
    }
    assert.equal(await page.locator('#lead .figure').first().getAttribute('id'), `figure-${figure}`);
    assert.equal(await page.locator('#rest').getAttribute('open'), null, 'the other charts are folded');
    assert.equal(await page.locator('#chooser').getAttribute('open'), null, 'choosers are folded');
    await picture(page, `phone-${name}`, false);
    const sentence = await page.locator('#cause').textContent();
    const diagnosis = await page.locator('.alert.firing .cause').first().textContent();
    assert.ok(
      diagnosis.includes(sentence.replace('Cause: ', '').replace(/\.$/, '')),
      `the diagnosis says the same: ${diagnosis}`,
    );
  });
}

test('a slow worker that was lost 20 minutes ago: the lost worker comes first, and what it reported is in the past', async (t) => {
  const page = await open(t, { hash: topology('lost-slow'), width: 1440 });
  await page.locator('.verdict-line', { hasText: 'A worker is lost' }).waitFor();
  const said = await page.locator('#state').textContent();
  assert.match(said, /A worker is lost: 2 workers report since \d\d:\d\d \(3 before\).*Also: /);
  assert.match(said, /Also: Filter latency of lost-slow was 426 ms .* \(last measured \d\d:\d\d, (19|2\d) min ago\)/);
  assert.match(await page.locator('.alert.firing').textContent(), /was 426 ms/, 'nor does the list say that it is');
  assert.equal(await page.locator('#lead .figure').first().getAttribute('id'), 'figure-workers');
  const workers = page.locator('#tile-workers');
  assert.match(await workers.textContent(), /2.*of 3/);
  assert.match(await workers.getAttribute('class'), /\bbad\b/);
});

test('an alert leads to its runbook, to Alertmanager and to Grafana', async (t) => {
  const page = await open(t, { hash: topology('slow-filter'), width: 1440 });
  for (const [path, data] of [
    ['alertmanagers', { activeAlertmanagers: [{ url: 'http://am.example:9093/api/v2/alerts' }] }],
    ['status/flags', { 'http.grafana_url': 'https://grafana.example' }],
  ])
    await page.route(`**/api/v1/${path}`, (route) => route.fulfill({ json: { status: 'success', data } }));
  await page.evaluate(() => {
    globalThis.bulletPage.page.slowAt = 0;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  const to = (name) => page.locator('#state').getByRole('link', { name }).getAttribute('href').then(decodeURIComponent);
  const labels = '{alertname="BulletFilterLatencyMeanHigh", severity="critical", topology="slow-filter"}';
  assert.equal(await to('Silence'), `http://am.example:9093/#/silences/new?filter=${labels}`);
  assert.equal(await to('Alertmanager'), `http://am.example:9093/#/alerts?filter=${labels}`);
  assert.match(await to('Grafana'), /^https:\/\/grafana\.example\/d\/bullet-overview\?var-topology=slow-filter&/);
  assert.equal(await to('Runbook'), 'https://example.org/runbooks/BulletFilterLatencyMeanHigh');
});

test('on a phone the alert is at most six tab stops away', async (t) => {
  const page = await open(t, { hash: topology('slow-filter'), width: 390, height: 844 });
  await page.locator('#to-alert').waitFor();
  const seen = [];
  do {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
  } while (seen.at(-1) !== 'to-alert' && seen.length < 7);
  assert.ok(seen.length <= 6 && seen.at(-1) === 'to-alert', seen.join(', '));
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'alerts');
  await page.evaluate(() => document.body.focus());
  await page.locator('#chosen').click();
  const small = await page.evaluate(
    () =>
      [...document.querySelectorAll('#controls select, #controls button')].filter(
        (e) => e.offsetParent && e.getBoundingClientRect().height < 40,
      ).length,
  );
  assert.equal(small, 0, 'fingers are wide');
});

test('what is well says since when', async (t) => {
  const page = await open(t, { hash: topology('well'), width: 1440, colorScheme: 'light' });
  await page.waitForFunction(() => /OK since \d\d:\d\d/.test(document.getElementById('state').textContent));
  assert.equal(await page.locator('.tile.bad').count(), 0);
  await picture(page, 'well-1440-light');
});

test('of several topologies there is an overview, the burning first', async (t) => {
  const page = await open(t, { hash: '', width: 768, shown: false });
  await page.locator('#overview-body tbody tr').first().waitFor();
  const rows = await page.locator('#overview-body tbody tr').allTextContents();
  assert.match(
    rows.find((r) => r.startsWith('well')),
    /OK/,
  );
  await page.locator('#overview-body tbody tr', { hasText: 'ms (mean)' }).first().waitFor();
  const [slow] = await page.locator('#overview-body tbody tr', { hasText: 'slow-gc' }).allInnerTexts();
  assert.match(slow, /slow-gc\tBulletFilterLatencyMeanHigh\t4\d\d ms \(mean\)\t2\d(\.\d)?\t8\d(\.\d)?%\t3\t\d\d:\d\d/);
  assert.ok(rows.findIndex((r) => r.startsWith('slow-gc')) < rows.findIndex((r) => r.startsWith('well')));
  await picture(page, 'overview-768-light');
  await page.getByRole('link', { name: 'well' }).click();
  await figuresShown(page);
  assert.match(await page.locator('#state').textContent(), /well: OK since|well: OK/);
});
