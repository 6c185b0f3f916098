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
