// The first lines of the page: the worst current problem, its cause, and what else is wrong.
import { clip, el, link } from './dom.js';
import { ago, clock, minute, shortly, spoken } from './units.js';

const mostAlso = 2; // further alerts in the first lines
const newFor = 120; // s: a topology's first values, and a collector's first evaluation of rules, take this long at most

/** blind is the alert about a topology or a worker that does not report. */
export const blind = 'BulletMetricsCollectorBlind';

const lostAdvice = "Read the worker's log: the most frequent reason is lack of memory";

/**
 * stateOf decides what the page says first about a topology. It asks in this order: Does the collector respond? Does
 * the topology report? Does each worker? Which alerts do current measurements raise? Which workers have just become
 * silent? Which alerts are kept for an old value? So a lost worker comes before the latency that it reported last.
 *
 * A worker that is silent for some seconds may have a short pause, so it comes after the alerts that other measurements
 * raise now: they are worse. It comes before the alerts that rest only on its own last values, and before pending ones.
 * `stream` is what silentOf of live.js returns, or null.
 *
 * `alarms` are the alerts, the worst first, and `answerOf` returns an alert's diagnosis or null. `lost` says since when
 * and why the collector does not respond, and `range` is the fixed time range of the charts. Numbers are Unix seconds.
 * The result has the kind (firing, pending, ended, unknown or ok), the text, its alert, its cause, the texts of further
 * alerts (also), the number of those without a text (more), and whether the charts show another time (aside).
 */
export const stateOf = (known) => ({ ...firstOf(known), aside: asideOf(known) });

function asideOf({ lost, range, paused, now }) {
  if (lost) return 'Charts, map and alerts show the state before that.';
  if (range) return `Charts and map show ${shortly(range.from, now)} to ${shortly(range.to, now)}, not the present.`;
  return paused ? 'Charts and map are paused.' : '';
}

function firstOf(known) {
  const { alarms, now, answerOf = () => null, lost } = known;
  const pause = pauseOf(known);
  if (lost) return { kind: 'unknown', text: `Unknown since ${clock(lost.at)}: ${lost.words}` };
  const isHeld = (a) => answerOf(a)?.alert.held;
  const firing = alarms.filter((a) => a.state === 'firing');
  const held = firing.filter(isHeld);
  const lines = [...firing.filter((a) => !isHeld(a)), ...held];
  const first = (alert, of = lines) => {
    const others = of.filter((a) => a !== alert);
    const also = others.slice(0, mostAlso).map((a) => textOf(a, answerOf(a)?.alert, now));
    return { alert, also, more: others.length - also.length };
  };
  const causeOf = (some, fits) => some.map((a) => answerOf(a)?.cause).find((c) => c && fits(c));
  const silent = (ofWorker) => lines.find(({ labels }) => isSilence(labels) && Boolean(labels.worker) === ofWorker);
  const end = endOf(known);
  if (end)
    return {
      ...end,
      kind: lines.length && end.kind === 'unknown' ? 'firing' : end.kind,
      cause: causeOf(lines, (c) => c.figure === 'workers'),
      ...first(silent(false)),
    };
  const missing = lostOf(known) ?? causeOf(held, isLoss)?.text;
  if (missing)
    return {
      kind: 'firing',
      text: missing,
      cause: { advice: causeOf(lines, isLoss)?.advice ?? lostAdvice },
      ...first(silent(true)),
    };
  const [worst] = pause ? firing.filter((a) => !isHeld(a) && !pause.explains(a)) : lines;
  if (!worst && pause) {
    const all = lines.length ? lines : alarms; // an alert that fires keeps its colour and the order of the charts
    return { kind: lines.length ? 'firing' : 'pending', text: pause.text, ...first(undefined, all) };
  }
  if (worst)
    return {
      kind: 'firing',
      text: textOf(worst, answerOf(worst)?.alert, now),
      cause: answerOf(worst)?.cause,
      ...first(worst),
    };
  const [pending] = alarms;
  if (pending)
    return { kind: 'pending', text: `Pending alert: ${textOf(pending, null, now)}`, ...first(pending, alarms) };
  return quiet(known);
}

