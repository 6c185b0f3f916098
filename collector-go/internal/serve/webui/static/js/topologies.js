// The list of topologies.
import { ask } from './api.js';
import { byName } from './matrix.js';

/**
 * knownTopologies returns the topologies of the registry, live ones first. If the registry has none, they are read from
 * the labels in the store.
 */
export async function knownTopologies() {
  let known = [];
  try {
    known = await ask('topologies', '/api/v1/topologies');
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  if (known.length)
    return known
      .map((t) => ({ ...t, registered: true }))
      .sort((a, b) => Number(b.alive) - Number(a.alive) || b.last_seen.localeCompare(a.last_seen));
  const names = await ask('labels', '/api/v1/label/topology/values', {
    'match[]': 'bullet_worker_heap_used_bytes',
  }).catch(() => []);
  return names.sort(byName).map((name) => ({ name, registered: false }));
}
