// The page's figures, lists and choices in the system's Chromium over real collectors (cmd/bullet-metrics/page_test.go
// starts them).
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { again, api, ask, collectors, data, figuresShown, madeUp, open, picture, unfold } from './harness.mjs';

test('CPU and GC are the totals’ rises', async (t) => {
  const page = await open(t, { keep: true, hash: madeUp });
  await page.waitForFunction(
    () => globalThis.bulletPage.figures.find((f) => f.definition.name === 'cpu').columns.length === 3,
  );
  const topology = JSON.stringify(collectors.topology);
  for (const [figure, metric, times_] of [
    ['cpu', 'bullet_worker_cpu_seconds_total', 1],
    ['gc', 'bullet_worker_gc_seconds_total', 60_000],
  ]) {
    const { times, lines } = await data(page, figure);
    let compared = 0;
    for (const i of [times.length - 20, times.length - 12]) {
      for (const r of await ask(
        `sum by (worker) (${metric}{topology=${topology}} - ${metric} offset 10s) / 10`,
        times[i],
      )) {
        const drawn = lines.find((l) => l.name === r.metric.worker).drawn[i];
        assert.ok(
          Math.abs(drawn - Number(r.value[1]) * times_) < 1e-6 * Math.max(1, drawn),
          `${figure}: ${drawn} and ${r.value[1]}`,
        );
        compared++;
      }
    }
    assert.ok(compared >= 4);
  }
  const stolen = '#figure-cpu-parts [data-of^="steal on the worst host"]';
  const { times: parts } = await data(page, 'cpu-parts');
  await page.evaluate((at) => globalThis.bulletPage.figures.forEach((f) => f.read(at)), parts.length - 12);
  assert.equal(await page.locator(stolen).textContent(), 'steal on the worst host, if at least 5% 0.3 cores');
  await page.evaluate((at) => globalThis.bulletPage.figures.forEach((f) => f.read(at)), parts.length - 90);
  assert.equal(await page.locator(stolen).count(), 0, 'nothing was stolen then');
  await page.locator('#more summary').click();
  await page.selectOption('#cpu', 'ms');
  await page.waitForFunction(() =>
    /ms\/min/.test(document.querySelector('#figure-cpu [data-of="mean"] b').textContent),
  );
});

test('hostile names are text', async (t) => {
  const page = await open(t, { keep: true, hash: madeUp });
  assert.ok((await page.locator('#topology').inputValue()) === collectors.topology);
  await page.waitForFunction(() => document.querySelectorAll('#legend button').length === 3);
  const legend = await page.locator('#legend').textContent();
  assert.ok(legend.includes(collectors.hosts[0].slice(0, 40)), legend);
  assert.match(await page.locator('#changes-body').textContent(), /<script>document\.title='owned'<\/script>/);
  assert.equal(await page.locator('main script, main img, main svg, main i, main [onload], main [onerror]').count(), 0);
  const cpu = await data(page, 'cpu');
  assert.ok(
    cpu.lines.some((l) => /x_+x/.test(l.drawn.map((v) => (v == null ? '_' : 'x')).join(''))),
    'the silent worker has a gap',
  );
  await picture(page, 'hostile');
});

test('it goes with the clock until it is paused', async (t) => {
  const page = await open(t, { keep: true, hash: madeUp });
  const first = await page.evaluate(() => globalThis.bulletPage.board.grid.end);
  await page.waitForFunction((end) => globalThis.bulletPage.board.grid?.end > end, first);
  await page.locator('#live').click();
  assert.equal(await page.locator('#live').textContent(), 'Paused');
  assert.equal(await page.locator('#live').getAttribute('aria-pressed'), 'false');
});

