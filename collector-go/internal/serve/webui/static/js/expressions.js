// The charts and their PromQL. Pure. Each expression covers only its slice, so that a time without samples has no
// value. A plain selector would repeat the last value for five minutes.

import { busyShare } from './busy.js';

/** quote writes a label's value as PromQL reads it. */
export const quote = (value) => JSON.stringify(value);

/** limitSeconds is the limit of the filter latency in production. */
export const limitSeconds = 0.2;

/**
 * stealLimit is the share of a host's CPU time from which on steal is shown. The dashboards draw it as a line.
 */
const stealLimit = 0.05;

const gauge = (step, interval) => `${Math.max(step, Math.ceil(interval))}s`;

// From the last sample before the slice to the last one in it. This is exactly the increase in the slice if samples
// come at every interval.
const counter = (step, interval) => `${step + Math.ceil(interval)}s`;

// Storm's own components and streams are excluded.
const own = 'component!~"__.*"';

// Storm samples one tuple in twenty. A slice of ten seconds has too few of them for a busy share.
const leastBusy = 120;

/** busyWindow is the time over which a busy share is taken, the same in charts, tiles and the map. */
export const busyWindow = (step, interval) => counter(Math.max(step, leastBusy), interval);

// FilterBolt also executes queries and ticks, which are not records.
const fromRecords = 'component="FilterBolt",source!~"QuerySpout|TickSpout|ReplayBolt|__.*"';

/**
 * The charts. Each entry of `lines` is a query. It gives one line if it has a name, one per worker if the chart is
 * `byWorker`, and otherwise one for each combination of the labels in `by`. The interval of `metric` decides how far a
 * rate looks back. `live` names the same values in the stream of samples, in the same unit. `absent` explains why there
 * may be no samples. `recorded` is the series that the rules record of a line; it is used for long time ranges. If it
 * is empty, the line itself is queried, unless the line is `sparse`, for which an empty result is normal.
 */
