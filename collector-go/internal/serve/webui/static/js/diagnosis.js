// What /api/v1/why answers, in words and as moments on the figures: the figures that moved, then events, then what
// limited the topology.
import { clip, el } from './dom.js';
import { clock, duration, plain, spoken } from './units.js';

const manyMissing = 12; // figures: then nothing was collected
const mostMoments = 12; // on the figures
const settles = 4 * 60_000; // ms after an alert's beginning: until then more of what moved is seen

/** isMoving reports whether an alert is so young that its diagnosis still changes. */
export const isMoving = (answer, nowMs) => nowMs - Date.parse(answer.at) < settles;

/** momentsOf are the moments of a diagnosis, s: its cause and figures by name, and events. */
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

/** explained lists an answer; linkTo(part) is the address that leads to a moment. */
export function explained(answer, linkTo) {
  const before = duration((Date.parse(answer.at) - Date.parse(answer.since)) / 1000);
  const moment = (at, figure = '') => ({ at: Math.round(Date.parse(at) / 1000), figure });
  return [
    answer.cause
      ? el(
          'p',
          { class: 'cause' },
          el('b', {}, 'Most likely: '),
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
    el('h4', {}, 'Figures that moved, the earliest first'),
    answer.changes.length
      ? el('ul', {}, ...answer.changes.map((c) => moved(c, linkTo(moment(c.since, c.figure)))))
      : el('p', {}, 'No figure that has samples moved to another level.'),
    el('h4', {}, `Events in the ${before} before`),
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
      : el('p', {}, 'None that are known: no setting changed, no worker started, no step of an experiment.'),
    answer.limit
      ? el('p', {}, el('b', {}, 'What limited it: '), el('bdi', {}, clip(spoken(answer.limit), 600)), '.')
      : null,
    answer.missing.length
      ? el(
          'p',
          { class: 'note' },
          `Without a sample, so that nothing is known of${answer.missing.length > manyMissing ? ` ${answer.missing.length} figures: nothing was collected` : `: ${clip(answer.missing.join('; '), 600)}`}.`,
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
    c.advice ? el('span', { class: 'advice' }, ` ${clip(c.advice, 400)}`) : null,
  );
}

const level = (value, unit) =>
  unit === 'seconds' || unit === 's'
    ? `${plain(value * 1000)} ms`
    : unit === 'bytes'
      ? `${plain(value / 2 ** 20)} MiB`
      : unit === 'ratio'
        ? `${plain(value * 100)}%`
        : `${plain(value)}${unit ? ` ${unit}` : ''}`;