test('the numbers on the page are the API’s', async (t) => {
  const page = await open(t, { keep: true });
  const { times } = await data(page, 'heap');
  const questions = {
    // asked otherwise than the page asks
    queries: [
      'running queries',
      1,
      () =>
        'sum(last_over_time(bullet_active_queries{topology="bullet",component="JoinBolt"}[10s]) * 0 + avg_over_time(bullet_active_queries{topology="bullet",component="JoinBolt"}[10s]))',
    ],
    heap: [
      'mean',
      2 ** 20,
      () =>
        'avg(sum_over_time(bullet_worker_heap_used_bytes{topology="bullet"}[10s]) / count_over_time(bullet_worker_heap_used_bytes{topology="bullet"}[10s]))',
    ],
    latency: [
      'mean of the slowest task',
      1 / 1000,
      () =>
        'max(bullet_filter_latency_mean_seconds{topology="bullet"} and present_over_time(bullet_filter_latency_mean_seconds{topology="bullet"}[10s]))',
    ],
  };
  let compared = 0;
  for (const i of [3, 5, 8, 13]) {
    await page.evaluate((at) => globalThis.bulletPage.figures.forEach((f) => f.read(at)), i);
    for (const [figure, [of, divisor, query]] of Object.entries(questions)) {
      const shown = await page.locator(`#figure-${figure} [data-of="${of}"] b`).textContent();
      const [answer] = await ask(query(), times[i]);
      if (!answer) {
        assert.equal(shown, 'no data');
        continue;
      }
      const want = Number(answer.value[1]) / divisor;
      const got = Number(shown.replace(/[^0-9.−-]/g, '').replace('−', '-'));
      assert.ok(
        Math.abs(got - want) <= Math.max(0.006 * Math.abs(want), 0.0006),
        `${figure} at ${times[i]}: ${shown}, and the API has ${want}`,
      );
      compared++;
    }
  }
  assert.ok(compared >= 9, `${compared} numbers`);
  const [workers] = await ask('count(count by (worker) (bullet_worker_heap_used_bytes{topology="bullet"}))', times[5]);
  await page.evaluate(() => globalThis.bulletPage.figures.forEach((f) => f.read(5)));
  assert.match(
    await page.locator('#figure-heap [data-of="mean"]').textContent(),
    new RegExp(`mean of ${workers.value[1]} workers`),
  );
  await picture(page, 'light');
});

test('a gap is a gap', async (t) => {
  const page = await open(t, { keep: true });
  const { lines } = await data(page, 'heap');
  const killed = lines.find((l) => l.name === '127.0.0.1:10068');
  assert.match(
    killed.drawn.map((v) => (v == null ? '_' : 'x')).join(''),
    /x__+x/,
    'the worker that was killed is not there for a while, and comes back',
  );
  assert.ok(lines.every((l) => !l.spansGaps));
});

test('the limit, steps, changes and restarts are on the axis and in words', async (t) => {
  const page = await open(t, { keep: true });
  assert.equal((await data(page, 'latency')).limit, 200);
  const over = await page.evaluate(() => {
    const [first] = globalThis.bulletPage.figures;
    const all = first.host.over(first);
    return { ...all, marks: all.marks.filter((m) => !m.cause) };
  });
  assert.deepEqual(
    over.bands.map((b) => b.label),
    ['10 queries', '20 queries'],
  );
  assert.deepEqual(
    over.marks.map((m) => [m.label, m.restart]),
    [
      ['filter bolts 2 -> 4', false],
      ['Worker 127.0.0.1:10068 restarted', true],
    ],
  );
  assert.match(await page.locator('#changes-body').textContent(), /filter bolts 2 -> 4/);
  await page
    .locator('#health-body')
    .getByText(/Incomplete\. .*Missing: /)
    .waitFor();
});

