// Opens the page of a running collector, and prints each first line that it shows: {"at_ms", "text"} as JSON, one per
// line. Takes a screenshot of each in a directory. Ends with its standard input, and then prints for how long a sample
// of the heap was on its way to the screen: {"delays_s": [...]}.
//   node watch.mjs URL DIRECTORY
import { existsSync, mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [url, directory] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const executablePath =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const viewport = { width: 1440, height: 2400 }; // charts that are not on the screen are not drawn
const page = await browser.newPage({ viewport, timezoneId: 'UTC', locale: 'en-GB' });
let taken = 0;
await page.exposeFunction('says', async (at_ms, text) => {
  process.stdout.write(`${JSON.stringify({ at_ms, text })}\n`);
  const path = `${directory}/${String(++taken).padStart(2, '0')}.png`;
  await page.screenshot({ path, clip: { x: 0, y: 0, width: 1440, height: 900 } }).catch(() => {});
});
await page.addInitScript(() => {
  let before = '';
  const look = () => {
    const text = document.querySelector('#state .verdict-line')?.textContent ?? '';
    // the seconds of a silence are not another line
    const form = text.replace(/\d+ s\b/g, 's');
    if (form === before) return;
    before = form;
    globalThis.says(Date.now(), text);
  };
  addEventListener('DOMContentLoaded', () =>
    new MutationObserver(look).observe(document.getElementById('state'), { childList: true, subtree: true }),
  );
  globalThis.delays = [];
  const newest = []; // time of each line's newest point that was drawn, s
  const frame = () => {
    const heap = globalThis.bulletPage?.figures.find((f) => f.name === 'heap');
    for (const [i, { open }] of (heap?.tails?.lines ?? []).entries()) {
      const drawn = open[0].filter((t) => t > newest[i]);
      globalThis.delays.push(...drawn.map((t) => Date.now() / 1000 - t));
      newest[i] = open[0].at(-1) ?? newest[i] ?? Infinity;
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});
await page.goto(url);
process.stdin.on('end', async () => {
  const delays_s = await page.evaluate(() => globalThis.delays).catch(() => []);
  process.stdout.write(`${JSON.stringify({ delays_s })}\n`);
  await browser.close();
  process.exit(0);
});
process.stdin.resume();
