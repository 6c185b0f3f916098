// The newest samples of each worker, from before their slices close: the stream /api/v1/live. All but Live is pure.

const kept = 300_000; // ms: samples of a worker, and a worker without samples
const mostSamples = 600; // of a worker: twice as many as a sampler takes in this time
const stalledAfter = 5_000; // ms without an event; the collector sends one per second
const liveWithin = 60_000; // ms: the age of a sample
const values = ['cpu_cores', 'heap_bytes', 'gc_share'];

/**
 * noSamples is a state without workers. In a state, `nowMs` is the collector's time, `readMs` the time up to which it
 * knows what arrived, and `sinceMs` when the stream was opened. `workers` has for each worker {heardMs, everyMs, aheadMs,
 * times_ms, cpu_cores, heap_bytes, gc_share}.
 */
export const noSamples = { nowMs: 0, readMs: 0, sinceMs: 0, workers: new Map() };

/** take returns a state with the samples of an event. Samples that come again replace those of the same time. */
export function take(state, event) {
  const workers = new Map(state.workers);
  for (const news of event.workers) {
    const known = workers.get(news.worker);
    const samples = news.times_ms?.length ? joined(known, news) : known; // none: what came was known
    if (samples) workers.set(news.worker, heard(samples, news));
  }
  for (const [name, { heardMs }] of workers) if (event.now_ms - heardMs > kept) workers.delete(name);
  return { ...state, nowMs: event.now_ms, readMs: event.read_ms, workers };
}

// A worker's clock may be ahead of the collector's. No sample is younger than its arrival, so the rest is skew.
function heard(samples, { heard_ms: heardMs, every_ms: everyMs }) {
  return { ...samples, heardMs, everyMs, aheadMs: Math.max(0, samples.times_ms.at(-1) - heardMs) };
}

// After a reconnect, an event may have samples that are known, and some from before the newest known one.
function joined(known, news) {
  const last = news.times_ms.at(-1);
  const isOld = !known || last < known.times_ms.at(-1) - kept; // the worker's clock was set back
  const all = isOld ? news : news.times_ms[0] > known.times_ms.at(-1) ? appended(known, news) : merged(known, news);
  const from = all.times_ms.at(-1) - kept;
  const first = Math.max(
    all.times_ms.findIndex((t) => t > from),
    all.times_ms.length - mostSamples,
  );
  return columns((name) => all[name].slice(first));
}

const columns = (of) => Object.fromEntries(['times_ms', ...values].map((name) => [name, of(name)]));
const appended = (known, news) => columns((name) => known[name].concat(news[name]));

function merged(known, news) {
  const rows = new Map();
  for (const some of [known, news]) some.times_ms.forEach((t, i) => rows.set(t, [some, i]));
  const sorted = [...rows.keys()].sort((a, b) => a - b).map((t) => rows.get(t));
  return columns((name) => sorted.map(([some, i]) => some[name][i]));
}

// Two packs are missing, and half a second for their way. When a stream is opened, workers get this time, because the
// collector may be the one that was away. What it has not read yet is no silence.
const isSilent = ({ readMs, sinceMs }, { heardMs, everyMs }) => readMs - Math.max(heardMs, sinceMs) > 2 * everyMs + 500;

/** silentOf returns the workers that send nothing, longest first, for how long (s), and how many others report. */
export function silentOf(state) {
  const silent = [...state.workers]
    .filter(([, w]) => isSilent(state, w))
    .map(([worker, w]) => ({ worker, seconds: (state.nowMs - w.heardMs) / 1000 }))
    .sort((a, b) => b.seconds - a.seconds);
  return { silent, reporting: state.workers.size - silent.length };
}

/**
 * behind returns how far the charts are behind now, s: the age of the newest sample of the worker whose newest is
 * oldest. Samples that were buffered for long, or have a wrong clock, are not live.
 */
export function behind(state) {
  const reporting = [...state.workers.values()].filter((w) => !isSilent(state, w));
  const ages = reporting.map((w) => state.nowMs - newestOf(w)).filter((age) => age < liveWithin);
  return ages.length ? Math.max(...ages) / 1000 : null;
}

