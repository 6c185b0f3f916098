// What the figures ask, as PromQL. Pure. Every expression looks at its slice alone, so that a time without samples has no value: a plain
// selector would repeat the last one for five minutes, over a gap.

/** quote writes a label's value as PromQL reads it. */
export const quote = (value) => JSON.stringify(value);

/** limitSeconds is what Bullet's operators hold the filter latency to. */
export const limitSeconds = 0.2;

const gauge = (step, interval) => `${Math.max(step, Math.ceil(interval))}s`;

// From the last sample before the slice to its last: the rise in the slice, exactly, where samples come every interval.
const counter = (step, interval) => `${step + Math.ceil(interval)}s`;

/** figures in the order of the document's Figures 1 to 4; a question's lines are one a worker, or one by `name`. */
export const figures = [
  { name: 'queries', title: 'Queries running (Figure 1)', unit: 'queries', lines: [
    { name: 'queries running', expression: (t, step, i) => `sum(avg_over_time(bullet_active_queries{topology=${t},component="JoinBolt"}[${gauge(step, i)}]))` }] },
  { name: 'cpu', title: 'CPU time, user and system (Figure 2)', unit: 'cores', byWorker: true, lines: [
    { expression: (t, step, i) => `sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology=${t}}[${counter(step, i)}]))` }] },
  { name: 'cpu-parts', title: 'CPU time of all workers, user and system apart', unit: 'cores', lines: ['user', 'system'].map((mode) => (
    { name: mode, expression: (t, step, i) => `sum(rate(bullet_worker_cpu_seconds_total{topology=${t},mode="${mode}"}[${counter(step, i)}]))` })) },
  { name: 'heap', title: 'Heap in use (Figure 3)', unit: 'bytes', byWorker: true, lines: [
    { expression: (t, step, i) => `sum by (worker) (avg_over_time(bullet_worker_heap_used_bytes{topology=${t}}[${gauge(step, i)}]))` }] },
  { name: 'gc', title: 'Time in garbage collection (Figure 4)', unit: 'ms', byWorker: true, lines: [
    { expression: (t, step, i) => `sum by (worker) (rate(bullet_worker_gc_seconds_total{topology=${t}}[${counter(step, i)}]))` }] },
  { name: 'latency', title: 'Filter latency', unit: 'seconds', limit: limitSeconds, lines: [
    { name: 'Bullet’s mean, slowest task', expression: (t, step, i) => `max(max_over_time(bullet_filter_latency_mean_seconds{topology=${t}}[${gauge(step, i)}]))` },
    { name: 'p99 of the histogram', expression: (t, step, i) => `histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{topology=${t}}[${counter(step, i)}])))`,
      recorded: (t, step) => `max_over_time(topology:bullet_filter_latency_seconds:p99_rate2m{topology=${t}}[${step}s])` }] },
];

/** workersAt counts the workers that report. */
export const workersAt = (t) => `count(count by (worker) (last_over_time(bullet_worker_heap_used_bytes{topology=${t}}[15m])))`;

/** intervals asks how often what the figures show is reported: it is stored where it changes, and each hour. */
export const intervals = (t) => `max by (metric) (last_over_time(bullet_metrics_collection_interval_seconds{topology=${t}}[2h]))`;

/** metricOf are the metrics behind the figures, by which their intervals are found. */
export const metricOf = { queries: 'bullet_active_queries', cpu: 'bullet_worker_cpu_seconds_total', 'cpu-parts': 'bullet_worker_cpu_seconds_total', heap: 'bullet_worker_heap_used_bytes',
  gc: 'bullet_worker_gc_seconds_total', latency: 'bullet_filter_latency_mean_seconds' };
