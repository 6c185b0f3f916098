// The order of the charts: first that of the firing alert, then those of its usual causes. Pure.
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

// The first charts for each alert. The others follow in the order for latency.
const first = {
  BulletQueryLatencyP99High: ['queries', 'busy', 'queue', 'latency'],
  BulletQueriesIncomplete: ['records', 'workers', 'queries', 'lag', 'streams'],
  BulletGCShareHigh: ['gc', 'heap', 'cpu', 'latency'],
  BulletHeapNearLimit: ['heap', 'gc', 'queries', 'latency'],
  BulletWorkerRestarted: ['workers', 'heap', 'gc', 'records', 'latency'],
  BulletSourceFallingBehind: ['lag', 'records', 'held', 'busy', 'queue'],
  BulletMetricsCollectorBlind: ['workers', 'records', 'latency'],
};

/**
 * orderFor returns the names of all charts: the alert's own chart, that of its cause, and those of its usual causes.
 * Without an alert, it is the order for latency.
 */
export function orderFor(alert, cause) {
  const [own, ...usual] = Object.hasOwn(first, alert || '') ? first[alert] : latency;
  return [...new Set([own, ...(latency.includes(cause) ? [cause] : []), ...usual, ...latency])];
}

const severities = ['critical', 'page', 'warning', 'info'];
// These alerts mean that other alerts are unreliable, so they come first.
const unreliable = ['BulletClockSkew', 'BulletMetricsCollectorBlind'];
const rank = (a) =>
  (a.state === 'firing' ? 0 : 10) +
  (severities.indexOf(a.labels.severity) + 1 || 9) -
  (unreliable.includes(a.labels.alertname) ? 0.5 : 0);

/**
 * bySeverity orders alerts: firing before pending, then by severity, then unreliable data first, then by their start.
 */
export const bySeverity = (a, b) =>
  rank(a) - rank(b) ||
  Date.parse(a.activeAt) - Date.parse(b.activeAt) ||
  a.labels.alertname.localeCompare(b.labels.alertname) ||
  JSON.stringify(a.labels).localeCompare(JSON.stringify(b.labels));

export const watchdog = 'BulletMetricsWatchdog';

/** isEvaluated reports whether alert rules are evaluated: then the watchdog fires. */
export const isEvaluated = (all) => all.some((a) => a.labels.alertname === watchdog && a.state === 'firing');

/** alarmsOf returns the alerts of a topology and those without a topology, the worst first. */
export const alarmsOf = (all, topology) =>
  all
    .filter((a) => a.labels.alertname !== watchdog && (!a.labels.topology || a.labels.topology === topology))
    .sort(bySeverity);
