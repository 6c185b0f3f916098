// One chart, and the values at its crosshair.
import { chartOf, colour, drawProvisional, noTails, recolour } from './chart.js';
import { clip, el } from './dom.js';
import { gapOf, latest, pointsOf } from './live.js';
import { columnsOf, lastKnown, nameOf, byName, meanOf, together } from './matrix.js';
import { dash, distinct, lineColour } from './palette.js';
import { clock, units, whenever, zone } from './units.js';

const pointWidth = 6; // px of a provisional value, unless each sample is shown
const readEvery = 2000; // ms: provisional values in words
const mostLive = 100; // workers: of more, only those with a name are live

/**
 * Figure shows one of expressions.js' figures. `host` has legend, over(labelled), select(from, to), point(i); and
 * `live`, the state of the stream (live.js) or null, with `everySample` if samples are shown instead of slices.
 */
export class Figure {
  constructor(definition, host) {
    this.definition = definition;
    this.host = host;
    this.unit = definition.unit;
    this.columns = [];
    this.tails = noTails;
    this.visible = false;
    this.overlay = definition.live ? el('canvas', { class: 'provisional', 'aria-hidden': 'true' }) : null;
    this.body = el('div', { class: 'canvas' });
    this.readings = el('p', { class: 'readings' });
    this.problem = el('p', { class: 'problem', hidden: true, role: 'alert' });
    this.element = el(
      'section',
      {
        class: 'figure',
        id: `figure-${definition.name}`,
        tabindex: '0',
        'aria-labelledby': `title-${definition.name}`,
      },
      el('h3', { id: `title-${definition.name}` }, definition.title),
      this.readings,
      this.problem,
      this.body,
    );
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('blur', () => host.point(null));
  }

  get name() {
    return this.definition.name;
  }

  /** show draws PromQL matrices, one for each line of the definition. */
  show(matrices, grid, times) {
    this.grid = grid;
    this.times = times;
    // a value covers its whole slice, so it is drawn in the middle
    this.middles = this.definition.atMoments ? times : times.map((t) => t - grid.step / 2);
    this.problem.hidden = true;
    this.columns = this.definition.by
      ? this.byLabels(columnsOf(matrices[0], grid))
      : matrices.flatMap((matrix, i) => {
          const columns = columnsOf(matrix, grid);
          return this.definition.byWorker
            ? columns
            : columns.slice(0, 1).map((c) => ({ ...c, metric: { worker: this.definition.lines[i].name }, order: i }));
        });
    // named lines are drawn above the gray ones
    if (this.definition.byWorker) this.columns.sort((a, b) => this.rank(a) - this.rank(b));
    this.together = this.definition.byWorker ? together(this.columns, grid.points) : null;
    this.draw();
  }

  // The largest lines have names and colours, as many as readers can distinguish. The others are gray.
  byLabels(columns) {
    const largest = new Set(
      columns
        .map((c) => [meanOf(c.values), c])
        .sort((a, b) => b[0] - a[0])
        .slice(0, distinct)
        .map(([, c]) => c),
    );
    let order = 0;
    return columns
      .map((c) => ({ ...c, labels: c.metric, metric: { worker: this.nameOf(c.metric) } }))
      .sort((a, b) => byName(a.metric.worker, b.metric.worker))
      .map((c) => ({ ...c, order: [...largest].some((l) => l.metric === c.labels) ? order++ : -1 }))
      .sort((a, b) => Number(a.order >= 0) - Number(b.order >= 0));
  }

  nameOf(metric) {
    return typeof this.definition.by === 'function' ? this.definition.by(metric) : nameOf(metric, this.definition.by);
  }

  rank(column) {
    return this.host.legend.named.indexOf(column.metric.worker ?? '');
  }

  fail(error) {
    this.problem.textContent = clip(error.message, 500);
    this.problem.hidden = false;
  }

  get scale() {
    return units[this.unit];
  }

  /** draw rebuilds the chart if its lines have changed, and otherwise only passes the new values. */
  draw() {
    if (!this.grid) return;
    const { times, write, axis } = { ...this.scale };
    this.tails = this.findTails();
    const values = this.columns.map((c) => {
      const [from, to] = this.tails.covered.get(c.metric.worker) ?? [];
      const isCovered = (i) => this.middles[i] >= from && this.middles[i] <= to;
      return times === 1 && from == null
        ? c.values
        : c.values.map((v, i) => (v == null || isCovered(i) ? null : v * times));
    });
    const looks = this.columns.map((c) => this.looks(c));
    const empty = lastKnown(this.columns) < 0; // then it is one line
    const changed = this.element.classList.contains('empty') !== empty;
    this.element.classList.toggle('empty', empty);
    const form = JSON.stringify([
      this.unit,
      zone() ?? '',
      this.columns.map((c) => c.metric.worker),
      looks.map((l) => [l.show, l.width]),
    ]);
    if (this.chart && form === this.form) {
      this.chart.setData([this.middles, ...values]);
      if (changed) this.resize();
    } else {
      this.chart?.destroy();
      this.form = form;
      const bare = (v) => write(v).replace(/[ /].*$/, '');
      this.chart = chartOf(this.body, {
        lines: looks,
        times: this.middles,
        values,
        axis,
        write: this.unit === 'share' ? write : bare,
        limit: this.limit(),
        limitWords: this.limit() == null ? '' : write(this.limit()),
        over: () => this.host.over(this),
        select: this.host.select,
        point: this.host.point,
        tails: () => this.tails,
        overlay: this.overlay,
      });
    }
    this.read(this.host.pointed);
  }