test('below a path of a proxy nothing is asked from the root', async (t) => {
  const to = new URL(collectors.full);
  const proxy = createServer((request, response) => {
    const { method, headers, url } = request;
    const path = url.startsWith('/bullet/') ? url.slice('/bullet'.length) : '/not-below-the-path';
    const asked = send({ hostname: to.hostname, port: to.port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(asked);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  proxy.unref();
  const page = await open(t, { base: `http://127.0.0.1:${proxy.address().port}/bullet` });
  t.after(() => {
    // after the page is closed, or its last requests would fail
    proxy.closeAllConnections();
    proxy.close();
  });
  await page.locator('#map-body .box[data-component="FilterBolt"]').waitFor(); // open complains of what lies elsewhere
});

test('metrics that are not stored are listed by name', async (t) => {
  const page = await open(t);
  await page.route('**/api/v1/collection**', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.data.not_stored = [
      { component: '__system', metric: 'calls.m1_rate', reason: 'derived', beside: 'calls.count', lost: false },
      { component: 'FilterBolt', metric: 'depth_max', reason: 'duplicate', beside: 'depth', lost: true },
    ];
    await route.fulfill({ response, json: answer });
  });
  await page.reload();
  const shown = page.locator('#health-body');
  await shown.getByText("Metrics not stored: 1 of the topology's own, 1 redundant").waitFor();
  await shown.getByText('depth_max').waitFor();
});

test('placement: the components of each worker, and the workers of each host', async (t) => {
  const page = await open(t, { keep: true });
  const known = await api('/api/v1/topologies/bullet', {});
  // of a plugin that reported no components: from the figures alone
  await page.locator('#map-body .box[data-component="FilterBolt"]').waitFor();
  assert.equal(await page.locator('.problem:visible').count(), 0);
  await page.waitForFunction(() => document.querySelector('#placement-body summary'));
  await page.locator('#placement-body summary').click();
  const rows = await page.locator('#placement-body tbody tr').allTextContents();
  assert.equal(rows.length, known.workers.length);
  assert.match(
    await page.locator('#placement-body p').first().textContent(),
    new RegExp(`^${known.workers.length} workers? on `),
  );
  for (const w of known.workers)
    assert.ok(
      rows.some(
        (row) =>
          row.includes(w.worker) &&
          w.components.every((c) => c.component === '__system' || row.includes(`${c.component} ${c.tasks.length}`)),
      ),
      w.worker,
    );
});

test('alerts tell their cause', async (t) => {
  const page = await open(t, { keep: true });
  const card = page.locator('.alert.firing', { hasText: 'PageTestFires' });
  await card.waitFor();
  assert.match(await card.textContent(), /Filter latency is 0\.25 s <b onmouseover=/);
  assert.equal(await card.locator('a').getAttribute('href'), 'https://example.org/runbooks/PageTestFires');
  const waiting = page.locator('.alert.pending', { hasText: 'PageTestWaits' });
  assert.equal(await waiting.locator('a').count(), 0, 'a script is no runbook');
  await card.getByText('What changed').waitFor(); // what is critical is open
  assert.match(await card.textContent(), /Events in the/);
  assert.equal(await waiting.getByText('What changed').count(), 0);
  await waiting.getByRole('button', { name: 'Why?' }).click();
  await waiting.getByText('What changed').waitFor();
  await card.getByRole('button', { name: 'Why?' }).click();
  assert.equal(await card.getByText('What changed').count(), 0, 'folded');
  await picture(page, 'alerts');
});

test('the crosshair follows the pointer in all figures, and dragging zooms', async (t) => {
  const page = await open(t, { keep: true });
  await unfold(page);
  await page.locator('#figure-heap').scrollIntoViewIfNeeded();
  const box = await page.locator('#figure-heap .u-over').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(() => !document.querySelector('#figure-gc time').textContent.startsWith('latest'));
  assert.equal(
    await page.locator('#figure-gc time').textContent(),
    await page.locator('#figure-queries time').textContent(),
  );
  await again(page);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await figuresShown(page);
  const { searchParams } = new URL(`http://x/?${new URL(page.url()).hash.slice(1)}`);
  assert.ok(
    Date.parse(searchParams.get('from')) > Date.parse('2026-11-21T15:50:00Z') &&
      Date.parse(searchParams.get('to')) < Date.parse('2026-11-21T15:52:00Z'),
    page.url(),
  );
  await again(page);
  await page.goBack();
  await figuresShown(page);
  assert.equal((await data(page, 'heap')).times.length, 18);
});

test('light and dark have contrast, and follow the system', async (t) => {
  const page = await open(t, { keep: true, colorScheme: 'dark' });
  const contrast = () =>
    page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const light = (name) => {
        const hex = style
          .getPropertyValue(name)
          .trim()
          .replace('#', '')
          .replace(/^(.)(.)(.)$/, '$1$1$2$2$3$3');
        const [r, g, b] = [0, 2, 4]
          .map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
          .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = light('--paper');
      return {
        paper,
        least: Math.min(
          ...['--ink', '--muted', '--link', '--fail', '--wait', '--ok', '--limit', '--mark', '--cause']
            .map(light)
            .map((l) => (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05)),
        ),
      };
    });
  const dark = await contrast();
  await picture(page, 'dark');
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await contrast();
  assert.ok(dark.paper < 0.05 && light.paper > 0.9);
  assert.ok(dark.least >= 4.5 && light.least >= 4.5, `${dark.least} ${light.least}`);
});

test('by keyboard alone', async (t) => {
  const page = await open(t);
  await unfold(page);
  const seen = [];
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate(() => ({
      id: document.activeElement.id,
      ring: getComputedStyle(document.activeElement).outlineStyle,
      name:
        document.activeElement.getAttribute('aria-label') ??
        document.activeElement.labels?.[0]?.textContent ??
        document.activeElement.textContent,
    }));
    assert.notEqual(focus.ring, 'none', `focus on ${focus.id} is not seen`);
    assert.ok(focus.name, `${focus.id} has no name`);
    seen.push(focus.id);
    if (focus.id === 'figure-heap') break;
  }
  const stops = [
    'skip',
    'topology',
    'range',
    'zone',
    'to-alert',
    'tile-latency',
    'figure-latency',
    'figure-cpu',
    'figure-heap',
  ];
  assert.deepEqual(
    seen.filter((id) => stops.includes(id)),
    stops,
  );
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('ArrowLeft');
  const { times } = await data(page, 'heap');
  const at = [times[9] - 10, times[9]].map((s) => new Date(s * 1000).toISOString().slice(11, 19)).join(' to ');
  assert.equal(await page.locator('#figure-latency time').textContent(), at, 'one crosshair for all figures');
  assert.match(await page.locator('#readout').textContent(), new RegExp(`Heap in use .*${at}: mean of`));
  const at9 = await page.evaluate(() => globalThis.bulletPage.figures.map((f) => f.chart.cursor.idx));
  assert.deepEqual([...new Set(at9)], [9], 'in all figures, however wide');
  await picture(page, 'crosshair');
  await page.keyboard.press('Escape');
  assert.match(await page.locator('#figure-latency time').textContent(), /^latest: /);
  const button = page.locator('#legend button').first();
  await button.focus();
  await page.keyboard.press('Space');
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  assert.equal(
    await page.evaluate(
      () => globalThis.bulletPage.figures.find((f) => f.definition.name === 'heap').chart.series[1].show,
    ),
    false,
  );
});

test('a run’s report is shown in a sandbox', async (t) => {
  const page = await open(t, { expected: ['policy: script-src', 'sandboxed', 'Content Security Policy'] });
  assert.match(await page.locator('#runs-body').textContent(), /A made-up grid of filter bolts by queries.*FAIL/);
  await page.getByRole('link', { name: 'Report of sample' }).click();
  await page.getByText('the report').waitFor();
  assert.equal(await page.title(), 'r', 'its script did not run');
  await page.goBack();
});

test('before a topology has reported, the page shows what to do', async (t) => {
  const page = await open(t, { base: collectors.empty, hash: '', shown: false, expected: ['404'] });
  await page.getByText('No topology has reported yet').waitFor();
  assert.match(await page.locator('#snippet').textContent(), /BulletMetricsConsumer/);
  const { 'grpc.listen': listen } = (await (await fetch(`${collectors.empty}/api/v1/status/flags`)).json()).data;
  await page.locator('#snippet', { hasText: `- "${listen}"` }).waitFor();
  await page.locator('#reach', { hasText: 'own machine can reach 127.0.0.1' }).waitFor();
  assert.match(listen, /^127\.0\.0\.1:[1-9]\d+$/);
  await page.locator('#copy').click();
  await page.locator('#copied', { hasText: /Copied|Selected/ }).waitFor();
  await page.getByText('runs.dir is not set').waitFor();
  let askedForRuns = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/api/v1/runs')) askedForRuns++;
  });
  await page.evaluate(() => {
    globalThis.bulletPage.page.slowAt = 0;
  });
  await page.waitForFunction(() => globalThis.bulletPage.page.slowAt > 0);
  assert.equal(askedForRuns, 0, 'a collector without runs is not asked again');
  await picture(page, 'empty');
});

