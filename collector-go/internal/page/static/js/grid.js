// The times at which figures are asked for. Pure; all times are seconds since 1970.

// A slice can be asked for when its lateness has passed: a tick, the slice's width and the lateness, by default.
export const settled = 41;

// What the figures of one kind may hold in all: more is neither drawn within a frame nor distinguishable to the eye.
const mostValues = 60_000;
const leastPoints = 60;

// The store knows the first and the last sample of every 5 minutes: a rate over windows that begin and end there costs it a tenth.
const level = 300;

/**
 * gridOf lays slices over what is shown. They are as wide as asked for, or, where there would be more than the figure's pixels or its workers
 * allow, a multiple of it: the store thins, by means and rates over the wider slice, so that no sample is left out. Slices wider than 5 minutes lie
 * on those of the clock, where that takes no more than a quarter of the points, and end when no sample of them can come any more.
 */
export function gridOf({ from, to, range, slice, now, width, workers }) {
  const live = from == null;
  const most = Math.max(leastPoints, Math.min(Math.floor(width), Math.floor(mostValues / Math.max(1, workers))));
  const length = live ? range : ceil(to, slice) - floor(from, slice);
  const least = slice * Math.max(1, Math.ceil(length / slice / most));
  const onLevel = level % slice === 0 && least > level && ceil(least, level) <= least * 4 / 3;
  const [step, unit] = onLevel ? [ceil(least, level), level] : [least, slice];
  const asked = live ? now - settled : to;
  const end = live || (onLevel && ceil(to, unit) > now - settled) ? floor(asked, unit) : ceil(asked, unit);
  const begin = live ? end - range : floor(from, unit);
  const points = Math.max(1, Math.ceil((end - begin) / step));
  return { start: end - points * step + step, end, step, points: points, slice, from: begin, to: end, thinned: step > slice };
}

/** timesOf are the ends of the slices. */
export const timesOf = (grid) => Array.from({ length: grid.points }, (_, i) => grid.start + i * grid.step);

/** moved reports whether a newer grid has enough new to ask the store again: a slice, or a quarter of a thinned one. */
export const moved = (known, next) => !known || known.step !== next.step || known.points !== next.points || Math.abs(next.end - known.end) >= Math.max(next.slice, next.step / 4);

const floor = (t, width) => Math.floor(t / width) * width;
const ceil = (t, width) => Math.ceil(t / width) * width;
