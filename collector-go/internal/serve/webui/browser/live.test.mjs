// The samples that are not in a slice yet: in the charts, in words, and in the first line when they stop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectors, open, picture } from './harness.mjs';

const sampled = (range) => ({ hash: `#topology=sampled&range=${range}`, width: 1440 });

// What a chart has drawn of the stream: the last provisional value of each worker, and how many samples are shown
// instead of slices.
const tails = (page, name) =>
  page.evaluate((figure) => {
    const f = globalThis.bulletPage.board.byName.get(figure);
    const { overlay, grid, chart } = f;
    const pixels = overlay.getContext('2d').getImageData(0, 0, overlay.width, overlay.height).data;
    return {
      lines: f.tails.lines.map(({ open: [times, values], closed }) => ({
        value: values.at(-1),
        at: times.at(-1),
        first: times[1],
        closed: closed?.[0].length ?? 0,
      })),
      end: grid.end,
      now: globalThis.bulletPage.board.now(),
      axis: [chart.scales.x.min, chart.scales.x.max],
      drawn: pixels.some((v) => v > 0),
    };
  }, name);

const bothLive = (page) =>
  page.waitForFunction(() => {
    const { board } = globalThis.bulletPage;
    return ['cpu', 'heap', 'gc'].every((name) => board.byName.get(name).tails.lines.length === 2);
  });

for (const range of ['5m', '1h']) {
  test(`CPU, heap and GC are live in the last ${range}`, async (t) => {
    const page = await open(t, { keep: true, ...sampled(range) });
    await bothLive(page);
    for (const [name, values, selector, total] of [
      ['cpu', [0.25, 0.5], 'total', '0.75 cores'],
      ['heap', [100, 200], 'total', '300 MiB'],
      ['gc', [600, 1200], 'total', '1,800 ms/min'],
    ]) {
      await page.locator(`#figure-${name}`).scrollIntoViewIfNeeded();
      await page.locator(`#figure-${name} time`, { hasText: 'provisional: ' }).waitFor();
      await page.waitForFunction((f) => {
        const { chart, overlay } = globalThis.bulletPage.board.byName.get(f);
        return overlay.width > 0 && chart.scales.x.max > globalThis.bulletPage.board.now() - 4;
      }, name);
      const shown = await tails(page, name);
      shown.lines.forEach((line, i) => {
        assert.ok(Math.abs(line.value - values[i]) < 1e-3 * values[i], `${name}: ${line.value}, sent ${values[i]}`);
        assert.ok(line.first > shown.end && line.at <= shown.now, `${line.first} to ${line.at} after ${shown.end}`);
        assert.ok(range === '1h' ? line.closed === 0 : line.closed > 90, `${line.closed} samples of closed slices`);
      });
      assert.ok(shown.drawn, `${name} has a provisional line`);
      const reading = page.locator(`#figure-${name} [data-of="${selector}"] b`);
      assert.equal(await reading.textContent(), total);
      const latency = await page.evaluate(() => {
        const { x } = globalThis.bulletPage.board.byName.get('latency').chart.scales;
        return x.min;
      });
      assert.equal(shown.axis[0], latency, 'one time axis');
    }
    await picture(page, `live-${range}-1440-light`);
  });
}

test('what is live is said in words, outside of what screen readers speak', async (t) => {
  const page = await open(t, { keep: true, ...sampled('5m') });
  const status = page.locator('#status', { hasText: 'CPU, heap and GC are live' });
  await status.waitFor();
  assert.match(
    await status.textContent(),
    /^CPU, heap and GC are live \(\d\.\d s behind\); slices are complete up to \d\d:\d\d:\d0\.$/,
  );
  const spoken = (e) => e.closest('[aria-live], [role="status"], [role="alert"]') != null;
  assert.equal(await page.locator('#behind').evaluate(spoken), false);
  const said = await page.locator('#behind').textContent();
  await page.locator('#behind', { hasNotText: said }).waitFor();
  const heap = page.locator('#figure-heap');
  await heap.focus();
  await page.keyboard.press('End');
  assert.match(await heap.locator('time').textContent(), /^\d\d:\d\d:\d0 to /, 'the crosshair is at a slice');
  const at = await page.evaluate(() => globalThis.bulletPage.board.pointed);
  const [, axis] = (await tails(page, 'heap')).axis;
  await page.waitForFunction((x) => globalThis.bulletPage.board.byName.get('heap').chart.scales.x.max > x, axis);
  assert.equal(await page.evaluate(() => globalThis.bulletPage.board.pointed), at, 'and stays there');
  await page.keyboard.press('Escape');
  assert.match(await heap.locator('time').textContent(), /^provisional: /);
});

test('the stream is open while it can be seen and follows the clock', async (t) => {
  const page = await open(t, { ...sampled('15m') });
  await bothLive(page);
  const source = () => page.evaluate(() => globalThis.bulletPage.live.source?.readyState ?? null);
  assert.equal(await source(), 1);
  await page.locator('#live').click();
  assert.equal(await source(), null, 'paused');
  assert.equal((await tails(page, 'cpu')).lines.length, 2, 'the charts stay as they are');
  await page.locator('#status', { hasText: 'Complete up to' }).waitFor();
  await page.locator('#live').click();
  await page.locator('#status', { hasText: 'CPU, heap and GC are live' }).waitFor();
  const to = Math.floor(Date.now() / 1000);
  for (const hash of ['#topology=sampled&query=up', '#', `#topology=sampled&from=${to - 60}&to=${to}`]) {
    await page.evaluate((other) => {
      location.hash = other;
    }, hash);
    await page.waitForFunction(() => globalThis.bulletPage.live.source == null);
    await page.evaluate(() => {
      location.hash = '#topology=sampled&range=15m';
    });
    await page.waitForFunction(() => globalThis.bulletPage.live.on);
  }
});

test('a worker that stops is named within five seconds of the pack that does not come', async (t) => {
  const page = await open(t, { ...sampled('5m') });
  await bothLive(page);
  const last = Number(await (await fetch(collectors.stopWorker)).text());
  const line = page.locator('.verdict-line', { hasText: 'No samples from worker host-1:6700' });
  await line.waitFor();
  const late = Date.now() - (last + 2000);
  assert.match(await line.textContent(), /No samples from worker host-1:6700 for [4-6] s; 1 of 2 workers report$/);
  assert.ok(late < 5000, `${late} ms`);
  assert.equal(await page.locator('#state .sentence.pending').count(), 1);
  await page.locator('#figure-cpu [data-of="host-1:6700"]', { hasText: 'no data' }).waitFor();
  assert.equal(await page.locator('#figure-cpu [data-of="total"] b').textContent(), '0.25 cores');
  await picture(page, 'live-silent-1440-light', false);
});
