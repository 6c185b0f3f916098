// The choices at the top of the page.
import { clip, el } from './dom.js';
import { isFixed, moment, rangeNames, slices } from './state.js';
import { duration, fieldOf, fieldTime } from './units.js';

/** Controls shows a state and calls change(part) when the reader chooses something. */
export class Controls {
  constructor(element, change, pause) {
    this.change = change;
    this.topology = el('select', { id: 'topology', on: { change: () => change({ topology: this.topology.value }) } });
    this.range = el(
      'select',
      { id: 'range', on: { change: () => this.chooseRange() } },
      ...Object.entries(rangeNames).map(([value, words]) => el('option', { value }, words)),
      el('option', { value: 'fixed' }, 'custom range'),
    );
    this.slice = el(
      'select',
      { id: 'slice', on: { change: () => change({ slice: this.slice.value }) } },
      ...Object.keys(slices).map((value) =>
        el('option', { value }, value === 'auto' ? 'automatic' : duration(slices[value])),
      ),
    );
    this.from = el('input', {
      id: 'from',
      type: 'datetime-local',
      step: '1',
      on: { change: () => this.chooseTimes() },
    });
    this.to = el('input', { id: 'to', type: 'datetime-local', step: '1', on: { change: () => this.chooseTimes() } });
    this.times = el(
      'span',
      { class: 'times', hidden: true },
      labelled('from', 'From', this.from),
      labelled('to', 'To', this.to),
    );
    this.live = el(
      'button',
      { type: 'button', id: 'live', 'aria-pressed': 'true', on: { click: () => this.toggle(pause) } },
      'Live',
    );
    this.cpu = this.units('cpu', 'CPU in', { cores: 'cores', ms: 'ms/min' });
    this.gc = this.units('gc', 'GC in', { ms: 'ms/min', share: 'share of time' });
    this.more = el(
      'details',
      { id: 'more' },
      el('summary', {}, 'More'),
      el(
        'div',
        { class: 'times' },
        labelled('slice', 'Slice width', this.slice),
        labelled('cpu', 'CPU in', this.cpu),
        labelled('gc', 'GC in', this.gc),
      ),
    );
    element.replaceChildren(
      labelled('topology', 'Topology', this.topology),
      labelled('range', 'Time range', this.range),
      this.times,
      this.live,
      this.more,
    );
  }

  units(id, title, choices) {
    const select = el(
      'select',
      { id, on: { change: () => this.change({ [id]: select.value }) } },
      ...Object.entries(choices).map(([value, words]) => el('option', { value }, words)),
    );
    return select;
  }

  chooseRange() {
    if (this.range.value !== 'fixed') {
      this.change({ range: this.range.value, from: null, to: null });
      return;
    }
    this.times.hidden = false;
    this.from.focus();
    this.change({ fix: true });
  }

  chooseTimes() {
    const [from, to] = [this.from.value, this.to.value].map((value) => moment(fieldTime(value)));
    this.to.setCustomValidity(from != null && to != null && from >= to ? 'The end must be after the start.' : '');
    this.to.reportValidity();
    if (from != null && to != null && from < to) this.change({ from, to });
  }

  toggle(pause) {
    const live = this.live.getAttribute('aria-pressed') !== 'true';
    this.showLive(live);
    pause(!live);
  }

  showLive(live) {
    this.live.setAttribute('aria-pressed', String(live));
    this.live.textContent = live ? 'Live' : 'Paused';
  }

  /** answering shows whether the collector responds. Without a response, the page is not live. */
  answering(does) {
    const live = this.live.getAttribute('aria-pressed') === 'true';
    this.live.textContent = does ? (live ? 'Live' : 'Paused') : 'No response';
  }

  /** show writes a state into the controls. ended has the state of each topology that does not run. */
  show(state, topologies, ended = new Map()) {
    const names = topologies.includes(state.topology) || !state.topology ? topologies : [...topologies, state.topology];
    const labels = names.map((name) => clip(name, 80) + (ended.has(name) ? ` (${ended.get(name)})` : ''));
    if (names.join('\n') + labels.join('\n') !== this.names) {
      this.names = names.join('\n') + labels.join('\n');
      this.topology.replaceChildren(...names.map((name, i) => el('option', { value: name, dir: 'auto' }, labels[i])));
    }
    this.topology.value = state.topology;
    this.range.value = isFixed(state) ? 'fixed' : state.range;
    this.slice.value = state.slice;
    this.cpu.value = state.cpu;
    this.gc.value = state.gc;
    this.times.hidden = !isFixed(state);
    this.live.hidden = isFixed(state);
    if (isFixed(state)) [this.from.value, this.to.value] = [fieldOf(state.from), fieldOf(state.to)];
  }
}

/** foldOn folds the choices on narrow screens and opens them on others. */
export function foldOn(narrow, details) {
  const fold = () => {
    details.open = !narrow.matches;
  };
  narrow.addEventListener('change', fold);
  fold();
}

const labelled = (id, words, control) => el('label', { for: id }, el('span', {}, words), control);
