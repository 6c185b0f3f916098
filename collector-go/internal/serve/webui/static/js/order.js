// Which figures come first: those of the alert that fires, then what usually causes it. Pure.
const latency = [
  'latency',
  'busy',
  'queue',
  'records',
  'lag',
  'held',
  'gc',
  'workers',
  'queries',
  'cpu',
  'heap',
  'cpu-parts',
  'streams',
];

// What each alert leads to first; the rest follows as for latency.
const first = {
  BulletQueryLatencyP99High: ['queries', 'busy', 'queue', 'latency'],
  BulletQueriesIncomplete: ['records', 'workers', 'queries', 'lag', 'streams'],
  BulletGCShareHigh: ['gc', 'heap', 'cpu', 'latency'],
  BulletHeapNearLimit: ['heap', 'gc', 'queries', 'latency'],
  BulletWorkerRestarted: ['workers', 'heap', 'gc', 'records', 'latency'],
  BulletSourceFallingBehind: ['lag', 'records', 'held', 'busy', 'queue'],
  BulletMetricsCollectorBlind: ['workers', 'records', 'latency'],
};

/** orderFor is the names of all figures, in the order for an alert's name; of no alert, as for latency. */
export function orderFor(alert) {
  const begin = Object.hasOwn(first, alert ?? '') ? first[alert] : [];
  return [...begin, ...latency.filter((name) => !begin.includes(name))];
}

/** severities in their order. */
const severities = ['critical', 'page', 'warning', 'info'];
// What says that nothing is known goes before what was known last.
const ofWhatIsKnown = ['BulletClockSkew', 'BulletMetricsCollectorBlind'];
const rank = (a) =>
  (a.state === 'firing' ? 0 : 10) +
  (severities.indexOf(a.labels.severity) + 1 || 9) -
  (ofWhatIsKnown.includes(a.labels.alertname) ? 0.5 : 0);

/**
 * bySeverity orders alerts: what fires before what waits, the critical first, of these what says that nothing is known,
 * then the one that began first.
 */
export const bySeverity = (a, b) =>
  rank(a) - rank(b) ||
  Date.parse(a.activeAt) - Date.parse(b.activeAt) ||
  a.labels.alertname.localeCompare(b.labels.alertname) ||
  JSON.stringify(a.labels).localeCompare(JSON.stringify(b.labels));

export const watchdog = 'BulletMetricsWatchdog';

/** alarmsOf are the alerts that concern a topology: its own and those of none, the worst first. */
export const alarmsOf = (all, topology) =>
  all
    .filter((a) => a.labels.alertname !== watchdog && (!a.labels.topology || a.labels.topology === topology))
    .sort(bySeverity);
