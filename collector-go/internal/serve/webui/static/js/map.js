// The topology map: components as boxes and the streams between them, at one time.
import { ask, outdated } from './api.js';
import { drawStreams, isDown } from './streams.js';
import { clip, el, fill, table } from './dom.js';
import { momentOf, tasksOf, windowFor } from './flows.js';
import { placed } from './slots.js';
import { layersOf, levelOf, streamsOf } from './layers.js';
import { clock, percent, plain } from './units.js';

const mostTasks = 200; // of the table of one component
const mostAcross = 2; // boxes in a row on a phone

/** TopologyMap shows a topology's components; `host` has choose(component). */
export class TopologyMap {
  constructor(box, host) {
    this.host = host;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.layers = el('div', { class: 'layers' });
    this.when = el('input', {
      type: 'range',
      id: 'map-when',
      min: '0',
      max: '0',
      value: '0',
      on: { change: () => this.travel(Number(this.when.value)) },
    });
    this.moment = el('output', { for: 'map-when', id: 'map-moment' });
    this.streams = el('div');
    this.details = el('div', { id: 'map-details' });
    box.replaceChildren(
      el('div', { class: 'map' }, this.canvas, this.layers),
      this.details,
      el('p', { class: 'when' }, el('label', { for: 'map-when' }, 'At '), this.when, ' ', this.moment),
      el(
        'p',
        { class: 'note' },
        'Busy share of the busiest task: idle (below 40%), working (below 70%), busy (below 90%) or saturated. Throttled spouts and full queues mean back-pressure. Click a component for its tasks.',
      ),
      this.streams,
    );
    this.problem = el('p', { class: 'problem', hidden: true });
    box.append(this.problem);
  }

  /**
   * load requests the topology at the end of the grid, or at the time that the reader chose with the slider. Busy
   * shares are taken over busyWindow.
   */
  async load(topology, grid, busyWindow) {
    const follows =
      !this.grid || this.topology !== topology || this.index === this.grid.points - 1 || grid.from !== this.grid.from;
    this.topology = topology;
    this.grid = grid;
    this.windows = [windowFor(grid.step), busyWindow];
    this.index = follows ? grid.points - 1 : Math.min(this.index, grid.points - 1);
    this.when.max = String(grid.points - 1);
    this.when.value = String(this.index);
    await this.ask();
  }

  get time() {
    return this.grid.start + this.index * this.grid.step;
  }

  async travel(i) {
    this.index = i;
    await this.ask();
  }

  async ask() {
    const { topology, time } = this;
    this.moment.textContent = `${clock(time)}${this.index === this.grid.points - 1 ? ', the end of the time range' : ''}`;
    try {
      const known = await ask('map topology', `/api/v1/topologies/${encodeURIComponent(topology)}`).catch((error) => {
        if (error.status === 404) return { components: [] };
        throw error;
      });
      this.known = (known.components ?? []).filter((c) => !c.name.startsWith('__'));
      this.shown = await momentOf(topology, time, ...this.windows);
      this.problem.hidden = true;
    } catch (error) {
      if (outdated(error)) return;
      this.problem.textContent = clip(error.message, 400);
      this.problem.hidden = false;
      return;
    }
    this.build();
    await this.showTasks();
  }

  build() {
    const of = (name) => new Map(this.shown[name].map((r) => [r.metric.component, Number(r.value[1])]));
    const [busy, full, held, emitted, tasks] = ['busy', 'full', 'held', 'emitted', 'tasks'].map(of);
    this.edges = streamsOf(this.known, this.shown.executed);
    const known = new Map(this.known.map((c) => [c.name, c]));
    const names = [
      ...new Set([...known.keys(), ...tasks.keys(), ...busy.keys(), ...this.edges.flatMap((e) => [e.from, e.to])]),
    ];
    const box = (name) =>
      this.box(name, {
        busy: busy.get(name),
        full: full.get(name),
        held: held.get(name),
        emitted: emitted.get(name),
        tasks: known.get(name)?.tasks?.length ?? tasks.get(name),
        executors: known.get(name)?.parallelism,
      });
    this.down = isDown(this.layers);
    const rows = placed(layersOf(names, this.edges), this.edges, this.down ? mostAcross : Infinity);
    fill(
      this.layers,
      ...rows.map((row) =>
        el(
          'div',
          { class: 'layer' },
          ...row.map(({ name, slot }) => (slot ? el('div', { class: 'slot', 'data-slot': slot }) : box(name))),
        ),
      ),
    );
    for (const button of this.layers.querySelectorAll('button'))
      button.onclick = () =>
        this.host.choose(button.dataset.component === this.component ? '' : button.dataset.component);
    fill(
      this.streams,
      names.length
        ? el(
            'details',
            {},
            el('summary', {}, `Streams: ${this.edges.length}`),
            table(
              'Streams between components',
              ['From', 'To', 'Stream', 'Grouping', 'Tuples/s'],
              this.edges.map((e) => [
                el('bdi', {}, clip(e.from, 60)),
                el('bdi', {}, clip(e.to, 60)),
                el('bdi', {}, clip(e.stream, 60)),
                e.grouping || '–',
                el('span', { 'data-rate': e.rate ?? '' }, e.rate == null ? '–' : plain(e.rate)),
              ]),
            ),
          )
        : el('p', {}, 'No components are known at this time.'),
    );
    this.draw();
  }

