// The topology's state in a sentence. Pure, but for what it is shown in.
import { el, clip } from './dom.js';
import { clock, duration, spoken, whenever } from './units.js';

/**
 * stateOf is how a topology is by its alerts: the kind (firing, pending, ended, unknown, ok), the sentence, and the
 * alert that it is about. `lost` is since when the collector does not answer, and how it failed; `evidence` is what the
 * diagnosis knows of the worst alert.
 */
export function stateOf({
  alarms,
  condition,
  alive,
  okSince,
  firstSeen,
  now,
  judged,
  elsewhere,
  lost = null,
  evidence = null,
}) {
  if (lost) return { kind: 'unknown', text: `Not known since ${clock(lost.at)}: ${lost.words}` };
  const [worst] = alarms;
  if (worst?.state === 'firing')
    return {
      kind: 'firing',
      alert: worst,
      text: evidence?.held ? heldText(evidence, now) : worst.annotations.summary || worst.labels.alertname,
      more: alarms.length - 1,
    };
  if (condition && condition !== 'running') return { kind: 'ended', text: `This topology does not run: ${condition}` };
  if (alive === false) return { kind: 'unknown', text: 'Nothing was heard of this topology lately' };
  if (worst)
    return {
      kind: 'pending',
      alert: worst,
      text: `Waiting to fire: ${worst.annotations.summary || worst.labels.alertname}`,
      more: alarms.length - 1,
    };
  if (elsewhere) return { kind: 'unknown', text: 'Another collector takes its samples, and knows how it is' };
  if (!judged)
    return { kind: 'unknown', text: 'No alert fires, but the watchdog does not either: rules are not evaluated' };
  return { kind: 'ok', text: since(okSince ?? firstSeen, now) };
}

// An alert that stands for what was measured last.
function heldText(evidence, now) {
  const last = Date.parse(evidence.last_bad) / 1000;
  const at = now - last < 86400 ? clock(last).slice(0, 5) : whenever(last).slice(0, 16);
  return `${evidence.summary || evidence.name} (last measured ${at}, ${duration(now - last)} ago)`;
}

// No alert for a day is as far as anybody looks back.
function since(from, now) {
  if (from == null || now - from > 86400) return 'OK for more than a day';
  return `OK since ${clock(from).slice(0, 5)}`;
}

const marks = { firing: '✗', pending: '…', ended: '■', unknown: '?', ok: '✓' };
const words = { firing: 'Alert', pending: 'Pending', ended: 'Ended', unknown: 'Not known', ok: 'OK' };

/** sentence shows a state, with the cause once it is known. */
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
    cause ? el('p', { id: 'advice' }, el('b', {}, 'Do: '), el('bdi', {}, clip(cause.advice, 300)), '.') : null,
    state.alert
      ? el(
          'p',
          { class: 'note' },
          `since ${whenever(Date.parse(state.alert.activeAt) / 1000).slice(0, 16)}: `,
          el(
            'a',
            { href: '#alerts', id: 'to-alert' },
            state.more ? `this alert and ${state.more} more` : 'the alert, and what moved',
          ),
        )
      : null,
  );
}

/** behind is how far the last sample lies back, in words. */
export const behind = (last, now) =>
  `last sample ${now - last < 86400 ? clock(last).slice(0, 5) : whenever(last).slice(0, 16)}, ${duration(now - last)} ago`;
