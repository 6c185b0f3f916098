// The lines between the boxes of the map, with their rates.
import { slotOf, pathOf } from './slots.js';
import { theme } from './palette.js';
import { plain } from './units.js';

/** isDown reports whether the layers stand one below another, as on a phone. */
export const isDown = (layers) => getComputedStyle(layers).flexDirection === 'column';

/**
 * drawStreams draws one line for each pair of components through its slots, with the sum of the rates of its streams.
 * It returns the lines: { from, to, rate, points, label }, in pixels of the canvas.
 */
export function drawStreams(canvas, layers, edges) {
  const ratio = globalThis.devicePixelRatio || 1;
  const area = canvas.parentElement.getBoundingClientRect();
  if (!area.width) return [];
  canvas.width = Math.round(area.width * ratio);
  canvas.height = Math.round(area.height * ratio);
  const c = canvas.getContext('2d');
  const colours = theme();
  c.scale(ratio, ratio);
  const down = isDown(layers);
  const boxes = new Map();
  const slots = new Map();
  for (const item of layers.querySelectorAll('.box, .slot')) {
    const spot = within(item.getBoundingClientRect(), area, down);
    if (item.dataset.slot) slots.set(item.dataset.slot, [...(slots.get(item.dataset.slot) ?? []), spot]);
    else boxes.set(item.dataset.component, spot);
  }
  const lines = [];
  for (const [from, to, rate] of pairs(edges)) {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (!a || !b || from === to) continue;
    const points = pathOf(a, slots.get(slotOf(from, to)) ?? [], b).map(([along, across]) =>
      down ? [across, along] : [along, across],
    );
    line(c, colours, points, rate, down);
    lines.push({ from, to, rate, points });
  }
  c.font = '11px system-ui, "Liberation Sans", Arial, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  const taken = [...boxes.values()];
  for (const l of lines) {
    if (l.rate == null) continue;
    const text = `${plain(l.rate)}/s`;
    l.label = placeOf(l.points, c.measureText(text).width, taken, area.width);
    taken.push(l.label);
    const { left, top, right, bottom } = l.label;
    c.fillStyle = colours.paper;
    c.fillRect(left - 3, top, right - left + 6, bottom - top);
    c.fillStyle = colours.ink;
    c.fillText(text, (left + right) / 2, (top + bottom) / 2);
  }
  return lines;
}

// within returns a rectangle in the canvas, and its start, end and middle in the direction of the layers.
function within(r, area, down) {
  const left = r.left - area.left;
  const top = r.top - area.top;
  const [right, bottom] = [left + r.width, top + r.height];
  const [start, end, middle] = down ? [top, bottom, (left + right) / 2] : [left, right, (top + bottom) / 2];
  return { left, right, top, bottom, start, end, middle };
}

function pairs(edges) {
  const all = new Map();
  for (const e of edges) {
    const key = slotOf(e.from, e.to);
    const [, , rate] = all.get(key) ?? [null, null, null];
    all.set(key, [e.from, e.to, e.rate == null ? rate : (rate ?? 0) + e.rate]);
  }
  return all.values();
}

// placeOf returns the free rectangle for a label that is nearest to the middle of its line.
function placeOf(points, width, taken, most) {
  const middle = (points.length - 1) / 2;
  const spots = [...points.keys()]
    .sort((i, j) => Math.abs(i - middle) - Math.abs(j - middle))
    .map((i) => {
      const [x, y] = points[i];
      return { left: x - width / 2, right: x + width / 2, top: y - 8, bottom: y + 8 };
    });
  const free = (s) =>
    s.left >= 0 &&
    s.right <= most &&
    !taken.some((t) => s.left < t.right && t.left < s.right && s.top < t.bottom && t.top < s.bottom);
  return spots.find(free) ?? spots[0];
}

function line(c, colours, points, rate, down) {
  c.beginPath();
  c.strokeStyle = colours.muted;
  c.lineWidth = rate ? Math.min(5, 1 + Math.log10(1 + rate) * 0.8) : 1;
  c.setLineDash(rate ? [] : [3, 4]);
  for (const [x, y] of points) c.lineTo(x, y);
  c.stroke();
  c.setLineDash([]);
  const [x, y] = points.at(-1);
  c.beginPath();
  c.fillStyle = colours.muted;
  c.moveTo(x, y);
  for (const side of [-5, 5]) c.lineTo(...(down ? [x + side, y - 9] : [x - 9, y + side]));
  c.fill();
}
