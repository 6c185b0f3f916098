// What the figures ask, as PromQL. Pure. Every expression looks at its slice alone, so that a time without samples has
// no value: a plain selector would repeat the last one for five minutes, over a gap.

import { busyShare } from './busy.js';

/** quote writes a label's value as PromQL reads it. */
export const quote = (value) => JSON.stringify(value);

/** limitSeconds is what Bullet's operators hold the filter latency to. */
export const limitSeconds = 0.2;

/**
 * stealLimit is the share of a host's CPU time from which on that its hypervisor has it is shown, as a line of the
 * dashboards'.
 */
const stealLimit = 0.05;

const gauge = (step, interval) => `${Math.max(step, Math.ceil(interval))}s`;

// From the last sample before the slice to its last: the rise in the slice, exactly, where samples come every interval.
const counter = (step, interval) => `${step + Math.ceil(interval)}s`;

// Storm's own components and streams are no part of a topology's work.
const own = 'component!~"__.*"';

// A busy share needs tuples that Storm sampled, one in twenty: too few of them come in a slice of ten seconds.
const leastBusy = 120;

// FilterBolt executes queries and ticks too: these are not records.
const fromRecords = 'component="FilterBolt",source!~"QuerySpout|TickSpout|ReplayBolt|__.*"';

/**
 * figures by name. Each of its lines is a question: one line drawn where it has a name, one a worker where the figure
 * is `byWorker`, one for each value of the labels in `by` otherwise. `metric` is the one by whose interval a question
 * looks back, `absent` what must be so for there to be samples. `recorded` is what the rules keep of a line, asked over
 * a long time; where they keep nothing the line itself is asked, unless it is `sparse`: then nothing is the answer, and
 * no reading is missing.
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
        name: 'Bullet’s mean, slowest task',
        expression: (t, step, i) =>
          `max(max_over_time(bullet_filter_latency_mean_seconds{topology=${t}}[${gauge(step, i)}]))`,
      },
      {
        name: 'p99 of the histogram',
        expression: (t, step, i) =>
          `histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{topology=${t}}[${counter(step, i)}])))`,
        recorded: (t, step) =>
          `max_over_time(topology:bullet_filter_latency_seconds:p99_rate2m{topology=${t}}[${step}s])`,
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
    absent: 'it is known of tasks that execute enough tuples',
    lines: [
      {
        expression: (t, step, i) =>
          `max by (component) (${busyShare(`topology=${t}`, own, counter(Math.max(step, leastBusy), i))})`,
      },
    ],
  },
  {
    name: 'queue',
    title: 'Wait in the receive queue, longest task by component',
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
    absent: 'only sources that count their records report it',
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
    title: 'Source lag: records that wait to be read',
    unit: 'records',
    metric: 'bullet_source_lag_records',
    absent: 'only sources that know it report it',
    lines: [
      {
        name: 'waiting',
        expression: (t, step, i) => `sum(avg_over_time(bullet_source_lag_records{topology=${t}}[${gauge(step, i)}]))`,
      },
    ],
  },
  {
    name: 'held',
    title: 'Time that spouts are held back, most held task',
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
    title: 'Workers that report',
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
    title: 'Queries running (Figure 1)',
    unit: 'queries',
    metric: 'bullet_active_queries',
    lines: [
      {
        name: 'queries running',
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
    title: 'CPU time of all workers, user and system apart',
    unit: 'cores',
    metric: 'bullet_worker_cpu_seconds_total',
    lines: [
      ...['user', 'system'].map((mode) => ({
        name: mode,
        expression: (t, step, i) =>
          `sum(rate(bullet_worker_cpu_seconds_total{topology=${t},mode="${mode}"}[${counter(step, i)}]))`,
      })),
      {
        name: `stolen from the worst host, from ${100 * stealLimit}% of it on`,
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

/** workersAt counts the workers that report. */
export const workersAt = (t) =>
  `count(count by (worker) (last_over_time(bullet_worker_heap_used_bytes{topology=${t}}[15m])))`;

/** intervals asks how often what the figures show is reported: it is stored where it changes, and each hour. */
export const intervals = (t) =>
  `max by (metric) (last_over_time(bullet_metrics_collection_interval_seconds{topology=${t}}[2h]))`;

/** lastSample is when a topology's last slice of a week ended. */
export const lastSample = (t) => `max(max_over_time(timestamp(bullet_worker_heap_used_bytes{topology=${t}})[7d:5m]))`;

/** lastAlert is when an alert of the topology, or of the collector itself, fired last within a day. */
export const lastAlert = (topology) =>
  `max(max_over_time(timestamp(ALERTS{alertstate="firing",alertname!="BulletMetricsWatchdog",topology=~${quote(`|${regexp(topology)}`)}})[1d:1m]))`;

const regexp = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
