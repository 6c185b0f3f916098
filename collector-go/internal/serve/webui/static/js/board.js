// All charts: one grid, one crosshair, one order. The board requests their data.
import { ask, outdated } from './api.js';
import { el } from './dom.js';
import { busyWindow, figures as definitions, intervals, quote, workersAt } from './expressions.js';
import { Figure } from './figure.js';
import { gridOf, moved, timesOf } from './grid.js';
import { Legend } from './legend.js';
import { columnsOf, lastKnown } from './matrix.js';
import { orderFor } from './order.js';
import { isLiveView, ranges, sliceOf } from './state.js';
import { bandsAndMarks } from './timeline.js';
import { duration } from './units.js';

const longAgo = 6 * 3600; // s: longer ranges use the recorded series, if there is one
const betweenDraws = 500; // ms, at least, between two drawings of the stream
const mostOfTime = 0.04; // of the page's time is spent on drawing the stream; more workers are drawn less often,
const longestWait = 1000; // ms: but at least once per second, so that a busy machine shows no old samples
const ends = 75; // steps of a range in which the axis follows the clock

/** Board draws all figures. `host` has select(from, to), and say(words, trouble). */
export class Board {
  constructor({ lead, panels, legend, readout, host }) {
    this.leading = lead;
    this.panels = panels;
    this.readout = readout;
    this.host = host;
    this.grid = null;
    this.pointed = null;
    this.workers = 1;
    this.annotations = [];
    this.moments = [];
    this.unavailable = null; // why no data can be queried
    this.intervals = {};
    this.live = null; // the state of the stream
    this.clockAhead = 0; // ms: the collector's clock, compared with the browser's
    this.end = null; // of the axis, while there is a stream
    this.drawAt = 0;
    this.legend = new Legend(legend, () => this.draw());
    const board = this;
    this.figures = definitions.map(
      (d) =>
        new Figure(d, {
          legend: this.legend,
          get pointed() {
            return board.pointed;
          },
          get live() {
            return board.live;
          },
          get everySample() {
            return isLiveView(board.state);
          },
          select: host.select,
          point: (i) => this.point(i),
          over: (figure) => this.over(figure),
          move: (i, by) => this.move(i, by),
        }),
    );
    this.byName = new Map(this.figures.map((f) => [f.name, f]));
    this.arrange(null, null, 0);
    const seen = new IntersectionObserver((all) => {
      for (const { target, isIntersecting } of all) this.figures.find((f) => f.element === target).see(isIntersecting);
    });
    this.figures.forEach((f) => seen.observe(f.element));
  }

  // Only the first chart has the labels of bands and marks. A change is labelled in its own chart.
  over(figure) {
    const { bands, marks } = bandsAndMarks(this.annotations, Date.now() / 1000);
    const first = this.order[0] === figure.name;
    const moments = this.moments.map((m) => ({ ...m, labelled: m.figure ? m.figure === figure.name : first }));
    return {
      bands,
      marks: [...marks.map((m) => ({ ...m, labelled: first })), ...moments],
      labelled: first,
      range: this.grid && [this.grid.from, Math.max(this.grid.to, this.end ?? 0)],
    };
  }

  /**
   * arrange orders the charts for an alert's name and its cause. The first ones, as many as beside, are placed next to
   * the alerts.
   */
  arrange(alert, cause, beside) {
    const order = orderFor(alert, cause);
    const form = JSON.stringify([order, beside]);
    if (form === this.arranged) return;
    this.arranged = form;
    this.order = order;
    const elements = order.map((name) => this.byName.get(name).element);
    this.leading.replaceChildren(...elements.slice(0, beside));
    this.panels.replaceChildren(...elements.slice(beside));
    requestAnimationFrame(() => this.figures.forEach((f) => f.resize()));
  }

  /** mark sets the moments of a diagnosis. */
  mark(moments) {
    if (JSON.stringify(moments) === JSON.stringify(this.moments)) return;
    this.moments = moments;
    this.figures.forEach((f) => f.chart?.redraw(false));
  }