// Not those about a client, or about one metric of a worker that still reports.
const isSilence = (labels) => labels.alertname === blind && !labels.class && !labels.metric;

// A diagnosis may find a lost worker some minutes before the registry. Its other causes about workers are in the past,
// because those workers are back.
const isLoss = (cause) => /\b(is|are) lost: /.test(cause.text);

/** textOf is an alert's summary. If no current measurement raises it, it has the past tense and the last value's age. */
export const textOf = (alert, evidence, now) =>
  evidence?.held
    ? `${evidence.summary || evidence.name} (last measured ${when(Date.parse(evidence.last_bad) / 1000, now)})`
    : alert.annotations.summary || alert.labels.alertname;

/** when formats a time with its age. */
export const when = (at, now) => `${shortly(at, now)}, ${ago(now - at)}`;

/** registered returns what stateOf needs from the registry's summary of a topology. */
export const registered = (topology = {}) => ({
  condition: topology.condition,
  alive: topology.alive,
  federated: topology.elsewhere,
  lostWorkers: topology.lost_workers,
  workers: topology.worker_count,
  firstSeen: Date.parse(topology.first_seen) / 1000 || null,
  lastSeen: Date.parse(topology.last_seen) / 1000 || null,
});

// How a topology ended, if it does not report.
function endOf({ condition, alive, lastSeen, now }) {
  const since = condition?.since ? ` at ${when(Date.parse(condition.since) / 1000, now)}` : '';
  if (condition?.state === 'killed') return { kind: 'ended', text: `Killed${since}` };
  if (condition?.state === 'stopped')
    return { kind: 'unknown', text: `Stopped by Storm${since}: killed, or being rebalanced` };
  if (condition?.state === 'silent' || alive === false)
    return { kind: 'unknown', text: lastSeen ? `No report since ${when(lastSeen, now)}` : 'No reports' };
  return null;
}

// The workers that do not report, as the registry knows.
function lostOf({ lostWorkers = [], workers, now }) {
  if (!lostWorkers.length) return null;
  const [worker, ...others] = [...lostWorkers].sort((a, b) => Date.parse(a.last_seen) - Date.parse(b.last_seen));
  const last = `${clip(worker.worker, 80)} last reported at ${when(Date.parse(worker.last_seen) / 1000, now)}`;
  const count = `${workers} of ${workers + lostWorkers.length} workers report`;
  return others.length
    ? `${lostWorkers.length} workers are lost. The first: ${last}; ${count}`
    : `A worker is lost: ${last}; ${count}`;
}

// The workers that have become silent, and whether an alert rests on their last values alone. An alert about the silence
// itself does not, because it has more detail. Workers that the registry no longer has were silent for longest.
function pauseOf({ stream, workers = Infinity }) {
  const missing = workers - (stream?.reporting ?? 0);
  const silent = missing > 0 ? (stream?.silent.slice(-missing) ?? []) : [];
  if (!silent.length) return null;
  const [{ worker, seconds }] = silent;
  const age = `${seconds < 10 ? Math.floor(seconds) : 10 * Math.floor(seconds / 10)} s`;
  const count = `${stream.reporting} of ${silent.length + stream.reporting} workers report`;
  const name = clip(worker, 80);
  const names = new Set(silent.map((s) => s.worker));
  return {
    explains: ({ labels }) =>
      !isSilence(labels) && (labels.worker ? names.has(labels.worker) : labels.topology && !stream.reporting),
    text: !stream.reporting
      ? `No samples from any worker for ${age}`
      : silent.length > 1
        ? `No samples from ${silent.length} workers. The longest silent: ${name}, for ${age}; ${count}`
        : `No samples from worker ${name} for ${age}; ${count}`,
  };
}

