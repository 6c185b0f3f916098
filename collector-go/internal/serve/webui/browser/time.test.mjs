// Honest time: where points stand, what is shown of the past, and the way to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, data, figuresShown, again, open, picture, recorded } from './harness.mjs';

test('points are drawn at the middle of their slice, and the API’s times stay', async (t) => {
  const page = await open(t, { keep: true });
  const { times, drawnAt, step, lines } = await data(page, 'heap');
  assert.deepEqual(
    drawnAt,
    times.map((s) => s - step / 2),
  );
  const { result } = await api('/api/v1/query_range', {
    query: 'sum by (worker) (avg_over_time(bullet_worker_heap_used_bytes{topology="bullet"}[10s]))',
    start: times[0],
    end: times.at(-1),
    step,
  });
  let compared = 0;
  for (const { metric, values } of result) {
    for (const [time, value] of values) {
      const i = times.indexOf(time);
      assert.ok(Math.abs(lines.find((l) => l.name === metric.worker).drawn[i] - Number(value) / 2 ** 20) < 1e-6);
      compared++;
    }
  }
  assert.ok(compared > 20);
});

test('rows of what changed lead to their moment, and back goes back', async (t) => {
  const page = await open(t, { keep: true });
  await page.locator('#changes-body tbody tr', { hasText: 'filter bolts 2 -> 4' }).getByRole('link').click();
  await page.waitForFunction(() => globalThis.bulletPage.board.pointed != null);
  const { times, step } = await data(page, 'heap');
  const pointed = times[await page.evaluate(() => globalThis.bulletPage.board.pointed)];
  assert.ok(1795276180 > pointed - step - 1 && 1795276180 <= pointed, `${pointed}`);
  await page.goBack();
  assert.ok(page.url().endsWith(recorded.replaceAll('%3A', ':')) || new URL(page.url()).hash === recorded, page.url());
});

test('data older than the range leads there, without errors and empty figures', async (t) => {
  const page = await open(t, { hash: '#topology=bullet', width: 390, height: 844 });
  const away = page.locator('#away');
  await away.getByRole('link', { name: 'Show that time' }).waitFor();
  assert.match(
    await away.textContent(),
    /No samples in this time range\. The last sample is from 2026-11-21 15:5\d, \d+ d( \d+ h)? ago\. Show that time/,
  );
  assert.equal(await page.locator('.figure:visible').count(), 0, 'no empty figures');
  assert.equal(await page.locator('.problem:visible').count(), 0, 'no red errors');
  await picture(page, 'away-390-light', false);
  await again(page);
  await page.locator('#go-there').click();
  await figuresShown(page);
  assert.equal(await away.isVisible(), false);
  assert.ok(
    (await data(page, 'heap')).lines.some((l) => l.drawn.some((v) => v != null)),
    'and there it is',
  );
});

test('all times are of one zone, which the page names', async (t) => {
  const page = await open(t, { hash: '#topology=slow-filter', timezoneId: 'Asia/Tokyo' });
  assert.equal(await page.locator('#zone option:checked').textContent(), 'Asia/Tokyo (UTC+9)');
  await page.locator('#cause').waitFor();
  const first = await page.locator('#first, #look').allTextContents();
  assert.doesNotMatch(first.join(' '), /UTC|\d{4}-\d\d-\d\dT/);
  const { cause } = await page.evaluate(async () => {
    const answer = await fetch('api/v1/why?alert=BulletFilterLatencyMeanHigh&topology=slow-filter');
    return (await answer.json()).data;
  });
  const since = new Date(Date.parse(cause.since) + 9 * 3600_000).toISOString().slice(11, 16);
  assert.match(await page.locator('#cause').textContent(), new RegExp(`since ${since}`));
  const ended = await page.locator('#figure-busy time').textContent();
  await page.selectOption('#zone', 'utc');
  await page.locator('#cause', { hasText: `since ${cause.since.slice(11, 16)}` }).waitFor();
  assert.match(new URL(page.url()).hash, /zone=utc/, 'a link shows the same time to others');
  const hours = (text) => Number(/(\d\d):\d\d:\d\d$/.exec(text)[1]);
  await page.waitForFunction((text) => document.querySelector('#figure-busy time').textContent !== text, ended);
  assert.equal((hours(ended) - hours(await page.locator('#figure-busy time').textContent()) + 24) % 24, 9);
  const axis = () =>
    page.evaluate(() => {
      const { _splits: times, _values: labels } = globalThis.bulletPage.board.byName.get('busy').chart.axes[0];
      return times.map((s, i) => [new Date(s * 1000).toISOString().slice(11, 16), labels[i].slice(0, 5)]);
    });
  for (const [time, label] of await axis()) assert.equal(label, time, 'of the axis too');
  await page.selectOption('#range', 'fixed');
  await page.waitForFunction(
    () => Date.parse(`${document.getElementById('to').value}Z`) === globalThis.bulletPage.page.state.to * 1000,
  );
});