  // The crosshair is at the same time in all charts, and each chart shows its values there.
  point(i) {
    const to = i ?? null;
    if (to === this.pointed) return;
    this.pointed = to;
    this.figures.forEach((f) => f.read(to));
  }

  move(i, by) {
    this.point(i);
    this.figures.forEach((f) => f.cross(i));
    this.readout.textContent = i == null || !by ? '' : by.say(i);
  }

  /** pointAt puts the crosshair at a moment. */
  pointAt(at) {
    const i = this.figures[0].indexAt(at);
    if (i != null) this.move(i, this.figures[0]);
  }

  draw() {
    this.figures.forEach((f) => f.draw());
  }

  /** showLive draws a state of the stream, or only slices for null. Fast events are drawn together. */
  showLive(live) {
    if (!live && !this.live) return;
    this.live = live;
    if (live) this.clockAhead = live.nowMs - Date.now();
    if (!live) {
      this.end = null;
      this.draw();
    } else if (!this.drawing) {
      this.drawing = true;
      setTimeout(() => requestAnimationFrame(() => this.drawLive()), this.drawAt - performance.now());
    }
  }

  drawLive() {
    this.drawing = false;
    if (!this.live || !this.grid) return;
    const began = performance.now();
    const step = Math.max(1, (this.grid.to - this.grid.from) / ends);
    const end = Math.ceil(this.now() / step) * step; // the axis moves by some pixels, because that draws everything
    const moves = end !== this.end;
    this.end = end;
    const { pointed } = this;
    for (const f of this.figures) if (f.visible) f.showNew(moves);
    if (moves && pointed != null) {
      this.point(pointed); // the crosshair stays at its slice
      this.figures.forEach((f) => f.cross(pointed));
    }
    const wait = (performance.now() - began) / mostOfTime;
    this.drawAt = began + Math.min(longestWait, Math.max(betweenDraws, wait));
  }

  // The collector's clock, s, if the stream has sent it. (performance.now may stop while the machine sleeps.)
  now() {
    return (Date.now() + this.clockAhead) / 1000;
  }

  applyUnits(state) {
    const cpu = state.cpu === 'ms' ? 'cpuMs' : 'cores';
    const wanted = { cpu, 'cpu-parts': cpu, gc: state.gc };
    for (const f of this.figures) {
      const unit = wanted[f.name] ?? f.definition.unit;
      if (unit !== f.unit) {
        f.unit = unit;
        f.draw();
      }
    }
  }

  /** forget is for another topology. */
  forget() {
    this.legend.forget();
    this.intervals = {};
    this.workers = 1;
    this.moments = [];
  }

  // The number of workers decides how many slices are combined into a point. The registry knows the present workers;
  // the time range may have had others.
  async countWorkers({ topology, to }) {
    const key = JSON.stringify([topology, to]);
    if (this.counted === key) return;
    const {
      result: [found],
      unavailable,
    } = await ask('workers', '/api/v1/query', { query: workersAt(quote(topology)), time: to }).catch((error) => ({
      result: [],
      unavailable: error.type === 'unavailable' && error.message,
    }));
    this.unavailable = unavailable || null;
    if (unavailable) return;
    this.counted = key;
    this.workers = Math.max(this.workers, Number(found?.value[1] ?? 1));
  }

  /**
   * show loads the charts if there is something new, together with `beside(grid)`. It returns false if there is nothing
   * new.
   */
  async show(state, beside) {
    this.state = state;
    await this.countWorkers(state);
    if (this.state !== state) return false;
    const next = gridOf({
      from: state.from,
      to: state.to,
      range: ranges[state.range],
      slice: sliceOf(state),
      now: this.now(),
      width: this.byName.get(this.order[0]).body.clientWidth || 800,
      workers: this.workers,
    });
    if (!moved(this.grid, next)) return false;
    this.grid = next;
    if (this.unavailable) {
      await beside(next);
      return this.grid === next;
    }
    await Promise.all([this.findIntervals(), beside(next)]);
    const asked = this.order
      .map((name) => this.byName.get(name))
      .map((f) => ({ figure: f, answer: this.load(f, next) }));
    await Promise.all(
      asked.map(({ figure, answer }) =>
        this.showFigure(figure, next, answer, figure.definition.byWorker ? this.nameWorkers(asked, next) : null),
      ),
    );
    return this.grid === next;
  }

