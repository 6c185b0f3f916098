// The rows of the topology map: the boxes of each layer, and an empty slot wherever a stream passes a row. The lines of
// the streams go through the slots. Pure.

// The room that a box and a slot need in a row, relative to one another. The page's style sheet has the real sizes;
// these only have to put the rows in a good order.
const boxSize = 4;
const slotSize = 1;
const sweeps = 12;

const turn = 24; // px that bend a line that leads back, beside its row
const parts = 24; // of a curve from one row to the next

/**
 * placed arranges layers of components in rows of at most `most` boxes. A stream that skips a row has a slot in it, so
 * that no stream is drawn behind a box. A stream that leads back has a slot in every row from its start to its end. A
 * row is a list of { name } and { slot }, where a slot has the slotOf its stream.
 *
 * The order is that of the barycentre method: each box and slot is sorted by the mean position of its neighbours in
 * the row before, then in the row after, and the order with the fewest crossings is kept.
 */
export function placed(layers, streams, most = Infinity) {
  const rows = layers.flatMap((layer) => split(layer, streams, most)).map((names) => names.map((name) => ({ name })));
  const rowOf = new Map(rows.flatMap((row, r) => row.map(({ name }) => [name, r])));
  const boxes = new Map(rows.flat().map((box) => [box.name, box]));
  const links = rows.map(() => []); // of each row: pairs of an item of the row before and one of this row
  for (const { from, to } of once(streams)) {
    const [start, end] = [rowOf.get(from), rowOf.get(to)];
    const back = end <= start;
    const [first, last] = back ? [end, start] : [start + 1, end - 1];
    let before = back ? null : boxes.get(from);
    for (let r = first; r <= last; r++) {
      const slot = { slot: slotOf(from, to) };
      rows[r].push(slot);
      if (before) links[r].push([before, slot]);
      before = slot;
    }
    if (!back) links[end].push([before, boxes.get(to)]);
  }
  return ordered(rows, links);
}

/** slotOf returns the key of the slots of the streams from a component to another. */
export const slotOf = (from, to) => JSON.stringify([from, to]);

/**
 * pathOf returns the points of a line from the end of a to the start of b, as [along, across] the layers. Between two
 * rows it is a curve, and in a row it goes straight through its slot. A line that leads back passes its slots from
 * their end to their start.
 */
export function pathOf(a, slots, b) {
  const back = b.start <= a.end;
  const way = back ? -1 : 1;
  const passed = (back ? slots.toReversed() : slots).flatMap((slot) =>
    (back ? [slot.end, slot.start] : [slot.start, slot.end]).map((along) => [along, slot.middle, way]),
  );
  const stations = [[a.end, a.middle, 1], ...passed, [b.start, b.middle, 1]];
  return [stations[0].slice(0, 2), ...stations.slice(1).flatMap((to, i) => curve(stations[i], to))];
}

// curve returns the points after the first of a Bezier curve that leaves and arrives along the layers.
function curve([x1, y1, leaves], [x2, y2, arrives]) {
  const bend = leaves === arrives ? Math.abs(x2 - x1) / 2 : turn;
  const mix = (t, a, b, c, d) => (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t * t * (1 - t) * c + t ** 3 * d;
  return Array.from({ length: parts }, (_, i) => {
    const t = (i + 1) / parts;
    return [mix(t, x1, x1 + leaves * bend, x2 - arrives * bend, x2), mix(t, y1, y1, y2, y2)];
  });
}

// once returns each pair of two components once, however many streams join them.
const once = (streams) =>
  new Map(streams.filter(({ from, to }) => from !== to).map((s) => [slotOf(s.from, s.to), s])).values();

// Components with few streams come first, because their streams have to pass the other rows of the layer.
function split(layer, streams, most) {
  if (layer.length <= most) return [layer];
  const out = (name) => streams.filter(({ from }) => from === name).length;
  const sorted = [...layer].sort((a, b) => out(a) - out(b));
  return Array.from({ length: Math.ceil(layer.length / most) }, (_, i) => sorted.slice(i * most, (i + 1) * most));
}

function ordered(rows, links) {
  let best = rows;
  let least = costOf(rows, links);
  for (let k = 0; k < sweeps; k++) {
    rows = swept(rows, links, k % 2 === 1);
    const cost = costOf(rows, links);
    if (cost < least) [best, least] = [rows, cost];
  }
  return best;
}

// swept sorts the items of each row by the mean position of their neighbours in the row before, or after if up.
function swept(rows, links, up) {
  const at = positionsOf(rows);
  const next = [...rows];
  const order = [...rows.keys()];
  for (const r of up ? order.reverse() : order) {
    const near = new Map(rows[r].map((item) => [item, []]));
    for (const [a, b] of links[up ? r + 1 : r] ?? []) near.get(up ? a : b).push(at.get(up ? b : a));
    const mean = (item) => {
      const of = near.get(item);
      return of.length ? of.reduce((a, b) => a + b, 0) / of.length : at.get(item);
    };
    next[r] = rows[r].toSorted((a, b) => mean(a) - mean(b));
    positionsOf([next[r]], at);
  }
  return next;
}

// positionsOf sets the middle of each item, where rows are centred on 0.
function positionsOf(rows, at = new Map()) {
  const size = (item) => (item.slot ? slotSize : boxSize);
  for (const row of rows) {
    let edge = -row.reduce((sum, item) => sum + size(item), 0) / 2;
    for (const item of row) {
      at.set(item, edge + size(item) / 2);
      edge += size(item);
    }
  }
  return at;
}

// Crossings count first, then the length of the streams across the rows.
function costOf(rows, links) {
  const at = positionsOf(rows);
  let [crossings, length] = [0, 0];
  for (const pairs of links)
    pairs.forEach(([a, b], i) => {
      length += Math.abs(at.get(a) - at.get(b));
      for (const [c, d] of pairs.slice(0, i)) if ((at.get(a) - at.get(c)) * (at.get(b) - at.get(d)) < 0) crossings++;
    });
  return crossings * 1e4 + length;
}
