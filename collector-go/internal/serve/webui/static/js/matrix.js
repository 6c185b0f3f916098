// PromQL matrices as columns over a grid. Pure. A missing value is null and is drawn as a gap.

/** columnsOf returns the values of each series at the grid's times. NaN and infinities are missing values. */
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

/** nameOf returns the name of a line: the values of some labels. */
export const nameOf = (metric, labels) =>
  labels
    .map((label) => metric[label])
    .filter(Boolean)
    .join(' ') || 'all';

/**
 * together returns the number of reporting workers at each time, and their sum and mean (null if none reports).
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

/** lastKnown returns the last index that has a value, or -1. */
export function lastKnown(columns) {
  let last = -1;
  for (const { values } of columns) {
    for (let i = values.length - 1; i > last; i--) if (values[i] != null) last = i;
  }
  return last;
}

/** largest returns the workers with the largest mean, sorted by name. */
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
