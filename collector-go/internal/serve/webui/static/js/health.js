// Data quality: how complete the samples of a topology are (/api/v1/collection).
import { clip, el, fill, table } from './dom.js';
import { duration, plain } from './units.js';

const mostRows = 20; // of the table

/**
 * windowOf is the time range of the request: the newest hour of what is shown, because a response may be long.
 */
export function windowOf(grid) {
  return { start: Math.max(grid.from, grid.to - 3600), end: grid.to };
}

export function showHealth(box, found) {
  const expected = found.samples + found.missing;
  const refused = sum(found.refused);
  const dropped = sum(found.dropped) + found.storm_dropped;
  const rows = problems(found);
  fill(
    box,
    el(
      'p',
      { class: found.complete ? 'healthy' : 'trouble' },
      el('b', {}, found.complete ? 'Complete. ' : 'Incomplete. '),
      `${plain(found.samples)} of ${plain(expected)} samples were stored (${share(found.samples, expected)}), from ${found.workers.length} worker${found.workers.length === 1 ? '' : 's'} in ${duration((Date.parse(found.end) - Date.parse(found.start)) / 1000)}. ` +
        `Missing: ${plain(found.missing)}, including ${plain(found.late)} that arrived late. Refused: ${plain(refused)}. Dropped before they reached the collector: ${plain(dropped)}.`,
    ),
    intervalLine(found),
    rows.length ? details(rows) : null,
    notStored(found),
    workersLine(found),
  );
}

// The metrics that are not stored. The list is open if it has one of the topology's own metrics, and folded if all are
// redundant.
function notStored(found) {
  const names = found.not_stored ?? [];
  const more = found.not_stored_more ?? 0;
  if (!names.length) return null;
  const lost = names.filter((n) => n.lost).length;
  const count = names.length + more;
  return el(
    'details',
    lost ? { open: '' } : {},
    el(
      'summary',
      {},
      lost
        ? `Metrics not stored: ${lost} of the topology's own, ${count - lost} redundant`
        : `Metrics not stored: ${count}, all redundant`,
    ),
    table(
      'Metrics that are not stored',
      ['Component', 'Metric', 'Reason', 'Stored instead'],
      names
        .slice(0, mostRows)
        .map((n) => [
          el('bdi', {}, clip(n.component, 80)),
          el('bdi', {}, clip(n.metric, 100)),
          n.reason,
          el('bdi', {}, clip(n.beside, 100)),
        ]),
    ),
    count > mostRows
      ? el('p', { class: 'note' }, `${count - mostRows} more metrics${more ? '.' : ': see /api/v1/collection.'}`)
      : null,
  );
}

// The table is folded, because the sentence above it has the totals.
function details(rows) {
  return el(
    'details',
    {},
    el('summary', {}, `Affected metrics: ${rows.length}`),
    table(
      'Where samples are missing',
      ['Worker', 'Metric', 'Interval', 'Longest gap', 'Missing', 'Late', 'Refused', ''],
      rows.slice(0, mostRows),
    ),
    rows.length > mostRows
      ? el('p', { class: 'note' }, `${rows.length - mostRows} more rows: see /api/v1/collection.`)
      : null,
  );
}

const sum = (counts) => Object.values(counts ?? {}).reduce((a, b) => a + b, 0);
const share = (part, all) => (all ? `${((100 * part) / all).toFixed(part === all ? 0 : 2)}%` : 'none were expected');
const seconds = (s) => (s == null ? '–' : duration(s));

function problems(found) {
  const rows = [];
  for (const w of found.workers) {
    for (const m of w.metrics) {
      if (!m.missing && !m.late && !sum(m.refused) && !m.silent) continue;
      rows.push({
        missing: m.missing,
        cells: [
          el('bdi', {}, clip(w.worker, 80)),
          clip(m.metric, 100),
          seconds(m.interval_seconds),
          seconds(m.seen_max_seconds),
          plain(m.missing),
          plain(m.late),
          plain(sum(m.refused)),
          m.silent ? 'silent' : '',
        ],
      });
    }
  }
  return rows.sort((a, b) => b.missing - a.missing).map((r) => r.cells);
}

// The configured intervals, and the longest time between two samples.
function intervalLine(found) {
  const configured = Object.values(found.interval_seconds ?? {});
  const ratios = found.workers.map((w) => w.interval_seen_ratio).filter((r) => r != null);
  if (!configured.length || !ratios.length) return null;
  const parts = [...new Set(configured)]
    .sort((a, b) => a - b)
    .slice(0, 4)
    .map((i) => `${configured.filter((c) => c === i).length} every ${duration(i)}`);
  return el(
    'p',
    {},
    `Expected: ${configured.length} metrics (${parts.join(', ')}). The longest gap between two samples was ${plain(Math.max(...ratios))} intervals.`,
  );
}

function workersLine(found) {
  const limit = found.skew_limit_seconds;
  const off = found.workers.filter((w) => Math.abs(w.skew_seconds ?? 0) > limit);
  const again = found.workers.filter((w) => w.restarts);
  const parts = [
    again.length
      ? `Restarts: ${again
          .slice(0, 8)
          .map((w) => `${clip(w.worker, 60)} ${w.restarts}×`)
          .join(', ')}.`
      : '',
    off.length
      ? `Clocks wrong by more than ${duration(limit)}: ${off
          .slice(0, 8)
          .map((w) => `${clip(w.worker, 60)} ${duration(w.skew_seconds)}`)
          .join(', ')}.`
      : '',
  ].filter(Boolean);
  return parts.length ? el('p', {}, el('bdi', {}, parts.join(' '))) : null;
}
