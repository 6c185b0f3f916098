// What is shown, as the address' hash has it: a link shows the same to others. Pure.

export const ranges = { '15m': 15 * 60, '1h': 3600, '6h': 6 * 3600, '24h': 86400, '7d': 7 * 86400 }; // s
export const rangeNames = { '15m': 'last 15 minutes', '1h': 'last hour', '6h': 'last 6 hours', '24h': 'last 24 hours', '7d': 'last 7 days' };
export const slices = { '10s': 10, '1m': 60, '5m': 300, '15m': 900, '1h': 3600 }; // s
const cpuUnits = ['cores', 'ms'];
const gcUnits = ['ms', 'share'];

/** defaults: an hour in slices of a minute, as Bullet's tuning document has them. */
export const defaults = { topology: '', range: '1h', from: null, to: null, slice: '1m', cpu: 'cores', gc: 'ms' };

/** parse reads a hash; what is unknown or makes no sense is as by default. from and to are seconds since 1970. */
export function parse(hash) {
  const form = new URLSearchParams(hash.replace(/^#/, ''));
  const state = { ...defaults, topology: form.get('topology') ?? '' };
  if (Object.hasOwn(ranges, form.get('range') ?? '')) state.range = form.get('range');
  if (Object.hasOwn(slices, form.get('slice') ?? '')) state.slice = form.get('slice');
  if (cpuUnits.includes(form.get('cpu'))) state.cpu = form.get('cpu');
  if (gcUnits.includes(form.get('gc'))) state.gc = form.get('gc');
  const from = moment(form.get('from'));
  const to = moment(form.get('to'));
  return from != null && to != null && from < to ? { ...state, from, to } : state;
}

/** format is the hash of a state; what is as by default is left out. */
export function format(state) {
  const form = new URLSearchParams();
  if (state.topology) form.set('topology', state.topology);
  if (isFixed(state)) {
    form.set('from', iso(state.from));
    form.set('to', iso(state.to));
  } else if (state.range !== defaults.range) form.set('range', state.range);
  for (const name of ['slice', 'cpu', 'gc']) if (state[name] !== defaults[name]) form.set(name, state[name]);
  return form.size ? `#${form}` : '';
}

/** isFixed reports whether a time range is fixed, instead of following the clock. */
export const isFixed = (state) => state.from != null;

const iso = (s) => new Date(s * 1000).toISOString().replace('.000Z', 'Z');

/** moment reads seconds since 1970 or RFC 3339, to the second; null for what is neither. */
export function moment(value) {
  if (!value) return null;
  const s = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Date.parse(value) / 1000;
  return Number.isFinite(s) && s > 0 && s < 253402300800 ? Math.round(s) : null;
}