  box(name, c) {
    const level = levelOf(c.busy);
    const throttled = c.held >= 0.05;
    const held = c.held >= 0.005 ? el('span', { 'data-held': c.held }, `throttled ${percent(c.held)}`) : null;
    const full = c.full >= 0.05 ? el('span', { 'data-full': c.full }, `queue ${percent(c.full)} full`) : null;
    if (throttled) held.className = 'level';
    if (c.full >= 0.5) full.className = 'high';
    const plural = (n, word) => (n ? `${n} ${word}${n === 1 ? '' : 's'}` : null);
    const words = [
      c.busy == null ? null : el('span', { class: 'level' }, level),
      c.busy == null ? null : el('span', { 'data-busy': c.busy }, `${percent(c.busy)} busy`),
      held,
      full,
      c.emitted == null ? null : el('span', { 'data-emitted': c.emitted }, `emits ${plain(c.emitted)}/s`),
      el('span', {}, [plural(c.executors, 'executor'), plural(c.tasks, 'task')].filter(Boolean).join(', ')),
    ];
    return el(
      'button',
      {
        type: 'button',
        class: `box ${level}${throttled || c.full >= 0.5 ? ' pressed' : ''}`,
        'data-component': name,
        'aria-pressed': String(name === this.component),
      },
      el('b', {}, el('bdi', {}, clip(name, 40))),
      ...words,
    );
  }

  /** select opens a component's tasks; '' closes them. */
  select(component) {
    if (component === this.component) return;
    this.component = component;
    for (const button of this.layers.querySelectorAll('button'))
      button.setAttribute('aria-pressed', String(button.dataset.component === component));
    if (this.grid) this.showTasks();
  }

  async showTasks() {
    const { component } = this;
    if (!component) {
      fill(this.details);
      return;
    }
    let tasks;
    try {
      tasks = await tasksOf(this.topology, component, this.time, ...this.windows);
    } catch (error) {
      if (!outdated(error)) fill(this.details, el('p', { class: 'problem' }, clip(error.message, 400)));
      return;
    }
    if (component !== this.component) return;
    const share = (v) => (v == null ? '–' : percent(v));
    fill(
      this.details,
      el('h3', {}, 'Tasks of ', el('bdi', {}, clip(component, 60)), ` at ${clock(this.time)}`),
      tasks.length
        ? table(
            `Tasks of ${clip(component, 60)}`,
            ['Task', 'Worker', 'Busy', 'Tuples/s', 'Queue usage'],
            tasks
              .slice(0, mostTasks)
              .map((t) => [
                t.task,
                el('bdi', {}, clip(t.worker ?? '', 80)),
                share(t.busy),
                t.rate == null ? '–' : plain(t.rate),
                share(t.queue),
              ]),
          )
        : el('p', {}, 'No data for its tasks at this time.'),
      tasks.length > mostTasks
        ? el('p', { class: 'note' }, `${tasks.length - mostTasks} more tasks are not listed.`)
        : null,
    );
  }

  /** draw draws the streams for the boxes as they are. On another kind of screen the boxes have other rows. */
  draw() {
    if (!this.edges) return;
    if (this.down === isDown(this.layers)) this.lines = drawStreams(this.canvas, this.layers, this.edges);
    else this.build();
  }
}
