// A query of one's own: typed with completion, answered as figure and table, kept in the address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { again, api, near, numberIn, open, picture } from './harness.mjs';

const times = { from: '2026-11-21T15:49:00Z', to: '2026-11-21T15:51:00Z' };
const asking = (query, more = {}) => `#${new URLSearchParams({ ...times, query, ...more })}`;
const shown = (page) => page.waitForFunction(() => performance.getEntriesByName('answer-shown').length > 0);
const askAgain = async (page, act) => {
  await page.evaluate(() => performance.clearMarks('answer-shown'));
  await act();
  await shown(page);
};
const rows = (page) =>
  page.locator('#answer-rows tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => c.textContent)));
const drawn = (page) =>
  page.evaluate(() => {
    const f = globalThis.bulletPage.box.figure;
    return {
      times: f.times,
      step: f.grid.step,
      lines: f.columns.map((c) => ({ name: c.metric.worker, labels: c.labels, drawn: c.values })),
    };
  });

// isOf reports whether a row is named after a series, whatever the order of labels.
const isOf = (name, { __name__: metric, ...labels }) =>
  name.startsWith(`${metric}{`) &&
  Object.entries(labels).every(([label, value]) => name.includes(`${label}=${JSON.stringify(value)}`));

// offered picks what the box offers, as it is written.
async function offered(page, words, pick) {
  const option = page.locator('.cm-tooltip-autocomplete li', { hasText: words }).first();
  await option.waitFor();
  const box = await page.locator('.cm-tooltip-autocomplete').boundingBox();
  assert.ok(
    box.x >= 0 && box.x + box.width <= page.viewportSize().width,
    `the list is within the page: ${JSON.stringify(box)}`,
  );
  await pick(option);
  await page.locator('.cm-tooltip-autocomplete').waitFor({ state: 'detached' });
}

for (const [width, colorScheme] of [
  [390, 'light'],
  [768, 'dark'],
  [1440, 'light'],
]) {
  test(`typing completes a metric and a label's value, and the answer is the API's, at ${width} px`, async (t) => {
    const page = await open(t, { keep: true, hash: asking(''), width, height: 844, colorScheme, shown: false });
    await shown(page);
    await page.locator('#editor .cm-content').click();
    await page.keyboard.type('storm_capa');
    await offered(page, 'storm_capacity_ratio', () => page.keyboard.press('Enter'));
    await page.keyboard.type('{topology="bullet",compo'); // faster than it completes
    await offered(page, 'component', () => page.keyboard.press('Enter'));
    const components = (
      await api('/api/v1/label/component/values', {
        'match[]': 'storm_capacity_ratio{topology="bullet"}',
        start: times.from,
        end: times.to,
      })
    ).sort();
    assert.ok(components.length >= 4);
    await page.keyboard.type('!="');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: components[0] }).waitFor();
    assert.deepEqual((await page.locator('.cm-tooltip-autocomplete li').allTextContents()).sort(), components);
    await picture(page, `query-completion-${width}-${colorScheme}`, false);
    await page.keyboard.type('Loo');
    await offered(page, 'LoopBolt', (option) => option.click()); // by pointer, as by keyboard
    const query = 'storm_capacity_ratio{topology="bullet",component!="LoopBolt"}';
    assert.equal(await page.locator('#editor .cm-content').textContent(), query);
    await askAgain(page, () => page.getByRole('button', { name: 'Run' }).click());
    assert.equal(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('query'), query);

    const figure = await drawn(page);
    const { result } = await api('/api/v1/query_range', {
      query,
      start: figure.times[0],
      end: figure.times.at(-1),
      step: figure.step,
    });
    const table = new Map((await rows(page)).map(([name, ...cells]) => [name, cells]));
    assert.ok(result.length >= 2 && table.size === result.length && figure.lines.length === result.length);
    for (const { metric, values: samples } of result) {
      const name = [...table.keys()].find((key) => isOf(key, metric));
      const { drawn: line, name: short } = figure.lines.find((l) => isOf(name, l.labels));
      assert.equal(
        short,
        `{component=${JSON.stringify(metric.component)}, task=${JSON.stringify(metric.task)}, worker=${JSON.stringify(metric.worker)}}`,
        'by what differs',
      );
      assert.equal(line.filter((v) => v != null).length, samples.length);
      for (const [time, value] of samples)
        assert.equal(line[figure.times.indexOf(time)], Number(value), `${name} at ${time}`);
      const numbers = samples.map(([, value]) => Number(value));
      const [last, least, mean, largest] = table.get(name);
      assert.equal(last, samples.at(-1)[1]);
      for (const [got, want] of [
        [least, Math.min(...numbers)],
        [mean, numbers.reduce((a, b) => a + b) / numbers.length],
        [largest, Math.max(...numbers)],
      ])
        near(numberIn(got) * (got.endsWith('M') ? 1e6 : 1), want, name);
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, 'no sideways scrolling');
    // what was typed is looked at again a moment later
    await page.locator('.cm-lintRange').first().waitFor({ state: 'detached' });
    await picture(page, `query-${width}-${colorScheme}`, false);

    await askAgain(page, () => page.getByRole('button', { name: 'Instant' }).click());
    const { result: instant } = await api('/api/v1/query', { query, time: times.to });
    assert.ok(instant.length >= 3);
    assert.equal((await rows(page)).length, instant.length);
    for (const { metric, value } of instant)
      assert.ok(
        (await rows(page)).some(([name, cell]) => isOf(name, metric) && cell === value[1]),
        JSON.stringify(metric),
      );
    assert.equal(await page.locator('#figure-answer').isVisible(), false);
    await page.goBack();
    await page.locator('#figure-answer').waitFor();
    await askAgain(page, () => page.goBack());
    assert.equal(
      await page.locator('#editor .cm-content').textContent(),
      'bullet_filter_latency_mean_seconds',
      'nothing is asked: what could be typed',
    );
  });
}

