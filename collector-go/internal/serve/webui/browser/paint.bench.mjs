// How long the page takes to paint a day of 500 workers: first paint, first figure, all figures. `BenchmarkPage` in
// internal/serve/httpapi starts it.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const runs = Number(process.env.PAGE_RUNS ?? 5);
const executablePath =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const took = {
  'first-contentful-paint': [],
  'first figure': [],
  'all figures': [],
  'values drawn': [],
  'CPU of the page, ms': [],
};
for (let i = 0; i < runs; i++) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } }); // no cache from the run before
  const page = await context.newPage();
  const protocol = await context.newCDPSession(page);
  await protocol.send('Performance.enable', { timeDomain: 'threadTicks' }); // the page's own CPU, not its neighbours'
  await page.goto(process.argv[2]);
  await page.waitForFunction(() => performance.getEntriesByName('figures-shown').length, null, { timeout: 120_000 });
  const seen = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    first: Math.min(
      ...performance
        .getEntriesByType('mark')
        .filter((m) => m.name.startsWith('figure-'))
        .map((m) => m.startTime),
    ),
    all: performance.getEntriesByName('figures-shown')[0].startTime,
    values: globalThis.bulletPage.figures.reduce((n, f) => n + f.columns.length * f.grid.points, 0),
  }));
  const { metrics } = await protocol.send('Performance.getMetrics');
  took['first-contentful-paint'].push(seen.paint);
  took['first figure'].push(seen.first);
  took['all figures'].push(seen.all);
  took['values drawn'].push(seen.values);
  took['CPU of the page, ms'].push(metrics.find((m) => m.name === 'TaskDuration').value * 1000);
  await context.close();
}
await browser.close();
for (const [name, values] of Object.entries(took)) {
  const sorted = [...values].sort((a, b) => a - b);
  console.log(
    `${name}: median ${Math.round(sorted[Math.floor(sorted.length / 2)])}, least ${Math.round(sorted[0])}, most ${Math.round(sorted.at(-1))}`,
  );
}
