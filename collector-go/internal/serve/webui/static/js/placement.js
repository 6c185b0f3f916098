// Placement: the workers of each host and the components of each worker (/api/v1/topologies/<topology>).
import { clip, el, fill, table } from './dom.js';
import { byName } from './matrix.js';

const mostRows = 24; // of the table

export function showPlacement(box, topology) {
  const workers = [...topology.workers].sort((a, b) => byName(a.host, b.host) || byName(a.worker, b.worker));
  const perHost = new Map();
  for (const w of workers) perHost.set(w.host, (perHost.get(w.host) ?? 0) + 1);
  const rows = workers
    .slice(0, mostRows)
    .map((w) => [
      el('bdi', {}, clip(w.host, 80)),
      perHost.get(w.host),
      el('bdi', {}, clip(w.worker, 80)),
      w.task_count,
      el('bdi', {}, tasksOf(w.components)),
    ]);
  fill(
    box,
    el(
      'p',
      {},
      `${workers.length} worker${workers.length === 1 ? '' : 's'} on ${perHost.size} host${perHost.size === 1 ? '' : 's'}.`,
    ),
    rows.length
      ? el(
          'details',
          {},
          el('summary', {}, 'Components by worker and host'),
          table(
            'Components of each worker',
            ['Host', 'Workers on this host', 'Worker', 'Tasks', 'Components and their tasks'],
            rows,
          ),
          workers.length > mostRows
            ? el('p', { class: 'note' }, `${workers.length - mostRows} more workers: see /api/v1/topologies.`)
            : null,
        )
      : null,
  );
}

/** tasksOf lists the components of a worker, "FilterBolt 3, JoinBolt 1". Storm's own components come last. */
export function tasksOf(components) {
  const own = (c) => Number(c.component.startsWith('__'));
  return [...components]
    .filter((c) => c.component !== '__system')
    .sort((a, b) => own(a) - own(b) || byName(a.component, b.component))
    .map((c) => `${clip(c.component, 60)} ${c.tasks.length}`)
    .join(', ');
}