test('a link restores query, kind and time; one of Prometheus leads to it', async (t) => {
  const query = 'sum by (component) (storm_capacity_ratio{topology="bullet"}) >= 0';
  const page = await open(t, { hash: asking(query, { kind: 'instant', topology: 'bullet' }), shown: false });
  await shown(page);
  assert.equal(await page.locator('#editor .cm-content').textContent(), query);
  assert.equal(await page.locator('#kind-instant').getAttribute('aria-pressed'), 'true');
  const { result } = await api('/api/v1/query', { query, time: times.to });
  assert.ok(result.length >= 2);
  assert.deepEqual((await rows(page)).map(([, value]) => value).sort(), result.map((r) => r.value[1]).sort());
  await page.getByRole('link', { name: 'Back to bullet' }).click();
  await page.waitForFunction(() => performance.getEntriesByName('figures-shown').length > 0);
  await page.goBack();
  await page.locator('#answer-rows tbody tr').first().waitFor();

  const form = new URLSearchParams({
    'g0.expr': query,
    'g0.tab': '0',
    'g0.range_input': '2m',
    'g0.end_input': '2026-11-21 15:51:00',
  });
  const base = new URL(page.url()).origin;
  await page.goto(`${base}/graph?${form}`);
  await page.locator('#figure-answer').waitFor();
  assert.equal(await page.locator('#editor .cm-content').textContent(), query);
  const state = new URLSearchParams(new URL(page.url()).hash.slice(1));
  assert.deepEqual([state.get('query'), state.get('from'), state.get('to')], [query, times.from, times.to]);
});

test('an error names its place and what to do, and the way back to it', async (t) => {
  const page = await open(t, {
    hash: asking('sum(up'),
    width: 390,
    height: 844,
    shown: false,
    expected: ['400', '422'],
  });
  await shown(page);
  const problem = page.locator('#query-problem');
  assert.match(await problem.textContent(), /parse error: unclosed left parenthesis/);
  assert.match(await problem.textContent(), /Correct the query at line 1, column \d+, then run it again\./);
  await picture(page, 'query-error-390-light', false);
  await page.getByRole('button', { name: 'Go to the error' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), 'editor');
  await page.keyboard.press('End');
  await page.keyboard.type(')');
  await page.keyboard.press('Escape');
  await askAgain(page, () => page.keyboard.press('Enter'));
  assert.match(
    await problem.textContent(),
    /No series matches in this time range\. Choose another time range, or fewer labels/,
  );
});
