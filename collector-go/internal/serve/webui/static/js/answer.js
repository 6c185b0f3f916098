// What a query answers, as rows and in words. Pure.
import { units } from './units.js';

/** nameOfSeries writes a series as PromQL does: its name and its labels. */
export function nameOfSeries({ __name__: name = '', ...labels }) {
  const matchers = Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(', ');
  return matchers ? `${name}{${matchers}}` : name || '{}';
}

/**
 * shortNames gives a function that names each of some series by the labels in which they differ; a lone one has its
 * whole name.
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
 * rowsOf are an answer's rows: what it is of, and its numbers as the API has them; of a range their last, least, mean
 * and largest.
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
  ...(resultType === 'matrix' ? ['Last', 'Least', 'Mean', 'Largest'] : ['Value']),
];

/** adviceOf is what to do about an error: words, and the place in the query that it is about, where it names one. */
export function adviceOf(error) {
  const place = /(?:^|[^\d])(\d+):(\d+): parse error/.exec(error.message);
  if (place)
    return {
      words: `Correct the query at line ${place[1]}, column ${place[2]}, then ask again.`,
      line: Number(place[1]),
      column: Number(place[2]),
    };
  switch (error.status) {
    case 400:
      return { words: 'Correct the query, then ask again.' };
    case 401:
    case 403:
      return {
        words:
          'Ask as somebody who may read all topologies: the scope read, without a topology, in the token file (docs/security.md).',
      };
    case 408:
    case 503:
      return error.type === 'timeout'
        ? { words: 'Select fewer series by labels, or a shorter time, then ask again.' }
        : { words: '' };
    case 429:
      return { words: 'Ask again in a second.' };
    default:
      return { words: '' }; // the message itself names what to do
  }
}
