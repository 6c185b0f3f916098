// Numbers as people read them. Pure.

const grouped = (digits) => new Intl.NumberFormat('en', { maximumFractionDigits: digits });
const formats = [0, 1, 2, 3].map(grouped);

/** plain writes a number with about three digits that matter. */
export function plain(v) {
  const size = Math.abs(v);
  return formats[size >= 100 || Number.isInteger(v) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3].format(v);
}

const percent = (v) => (v !== 0 && Math.abs(v) < 0.001 ? `${(100 * v).toFixed(2)}%` : `${plain(100 * v)}%`);
const mebi = 2 ** 20;

// A number of which nothing is known: six digits, and of what is large four with its power in letters.
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });
const large = new Intl.NumberFormat('en', { maximumSignificantDigits: 4, notation: 'compact' });
const number = (v) =>
  v === 0 || (Math.abs(v) >= 1e-4 && Math.abs(v) < 1e6)
    ? precise.format(v)
    : Math.abs(v) >= 1e6 && Math.abs(v) < 1e15
      ? large.format(v)
      : v.toPrecision(4);

/** units by name: what a stored value is times, how it is written, and what stands at the axis. */
export const units = {
  queries: { times: 1, axis: 'queries', write: (v) => plain(v) },
  cores: { times: 1, axis: 'cores', write: (v) => `${plain(v)} cores` },
  cpuMs: { times: 60_000, axis: 'ms a minute', write: (v) => `${plain(v)} ms/min` },
  bytes: { times: 1 / mebi, axis: 'MiB', write: (v) => `${plain(v)} MiB` },
  ms: { times: 60_000, axis: 'ms a minute', write: (v) => `${plain(v)} ms/min` },
  share: { times: 1, axis: 'share of time', write: percent },
  records: { times: 1, axis: 'records', write: (v) => plain(v) },
  workers: { times: 1, axis: 'workers', write: (v) => plain(v) },
  recordsPerSecond: { times: 1, axis: 'records/s', write: (v) => `${plain(v)} /s` },
  tuplesPerSecond: { times: 1, axis: 'tuples/s', write: (v) => `${plain(v)} /s` },
  number: { times: 1, axis: 'value', write: number },
  seconds: { times: 1000, axis: 'ms', write: (v) => `${plain(v)} ms` },
};

/** duration writes seconds as 41 s, 2 min, 1 h 5 min, 3 d 4 h. */
export function duration(seconds) {
  const s = Math.round(Math.abs(seconds));
  const sign = seconds < 0 ? '−' : '';
  const part = (whole, unit, rest, small) => `${sign}${whole} ${unit}${rest ? ` ${rest} ${small}` : ''}`;
  if (s < 60) return `${sign}${s < 10 ? plain(Math.abs(seconds)) : s} s`;
  if (s < 3600) return part(Math.floor(s / 60), 'min', s % 60, 's');
  if (s < 86400) return part(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return part(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

const clockFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayFormat = new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' });

/** zoneOf names a zone, of which the clock is behind UTC by so many minutes now. */
export function zoneOf(name, behindMinutes) {
  const off = Math.abs(behindMinutes);
  if (!off) return name;
  const minutes = off % 60 ? `:${String(off % 60).padStart(2, '0')}` : '';
  return `${name} (UTC${behindMinutes < 0 ? '+' : '−'}${Math.floor(off / 60)}${minutes})`;
}

const written = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;
const lasting = /(^|[\s(])(\d+(?:\.\d+)?)(ms|s|m|h|d)(?=$|[\s,.;:)])/g;

/** spoken is a sentence of the API with its times in the reader's zone, and its durations as the page writes them. */
export const spoken = (sentence, now = Date.now() / 1000) =>
  sentence
    .replace(written, (time) => {
      const at = Date.parse(time) / 1000;
      return Math.abs(now - at) < 43_200 ? clock(at).slice(0, 5) : whenever(at).slice(0, 16);
    })
    .replace(lasting, (_, before, number, unit) => `${before}${number} ${unit === 'm' ? 'min' : unit}`);

/** clock and whenever write a time (seconds since 1970) in the reader's own zone. */
export const clock = (s) => clockFormat.format(new Date(s * 1000));
export const whenever = (s) => `${dayFormat.format(new Date(s * 1000))} ${clock(s)}`;
