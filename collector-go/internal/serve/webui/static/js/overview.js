// The list of all topologies and their states, if there are several.
import { clip, el, fill, table } from './dom.js';
import { alarmsOf, isEvaluated } from './order.js';
import { registered, stateOf } from './sentence.js';
import { percent, plain, shortly, spoken, units } from './units.js';

const most = 100; // topologies listed

/**
 * showOverview lists the topologies, those with a problem first. figuresOf has the values of each topology, and
 * linkTo(part) returns its URL.
 */
export function showOverview(box, topologies, alerts, figuresOf, linkTo) {
  const now = Date.now() / 1000;
  const evaluated = isEvaluated(alerts);
  const rows = topologies
    .map((t) => {
      // by their names: the values are in the other columns
      const alarms = alarmsOf(alerts, t.name)
        .filter((a) => a.labels.topology === t.name)
        .map((a) => ({ ...a, annotations: {} }));
      return { t, state: stateOf({ alarms, evaluated, ...registered(t), now }) };
    })
    .sort(
      (a, b) =>
        Number(b.state.kind === 'firing') - Number(a.state.kind === 'firing') ||
        Number(b.t.alive) - Number(a.t.alive) ||
        a.t.name.localeCompare(b.t.name),
    );
  fill(
    box,
    table(
      'Topologies',
      ['Topology', 'State', 'Filter latency', 'Queries', 'Busy', 'Workers', 'Last report'],
      rows
        .slice(0, most)
        .map(({ t, state }) => [
          el('a', { href: linkTo({ topology: t.name }) }, el('bdi', {}, clip(t.name, 80))),
          el(
            'span',
            { class: `in-table ${state.kind}` },
            state.kind === 'ok' ? 'OK' : el('bdi', {}, clip(spoken(state.text), 160)),
          ),
          ...figures(figuresOf.get(t.name)),
          workersOf(t),
          t.last_seen ? shortly(Date.parse(t.last_seen) / 1000, now) : '–',
        ]),
    ),
    rows.length > most
      ? el('p', { class: 'note' }, `${rows.length - most} more topologies: see /api/v1/topologies.`)
      : null,
  );
}

// Without the latency hook, the latency is Bullet's own mean.
function figures({ p99, mean, queries, busy } = {}) {
  const latency = (v) => units.seconds.write(v * units.seconds.times);
  return [
    Number.isFinite(p99) ? `${latency(p99)} (p99)` : mean == null ? '–' : `${latency(mean)} (mean)`,
    queries == null ? '–' : plain(queries),
    busy == null ? '–' : percent(busy),
  ];
}

const workersOf = ({ worker_count: count, lost_workers: lost = [] }) =>
  lost.length ? `${count} of ${count + lost.length}` : (count ?? '–');
