// What the live charts cost: CPU time of the page per second, with 100 and 500 workers that each send a sample per
// second, in packs of two, beside the same page without the stream. The API is made up here, so that only the page is
// measured: node browser/live.bench.mjs [workers ...]
import { readFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { extname } from 'node:path';
import { chromium } from 'playwright-core';

const counts = process.argv.slice(2).map(Number);
const seconds = Number(process.env.LIVE_SECONDS ?? 20);
const types = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const names = { cpu: 'cpu_seconds_total', heap: 'heap_used_bytes', gc: 'gc_seconds_total' };
const valueOf = {
  cpu: (w, t) => (0.3 + 0.02 * (w % 37)) * (1 + 0.4 * Math.sin(t / 7 + w)),
  heap: (w, t) => 2 ** 20 * (100 + (w % 50) + ((t * 7 + w * 13) % 90)),
  gc: (w, t) => ((t + w) % 11 === 0 ? 0.02 : 0),
};
const nameOf = (w) => `host-${w}:6700`;

/** serve starts a made-up collector with so many workers. `silent` are those that send nothing any more. */
export async function serve(workers, { stream = true, silent = new Set() } = {}) {
  const answers = {
    topologies: () => [
      {
        name: 't',
        alive: true,
        first_seen: new Date(Date.now() - 9e6).toISOString(),
        last_seen: new Date().toISOString(),
        worker_count: workers,
        condition: { state: 'running' },
      },
    ],
    alerts: () => ({
      alerts: [{ state: 'firing', activeAt: new Date().toISOString(), labels: { alertname: 'BulletMetricsWatchdog' } }],
    }),
    query: () => ({ resultType: 'vector', result: [] }),
    query_range: (form) => {
      const [start, end, step] = ['start', 'end', 'step'].map((n) => Number(form.get(n)));
      const name = Object.keys(names).find(
        (n) => form.get('query').startsWith(`sum by (worker)`) && form.get('query').includes(names[n]),
      );
      const times = Array.from({ length: Math.round((end - start) / step) + 1 }, (_, i) => start + i * step);
      const result = Array.from({ length: name ? workers : 1 }, (_, w) => ({
        metric: name ? { worker: nameOf(w) } : {},
        values: times.map((t) => [t, String(name ? valueOf[name](w, t) : 0.1 + 0.05 * Math.sin(t / 100))]),
      }));
      return { resultType: 'matrix', result };
    },
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    const api = pathname.startsWith('/api/v1/') && pathname.slice('/api/v1/'.length);
    if (api === 'live' && stream) {
      send(response, workers, silent);
      return;
    }
    if (Object.hasOwn(answers, api)) {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ status: 'success', data: answers[api](searchParams) }));
      return;
    }
    const file = new URL(
      `../static${pathname === '/' ? '/index.html' : pathname.replace('/page', '')}`,
      import.meta.url,
    );
    if (api || !existsSync(file)) response.writeHead(404).end('{"status":"error","error":"none"}');
    else response.setHeader('Content-Type', types[extname(pathname)] ?? 'text/html').end(readFileSync(file));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

// Each worker sends every two seconds, at its own time.
function send(response, workers, silent) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  const sent = new Map();
  const all = Array.from({ length: workers }, (_, w) => w);
  const event = () => {
    const now = Date.now();
    const news = [];
    for (const w of all) {
      if (silent.has(w) && sent.has(w)) continue;
      const heard = Math.floor((now - w * 37) / 2000) * 2000 + w * 37;
      const [from, to] = [sent.get(w) ?? heard - 300_000, heard];
      const times = [];
      for (let t = Math.floor(from / 1000) * 1000 + 1000; t <= to; t += 1000) times.push(t);
      if (!times.length) continue;
      sent.set(w, to);
      const of = (name) => times.map((t) => valueOf[name](w, t / 1000));
      news.push({
        worker: nameOf(w),
        heard_ms: heard,
        every_ms: 2000,
        times_ms: times,
        cpu_cores: of('cpu'),
        heap_bytes: of('heap'),
        gc_share: of('gc'),
      });
    }
    response.write(
      `id: ${now}\nevent: samples\ndata: ${JSON.stringify({ now_ms: now, read_ms: now, workers: news })}\n\n`,
    );
  };
  event();
  const timer = setInterval(event, 250);
  response.on('close', () => clearInterval(timer));
}

async function measure(browser, workers, range, stream) {
  const server = await serve(workers, { stream });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const protocol = await context.newCDPSession(page);
  await protocol.send('Performance.enable', { timeDomain: 'threadTicks' }); // CPU of the main thread, not waiting
  await page.goto(`http://127.0.0.1:${server.address().port}/#topology=t&range=${range}`);
  await page.waitForFunction(() => performance.getEntriesByName('figures-shown').length, null, { timeout: 120_000 });
  await page.locator('#figure-heap').evaluate((e) => e.scrollIntoView({ block: 'end' }));
  await page.waitForTimeout(3000);
  const used = async () =>
    (await protocol.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
  const before = await used();
  await page.waitForTimeout(seconds * 1000);
  const spent = (1000 * ((await used()) - before)) / seconds;
  const visible = await page.evaluate(() => globalThis.bulletPage.figures.filter((f) => f.visible).map((f) => f.name));
  if (process.env.LIVE_IMAGES)
    await page.screenshot({ path: `${process.env.LIVE_IMAGES}/live-${workers}-${range}.png` });
  await context.close();
  server.closeAllConnections();
  server.close();
  console.log(
    `${workers} workers, ${range}, ${stream ? 'live' : 'not live'}: ${spent.toFixed(1)} ms per second (on screen: ${visible.join(', ')})`,
  );
}

const executablePath =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
for (const workers of counts.length ? counts : [100, 500])
  for (const range of ['1h', '5m']) for (const stream of [false, true]) await measure(browser, workers, range, stream);
await browser.close();
