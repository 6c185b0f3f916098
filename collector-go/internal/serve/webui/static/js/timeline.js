// Annotations: experiment steps as bands on the time axis, changes and restarts as marks, and all of them as a list.
import { clip, el, fill, table } from './dom.js';
import { duration, spoken, whenever } from './units.js';

// The number of annotations that are requested, newest first, and the number that is listed.
export const mostAnnotations = 300;
const mostListed = 50;

/**
 * bandsAndMarks separates annotations with a duration from those without, in Unix seconds. A step without an end lasts
 * until now.
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

/** showChanges lists annotations, newest first. linkTo(part) returns the URL of a time. */
export function showChanges(box, annotations, linkTo) {
  if (!annotations.length) {
    fill(box, el('p', {}, 'No experiment steps, changed settings or restarts in this time range.'));
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
    table('Events', ['Time', 'Duration', 'Event', 'Details', 'Tags'], rows),
    newest.length > mostListed
      ? el('p', { class: 'note' }, `${newest.length - mostListed} older events are shown only on the charts.`)
      : null,
  );
}

const lasted = (a) =>
  a.end_time
    ? duration((Date.parse(a.end_time) - Date.parse(a.time)) / 1000)
    : a.tags.includes('step')
      ? 'running'
      : '–';
