// How complete the samples of a topology are: /api/v1/collection, in words and a table of what is wrong.
import { clip, el, fill, table } from './dom.js';
import { duration, plain } from './units.js';

const mostRows = 20; // of the table

/**
 * windowOf is the time asked about: what is shown, an hour of it at most: where much is wrong there is as much to read.
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
      { class: found.complete ? 'calm' : 'trouble' },
      el('b', {}, found.complete ? 'Complete. ' : 'Not complete. '),
      `${plain(found.samples)} of ${plain(expected)} samples in slices (${share(found.samples, expected)}); ${plain(found.missing)} missing, of these ${plain(found.late)} late; ${plain(refused)} refused; ${plain(dropped)} known to be dropped on the way. ${found.workers.length} worker${found.workers.length === 1 ? '' : 's'}, in ${duration((Date.parse(found.end) - Date.parse(found.start)) / 1000)}.`,
    ),
    intervalLine(found),
    rows.length ? details(rows) : null,
    notStored(found),
    workersLine(found),
  );
}

// The metrics that are not stored, by the names that the topology gives them: a metric of its own that is lost is shown
// at once, what repeats another is folded.
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
        ? `${lost} metric${lost === 1 ? '' : 's'} of the topology's own not stored, ${count - lost} redundant`
        : `${count} metric${count === 1 ? '' : 's'} not stored, since others say the same`,
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
      ? el(
          'p',
          { class: 'note' },
          `${count - mostRows} further names: /api/v1/collection has ${more ? 'some' : 'all'}.`,
        )
      : null,
  );
}

// The list of faults is folded: the sentence above it states how bad they are.
function details(rows) {
  return el(
    'details',
    {},
    el('summary', {}, `Where: ${rows.length} metric${rows.length === 1 ? '' : 's'} of workers`),
    table(
      'Where samples are missing',
      ['Worker', 'Metric', 'Interval', 'Seen at most', 'Missing', 'Late', 'Refused', ''],
      rows.slice(0, mostRows),
    ),
    rows.length > mostRows
      ? el('p', { class: 'note' }, `${rows.length - mostRows} further lines: /api/v1/collection has all.`)
      : null,
  );
}

const sum = (counts) => Object.values(counts ?? {}).reduce((a, b) => a + b, 0);
const share = (part, all) => (all ? `${((100 * part) / all).toFixed(part === all ? 0 : 2)}%` : 'none expected');
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

// The intervals configured, against the longest time between two samples.
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
    `${configured.length} metrics are to come: ${parts.join(', ')}. Two samples of one were at most ${plain(Math.max(...ratios))} intervals apart.`,
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
      ? `Clocks more than ${duration(limit)} off, whatever the way of samples took: ${off
          .slice(0, 8)
          .map((w) => `${clip(w.worker, 60)} ${duration(w.skew_seconds)}`)
          .join(', ')}.`
      : '',
  ].filter(Boolean);
  return parts.length ? el('p', {}, el('bdi', {}, parts.join(' '))) : null;
}
