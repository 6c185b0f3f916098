// Which topologies there are.
import { ask } from './api.js';
import { byName } from './matrix.js';

/**
 * knownTopologies are those of the registry, those that live first; a store that was filled another way has them in its
 * labels.
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