  /** showNew draws what the stream has brought; `moves` says that the time axis ends later. */
  showNew(moves) {
    if (!this.chart) return;
    const { covered } = this.tails;
    this.tails = this.findTails();
    if (this.tails.covered.size !== covered.size) this.draw();
    else if (moves || this.tails.highest > this.chart.scales.y.max) this.stretch();
    else if (this.overlay) drawProvisional(this.chart, this.tails, this.overlay);
    if (this.overlay && this.host.pointed == null && performance.now() - this.readAt >= readEvery) this.read(null);
  }

  // stretch draws all of the chart, for another time range or another largest value.
  stretch() {
    this.chart?.batch(() => this.chart.setData(this.chart.data));
  }

  /** see says whether the chart is on the screen. If not, only new slices are drawn. */
  see(visible) {
    this.visible = visible;
    if (visible && this.host.live) this.stretch();
  }

  // The samples that are drawn beside the slices. `lines` has for each worker the samples of closed slices, if they are
  // shown instead of these, and the samples of later slices (open). `covered` has the times without slices by worker.
  findTails() {
    const { live, everySample, legend } = this.host;
    if (!this.overlay || !live?.workers.size || !this.grid) return noTails;
    const { grid, definition } = this;
    const { times: scale } = this.scale;
    const mean = Math.ceil((pointWidth * (grid.to - grid.from)) / (this.chart?.width ?? 800));
    const byWorker = new Map(this.columns.map((c) => [c.metric.worker, c]));
    const covered = new Map();
    const lines = [];
    let highest = 0;
    const scaled = ([times, values]) => {
      const all = values.map((v) => (v == null ? null : v * scale));
      for (const v of all) if (v > highest) highest = v;
      return [times, all];
    };
    for (const [worker, w] of live.workers) {
      const { show, ...look } = legend.looks(worker, () => colour('crowd'));
      if (!show || (!look.named && live.workers.size > mostLive)) continue;
      const exact = everySample && look.named;
      const width = exact ? 0 : mean;
      const gap = gapOf(w, width);
      const open = pointsOf(w, definition.live, { after: grid.end, width });
      let closed = null;
      let before = this.sliceBefore(byWorker.get(worker), open[0][0]);
      if (exact) {
        closed = pointsOf(w, definition.live, { until: grid.end });
        const [first, last] = [closed[0][0], closed[0].at(-1)];
        if (first != null) {
          covered.set(worker, [first, last]);
          before = [last, closed[1].at(-1), 0];
        }
        join(closed, this.sliceBefore(byWorker.get(worker), first), gap + grid.step / 2);
      }
      join(open, before, gap);
      lines.push({ ...look, closed: closed && scaled(closed), open: scaled(open) });
    }
    lines.sort((a, b) => Number(a.named) - Number(b.named));
    return { lines, covered, highest };
  }

  // The middle of a worker's last slice before a time, its value, and half its width.
  sliceBefore(column, time) {
    const i = Math.min(Math.ceil((time - this.middles[0]) / this.grid.step), this.grid.points) - 1;
    return column && i >= 0 ? [this.middles[i], column.values[i], this.grid.step / 2] : [time, null, 0];
  }

  limit() {
    return this.definition.limit == null ? null : this.definition.limit * this.scale.times;
  }

  looks(column) {
    if (this.definition.byWorker)
      return {
        label: column.metric.worker,
        ...this.host.legend.looks(column.metric.worker ?? '', () => colour('crowd')),
      };
    if (column.order < 0)
      return {
        label: column.metric.worker,
        colour: () => colour('crowd'),
        width: 1,
        dash: [],
        points: { show: false },
      };
    const i = this.hue(column);
    return {
      label: column.metric.worker,
      colour: () => (i == null ? colour('ink') : lineColour(i)),
      width: 2,
      dash: this.definition.by ? dash(column.order) : column.order ? [7, 3] : [],
    };
  }

  // A single line has the colour of the text. Further lines have colours.
  hue(column) {
    return this.definition.by ? (column.order < 0 ? null : column.order) : column.order || null;
  }

