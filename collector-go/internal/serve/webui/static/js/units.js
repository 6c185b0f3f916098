// Formats of numbers, durations and times. Pure.

const grouped = (digits) => new Intl.NumberFormat('en', { maximumFractionDigits: digits });
const formats = [0, 1, 2, 3].map(grouped);

/** plain formats a number with about three significant digits. */
export function plain(v) {
  const size = Math.abs(v);
  return formats[size >= 100 || Number.isInteger(v) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3].format(v);
}

/** percent formats a share. */
export const percent = (v) => (v !== 0 && Math.abs(v) < 0.001 ? `${(100 * v).toFixed(2)}%` : `${plain(100 * v)}%`);
const mebi = 2 ** 20;

// The format of numbers with an unknown unit: six digits, or four and a suffix for large numbers.
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });
const large = new Intl.NumberFormat('en', { maximumSignificantDigits: 4, notation: 'compact' });
const number = (v) =>
  v === 0 || (Math.abs(v) >= 1e-4 && Math.abs(v) < 1e6)
    ? precise.format(v)
    : Math.abs(v) >= 1e6 && Math.abs(v) < 1e15
      ? large.format(v)
      : v.toPrecision(4);

/** units by name: the factor for stored values, the label of the axis, and the format of values. */
export const units = {
  queries: { times: 1, axis: 'queries', write: (v) => plain(v) },
  cores: { times: 1, axis: 'cores', write: (v) => `${plain(v)} cores` },
  cpuMs: { times: 60_000, axis: 'ms/min', write: (v) => `${plain(v)} ms/min` },
  bytes: { times: 1 / mebi, axis: 'MiB', write: (v) => `${plain(v)} MiB` },
  ms: { times: 60_000, axis: 'ms/min', write: (v) => `${plain(v)} ms/min` },
  share: { times: 1, axis: 'share of time', write: percent },
  records: { times: 1, axis: 'records', write: (v) => plain(v) },
  workers: { times: 1, axis: 'workers', write: (v) => plain(v) },
  recordsPerSecond: { times: 1, axis: 'records/s', write: (v) => `${plain(v)}/s` },
  tuplesPerSecond: { times: 1, axis: 'tuples/s', write: (v) => `${plain(v)}/s` },
  number: { times: 1, axis: 'value', write: number },
  seconds: { times: 1000, axis: 'ms', write: (v) => `${plain(v)} ms` },
};

/** duration formats seconds: 430 ms, 41 s, 2 min, 1 h 5 min, 3 d 4 h. */
export function duration(seconds) {
  const s = Math.round(Math.abs(seconds));
  const sign = seconds < 0 ? '−' : '';
  const part = (large, unit, rest, small) => `${sign}${large} ${unit}${rest ? ` ${rest} ${small}` : ''}`;
  if (seconds !== 0 && Math.abs(seconds) < 1) return `${sign}${plain(1000 * Math.abs(seconds))} ms`;
  if (s < 60) return `${sign}${s < 10 ? plain(Math.abs(seconds)) : s} s`;
  if (s < 3600) return part(Math.floor(s / 60), 'min', s % 60, 's');
  if (s < 86400) return part(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return part(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

/** ago formats an age in seconds. Minutes are enough for an old one, so that the text does not change all the time. */
export const ago = (seconds) => `${duration(seconds < 120 ? seconds : Math.floor(seconds / 60) * 60)} ago`;

/** zoneOf formats a time zone. The offset is in minutes, positive west of Greenwich, as browsers report it. */
export function zoneOf(name, offsetMinutes) {
  const off = Math.abs(offsetMinutes);
  if (!off) return name;
  const minutes = off % 60 ? `:${String(off % 60).padStart(2, '0')}` : '';
  return `${name} (UTC${offsetMinutes < 0 ? '+' : '−'}${Math.floor(off / 60)}${minutes})`;
}

const written = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;
const counted = /(^|[\s(])(\d{4,})(?=$|[\s,;)])/g;
const lasting = /(^|[\s(])(\d+(?:\.\d+)?)(ms|s|m|h|d)(?=$|[\s,.;:)])/g;

/** spoken converts the times in a text of the API to the page's zone, and its numbers and durations to its format. */
export const spoken = (sentence, now = Date.now() / 1000) =>
  sentence
    .replace(written, (time) => shortly(Date.parse(time) / 1000, now))
    .replace(counted, (_, before, number) => `${before}${plain(Number(number))}`)
    .replace(lasting, (_, before, number, unit) => `${before}${number} ${unit === 'm' ? 'min' : unit}`);

let formatter;

/** setZone chooses the time zone of everything on the page: 'utc', or otherwise the browser's own. */
export function setZone(choice) {
  const timeZone = choice === 'utc' ? 'UTC' : undefined;
  const two = '2-digit';
  formatter = {
    zone: timeZone,
    clock: new Intl.DateTimeFormat('en-GB', { hour: two, minute: two, second: two, timeZone }),
    minute: new Intl.DateTimeFormat('en-GB', { hour: two, minute: two, timeZone }),
    date: new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: two, day: two, timeZone }),
    day: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone }),
  };
}
setZone('local');

/** zone returns the name of the page's time zone, or undefined for the browser's own. */
export const zone = () => formatter.zone;

const formatted = (name) => (s) => formatter[name].format(new Date(s * 1000));

/** Formats of Unix seconds in the page's time zone: 15:51:00, 15:51, 21 Nov, 2026-11-21 15:51:00. */
export const clock = formatted('clock');
export const minute = formatted('minute');
export const day = formatted('day');
export const whenever = (s) => `${formatted('date')(s)} ${clock(s)}`;

/** shortly formats a time to the minute, with its date unless it is within half a day of now. */
export const shortly = (s, now) => (Math.abs(now - s) < 43_200 ? minute(s) : whenever(s).slice(0, 16));

/** inZone returns the form of a date that uPlot needs to place ticks; tzDate is uPlot's. */
export const inZone = (date, tzDate) => (formatter.zone ? tzDate(date, formatter.zone) : date);

/** fieldOf and fieldTime convert Unix seconds to the value of a datetime-local field, and such a value to RFC 3339. */
export const fieldOf = (s) => whenever(s).replace(' ', 'T');
export const fieldTime = (value) => (value && formatter.zone ? `${value}Z` : value);
