// PromQL's matrices as columns over a grid. Pure. What is not there is null, and is drawn as a gap.

/** columnsOf gives each series' values at the grid's times; NaN and infinities are no values. */
export function columnsOf(result, grid) {
  return result.map((series) => {
    const values = new Array(grid.points).fill(null);
    for (const [time, value] of series.values) {
      const i = Math.round((time - grid.start) / grid.step);
      const number = Number(value);
      if (i >= 0 && i < grid.points && Number.isFinite(number)) values[i] = number;
    }
    return { metric: series.metric, values };
  });
}

/** nameOf is what a line is called: the values of some labels. */
export const nameOf = (metric, labels) =>
  labels
    .map((label) => metric[label])
    .filter(Boolean)
    .join(' ') || 'all';

/**
 * together is what the workers come to at each time: how many report, their sum and their mean (null where none
 * reports).
 */
export function together(columns, points) {
  const count = new Array(points).fill(0);
  const total = new Array(points).fill(null);
  for (const { values } of columns) {
    for (let i = 0; i < points; i++) {
      if (values[i] == null) continue;
      count[i]++;
      total[i] += values[i];
    }
  }
  return { count, total, mean: total.map((sum, i) => (sum == null ? null : sum / count[i])) };
}

/** lastKnown is the index of the last time at which anything is known, -1 for none. */
export function lastKnown(columns) {
  let last = -1;
  for (const { values } of columns) {
    for (let i = values.length - 1; i > last; i--) if (values[i] != null) last = i;
  }
  return last;
}

/** largest are the workers with the largest mean, at most so many, in the order of their names. */
export function largest(columns, most) {
  const ranked = columns
    .map((c) => ({ worker: c.metric.worker ?? '', mean: meanOf(c.values) }))
    .sort((a, b) => b.mean - a.mean);
  return ranked
    .slice(0, most)
    .map((r) => r.worker)
    .sort(byName);
}

export const meanOf = (values) => {
  let sum = 0;
  let known = 0;
  for (const v of values)
    if (v != null) {
      sum += v;
      known++;
    }
  return known ? sum / known : -Infinity;
};

/** byName orders names as people do: host-9 before host-10. */
export const byName = new Intl.Collator('en', { numeric: true }).compare;
