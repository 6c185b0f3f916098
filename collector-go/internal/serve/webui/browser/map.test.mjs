// The topology's map: its numbers are the API's, at any moment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, ask, near, numberIn, open, picture } from './harness.mjs';

const hash = '#topology=slow-filter&range=1h';
const moment = (page) => page.evaluate(() => globalThis.bulletPage.map.time);
const shown = (page) => page.waitForFunction(() => document.querySelectorAll('#map-body .box').length >= 5);

for (const [width, colorScheme] of [
  [390, 'dark'],
  [768, 'light'],
  [1440, 'light'],
]) {
  test(`boxes and edges are the API’s numbers at ${width} px`, async (t) => {
    const page = await open(t, { keep: true, hash, width, colorScheme });
    await shown(page);
    const known = await api('/api/v1/topologies/slow-filter', {});
    const at = await moment(page);
    const own = known.components.filter((c) => !c.name.startsWith('__'));
    assert.equal(await page.locator('#map-body .box').count(), own.length);
    for (const c of own)
      assert.match(
        await page.locator(`.box[data-component="${c.name}"]`).textContent(),
        new RegExp(`${c.parallelism} executors?, ${c.tasks.length} tasks?`),
      );
    const filter = page.locator('.box[data-component="FilterBolt"]');
    const [busy] = await ask(
      '100 * max(avg_over_time(storm_capacity_ratio{topology="slow-filter",component="FilterBolt"}[130s]))',
      at,
    );
    near(numberIn(await filter.locator('[data-busy]').textContent()), Number(busy.value[1]), 'busy share');
    assert.match(await filter.textContent(), /saturated/, 'words beside the colour');
    const [held] = await ask(
      '100 * max(rate(storm_skipped_seconds_total{topology="slow-filter",component="DataSource"}[150s]))',
      at,
    );
    near(
      numberIn(await page.locator('.box[data-component="DataSource"] [data-held]').textContent()),
      Number(held.value[1]),
      'held back',
    );
    assert.match(await page.locator('.box[data-component="DataSource"]').getAttribute('class'), /pressed/);
    await page.locator('#map-body details').evaluate((d) => {
      d.open = true;
    });
    const row = page.locator('#map-body tbody tr', { hasText: 'DataSource' });
    assert.match(await row.textContent(), /DataSourceFilterBoltdefaultshuffle/);
    const [rate] = await ask(
      'sum(rate(storm_executed_total{topology="slow-filter",component="FilterBolt",source="DataSource"}[150s]))',
      at,
    );
    near(numberIn(await row.locator('[data-rate]').textContent()), Number(rate.value[1]), 'edge');
    assert.equal(
      await page.locator('#map-body tbody tr').count(),
      own.reduce((n, c) => n + c.inputs.length, 0),
      'every stream that is known',
    );
    await page.waitForFunction(() => {
      const canvas = document.querySelector('.map canvas');
      const { width, height } = canvas.getBoundingClientRect();
      return (
        canvas.width === Math.round(width * devicePixelRatio) && canvas.height === Math.round(height * devicePixelRatio)
      );
    }); // the streams are drawn for the boxes as they are
    await picture(page, `map-${width}-${colorScheme}`);
  });
}

// Bullet's largest topology: both optional bolts, and three spouts.
const components = Object.entries({
  DataSpout: '',
  DataSource: 'DataSpout',
  QuerySpout: '',
  TickSpout: '',
  ReplayBolt: 'QuerySpout',
  FilterBolt: 'DataSource QuerySpout TickSpout ReplayBolt',
  JoinBolt: 'FilterBolt QuerySpout TickSpout ReplayBolt',
  ResultBolt: 'JoinBolt',
  LoopBolt: 'FilterBolt JoinBolt',
}).map(([name, inputs]) => ({
  name,
  parallelism: 4,
  tasks: [1, 2, 3, 4],
  inputs: inputs
    .split(' ')
    .filter(Boolean)
    .map((component) => ({ component, stream: 'default', grouping: 'shuffle' })),
}));