// Without an alert. Only alerts of the last day are searched, and none were raised before the collector started.
function quiet({ federated, evaluated, empty, firstSeen, okSince, startedAt, now }) {
  const unknown = (text) => ({ kind: 'unknown', text });
  if (federated) return unknown('Monitored by another collector');
  if (empty && now - firstSeen < newFor) return unknown(`First report at ${when(firstSeen, now)}: no values yet`);
  if (!evaluated)
    return unknown(
      now - startedAt < newFor
        ? `The collector started at ${when(startedAt, now)}: alert rules are not evaluated yet`
        : 'Alert rules are not being evaluated',
    );
  const from = Math.max(okSince ?? firstSeen ?? 0, startedAt ?? 0);
  if (now - from > 86400) return { kind: 'ok', text: 'OK for more than a day' };
  return { kind: 'ok', text: `OK since ${minute(from)}${from === startedAt ? ', when the collector started' : ''}` };
}

const marks = { firing: '✗', pending: '…', ended: '■', unknown: '?', ok: '✓' };
const words = { firing: 'Alert', pending: 'Pending', ended: 'Ended', unknown: 'Unknown', ok: 'OK' };

/** sentence returns the elements of a state. `links` are those of its alert. */
export function sentence(state, topology, links = []) {
  const { kind, text, cause, alert, aside, also = [], more = 0 } = state;
  const line = (id, title, said) =>
    said ? el('p', { id }, el('b', {}, `${title}: `), el('bdi', {}, clip(spoken(said), 300)), '.') : null;
  const count = also.length + more;
  return el(
    'div',
    { class: `sentence ${kind}` },
    el(
      'p',
      { class: 'verdict-line' },
      el('span', { class: 'state', 'aria-hidden': 'true' }, marks[kind]),
      ' ',
      el('span', { class: 'unseen' }, `${words[kind]}: `),
      ...(text.includes(topology) ? [] : [el('bdi', {}, clip(topology, 60)), ': ']),
      el('b', {}, el('bdi', {}, clip(spoken(text), 300))),
    ),
    line('cause', 'Cause', cause?.text),
    line('advice', 'What to do', cause?.advice),
    ...also.map((one) => line(null, 'Also', one)),
    alert || count || aside || links.length
      ? el(
          'p',
          { class: 'note links' },
          alert ? el('span', {}, `Since ${shortly(Date.parse(alert.activeAt) / 1000, Date.now() / 1000)}`) : null,
          alert || count
            ? el(
                'a',
                { href: '#alerts', id: 'to-alert' },
                !alert
                  ? `${count} alert${count === 1 ? '' : 's'}`
                  : count
                    ? `This alert and ${count} more`
                    : 'Alert and diagnosis',
              )
            : null,
          ...links,
          aside ? el('span', {}, aside) : null,
        )
      : null,
  );
}

/**
 * linksOf returns an alert's links: its runbook, and Alertmanager's pages that show and silence it. `alertmanagers` are
 * the URLs to which the collector sends alerts.
 */
export function linksOf(alert, alertmanagers) {
  if (!alert) return [];
  const links = alert.annotations.runbook_url ? [link(alert.annotations.runbook_url, 'Runbook')] : [];
  if (alertmanagers.length)
    links.push(
      link(alertmanagerLink(alertmanagers[0], 'alerts', alert.labels), 'Alertmanager'),
      link(alertmanagerLink(alertmanagers[0], 'silences/new', alert.labels), 'Silence'),
    );
  return links;
}

/** alertmanagerLink returns the URL of a page of Alertmanager for the alerts with some labels. */
export function alertmanagerLink(url, page, labels) {
  const filter = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${url.replace(/api\/v2\/alerts$/, '')}#/${page}?filter=${encodeURIComponent(`{${filter.join(', ')}}`)}`;
}

/** grafanaLink returns the URL of a topology's overview in Grafana, for the time range of the page. */
export function grafanaLink(url, { topology, range, from, to }) {
  const [start, end] = from == null ? [`now-${range}`, 'now'] : [from * 1000, to * 1000];
  return `${url.replace(/\/$/, '')}/d/bullet-overview?${new URLSearchParams({ 'var-topology': topology, from: start, to: end })}`;
}
