// The canvas of a chart: uPlot, with bands, marks and the limit drawn into it.
import uPlot from '../vendor/uplot/uPlot.esm.js';
import { theme } from './palette.js';
import { clock, day as dayOf, inZone, minute } from './units.js';

const font = '12px system-ui, "Liberation Sans", Arial, sans-serif';
const axisWidth = 68; // equal in all charts, so that their time axes are aligned
const stillHeight = 190;

let colours = theme();
/**
 * colour returns a cached colour of the style sheet. Reading it for each of a thousand lines would take longer than
 * drawing them.
 */
export const colour = (name) => colours[name];
/** recolour reads the colours again after a change between light and dark mode. */
export function recolour() {
  colours = theme();
}

/**
 * chartOf draws into an element. `lines` have the style of each series: {label, colour(): string, width, dash}. `limit`
 * is in the axis' unit, or null, and `limitWords` is its label. `over` returns bands and marks, and whether this chart
 * labels them. `select(from, to)` is called after a drag, and `point(i)` when the crosshair moves (null when it
 * leaves). `tails` returns the samples that are drawn beside the slices, and `overlay` is the canvas for those that are
 * provisional, so that they can be drawn again without the rest.
 */
export function chartOf(element, options) {
  const { lines, times, values, axis, write, limit, limitWords, over, select, point, tails, overlay } = options;
  return new uPlot(
    {
      width: Math.max(200, element.clientWidth),
      height: stillHeight,
      tzDate: (t) => inZone(new Date(t * 1000), uPlot.tzDate),
      legend: { show: false },
      padding: [14, 26, 0, 0],
      cursor: {
        sync: { key: 'page', setSeries: false },
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 5 },
        points: { show: lines.length <= 20 },
        focus: { prox: -1 },
      },
      scales: {
        x: { time: true, range: (u, low, high) => over().range ?? [low, high] },
        y: { range: (u, low, high) => span(low, high, limit, tails().highest) },
      },
      axes: [
        dressed({ space: 70, values: timeLabels }),
        dressed({ size: axisWidth, label: axis, labelSize: 18, values: (u, ticks) => ticks.map(write) }),
      ],
      series: [{}, ...lines.map(seriesOf)],
      hooks: {
        init: [(u) => overlay && u.over.prepend(overlay)],
        drawClear: [(u) => drawBands(u, over())],
        draw: [
          (u) => {
            drawMarks(u, over());
            drawLimit(u, limit, limitWords);
            drawClosed(u, tails());
            if (overlay) drawProvisional(u, tails(), overlay);
          },
        ],
        setCursor: [(u) => point(u.cursor.left >= 0 ? u.cursor.idx : null)],
        setSelect: [(u) => selected(u, select)],
      },
    },
    [times, ...values],
    element,
  );
}

const dressed = (axis) => ({
  font,
  labelFont: font,
  stroke: () => colours.muted,
  grid: { stroke: () => colours.rule, width: 1 },
  ticks: { stroke: () => colours.rule, width: 1, size: 4 },
  ...axis,
});

function seriesOf(line) {
  return {
    label: line.label,
    stroke: line.colour,
    width: line.width,
    dash: line.dash,
    spanGaps: false,
    points: line.points ?? {},
    show: line.show ?? true,
  };
}

// A label has the time, and the day if it differs from that of the previous label.
function timeLabels(u, ticks, axis, space, increment) {
  let before = '';
  return ticks.map((t) => {
    const day = dayOf(t);
    const label = increment >= 86400 ? day : increment < 60 ? clock(t) : minute(t);
    const line = day !== before && increment < 86400 ? `${label}\n${day}` : label;
    before = day;
    return line;
  });
}

// The axis includes the limit and the samples, and begins at 0, unless clock skew makes a latency negative.
function span(low, high, limit, highest) {
  const top = Math.max(high ?? 0, highest, (limit ?? 0) * 1.1);
  return [Math.min(0, low ?? 0), top > 0 ? top * 1.06 : 1];
}

