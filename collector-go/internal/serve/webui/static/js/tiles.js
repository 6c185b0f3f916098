// The six tiles that summarize a topology. Each is a link to its chart.
import { clip, el, fill } from './dom.js';
import { lastKnown } from './matrix.js';
import { sparkline } from './sparkline.js';
import { minute, units } from './units.js';

const tiles = [
  {
    name: 'latency',
    title: 'Filter p99',
    from: p99OrMean,
    says: (v) => (v > 0.2 ? 'over 200 ms' : 'limit 200 ms'),
    bad: (v) => v > 0.2,
    limit: 0.2,
    alerts: { p99: 'BulletFilterLatencyP99High', mean: 'BulletFilterLatencyMeanHigh' },
  },
  { name: 'queries', title: 'Running queries' },
  { name: 'records', title: 'Records read' },
  { name: 'lag', title: 'Source lag', says: () => 'unread records' },
  { name: 'busy', title: 'Busiest', from: busiest, says: (v, line) => line.name, bad: (v) => v > 0.9 },
  {
    name: 'workers',
    title: 'Workers',
    says: (v, line, known) => (known ? `of ${known}` : ''),
    bad: (v, known) => known > 0 && v < known,
  },
];

/** Tiles shows the latest values of the charts. */
export class Tiles {
  constructor(element, linkTo) {
    this.element = element;
    this.linkTo = linkTo;
  }

  /**
   * show draws the tiles. known is the number of workers that the registry knows. A latency that raises one of the
   * alarms now is that of the alert's text.
   */
  show(figures, known = this.known, alarms = this.alarms ?? []) {
    Object.assign(this, { known, alarms });
    const lines = tiles.map((tile) => {
      const figure = figures.get(tile.name);
      const line = lineOf(tile, figure);
      return { tile, figure, line, i: line ? lastKnown([line]) : -1 };
    });
    const shown = lines.filter(({ i }) => i >= 0);
    const none = lines.filter(({ i }) => i < 0).map(({ tile }) => tile.title.toLowerCase());
    fill(
      this.element,
      ...shown.map((one) => this.tile(one, known)),
      none.length ? el('p', { class: 'note' }, `No data: ${none.join(', ')}.`) : null,
    );
    this.element.querySelectorAll('canvas').forEach((canvas, n) => {
      sparkline(canvas, shown[n].line.values, shown[n].tile.limit);
    });
  }

  tile({ tile, figure, line, i }, known) {
    const alarm =
      tile.alerts && this.alarms.find((a) => a.labels.alertname === tile.alerts[line.mean ? 'mean' : 'p99']);
    const value = alarm ? Number(alarm.value) : line.values[i];
    const { times, write } = units[figure.unit];
    const past = late(figure, i);
    const bad = !past && Boolean(tile.bad?.(value, known));
    const says = past || tile.says?.(value, line, known);
    return el(
      'a',
      {
        class: `tile${bad ? ' bad' : ''}`,
        id: `tile-${tile.name}`,
        href: this.linkTo(tile.name),
        'data-value': value,
        'data-time': figure.times[i],
      },
      el('span', { class: 'what' }, line.mean ? 'Filter mean' : tile.title),
      el('b', {}, write(value * times)),
      el('span', { class: 'says' }, bad ? '⚠ ' : null, el('bdi', {}, clip(says || '\u00a0', 60))),
      el('canvas', { 'aria-hidden': 'true' }),
    );
  }
}

// The time of a value that is not from the newest slices.
function late(figure, i) {
  const age = (figure.grid.points - 1 - i) * figure.grid.step;
  return age >= Math.max(2 * figure.grid.step, 120) ? `latest ${minute(figure.times[i])}` : '';
}

function lineOf(tile, figure) {
  if (!figure?.grid || !figure.columns.length) return null;
  return (tile.from ?? firstOf)(figure.columns);
}

const named = (column) => column && { name: column.metric.worker, values: column.values };
function firstOf(columns) {
  return named(columns.find((c) => c.order === 0));
}

// Without the latency hook, the tile shows Bullet's own mean.
function p99OrMean(columns) {
  const p99 = columns.find((c) => c.order === 1);
  if (p99 && lastKnown([p99]) >= 0) return named(p99);
  const mean = columns.find((c) => c.order === 0);
  return mean && { ...named(mean), mean: true };
}

function busiest(columns) {
  const last = lastKnown(columns);
  const shown = columns.filter((c) => c.values[last] != null).sort((a, b) => b.values[last] - a.values[last]);
  return named(shown[0]);
}
