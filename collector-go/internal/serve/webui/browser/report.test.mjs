// Reports in the system's Chromium, from disk (internal/lab/report/browser_test.go writes them).
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const pages = JSON.parse(process.env.REPORT_PAGES);
const browserPath =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const images = fileURLToPath(
  new URL(
    process.env.UPDATE_IMAGES ? '../../../../../docs/images' : '../../../../../build/page-images',
    import.meta.url,
  ),
);

let browser;
before(async () => {
  mkdirSync(images, { recursive: true });
  browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
});
after(() => browser?.close());

async function open(t, name, { width = 1440, height = 900, colorScheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()));
  page.on('request', (r) => r.url().startsWith('file:') || complaints.push(`asked elsewhere: ${r.url()}`));
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });
  await page.goto(`file://${pages[name]}`);
  return page;
}

const opened = (page) =>
  page.evaluate(() =>
    document.querySelectorAll('details').forEach((d) => {
      d.open = true;
    }),
  );

for (const name of Object.keys(pages)) {
  for (const [width, height] of [
    [390, 844],
    [768, 1024],
    [1440, 900],
  ]) {
    test(`the first screen of ${name} at ${width} px has the verdict, why, and the figure`, async (t) => {
      const page = await open(t, name, { width, height });
      for (const part of ['header .verdict', 'header .lead', 'header figure']) {
        const box = await page.locator(part).boundingBox();
        assert.ok(
          box.y >= 0 && box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height,
          `${part}: ${JSON.stringify(box)}`,
        );
      }
      assert.match(await page.locator('header .verdict').textContent(), /^(OK|FAIL|limited|inconclusive)$/);
      assert.ok((await page.locator('header th').count()) <= 7);
      assert.equal(await page.locator('details[open]').count(), 0, 'the rest is folded');
    });

    test(`nothing of ${name} is cut at ${width} px`, async (t) => {
      const page = await open(t, name, { width, height });
      await opened(page);
      const cut = await page.evaluate(() => {
        const all = [];
        if (document.documentElement.scrollWidth > innerWidth)
          all.push(`the page is ${document.documentElement.scrollWidth} px wide`);
        for (const svg of document.querySelectorAll('svg')) {
          const box = svg.getBoundingClientRect();
          if (box.width > 0 && (box.left < 0 || box.right > innerWidth))
            all.push(`${svg.ariaLabel} ends at ${box.right}`);
          const [, , wide] = svg.getAttribute('viewBox').split(' ').map(Number);
          for (const text of box.width > 0 ? svg.querySelectorAll('text') : []) {
            const at = text.getBoundingClientRect();
            if (at.left < box.left - 1 || at.right > box.right + 1)
              all.push(`${svg.ariaLabel} (${wide}): "${text.textContent}" is cut`);
          }
        }
        for (const wide of document.querySelectorAll('table, pre')) {
          const room = wide.closest('.wide, pre');
          if (!room) all.push('a table that nothing holds');
          else if (
            room.scrollWidth > room.clientWidth &&
            !getComputedStyle(room).backgroundAttachment.includes('local')
          )
            all.push('no sign of more');
        }
        return all;
      });
      assert.deepEqual(cut, []);
      assert.equal(
        await page.locator('figure').count(),
        await page.locator('svg:visible').count(),
        'one form of each figure is shown',
      );
    });
  }
}

test('each line of the contents opens its section', async (t) => {
  const page = await open(t, 'one', { width: 390, height: 844 });
  const links = page.locator('nav a');
  assert.ok((await links.count()) > 8);
  for (const link of await links.all()) {
    const title = await link.textContent();
    await link.click();
    const section = page.locator('details', { has: page.locator(`div${await link.getAttribute('href')}`) });
    assert.equal(await section.locator('summary').textContent(), title);
    assert.equal(await section.evaluate((d) => d.open), true, title);
    assert.ok(
      await section.locator('summary').evaluate((s) => s.getBoundingClientRect().top > -1),
      `${title} is in sight`,
    );
  }
});

for (const [shape, width, height] of [
  ['desktop', 1200, 1400],
  ['phone', 390, 1400],
]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`${shape}, ${colorScheme}`, async (t) => {
      const page = await open(t, 'one', { width, height, colorScheme });
      const paper = await page.evaluate(() =>
        getComputedStyle(document.body)
          .backgroundColor.match(/\d+/g)
          .map(Number)
          .reduce((a, b) => a + b),
      );
      assert.equal(paper < 384, colorScheme === 'dark');
      await page.screenshot({ path: `${images}/report-${shape}-${colorScheme}.png` });
    });
  }
}