const newestOf = (w) => w.times_ms.at(-1) - w.aheadMs;

/**
 * latest returns the newest values of a chart: {at, count, total, mean, of}, where `of` has the value of each reporting
 * worker, and `at` is the time of the newest. It is null without values.
 */
export function latest(state, name) {
  const of = new Map();
  let at = 0;
  let total = 0;
  for (const [worker, w] of state.workers) {
    const value = w[name].at(-1);
    if (value == null || isSilent(state, w)) continue;
    of.set(worker, value);
    total += value;
    at = Math.max(at, newestOf(w) / 1000);
  }
  return of.size ? { at, count: of.size, total, mean: total / of.size, of } : null;
}

/** gapOf returns how far apart two values may be that a line connects, s. */
export const gapOf = ({ everyMs }, width = 0) => Math.max(2 * width, everyMs / 1000 + 1.5);

/**
 * pointsOf returns the line of a worker as [times, values], between two times (s). With a width, each point is the mean
 * of the samples in so many seconds. A null is a gap: a sample without a value, or a time without samples.
 */
export function pointsOf(w, name, { after = -Infinity, until = Infinity, width = 0 }) {
  const times = [];
  const points = [];
  const gap = gapOf(w, width);
  let [bin, count] = [null, 0];
  w.times_ms.forEach((ms, i) => {
    const t = (ms - w.aheadMs) / 1000;
    if (t <= after || t > until) return;
    const value = w[name][i];
    const last = times.length - 1;
    const own = width ? Math.floor(t / width) : i;
    if (own === bin && value != null && points[last] != null) {
      count++;
      times[last] += (t - times[last]) / count;
      points[last] += (value - points[last]) / count;
      return;
    }
    if (last >= 0 && t - times[last] > gap) {
      times.push(t);
      points.push(null);
    }
    times.push(t);
    points.push(value);
    [bin, count] = [own, 1];
  });
  return [times, points];
}

/**
 * Live follows the stream of one topology. `changed` is called after each event, and when the stream ends or stalls.
 * `connected` is called with false when the connection ends, as the collector may have ended, and with true when one
 * begins. `open` returns an EventSource for an address.
 */
export class Live {
  constructor(changed, connected = () => {}, open = (address) => new EventSource(address)) {
    this.changed = changed;
    this.connected = connected;
    this.open = open;
    this.state = noSamples;
    this.source = null;
    this.on = false; // whether events arrive
  }

  /** follow opens the stream of a topology, or closes it for null. The samples stay until another one is followed. */
  follow(topology) {
    if (topology === (this.source ? this.topology : null)) return;
    this.close();
    if (topology == null || (this.refused && topology === this.topology)) return;
    this.refused = false;
    this.topology = topology;
    this.state = noSamples;
    const source = this.open(`api/v1/live?${new URLSearchParams({ topology })}`); // below the page's own path
    this.source = source;
    source.addEventListener('open', () => {
      this.opened = true;
      this.connected(true);
    });
    source.addEventListener('samples', ({ data }) => source === this.source && this.heard(JSON.parse(data)));
    source.addEventListener('error', () => source === this.source && this.failed());
  }

  /** retry lets follow open a stream that the collector refused. */
  retry() {
    this.refused = false;
  }

  heard(event) {
    this.state = take(this.opened ? { ...this.state, sinceMs: event.now_ms } : this.state, event);
    [this.on, this.opened] = [true, false];
    clearTimeout(this.stalled);
    this.stalled = setTimeout(() => this.close(), stalledAfter); // the page opens another with its next refresh
    this.changed();
  }

  // EventSource connects again by itself, as it must every few minutes, unless the collector refused: then its state is
  // 2, CLOSED.
  failed() {
    if (this.source.readyState === 2) {
      this.refused = true;
      this.close();
    }
    this.connected(false);
  }

  close() {
    this.source?.close();
    this.source = null;
    this.stop();
  }

  stop() {
    clearTimeout(this.stalled);
    if (!this.on) return;
    this.on = false;
    this.changed();
  }
}
