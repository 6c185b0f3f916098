// The queries of the topology map for one time.
import { ask } from './api.js';
import { busyShare } from './busy.js';
import { quote } from './expressions.js';

const own = 'component!~"__.*"';

/** The PromQL queries, over a window in seconds, and over that of busy shares. */
export const questions = {
  busy: (t, w, b) => `max by (component) (${busyShare(`topology=${t}`, own, b)})`,
  full: (t, w) => `max by (component) (avg_over_time(storm_receive_queue_full_ratio{topology=${t},${own}}[${w}s]))`,
  held: (t, w) =>
    `max by (component) (sum by (component, task) (rate(storm_skipped_seconds_total{topology=${t},${own},reason!="inactive"}[${w}s])))`,
  emitted: (t, w) => `sum by (component) (rate(storm_emitted_total{topology=${t},${own},stream!~"__.*"}[${w}s]))`,
  executed: (t, w) =>
    `sum by (source, component, stream) (rate(storm_executed_total{topology=${t},${own},source!~"__.*"}[${w}s]))`,
  tasks: (t, w) =>
    `count by (component) (count by (component, task) (last_over_time(storm_receive_queue_population{topology=${t},${own}}[${w}s])))`,
};

/** windowFor returns the window in seconds: two reports of a metric that comes once a minute, or a slice. */
export const windowFor = (step) => Math.max(150, step);

/** momentOf returns the results of all queries for a topology at a time, by name. */
export async function momentOf(topology, time, ...windows) {
  const names = Object.keys(questions);
  const answers = await Promise.all(
    names.map((name) =>
      ask(`map ${name}`, '/api/v1/query', { query: questions[name](quote(topology), ...windows), time }),
    ),
  );
  return Object.fromEntries(names.map((name, i) => [name, answers[i].result]));
}

/** tasksOf returns the tasks of a component with their busy share, rate, queue usage and worker. */
export async function tasksOf(topology, component, time, window, busyWindow) {
  const [ofTopology, ofComponent] = [`topology=${quote(topology)}`, `component=${quote(component)}`];
  const selector = `${ofTopology},${ofComponent}`;
  const [busy, rate, queue] = await Promise.all(
    [
      `max by (task, worker) (${busyShare(ofTopology, ofComponent, busyWindow)})`,
      `sum by (task, worker) (rate(storm_executed_total{${selector},source!~"__.*"}[${window}s])) or sum by (task, worker) (rate(storm_emitted_total{${selector},stream!~"__.*"}[${window}s]))`,
      `max by (task, worker) (avg_over_time(storm_receive_queue_full_ratio{${selector}}[${window}s]))`,
    ].map((query, i) => ask(`tasks ${i}`, '/api/v1/query', { query, time })),
  );
  const tasks = new Map();
  for (const [name, { result }] of Object.entries({ busy, rate, queue })) {
    for (const r of result) {
      const key = JSON.stringify([r.metric.task, r.metric.worker]);
      tasks.set(key, { task: r.metric.task, worker: r.metric.worker, ...tasks.get(key), [name]: Number(r.value[1]) });
    }
  }
  return [...tasks.values()].sort((a, b) => Number(a.task) - Number(b.task));
}
