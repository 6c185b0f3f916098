// The result of a query as table rows, and the advice for its errors. Pure.
import { units } from './units.js';

/** nameOfSeries writes a series as PromQL does: its name and its labels. */
export function nameOfSeries({ __name__: name = '', ...labels }) {
  const matchers = Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(', ');
  return matchers ? `${name}{${matchers}}` : name || '{}';
}

/**
 * shortNames returns a function that names each series by the labels in which the series differ. A single series keeps
 * its full name.
 */
export function shortNames(all) {
  const values = new Map();
  for (const metric of all)
    for (const [label, value] of Object.entries(metric))
      values.set(label, (values.get(label) ?? new Map()).set(value, (values.get(label)?.get(value) ?? 0) + 1));
  const same = (label, value) => values.get(label)?.get(value) === all.length;
  return (metric) =>
    nameOfSeries(
      all.length < 2
        ? metric
        : Object.fromEntries(Object.entries(metric).filter(([label, value]) => !same(label, value))),
    );
}

const { write } = units.number;
const histogram = (h) => `histogram: ${write(Number(h.count))} values, sum ${write(Number(h.sum))}`;
const last = (list) => list[list.length - 1];

/**
 * rowsOf returns the rows of a result: a series and its value as the API returns it; for a range, its last, minimum,
 * mean and maximum.
 */
export function rowsOf({ resultType, result }) {
  if (resultType === 'scalar' || resultType === 'string') return [[resultType, result[1]]];
  if (resultType === 'vector')
    return result.map((r) => [nameOfSeries(r.metric), r.value ? r.value[1] : histogram(r.histogram[1])]);
  return result.map(({ metric, values = [], histograms = [] }) => {
    if (!values.length) return [nameOfSeries(metric), histogram(last(histograms)[1]), '–', '–', '–'];
    const numbers = values.map(([, value]) => Number(value)).filter((v) => !Number.isNaN(v));
    const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
    const least = numbers.reduce((a, b) => Math.min(a, b), Infinity);
    const largest = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
    return [
      nameOfSeries(metric),
      last(values)[1],
      ...[least, mean, largest].map((v) => (numbers.length ? write(v) : 'NaN')),
    ];
  });
}

/** headOf names the columns of rowsOf. */
export const headOf = ({ resultType }) => [
  'Series',
  ...(resultType === 'matrix' ? ['Last', 'Minimum', 'Mean', 'Maximum'] : ['Value']),
];

/** adviceOf returns what to do about an error, and its position in the query if the error has one. */
export function adviceOf(error) {
  const place = /(?:^|[^\d])(\d+):(\d+): parse error/.exec(error.message);
  if (place)
    return {
      words: `Correct the query at line ${place[1]}, column ${place[2]}, then run it again.`,
      line: Number(place[1]),
      column: Number(place[2]),
    };
  switch (error.status) {
    case 400:
      return { words: 'Correct the query, then run it again.' };
    case 401:
    case 403:
      return {
        words: 'Queries need the scope read for all topologies in the token file (docs/security.md).',
      };
    case 408:
    case 503:
      return error.type === 'timeout'
        ? { words: 'Select fewer series by labels, or a shorter time range, then run the query again.' }
        : { words: '' };
    case 429:
      return { words: 'Run the query again in a second.' };
    default:
      return { words: '' }; // the message itself says what to do
  }
}