  /** isEmpty reports whether all figures are loaded, and none has a sample or failed. */
  get isEmpty() {
    const loaded = (f) => Boolean(this.unavailable) || f.grid === this.grid;
    return this.grid && this.figures.every((f) => loaded(f) && f.problem.hidden && lastKnown(f.columns) < 0);
  }

  get failed() {
    return this.figures.some((f) => !f.problem.hidden);
  }

  load(figure, grid) {
    return Promise.all(
      figure.definition.lines.map((line, i) => this.rangeOf(`${figure.name}-${i}`, figure, line, grid)),
    );
  }

  // The workers that the legend names are chosen once for all charts, by the first chart that has workers.
  nameWorkers(asked, grid) {
    grid.named ??= (async () => {
      for (const name of ['cpu', 'heap', 'gc']) {
        const [matrix] = await asked.find((a) => a.figure.name === name).answer.catch(() => [[]]);
        if (!matrix.length) continue;
        if (this.grid === grid) this.legend.take(columnsOf(matrix, grid));
        return;
      }
    })();
    return grid.named;
  }

  async showFigure(figure, grid, answer, before) {
    try {
      const [matrices] = await Promise.all([answer, before]);
      if (this.grid !== grid) return;
      figure.show(matrices, grid, timesOf(grid));
      performance.mark(`figure-${figure.name}`);
    } catch (error) {
      if (outdated(error)) return;
      this.grid = null; // requested again with the next refresh
      figure.fail(error);
      this.host.say(error.message, true);
    }
  }

  async rangeOf(name, figure, line, grid) {
    const topology = quote(this.state.topology);
    const run = async (query) =>
      (await ask(name, '/api/v1/query_range', { query, start: grid.start, end: grid.end, step: grid.step })).result;
    if (line.recorded && grid.end - grid.start > longAgo) {
      const kept = await run(line.recorded(topology, grid.step));
      if (kept.length || line.sparse) return kept;
    }
    return run(line.expression(topology, grid.step, this.intervals[line.metric ?? figure.definition.metric] ?? 10));
  }

  // The reporting interval decides how far a rate must look back.
  async findIntervals() {
    try {
      const { result } = await ask('intervals', '/api/v1/query', {
        query: intervals(quote(this.state.topology)),
        time: this.grid.end,
      });
      for (const r of result) this.intervals[r.metric.metric] = Number(r.value[1]) || 10;
    } catch (error) {
      if (outdated(error)) throw error; // otherwise the sampler's interval of 10 s is assumed
    }
  }

  get busyWindow() {
    return busyWindow(this.grid.step, this.intervals.storm_executed_total ?? 10);
  }

  note() {
    const { grid } = this;
    const slices = grid.step / grid.slice;
    const width = duration(grid.slice);
    const points = grid.thinned
      ? `Each point combines ${slices} slices of ${width}: by their mean, or by their maximum for latencies.`
      : `Each point is a slice of ${width}.`;
    const provisional = !this.live?.workers.size
      ? ''
      : isLiveView(this.state)
        ? ' CPU, heap and GC of named workers show each sample. Dashed lines with hollow points are provisional.'
        : ' Dashed lines with hollow points are provisional.';
    return `${points} It is drawn in the middle of its time. A gap means that there are no samples.${provisional}`;
  }

  /** lead scrolls to a chart and focuses it. */
  lead(name) {
    const figure = this.byName.get(name);
    if (!figure) return;
    const folded = figure.element.closest('details');
    if (folded) folded.open = true;
    figure.element.scrollIntoView({ block: 'start' });
    figure.element.focus({ preventScroll: true });
  }
}

/** emptyNote replaces the charts if the time range has no samples. */
export function emptyNote(last, words, href, now) {
  if (last == null) return el('p', { class: 'note' }, 'No samples of this topology in the last week.');
  return el(
    'p',
    { class: 'away' },
    `No samples in this time range. The last sample is from ${words(last, now)}. `,
    el('a', { href, id: 'go-there' }, 'Show that time'),
  );
}