  /** read shows the values at an index; null means the latest values, which may be provisional. */
  read(i) {
    if (!this.grid) return;
    this.readAt = performance.now();
    const newest = i == null && this.tails.lines.length ? latest(this.host.live, this.definition.live) : null;
    if (newest?.at > this.grid.end) {
      this.readings.replaceChildren(el('time', {}, `provisional: ${clock(newest.at)}`), ...this.ofWorkers(newest));
      // the words change every two seconds, and a line more or less must not move the page
      this.readings.style.minHeight = `${this.readings.offsetHeight}px`;
      return;
    }
    // another chart may briefly have another grid
    const at = i != null && i < this.grid.points ? i : lastKnown(this.columns);
    if (at < 0) {
      this.readings.replaceChildren(
        el('span', { class: 'none' }, this.definition.absent ? `no data (${this.definition.absent})` : 'no data'),
      );
      return;
    }
    this.readings.replaceChildren(el('time', {}, `${at === i ? '' : 'latest: '}${this.slice(at)}`), ...this.parts(at));
  }

  slice(i) {
    return this.definition.atMoments
      ? whenever(this.times[i])
      : `${clock(this.times[i] - this.grid.step)} to ${clock(this.times[i])}`;
  }

  parts(at) {
    if (!this.together) {
      const shown = this.columns.filter(
        (c) => c.order >= 0 && (c.values[at] != null || !this.definition.lines?.[c.order]?.sparse),
      );
      const more = this.columns.filter((c) => c.order < 0).length;
      return [
        ...shown.map((c) =>
          this.reading(c.metric.worker, c.values[at], this.hue(c) == null ? null : lineColour(this.hue(c))),
        ),
        ...(more ? [el('span', { class: 'none' }, `${more} more (gray)`)] : []),
      ];
    }
    const { mean, total, count } = this.together;
    const of = new Map(this.columns.map((c) => [c.metric.worker, c.values[at]]));
    return this.ofWorkers({ mean: mean[at], total: total[at], count: count[at], of });
  }

  ofWorkers({ mean, total, count, of }) {
    const workers = `${count} worker${count === 1 ? '' : 's'}`;
    const sums = this.unit === 'share' ? [] : [this.reading('total', total, null, 'total')];
    const named = this.host.legend.named
      .filter((w) => !this.host.legend.hidden.has(w))
      .map((w) => this.reading(w, of.get(w), this.host.legend.colourOf(w)));
    return [this.reading(`mean of ${workers}`, mean, null, 'mean'), ...sums, ...named];
  }

  reading(name, value, colour, role) {
    const { times, write } = this.scale;
    const swatch = el('span', { class: 'swatch', 'aria-hidden': 'true' });
    if (colour) swatch.style.setProperty('background', colour);
    return el(
      'span',
      { class: 'reading', 'data-of': role ?? name },
      colour ? swatch : null,
      el('bdi', {}, clip(name, 80)),
      ' ',
      el('b', {}, value == null ? 'no data' : write(value * times)),
    );
  }

  /** say returns the values as a sentence for screen readers. */
  say(i) {
    const parts = this.parts(i)
      .map((p) => p.textContent)
      .slice(0, 6);
    return `${this.definition.title}, ${this.slice(i)}: ${parts.join('; ')}`;
  }

  /** indexAt returns the index of the slice that contains a time, or null. */
  indexAt(moment) {
    const i = this.grid ? Math.ceil((moment - this.grid.start) / this.grid.step) : -1;
    return this.grid && i >= 0 && i < this.grid.points ? i : null;
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const last = this.grid ? this.grid.points - 1 : -1;
    if (event.target !== this.element || last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    let to;
    if (steps) to = (this.host.pointed ?? last + (steps < 0 ? 1 : 0)) + steps * (event.shiftKey ? 10 : 1);
    else if (event.key === 'Home') to = 0;
    else if (event.key === 'End') to = last;
    else if (event.key === 'Escape') to = null;
    else return;
    event.preventDefault();
    this.host.move(to == null ? null : Math.max(0, Math.min(last, to)), this);
  }

  /** cross puts the crosshair at an index, without informing the other charts. */
  cross(i) {
    this.chart?.setCursor(
      { left: i == null ? -10 : this.chart.valToPos(this.middles[i], 'x'), top: i == null ? -10 : 0 },
      false,
    );
  }

  resize() {
    this.readings.style.minHeight = '';
    if (this.chart && this.body.clientWidth)
      this.chart.setSize({ width: this.body.clientWidth, height: this.chart.height });
  }

  repaint() {
    recolour();
    this.chart?.redraw(false);
  }
}

// join lets a line begin at an earlier value, or with a gap if that is too long ago.
function join([times, values], [time, value, half], gap) {
  times.unshift(time);
  values.unshift(times[1] - time <= half + gap ? value : null);
}