// show has the map draw components, and returns what went wrong: streams behind boxes, labels behind boxes, and lines
// outside the map.
const show = (page, known) =>
  page.evaluate((all) => {
    const { map } = globalThis.bulletPage;
    const answer = (metric, value) => ({ metric, value: [0, value] });
    const each = (value) => all.map((c) => answer({ component: c.name }, value));
    map.known = all;
    map.shown = {
      busy: each('0.95'),
      full: each('0.6'),
      held: each('0.25'),
      emitted: each('1234'),
      tasks: each('4'),
      executed: all.flatMap((c) =>
        c.inputs.map((i) => answer({ component: c.name, source: i.component, stream: i.stream }, '1234')),
      ),
    };
    map.build();
    const area = map.canvas.getBoundingClientRect();
    const boxes = [...document.querySelectorAll('#map-body .box')].map((box) => {
      const { left, right, top, bottom } = box.getBoundingClientRect();
      return {
        name: box.dataset.component,
        left: left - area.left,
        right: right - area.left,
        top: top - area.top,
        bottom: bottom - area.top,
      };
    });
    const between = ([x1, y1], [x2, y2]) =>
      Array.from({ length: 9 }, (_, i) => [x1 + ((x2 - x1) * i) / 8, y1 + ((y2 - y1) * i) / 8]);
    const dense = ({ points }) => points.slice(1).flatMap((p, i) => between(points[i], p));
    const holds =
      (b) =>
      ([x, y]) =>
        x > b.left + 1 && x < b.right - 1 && y > b.top + 1 && y < b.bottom - 1;
    const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return {
      lines: map.lines.length,
      behind: map.lines.flatMap((l) =>
        boxes.filter((b) => dense(l).some(holds(b))).map((b) => `${l.from}>${l.to} is behind ${b.name}`),
      ),
      hidden: map.lines.filter((l) => boxes.some((b) => over(l.label, b))).map((l) => `${l.from}>${l.to}`),
      outside: map.lines
        .filter((l) => l.points.some(([x, y]) => x < 0 || x > area.width || y < 0 || y > area.height))
        .map((l) => `${l.from}>${l.to}`),
      width: document.documentElement.scrollWidth,
    };
  }, known);

for (const width of [320, 390, 621, 768, 1000, 1100, 1240, 1440]) {
  test(`no stream of Bullet’s largest topology is behind a box at ${width} px`, async (t) => {
    const page = await open(t, { keep: true, hash, width });
    await shown(page);
    const none = { behind: [], hidden: [], outside: [], width };
    assert.deepEqual(await show(page, components), { ...none, lines: 13 });
    await picture(page, `map-largest-${width}`);
    const loop = components.map((c) =>
      c.name === 'FilterBolt'
        ? { ...c, inputs: [...c.inputs, { component: 'LoopBolt', stream: 'loop', grouping: 'all' }] }
        : c,
    );
    assert.deepEqual(await show(page, loop), { ...none, lines: 14 }, 'with a stream that leads back');
    await page.evaluate(() => globalThis.bulletPage.map.ask());
  });
}

test('a click opens a component’s tasks with their workers, and a link does', async (t) => {
  const page = await open(t, { keep: true, hash, width: 1440 });
  await shown(page);
  await page.locator('.box[data-component="FilterBolt"]').click();
  await page.locator('#map-details tbody tr').first().waitFor();
  const rows = await page.locator('#map-details tbody tr').allTextContents();
  const tasks = await ask(
    'max by (task, worker) (avg_over_time(storm_capacity_ratio{topology="slow-filter",component="FilterBolt"}[130s]))',
    await moment(page),
  );
  assert.equal(rows.length, tasks.length);
  for (const { metric } of tasks)
    assert.ok(
      rows.some((r) => r.startsWith(`${metric.task}${metric.worker}`)),
      `${metric.task} on ${metric.worker}`,
    );
  assert.match(new URL(page.url()).hash, /component=FilterBolt/);
  const copy = await open(t, { hash: new URL(page.url()).hash, width: 1440 });
  await copy.getByText('Tasks of FilterBolt at').waitFor();
});

test('the streams are drawn again when the width of the map changes', async (t) => {
  const page = await open(t, { keep: true, hash, width: 1440 });
  await shown(page);
  const [drawn, wide] = await page.evaluate(async () => {
    document.querySelector('#map').style.width = '700px';
    for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame);
    const canvas = document.querySelector('.map canvas');
    return [canvas.width, Math.round(canvas.getBoundingClientRect().width * devicePixelRatio)];
  });
  assert.equal(wide, 700);
  assert.equal(drawn, wide);
});

test('a narrower screen has other rows, without new data', async (t) => {
  const page = await open(t, { hash, width: 1440 });
  await shown(page);
  await show(page, components);
  const boxes = () => Array.from(document.querySelectorAll('.layer'), (row) => row.querySelectorAll('.box').length);
  assert.deepEqual(await page.evaluate(boxes), [3, 2, 1, 1, 2]);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForFunction(() => document.querySelectorAll('.layer').length === 6);
  assert.deepEqual(await page.evaluate(boxes), [2, 1, 2, 1, 1, 2]);
});

test('the map goes to any moment of the time that is shown', async (t) => {
  const page = await open(t, { keep: true, hash, width: 768 });
  await shown(page);
  const before = await page.locator('.box[data-component="FilterBolt"] [data-busy]').textContent();
  await page.locator('#map-when').focus();
  for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((text) => {
    const box = document.querySelector('.box[data-component="FilterBolt"]');
    return (
      box?.querySelector('[data-busy]').textContent !== text && box?.querySelector('.level').textContent === 'idle'
    );
  }, before);
  const [busy] = await ask(
    '100 * max(avg_over_time(storm_capacity_ratio{topology="slow-filter",component="FilterBolt"}[130s]))',
    await moment(page),
  );
  near(
    numberIn(await page.locator('.box[data-component="FilterBolt"] [data-busy]').textContent()),
    Number(busy.value[1]),
    'twenty slices ago',
  );
});
