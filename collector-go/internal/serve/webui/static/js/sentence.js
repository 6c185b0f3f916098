// The state of the topology in a sentence.
import { el, clip } from './dom.js';
import { clock, duration, spoken, whenever } from './units.js';

/**
 * stateOf returns the state of a topology: its kind (firing, pending, ended, unknown, ok), the sentence, and the alert.
 * `lost` says since when and why the collector does not respond. `evidence` is the worst alert as its diagnosis
 * describes it.
 */
export function stateOf({
  alarms,
  condition,
  alive,
  okSince,
  firstSeen,
  now,
  evaluated,
  federated,
  lost = null,
  evidence = null,
}) {
  if (lost) return { kind: 'unknown', text: `Unknown since ${clock(lost.at)}: ${lost.words}` };
  const [worst] = alarms;
  if (worst?.state === 'firing')
    return {
      kind: 'firing',
      alert: worst,
      text: evidence?.held ? heldText(evidence, now) : worst.annotations.summary || worst.labels.alertname,
      more: alarms.length - 1,
    };
  if (condition && condition !== 'running')
    return { kind: 'ended', text: `This topology does not report (${condition})` };
  if (alive === false) return { kind: 'unknown', text: 'This topology has not reported recently' };
  if (worst)
    return {
      kind: 'pending',
      alert: worst,
      text: `Pending alert: ${worst.annotations.summary || worst.labels.alertname}`,
      more: alarms.length - 1,
    };
  if (federated) return { kind: 'unknown', text: 'Monitored by another collector' };
  if (!evaluated) return { kind: 'unknown', text: 'Alert rules are not being evaluated' };
  return { kind: 'ok', text: since(okSince ?? firstSeen, now) };
}

// The text of an alert that is kept for its last measured value.
function heldText(evidence, now) {
  const last = Date.parse(evidence.last_bad) / 1000;
  const at = now - last < 86400 ? clock(last).slice(0, 5) : whenever(last).slice(0, 16);
  return `${evidence.summary || evidence.name} (last measured ${at}, ${duration(now - last)} ago)`;
}

// Alerts are searched within the last day only.
function since(from, now) {
  if (from == null || now - from > 86400) return 'OK for more than a day';
  return `OK since ${clock(from).slice(0, 5)}`;
}

const marks = { firing: '✗', pending: '…', ended: '■', unknown: '?', ok: '✓' };
const words = { firing: 'Alert', pending: 'Pending', ended: 'Ended', unknown: 'Unknown', ok: 'OK' };

/** sentence returns the elements of a state, with its cause if it is known. */
export function sentence(state, topology, cause) {
  return el(
    'div',
    { class: `sentence ${state.kind}` },
    el(
      'p',
      { class: 'verdict-line' },
      el('span', { class: 'state', 'aria-hidden': 'true' }, marks[state.kind]),
      ' ',
      el('span', { class: 'unseen' }, `${words[state.kind]}: `),
      ...(state.text.includes(topology) ? [] : [el('bdi', {}, clip(topology, 60)), ': ']),
      el('b', {}, el('bdi', {}, clip(spoken(state.text), 300))),
    ),
    cause ? el('p', { id: 'cause' }, el('b', {}, 'Cause: '), el('bdi', {}, clip(spoken(cause.text), 300)), '.') : null,
    cause ? el('p', { id: 'advice' }, el('b', {}, 'What to do: '), el('bdi', {}, clip(cause.advice, 300)), '.') : null,
    state.alert
      ? el(
          'p',
          { class: 'note' },
          `Since ${whenever(Date.parse(state.alert.activeAt) / 1000).slice(0, 16)}: `,
          el(
            'a',
            { href: '#alerts', id: 'to-alert' },
            state.more ? `this alert and ${state.more} more` : 'alert and diagnosis',
          ),
        )
      : null,
  );
}

/** lastSampleTime formats the time of the last sample. */
export const lastSampleTime = (last, now) =>
  `${now - last < 86400 ? clock(last).slice(0, 5) : whenever(last).slice(0, 16)}, ${duration(now - last)} ago`;