function selected(u, select) {
  if (u.select.width < 5) return;
  const [from, to] = [u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x')];
  u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  select(from, to);
}

function drawBands(u, { bands, labelled }) {
  inside(u, (c, { left, top, width, height }) => {
    bands.forEach((band, i) => {
      const from = Math.max(left, u.valToPos(band.from, 'x', true));
      const to = Math.min(left + width, u.valToPos(band.to, 'x', true));
      if (to <= from) return;
      c.fillStyle = i % 2 ? colours['shade-2'] : colours.shade;
      c.fillRect(from, top, to - from, height);
      if (labelled) write(u, c, band.label, from + 3, top + 3, to - from - 6, colours.muted);
    });
  });
}

// Marks of a diagnosis have their labels at the top, other marks at the bottom.
function drawMarks(u, { marks }) {
  inside(u, (c, { left, top, width, height }) => {
    const free = { top: left, bottom: left };
    for (const mark of marks) {
      const x = Math.round(u.valToPos(mark.at, 'x', true));
      if (x < left || x > left + width) continue;
      const hue = mark.cause ? colours.cause : colours.mark;
      rule(
        u,
        c,
        [
          [x, top],
          [x, top + height],
        ],
        hue,
        mark.cause ? [] : mark.restart ? [2, 3] : [6, 3],
      );
      const [side, y, sign] = mark.cause
        ? ['top', top + 2, '▼']
        : ['bottom', top + height - 15 * uPlot.pxRatio, mark.restart ? '↻' : '⚙'];
      if (mark.labelled)
        free[side] = Math.max(free[side], beside(u, c, `${sign} ${mark.label}`, x, y, free[side], left + width, hue));
    }
  });
}

// beside writes a label right of a mark, or left if there is more space, and returns where the next label may begin.
function beside(u, c, text, x, y, free, end, hue) {
  const [after, before] = [end - x - 4, x - 4 - free];
  const least = Math.min(80 * uPlot.pxRatio, measured(c, text)); // less would be unreadable
  if (x >= free && after > least && (after >= before || after >= measured(c, text)))
    return x + 4 + write(u, c, text, x + 4, y, after, hue);
  if (before > least) write(u, c, text, x - 4 - Math.min(before, measured(c, text)), y, before, hue);
  return x + 4;
}

/** noTails is a chart without samples beside its slices. */
export const noTails = { lines: [], highest: 0, covered: new Map() };

const apart = 8; // px between hollow points
const radius = 2.5;

function drawClosed(u, { lines }) {
  if (!lines.some((l) => l.closed)) return;
  inside(u, (c, { left, top, width, height }) => {
    const place = placeIn(u, left, top, width, height);
    for (const { closed, colour, width: thick, dash } of lines)
      if (closed) stroke(c, closed, place, colour, thick, dash);
  });
}

/** drawProvisional draws samples whose slices are not closed: dashed lines, with hollow points if they are named. */
export function drawProvisional(u, { lines }, canvas) {
  const { width, height } = u.bbox;
  if (!lines.length && !canvas.width) return;
  const size = [Math.round(width), Math.round(height)];
  if (size[0] !== canvas.width || size[1] !== canvas.height) [canvas.width, canvas.height] = size;
  const c = canvas.getContext('2d');
  c.clearRect(0, 0, width, height);
  const place = placeIn(u, 0, 0, width, height);
  for (const { open, colour, width: thick, named } of lines) {
    stroke(c, open, place, colour, thick, [4, 3]);
    if (named) hollow(c, open, place);
  }
}

function placeIn({ scales: { x, y } }, left, top, width, height) {
  const [perSecond, perUnit] = [width / (x.max - x.min), height / (y.max - y.min)];
  return { x: (t) => left + (t - x.min) * perSecond, y: (v) => top + (y.max - v) * perUnit };
}

function stroke(c, [times, values], { x, y }, colour, thick, dash) {
  c.beginPath();
  c.strokeStyle = colour();
  c.lineWidth = thick * uPlot.pxRatio;
  c.setLineDash(dash.map((n) => n * uPlot.pxRatio));
  values.forEach((v, i) => {
    if (v == null) return;
    if (i && values[i - 1] != null) c.lineTo(x(times[i]), y(v));
    else c.moveTo(x(times[i]), y(v));
  });
  c.stroke();
}

// The newest sample has a point, and before it as many as fit. The first value is that of the last slice.
function hollow(c, [times, values], { x, y }) {
  c.setLineDash([]);
  c.fillStyle = colours.paper;
  let free = Infinity;
  for (let i = times.length - 1; i > 0; i--) {
    const at = x(times[i]);
    if (values[i] == null || at > free) continue;
    free = at - apart * uPlot.pxRatio;
    c.beginPath();
    c.arc(at, y(values[i]), radius * uPlot.pxRatio, 0, 2 * Math.PI);
    c.fill();
    c.stroke();
  }
}

const small = () => `${11 * uPlot.pxRatio}px system-ui, "Liberation Sans", Arial, sans-serif`;

function measured(c, text) {
  c.font = small();
  return c.measureText(text).width + 1;
}

function drawLimit(u, limit, words) {
  if (limit == null) return;
  inside(u, (c, { left, top, width }) => {
    const y = Math.round(u.valToPos(limit, 'y', true));
    rule(
      u,
      c,
      [
        [left, y],
        [left + width, y],
      ],
      colours.limit,
      [8, 4],
    );
    const above = y - top > 32 * uPlot.pxRatio; // the labels of bands and marks are at the top
    write(
      u,
      c,
      `limit ${words}`,
      left + 6,
      above ? y - 15 * uPlot.pxRatio : y + 4 * uPlot.pxRatio,
      width,
      colours.limit,
    );
  });
}

function inside(u, draw) {
  const { ctx: c, bbox } = u;
  c.save();
  c.beginPath();
  c.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  c.clip();
  draw(c, bbox);
  c.restore();
}

function rule(u, c, [[x1, y1], [x2, y2]], colour, pattern) {
  c.beginPath();
  c.strokeStyle = colour;
  c.lineWidth = 1.5 * uPlot.pxRatio;
  c.setLineDash(pattern.map((n) => n * uPlot.pxRatio));
  c.moveTo(x1, y1);
  c.lineTo(x2, y2);
  c.stroke();
}

// write writes as much of a text as fits, and returns its width.
function write(u, c, text, x, y, width, colour) {
  c.font = small();
  c.fillStyle = colour;
  c.textAlign = 'left';
  c.textBaseline = 'top';
  let shown = text;
  while (shown.length > 1 && c.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  if (shown.length < 3 && shown !== text) return 0;
  c.fillText(shown, x, y);
  return c.measureText(shown).width;
}
