// The times at which figures are asked for. Pure; all times are seconds since 1970.

// A slice can be asked for when its lateness has passed: a tick, the slice's width and the lateness, by default.
export const settled = 41;

// What the figures of one kind may hold in all: more is neither drawn within a frame nor distinguishable to the eye.
const mostValues = 60_000;
const leastPoints = 60;

/**
 * gridOf lays slices over what is shown. They are as wide as asked for, or, where there would be more than the figure's
 * pixels or its workers allow, a multiple of it: the store thins, by means and rates over the wider slice, so that no
 * sample is left out.
 */
export function gridOf({ from, to, range, slice, now, width, workers }) {
  const live = from == null;
  const end = live ? floor(now - settled, slice) : ceil(to, slice);
  const begin = live ? end - range : floor(from, slice);
  const most = Math.max(leastPoints, Math.min(Math.floor(width), Math.floor(mostValues / Math.max(1, workers))));
  const step = slice * Math.max(1, Math.ceil((end - begin) / slice / most));
  const points = Math.max(1, Math.ceil((end - begin) / step));
  return {
    start: end - points * step + step,
    end,
    step,
    points: points,
    slice,
    from: begin,
    to: end,
    thinned: step > slice,
  };
}

/** timesOf are the ends of the slices. */
export const timesOf = (grid) => Array.from({ length: grid.points }, (_, i) => grid.start + i * grid.step);

/** moved reports whether a newer grid has enough new to ask the store again: a slice, or a quarter of a thinned one. */
export const moved = (known, next) =>
  !known ||
  known.step !== next.step ||
  known.points !== next.points ||
  Math.abs(next.end - known.end) >= Math.max(next.slice, next.step / 4);

const floor = (t, width) => Math.floor(t / width) * width;
const ceil = (t, width) => Math.ceil(t / width) * width;