export const figures = [
  {
    name: 'latency',
    title: 'Filter latency',
    unit: 'seconds',
    limit: limitSeconds,
    metric: 'bullet_filter_latency_mean_seconds',
    lines: [
      {
        name: 'mean of the slowest task',
        expression: (t, step, i) =>
          `max(max_over_time(bullet_filter_latency_mean_seconds{topology=${t}}[${gauge(step, i)}]))`,
      },
      {
        name: 'p99 of all tasks',
        expression: (t, step, i) =>
          `histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{topology=${t}}[${counter(step, i)}])))`,
        recorded: (t, step) =>
          `max_over_time(topology:bullet_filter_latency_seconds:p99_rate3m{topology=${t}}[${step}s])`,
      },
    ],
  },
  {
    name: 'busy',
    title: 'Busy share of the busiest task, by component',
    unit: 'share',
    limit: 1,
    by: ['component'],
    metric: 'storm_executed_total',
    absent: 'only tasks that execute enough tuples have a busy share',
    lines: [
      {
        expression: (t, step, i) => `max by (component) (${busyShare(`topology=${t}`, own, busyWindow(step, i))})`,
      },
    ],
  },
  {
    name: 'queue',
    title: 'Wait in the receive queue, slowest task by component',
    unit: 'seconds',
    by: ['component'],
    metric: 'storm_receive_queue_sojourn_seconds',
    lines: [
      {
        expression: (t, step, i) =>
          `max by (component) (avg_over_time(storm_receive_queue_sojourn_seconds{topology=${t},${own}}[${gauge(step, i)}]))`,
      },
    ],
  },
  {
    name: 'records',
    title: 'Records read and filtered',
    unit: 'recordsPerSecond',
    metric: 'bullet_source_records_total',
    absent: 'only some sources count their records',
    lines: [
      {
        name: 'read',
        expression: (t, step, i) => `sum(rate(bullet_source_records_total{topology=${t}}[${counter(step, i)}]))`,
      },
      {
        name: 'filtered',
        metric: 'storm_executed_total',
        expression: (t, step, i) =>
          `sum(rate(storm_executed_total{topology=${t},${fromRecords}}[${counter(step, i)}]))`,
      },
    ],
  },
  {
    name: 'lag',
    title: 'Source lag: unread records',
    unit: 'records',
    metric: 'bullet_source_lag_records',
    absent: 'only some sources report their lag',
    lines: [
      {
        name: 'unread',
        expression: (t, step, i) => `sum(avg_over_time(bullet_source_lag_records{topology=${t}}[${gauge(step, i)}]))`,
      },
    ],
  },
  {
    name: 'held',
    title: 'Time for which spouts are throttled, worst task',
    unit: 'share',
    by: ['component', 'reason'],
    metric: 'storm_skipped_seconds_total',
    lines: [
      {
        expression: (t, step, i) =>
          `max by (component, reason) (rate(storm_skipped_seconds_total{topology=${t},${own},reason!="inactive"}[${counter(step, i)}]))`,
      },
    ],
  },
  {
    name: 'gc',
    title: 'Time in garbage collection pauses (Figure 4)',
    unit: 'ms',
    byWorker: true,
    live: 'gc_share',
    metric: 'bullet_worker_gc_seconds_total',
    lines: [
      {
        expression: (t, step, i) =>
          `sum by (worker) (rate(bullet_worker_gc_seconds_total{topology=${t}}[${counter(step, i)}]))`,
      },
    ],
  },
  {
    name: 'workers',
    title: 'Reporting workers',
    unit: 'workers',
    metric: 'bullet_worker_heap_used_bytes',
    lines: [
      {
        name: 'workers',
        expression: (t, step, i) =>
          `count(count by (worker) (count_over_time(bullet_worker_heap_used_bytes{topology=${t}}[${gauge(step, i)}])))`,
      },
    ],
  },
  {
    name: 'queries',
    title: 'Running queries (Figure 1)',
    unit: 'queries',
    metric: 'bullet_active_queries',
    lines: [
      {
        name: 'running queries',
        expression: (t, step, i) =>
          `sum(avg_over_time(bullet_active_queries{topology=${t},component="JoinBolt"}[${gauge(step, i)}]))`,
      },
    ],
  },
  {
    name: 'cpu',
    title: 'CPU time, user and system (Figure 2)',
    unit: 'cores',
    byWorker: true,
    live: 'cpu_cores',
    metric: 'bullet_worker_cpu_seconds_total',
    lines: [
      {
        expression: (t, step, i) =>
          `sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology=${t}}[${counter(step, i)}]))`,
      },
    ],
  },
  {
    name: 'cpu-parts',
    title: 'CPU time of all workers: user, system and steal',
    unit: 'cores',
    metric: 'bullet_worker_cpu_seconds_total',
    lines: [
      ...['user', 'system'].map((mode) => ({
        name: mode,
        expression: (t, step, i) =>
          `sum(rate(bullet_worker_cpu_seconds_total{topology=${t},mode="${mode}"}[${counter(step, i)}]))`,
      })),
      {
        name: `steal on the worst host, if at least ${100 * stealLimit}%`,
        metric: 'bullet_host_cpu_seconds_total',
        expression: (t, step, i) =>
          `max(rate(bullet_host_cpu_seconds_total{topology=${t},mode="steal"}[${counter(step, i)}]) >= ignoring (mode) ${stealLimit} * last_over_time(bullet_host_cpu_cores{topology=${t}}[${counter(step, i)}]))`,
        recorded: (t, step) =>
          `max_over_time(topology:bullet_host_cpu_stolen_cores:max_rate2m{topology=${t}}[${step}s])`,
        sparse: true,
      },
    ],
  },
  {
    name: 'heap',
    title: 'Heap in use (Figure 3)',
    unit: 'bytes',
    byWorker: true,
    live: 'heap_bytes',
    metric: 'bullet_worker_heap_used_bytes',
    lines: [
      {
        expression: (t, step, i) =>
          `sum by (worker) (avg_over_time(bullet_worker_heap_used_bytes{topology=${t}}[${gauge(step, i)}]))`,
      },
    ],
  },
  {
    name: 'streams',
    title: 'Throughput by stream',
    unit: 'tuplesPerSecond',
    by: ['component', 'stream'],
    metric: 'storm_emitted_total',
    lines: [
      {
        expression: (t, step, i) =>
          `sum by (component, stream) (rate(storm_emitted_total{topology=${t},${own},stream!~"__.*"}[${counter(step, i)}]))`,
      },
    ],
  },
];

// For the list of topologies: a minute, with metrics that are reported once a minute.
const [listStep, listInterval] = [60, 60];

/** ofTopologies are the queries for the list of topologies. Each gives a value for each topology. */
export const ofTopologies = {
  p99: `histogram_quantile(0.99, sum by (topology) (rate(bullet_filter_latency_seconds[${counter(listStep, listInterval)}])))`,
  mean: `max by (topology) (max_over_time(bullet_filter_latency_mean_seconds[${listStep}s]))`,
  queries: `sum by (topology) (avg_over_time(bullet_active_queries{component="JoinBolt"}[${listStep}s]))`,
  busy: `max by (topology) (${busyShare('topology!=""', own, busyWindow(listStep, listInterval))})`,
};

/** workersAt counts the workers that report. */
export const workersAt = (t) =>
  `count(count by (worker) (last_over_time(bullet_worker_heap_used_bytes{topology=${t}}[15m])))`;

/** intervals queries the reporting interval of each metric. It is stored when it changes, and once per hour. */
export const intervals = (t) =>
  `max by (metric) (last_over_time(bullet_metrics_collection_interval_seconds{topology=${t}}[2h]))`;

/** lastSample queries the end of a topology's last slice within a week. */
export const lastSample = (t) => `max(max_over_time(timestamp(bullet_worker_heap_used_bytes{topology=${t}})[7d:5m]))`;

/** lastAlert queries when an alert of the topology or of the collector last fired within a day. */
export const lastAlert = (topology) =>
  `max(max_over_time(timestamp(ALERTS{alertstate="firing",alertname!="BulletMetricsWatchdog",topology=~${quote(`|${regexp(topology)}`)}})[1d:1m]))`;

const regexp = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
