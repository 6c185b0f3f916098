// The times at which charts are queried. Pure. All times are Unix seconds.

// A slice is complete after a tick, its width and the lateness (default settings).
export const settled = 14;

// The maximum number of values in a chart. More could not be drawn within a frame or distinguished.
const mostValues = 60_000;
const leastPoints = 60;

/**
 * gridOf returns the points of a chart. A point is one slice, or several if there would be too many points for the
 * width or the number of workers. The store combines slices by their mean or rate, so that no sample is omitted.
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

/** timesOf returns the ends of the slices. */
export const timesOf = (grid) => Array.from({ length: grid.points }, (_, i) => grid.start + i * grid.step);

/** moved reports whether a newer grid justifies a new request: by a slice, or by a quarter of a combined point. */
export const moved = (known, next) =>
  !known ||
  known.step !== next.step ||
  known.points !== next.points ||
  Math.abs(next.end - known.end) >= Math.max(next.slice, next.step / 4);

const floor = (t, width) => Math.floor(t / width) * width;
const ceil = (t, width) => Math.ceil(t / width) * width;
