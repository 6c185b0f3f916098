// The answer of /api/v1/why as text and as marks on the charts: changed metrics, then events, then the limiting
// resource.
import { clip, el } from './dom.js';
import { clock, duration, percent, plain, spoken } from './units.js';

const manyMissing = 12; // metrics; if more are missing, nothing was collected
const mostMoments = 12; // on the charts
const settles = 4 * 60_000; // ms after the start of an alert in which more changes may be found

/** isMoving reports whether an alert is so new that its diagnosis may still change. */
export const isMoving = (answer, nowMs) => nowMs - Date.parse(answer.at) < settles;

/** momentsOf returns the times of a diagnosis in seconds: the changed metrics and the start of the alert. */
export function momentsOf(answer) {
  if (!answer) return [];
  const moved = answer.changes.map((c) => ({
    at: Date.parse(c.since) / 1000,
    label: clip(titleOf(c), 40),
    figure: c.figure,
    cause: true,
  }));
  return [
    ...moved,
    { at: Date.parse(answer.at) / 1000, label: `${clip(answer.alert.name, 36)} began`, figure: '', cause: true },
  ]
    .slice(-mostMoments)
    .sort((a, b) => a.at - b.at);
}

/** explained returns the elements of an answer. linkTo(part) returns the URL of a time. */
export function explained(answer, linkTo) {
  const before = duration((Date.parse(answer.at) - Date.parse(answer.since)) / 1000);
  const moment = (at, figure = '') => ({ at: Math.round(Date.parse(at) / 1000), figure });
  return [
    answer.cause
      ? el(
          'p',
          { class: 'cause' },
          el('b', {}, 'Most likely cause: '),
          el(
            'a',
            { href: linkTo(moment(answer.cause.since, answer.cause.figure)) },
            el('bdi', {}, clip(spoken(answer.cause.text), 300)),
          ),
          '. ',
          el('bdi', {}, clip(answer.cause.advice, 400)),
          '.',
        )
      : null,
    el('h4', {}, 'What changed, earliest first'),
    answer.changes.length
      ? el('ul', {}, ...answer.changes.map((c) => moved(c, linkTo(moment(c.since, c.figure)))))
      : el('p', {}, 'No metric changed its level.'),
    el('h4', {}, `Events in the ${before} before the alert`),
    answer.events.length
      ? el(
          'ul',
          {},
          ...answer.events.map((e) =>
            el(
              'li',
              {},
              el('a', { href: linkTo(moment(e.time)) }, clock(Date.parse(e.time) / 1000)),
              `, ${duration(e.seconds_before)} before: `,
              el('bdi', {}, clip(spoken([e.title, e.text].filter(Boolean).join(': ')), 600)),
            ),
          ),
        )
      : el('p', {}, 'None: no changed settings, no restarts, no experiment steps.'),
    answer.limit ? el('p', {}, el('b', {}, 'Limit: '), el('bdi', {}, clip(spoken(answer.limit), 600)), '.') : null,
    answer.missing.length
      ? el(
          'p',
          { class: 'note' },
          answer.missing.length > manyMissing
            ? `No data for ${answer.missing.length} metrics: nothing was collected.`
            : `No data for: ${clip(answer.missing.join('; '), 600)}.`,
        )
      : null,
    ...answer.notes.map((n) => el('p', { class: 'note' }, `${clip(spoken(n), 600)}.`)),
  ].filter(Boolean);
}

const titleOf = (c) => [c.name, ...Object.values(c.labels ?? {})].map((part) => clip(part, 80)).join(' ');

function moved(c, href) {
  const of = Object.values(c.labels ?? {})
    .map((value) => clip(value, 80))
    .join(' ');
  return el(
    'li',
    {},
    el('a', { href }, el('bdi', {}, `${clip(c.name, 120)}${of ? ` (${of})` : ''}`)),
    `: ${level(c.before, c.unit)} → ${level(c.after, c.unit)}, at ${clock(Date.parse(c.since) / 1000)}`,
    c.advice ? el('span', { class: 'advice' }, `. ${clip(c.advice, 400)}.`) : null,
  );
}

const level = (value, unit) =>
  unit === 's' && Math.abs(value) < 1
    ? `${plain(value * 1000)} ms`
    : unit === 'ratio'
      ? percent(value)
      : `${plain(value)} ${unit}`;
