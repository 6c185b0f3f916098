// The state of the page, as stored in the URL's hash. A link shows the same to others. Pure.

export const ranges = { '5m': 300, '15m': 15 * 60, '1h': 3600, '6h': 6 * 3600, '24h': 86400, '7d': 7 * 86400 }; // s
export const rangeNames = {
  '5m': 'last 5 minutes',
  '15m': 'last 15 minutes',
  '1h': 'last hour',
  '6h': 'last 6 hours',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
};
export const slices = { auto: null, '10s': 10, '1m': 60, '5m': 300, '15m': 900, '1h': 3600 }; // s
const cpuUnits = ['cores', 'ms'];
const gcUnits = ['ms', 'share'];
const kinds = ['range', 'instant'];
const zones = ['local', 'utc'];

/** The default is an hour, with the slice width that suits it. */
export const defaults = {
  topology: '',
  range: '1h',
  from: null,
  to: null,
  slice: 'auto',
  cpu: 'cores',
  gc: 'ms',
  figure: '',
  at: null,
  component: '',
  query: null,
  kind: 'range',
  zone: 'local',
};

// The widest range for each slice width, so that a chart has 60 to 300 points. An hour has slices of one minute, as in
// Bullet's tuning document.
const widths = [
  [20 * 60, 10],
  [5 * 3600, 60],
  [36 * 3600, 300],
  [8 * 86400, 3600],
];

/** sliceOf returns the slice width in seconds: the chosen one, or the one for the range. */
export function sliceOf(state) {
  const long = isFixed(state) ? state.to - state.from : ranges[state.range];
  return slices[state.slice] ?? widths.find(([most]) => long <= most)?.[1] ?? 6 * 3600;
}

/** parse reads a hash. Unknown or invalid values become the default. from and to are Unix seconds. */
export function parse(hash) {
  const form = asPrometheus(new URLSearchParams(hash.replace(/^#/, '')));
  const state = { ...defaults, topology: form.get('topology') ?? '' };
  if (Object.hasOwn(ranges, form.get('range') ?? '')) state.range = form.get('range');
  if (Object.hasOwn(slices, form.get('slice') ?? '')) state.slice = form.get('slice');
  if (cpuUnits.includes(form.get('cpu'))) state.cpu = form.get('cpu');
  if (gcUnits.includes(form.get('gc'))) state.gc = form.get('gc');
  if (/^[a-z-]{1,20}$/.test(form.get('figure') ?? '')) state.figure = form.get('figure');
  state.component = form.get('component') ?? '';
  state.query = form.get('query');
  if (kinds.includes(form.get('kind'))) state.kind = form.get('kind');
  if (zones.includes(form.get('zone'))) state.zone = form.get('zone');
  state.at = moment(form.get('at'));
  const from = moment(form.get('from'));
  const to = moment(form.get('to'));
  return from != null && to != null && from < to ? { ...state, from, to } : state;
}

// Links in alerts have the form of Prometheus: g0.expr, g0.tab (1: table), g0.range_input, and g0.end_input or
// g0.moment_input.
function asPrometheus(form) {
  if (!form.has('g0.expr')) return form;
  const of = new URLSearchParams({
    query: form.get('g0.expr'),
    kind: ['1', 'table'].includes(form.get('g0.tab')) ? 'instant' : 'range',
  });
  const [, count, unit] = /^(\d+)([smhdw])$/.exec(form.get('g0.range_input') ?? '') ?? [];
  const long = count ? count * { s: 1, m: 60, h: 3600, d: 86400, w: 7 * 86400 }[unit] : ranges[defaults.range];
  const end = moment(
    (form.get('g0.end_input') ?? form.get('g0.moment_input') ?? '').replace(/^(\S+) (\S+)$/, '$1T$2Z'),
  );
  if (end != null) {
    of.set('from', String(end - long));
    of.set('to', String(end));
  } else of.set('range', Object.keys(ranges).find((name) => ranges[name] >= long) ?? '7d');
  return of;
}

/** format returns the hash of a state, without its default values. */
export function format(state) {
  const form = new URLSearchParams();
  if (state.topology) form.set('topology', state.topology);
  if (isFixed(state)) {
    form.set('from', iso(state.from));
    form.set('to', iso(state.to));
  } else if (state.range !== defaults.range) form.set('range', state.range);
  if (state.at != null) form.set('at', iso(state.at));
  if (state.query != null) form.set('query', state.query);
  for (const name of ['kind', 'figure', 'component', 'slice', 'cpu', 'gc', 'zone'])
    if (state[name] !== defaults[name]) form.set(name, state[name]);
  return form.size ? `#${form}` : '';
}

/** isFixed reports whether a time range is fixed, instead of following the clock. */
export const isFixed = (state) => state.from != null;

/** isLiveView reports whether CPU, heap and GC show their samples instead of slices. */
export const isLiveView = (state) => !isFixed(state) && state.range === '5m';

/** chosen returns the summary line of the folded choices. */
export const chosen = (state) =>
  `${state.query != null ? 'Query' : state.topology ? clip(state.topology, 40) : 'No topology'}, ${isFixed(state) ? 'custom range' : rangeNames[state.range]}`;

const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const iso = (s) => new Date(s * 1000).toISOString().replace('.000Z', 'Z');

/** moment parses Unix seconds or RFC 3339 and returns whole seconds, or null. */
export function moment(value) {
  if (!value) return null;
  const s = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Date.parse(value) / 1000;
  return Number.isFinite(s) && s > 0 && s < 253402300800 ? Math.round(s) : null;
}
