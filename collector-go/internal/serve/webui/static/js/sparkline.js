// The small chart of a tile, without axes.
import { theme } from './palette.js';

/**
 * sparkline draws values from 0 to the largest one. Nulls are gaps. The limit is drawn if it is in range.
 */
export function sparkline(canvas, values, limit) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth || 120, canvas.clientHeight || 26];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext('2d');
  const colours = theme();
  c.scale(ratio, ratio);
  c.clearRect(0, 0, width, height);
  const top = Math.max(0, ...values.filter((v) => v != null));
  if (!(top > 0)) return;
  const y = (v) => height - 1.5 - (Math.max(0, v) / top) * (height - 3);
  const x = (i) => (values.length < 2 ? 0 : (i / (values.length - 1)) * width);
  if (limit && limit <= top)
    stroke(c, colours.limit, [4, 3], () => {
      c.moveTo(0, y(limit));
      c.lineTo(width, y(limit));
    });
  stroke(c, colours.spark, [], () =>
    values.forEach((v, i) => {
      if (v == null) return;
      if (i && values[i - 1] != null) c.lineTo(x(i), y(v));
      else {
        c.moveTo(x(i), y(v));
        c.lineTo(x(i) + 1, y(v));
      }
    }),
  );
}

function stroke(c, colour, dash, path) {
  c.beginPath();
  c.strokeStyle = colour;
  c.lineWidth = 1.5;
  c.setLineDash(dash);
  path();
  c.stroke();
}