test('without a store, and without a collector, it shows that', async (t) => {
  const page = await open(t, {
    base: collectors.storeless,
    hash: '',
    shown: false,
    expected: ['503', '404', 'ERR_FAILED'],
  });
  await page.locator('#away', { hasText: 'store.embedded.enabled is false' }).waitFor();
  assert.equal(
    (await page.locator('body').innerText()).split('store.embedded.enabled').length,
    2,
    'once, and not once a figure',
  );
  assert.equal(await page.locator('.figure:visible, #map:visible, #health:visible').count(), 0);
  assert.deepEqual(
    await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map((r) => r.name)
        .filter((name) => name.includes('query_range')),
    ),
    [],
    'what cannot be answered is not asked',
  );
  await page.getByText('4 workers on 4 hosts.').waitFor(); // what needs no store is there
  await picture(page, 'storeless');
  await page.route('**/api/**', (route) => route.abort());
  await page.selectOption('#range', '6h');
  await page.locator('#status.problem', { hasText: 'does not respond' }).waitFor();
  await picture(page, 'unreachable');
});

test('a collector that does not respond leaves nothing green, and is found again', async (t) => {
  const page = await open(t, { hash: madeUp, expected: ['net::ERR_FAILED', 'Failed to load resource'] });
  await page.waitForFunction(() => document.querySelector('#alerts-body .note'));
  await page.route('**/api/**', (route) => route.abort());
  await page.locator('#state .sentence.unknown', { hasText: 'Unknown since' }).waitFor();
  assert.match(
    await page.locator('#state').textContent(),
    /Unknown since \d\d:\d\d:\d\d: the collector does not respond/,
  );
  assert.equal(await page.locator('#live').textContent(), 'No response');
  assert.equal(await page.locator('.stale').count(), 1, 'and nothing has colours');
  assert.match(await page.locator('#alerts-body').textContent(), /Unknown: the collector does not respond\./);
  assert.doesNotMatch(await page.locator('main').textContent(), /rules are being evaluated/);
  await page.unroute('**/api/**');
  await page.locator('#state', { hasNotText: 'Unknown since' }).waitFor();
  assert.equal(await page.locator('.stale').count(), 0);
  assert.equal(await page.locator('#live').textContent(), 'Live');
});
