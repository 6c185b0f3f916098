// The lines between the boxes of the map, with their rates.
import { theme } from './palette.js';
import { plain } from './units.js';

/** drawStreams draws one line for each pair of components, with the sum of the rates of its streams. */
export function drawStreams(canvas, layers, edges) {
  const ratio = globalThis.devicePixelRatio || 1;
  const area = canvas.parentElement.getBoundingClientRect();
  if (!area.width) return;
  canvas.width = Math.round(area.width * ratio);
  canvas.height = Math.round(area.height * ratio);
  const c = canvas.getContext('2d');
  const colours = theme();
  c.scale(ratio, ratio);
  const boxes = new Map(
    [...layers.querySelectorAll('button')].map((b) => [b.dataset.component, within(b.getBoundingClientRect(), area)]),
  );
  const down = getComputedStyle(layers).flexDirection === 'column';
  const labels = [];
  for (const [from, to, rate] of pairs(edges)) {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (a && b && from !== to) labels.push({ ...line(c, colours, a, b, down, rate), rate });
  }
  c.font = '11px system-ui, "Liberation Sans", Arial, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  for (const { x, y, rate } of labels) {
    if (rate == null) continue;
    const text = `${plain(rate)}/s`;
    const width = c.measureText(text).width + 6;
    c.fillStyle = colours.paper;
    c.fillRect(x - width / 2, y - 8, width, 16);
    c.fillStyle = colours.ink;
    c.fillText(text, x, y);
  }
}

const within = (r, area) => ({
  left: r.left - area.left,
  right: r.right - area.left,
  top: r.top - area.top,
  bottom: r.bottom - area.top,
  x: (r.left + r.right) / 2 - area.left,
  y: (r.top + r.bottom) / 2 - area.top,
});

function pairs(edges) {
  const all = new Map();
  for (const e of edges) {
    const key = JSON.stringify([e.from, e.to]);
    const [, , rate] = all.get(key) ?? [null, null, null];
    all.set(key, [e.from, e.to, e.rate == null ? rate : (rate ?? 0) + e.rate]);
  }
  return all.values();
}

function line(c, colours, a, b, down, rate) {
  const [x1, y1, x2, y2] = down ? [a.x, a.bottom, b.x, b.top] : [a.right, a.y, b.left, b.y];
  const bend = Math.max(24, Math.abs(down ? y2 - y1 : x2 - x1) / 2);
  c.beginPath();
  c.strokeStyle = colours.muted;
  c.lineWidth = rate ? Math.min(5, 1 + Math.log10(1 + rate) * 0.8) : 1;
  c.setLineDash(rate ? [] : [3, 4]);
  c.moveTo(x1, y1);
  if (down) c.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
  else c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  c.stroke();
  c.beginPath();
  c.setLineDash([]);
  c.fillStyle = colours.muted;
  c.moveTo(x2, y2);
  if (down) {
    c.lineTo(x2 - 5, y2 - 9);
    c.lineTo(x2 + 5, y2 - 9);
  } else {
    c.lineTo(x2 - 9, y2 - 5);
    c.lineTo(x2 - 9, y2 + 5);
  }
  c.fill();
  return { x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
}
