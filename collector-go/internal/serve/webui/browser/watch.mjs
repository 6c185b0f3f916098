// Opens the page of a running collector, and prints each first line that it shows: {"at_ms", "text"} as JSON, one per
// line. Takes a screenshot of each in a directory. Ends with its standard input.
//   node watch.mjs URL DIRECTORY
import { existsSync, mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [url, directory] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const executablePath =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, timezoneId: 'UTC', locale: 'en-GB' });
let taken = 0;
await page.exposeFunction('says', async (at_ms, text) => {
  process.stdout.write(`${JSON.stringify({ at_ms, text })}\n`);
  await page.screenshot({ path: `${directory}/${String(++taken).padStart(2, '0')}.png` }).catch(() => {});
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
});
await page.goto(url);
process.stdin.on('end', () => browser.close().then(() => process.exit(0))).resume();
