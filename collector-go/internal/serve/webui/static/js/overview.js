// The list of all topologies and their states, if there are several.
import { clip, el, fill, table } from './dom.js';
import { alarmsOf } from './order.js';
import { stateOf } from './sentence.js';
import { spoken, whenever } from './units.js';

const most = 100; // topologies listed

/** showOverview lists the topologies with their alerts. linkTo(part) returns the URL of a topology. */
export function showOverview(box, topologies, alerts, linkTo) {
  const rows = topologies
    .map((t) => ({ t, alarms: alarmsOf(alerts, t.name).filter((a) => a.labels.topology === t.name) }))
    .sort(
      (a, b) =>
        Number(b.alarms.some(firing)) - Number(a.alarms.some(firing)) ||
        Number(b.t.alive) - Number(a.t.alive) ||
        a.t.name.localeCompare(b.t.name),
    );
  fill(
    box,
    table(
      'Topologies',
      ['Topology', 'State', 'Workers', 'Components', 'Last report'],
      rows.slice(0, most).map(({ t, alarms }) => {
        const state = stateOf({
          alarms,
          condition: t.condition?.state,
          alive: t.alive,
          federated: t.elsewhere,
          evaluated: true,
          now: 0,
        });
        return [
          el('a', { href: linkTo({ topology: t.name }) }, el('bdi', {}, clip(t.name, 80))),
          el(
            'span',
            { class: `in-table ${state.kind}` },
            state.kind === 'ok' ? 'OK' : el('bdi', {}, clip(spoken(state.text), 160)),
          ),
          t.worker_count ?? '–',
          t.elsewhere ? '–' : (t.component_count ?? '–'),
          t.last_seen ? whenever(Date.parse(t.last_seen) / 1000) : '–',
        ];
      }),
    ),
    rows.length > most
      ? el('p', { class: 'note' }, `${rows.length - most} more topologies: see /api/v1/topologies.`)
      : null,
  );
}

const firing = (a) => a.state === 'firing';
