// One figure: its head with what can be read at the crosshair, and its chart.
import { chartOf, colour, recolour } from './chart.js';
import { clip, el } from './dom.js';
import { columnsOf, lastKnown, together } from './matrix.js';
import { lineColour } from './palette.js';
import { clock, units } from './units.js';

/** Figure shows one of expressions.js' figures. `host` has legend, over(labelled), select(from, to), point(i). */
export class Figure {
  constructor(definition, host, labelled) {
    this.definition = definition;
    this.host = host;
    this.labelled = labelled;
    this.unit = definition.unit;
    this.columns = [];
    this.body = el('div', { class: 'canvas' });
    this.readings = el('p', { class: 'readings' });
    this.problem = el('p', { class: 'problem', hidden: true, role: 'alert' });
    this.element = el('section', { class: 'figure', id: `figure-${definition.name}`, tabindex: '0', 'aria-labelledby': `title-${definition.name}` },
      el('h3', { id: `title-${definition.name}` }, definition.title), this.readings, this.problem, this.body);
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('blur', () => host.point(null));
  }

  /** show draws an answer: a list of PromQL matrices, one a line of the definition. */
  show(matrices, grid, times) {
    this.grid = grid;
    this.times = times;
    this.problem.hidden = true;
    this.columns = matrices.flatMap((matrix, i) => {
      const columns = columnsOf(matrix, grid);
      return this.definition.byWorker ? columns : columns.slice(0, 1).map((c) => ({ ...c, metric: { worker: this.definition.lines[i].name }, order: i }));
    });
    if (this.definition.byWorker) this.columns.sort((a, b) => this.rank(a) - this.rank(b)); // the named are drawn above the crowd
    this.together = this.definition.byWorker ? together(this.columns, grid.points) : null;
    this.draw();
  }

  rank(column) { return this.host.legend.named.indexOf(column.metric.worker ?? ''); }

  fail(error) {
    this.problem.textContent = clip(error.message, 500);
    this.problem.hidden = false;
  }

  get scale() { return units[this.unit]; }

  /** draw rebuilds the chart where its lines have changed, and otherwise passes it only the values. */
  draw() {
    if (!this.grid) return;
    const { times, write, axis } = { ...this.scale };
    const values = this.columns.map((c) => (times === 1 ? c.values : c.values.map((v) => (v == null ? null : v * times))));
    const looks = this.columns.map((c) => this.looks(c));
    const form = JSON.stringify([this.unit, this.columns.map((c) => c.metric.worker), looks.map((l) => [l.show, l.width])]);
    if (this.chart && form === this.form) {
      this.chart.setData([this.times, ...values]);
    } else {
      this.chart?.destroy();
      this.form = form;
      const bare = (v) => write(v).replace(/ .*$/, '');
      this.chart = chartOf(this.body, { lines: looks, times: this.times, values, axis, write: this.unit === 'share' ? write : bare, limit: this.limit(),
        over: () => this.host.over(this.labelled), select: this.host.select, point: this.host.point });
    }
    this.read(this.host.pointed);
  }

  limit() { return this.definition.limit == null ? null : this.definition.limit * this.scale.times; }

  looks(column) {
    if (this.definition.byWorker) return { label: column.metric.worker, ...this.host.legend.looks(column.metric.worker ?? '', () => colour('crowd')) };
    return { label: column.metric.worker, colour: () => (column.order === 0 ? colour('ink') : lineColour(1)), width: 2, dash: column.order ? [7, 3] : [] };
  }

  /** read writes the values at a time's index; null for the last that are known. */
  read(i) {
    if (!this.grid) return;
    const at = i != null && i < this.grid.points ? i : lastKnown(this.columns); // another figure may be at another grid for a moment
    if (at < 0) {
      this.readings.replaceChildren(el('span', { class: 'none' }, 'no samples in this time'));
      return;
    }
    this.readings.replaceChildren(el('time', {}, `${at === i ? '' : 'last, '}${clock(this.times[at])}`), ...this.parts(at));
  }

  parts(at) {
    if (!this.together) return this.columns.map((c) => this.reading(c.metric.worker, c.values[at], c.order ? lineColour(1) : null));
    const { mean, total, count } = this.together;
    const workers = `${count[at]} worker${count[at] === 1 ? '' : 's'}`;
    const sums = this.unit === 'share' ? [] : [this.reading('together', total[at], null, 'total')];
    const named = this.host.legend.named.filter((w) => !this.host.legend.hidden.has(w)).map((w) => this.reading(w, this.columns.find((c) => c.metric.worker === w)?.values[at], this.host.legend.colourOf(w)));
    return [this.reading(`mean of ${workers}`, mean[at], null, 'mean'), ...sums, ...named];
  }

  reading(name, value, colour, role) {
    const { times, write } = this.scale;
    const swatch = el('span', { class: 'swatch', 'aria-hidden': 'true' });
    if (colour) swatch.style.setProperty('background', colour);
    return el('span', { class: 'reading', 'data-of': role ?? name }, colour ? swatch : null, el('bdi', {}, clip(name, 60)), ' ', el('b', {}, value == null ? 'no sample' : write(value * times)));
  }

  /** say is the figure's reading as a sentence, for those who listen. */
  say(i) {
    const parts = this.parts(i).map((p) => p.textContent).slice(0, 6);
    return `${this.definition.title}, ${clock(this.times[i])}: ${parts.join('; ')}`;
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

  /** cross puts the crosshair at a time's index, without telling the other figures. */
  cross(i) {
    this.chart?.setCursor({ left: i == null ? -10 : this.chart.valToPos(this.times[i], 'x'), top: i == null ? -10 : 0 }, false);
  }

  resize() { if (this.chart && this.body.clientWidth) this.chart.setSize({ width: this.body.clientWidth, height: this.chart.height }); }

  repaint() {
    recolour();
    this.chart?.redraw(false);
  }
}
