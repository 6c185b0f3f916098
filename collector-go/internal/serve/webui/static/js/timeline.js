// Annotations on the time axis: steps of experiments as bands, changes and restarts as marks. Pure, but for what is
// shown as a list.
import { clip, el, fill, table } from './dom.js';
import { duration, spoken, whenever } from './units.js';

// How many annotations are asked for, the newest, and how many of these are listed.
export const mostAnnotations = 300;
const mostListed = 50;

/**
 * bandsAndMarks parts annotations: what lasts (a step; one without an end lasts until now) and what happened at a
 * moment. Seconds.
 */
export function bandsAndMarks(annotations, now) {
  const bands = [];
  const marks = [];
  for (const a of annotations) {
    const at = Date.parse(a.time) / 1000;
    if (!Number.isFinite(at)) continue;
    const isStep = a.tags.includes('step');
    const end = a.end_time ? Date.parse(a.end_time) / 1000 : isStep ? now : null;
    if (end != null && end > at) bands.push({ from: at, to: end, label: clip(a.title, 40) });
    else marks.push({ at, label: clip(a.title, 40), restart: a.tags.includes('restart') });
  }
  return { bands: bands.sort((x, y) => x.from - y.from), marks: marks.sort((x, y) => x.at - y.at) };
}

/** showChanges lists annotations, the newest first; linkTo(part) is the address that leads to a moment. */
export function showChanges(box, annotations, linkTo) {
  if (!annotations.length) {
    fill(box, el('p', {}, 'No steps of experiments, no changed settings and no restarts in this time.'));
    return;
  }
  const newest = [...annotations].sort((a, b) => Date.parse(b.time) - Date.parse(a.time));
  const rows = newest
    .slice(0, mostListed)
    .map((a) => [
      el('a', { href: linkTo({ at: Math.round(Date.parse(a.time) / 1000) }) }, whenever(Date.parse(a.time) / 1000)),
      lasted(a),
      el('bdi', {}, clip(a.title, 200)),
      el('bdi', {}, clip(spoken(a.text), 600)),
      el('bdi', {}, clip(a.tags.join(', '), 200)),
    ]);
  fill(
    box,
    table('Steps, changes and restarts', ['Time', 'Lasted', 'What', 'Details', 'Tags'], rows),
    newest.length > mostListed
      ? el('p', { class: 'note' }, `${newest.length - mostListed} older ones are on the figures and not in this list.`)
      : null,
  );
}

const lasted = (a) =>
  a.end_time
    ? duration((Date.parse(a.end_time) - Date.parse(a.time)) / 1000)
    : a.tags.includes('step')
      ? 'under way'
      : '–';
