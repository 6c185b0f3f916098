// The reader's own query: its editor, and its result as a chart and a table.
import { adviceOf, headOf, nameOfSeries, rowsOf, shortNames } from './answer.js';
import { ask, outdated } from './api.js';
import { clip, el, fill, table } from './dom.js';
import { Figure } from './figure.js';
import { gridOf, timesOf } from './grid.js';
import { isFixed, ranges, sliceOf } from './state.js';
import { plain, whenever } from './units.js';

const mostRows = 100; // of the table
const mostSeries = 200; // drawn
const mostPoints = 300; // of each
const leastBefore = 24 * 3600; // s: completion covers the time range, and at least a day
const definition = { name: 'answer', title: 'Result', unit: 'number', by: nameOfSeries, atMoments: true };

/**
 * QueryBox shows the query of a state. It calls change(part) when the reader runs a query, and select(from, to) when
 * the reader drags over the chart.
 */
export class QueryBox {
  constructor(element, { change, select }) {
    this.change = change;
    this.place = el('div', { id: 'editor' });
    this.kinds = ['range', 'instant'].map((kind) =>
      el(
        'button',
        { type: 'button', id: `kind-${kind}`, on: { click: () => this.submit(kind) } },
        kind === 'range' ? 'Range' : 'Instant',
      ),
    );
    this.note = el('p', { class: 'note', role: 'status' });
    this.problem = el('div', { id: 'query-problem', role: 'alert' });
    this.rows = el('div', { id: 'answer-rows' });
    const box = this;
    this.figure = new Figure(definition, {
      get pointed() {
        return box.pointed;
      },
      select,
      point: (i) => this.point(i),
      move: (i) => {
        this.point(i);
        this.figure.cross(i);
      },
      over: () => ({ bands: [], marks: [], labelled: false, range: this.grid && [this.grid.start, this.grid.end] }),
    });
    element.replaceChildren(
      this.place,
      el(
        'div',
        { class: 'asks' },
        el('button', { type: 'button', id: 'submit', class: 'main', on: { click: () => this.submit() } }, 'Run'),
        el('span', { role: 'group', 'aria-label': 'Type of query' }, ...this.kinds),
        el('span', { class: 'note' }, 'Enter runs the query, Shift+Enter starts a new line, Ctrl+Space completes.'),
      ),
      this.note,
      this.problem,
      this.figure.element,
      this.rows,
    );
    this.forget();
  }

  point(i) {
    this.pointed = i ?? null;
    this.figure.read(this.pointed);
  }

  async load(state) {
    this.loading ??= import('../vendor/editor/editor.min.js');
    const { Editor } = await this.loading;
    this.editor ??= new Editor(this.place, {
      text: state.query,
      label: 'Query in PromQL',
      hint: 'bullet_filter_latency_mean_seconds',
      submit: () => this.submit(),
    });
  }

  /** show loads the editor if necessary, and runs the query of the state. */
  async show(state) {
    this.state = state;
    this.kinds.forEach((button) => button.setAttribute('aria-pressed', String(button.id === `kind-${state.kind}`)));
    try {
      await this.load(state);
    } catch {
      this.loading = null;
      this.fail(new Error('The editor did not load. Check that the collector is reachable, then reload the page.'));
      return;
    }
    if (this.state !== state) return;
    const end = isFixed(state) ? state.to : Math.ceil(Date.now() / 3_600_000) * 3600;
    this.editor.completeFrom(Math.min(state.from ?? end - ranges[state.range], end - leastBefore), end);
    this.editor.text = state.query;
    if (state.query) await this.ask(state);
    else {
      this.forget();
      this.editor.focus();
    }
    performance.mark('answer-shown');
  }

  submit(kind = this.state.kind) {
    const query = this.editor?.text.trim() ?? '';
    if (query === this.state.query && kind === this.state.kind) this.show(this.state);
    else this.change({ query, kind });
  }

  forget() {
    this.figure.element.hidden = true;
    fill(this.note);
    fill(this.problem);
    fill(this.rows);
  }

  async ask(state) {
    const { from, to, query } = state;
    const grid = gridOf({
      from,
      to,
      range: ranges[state.range],
      slice: sliceOf(state),
      now: Date.now() / 1000,
      width: mostPoints,
      workers: 1,
    });
    const began = performance.now();
    try {
      const answer =
        state.kind === 'range'
          ? await ask(
              'query',
              '/api/v1/query_range',
              { query, start: grid.start, end: grid.end, step: grid.step },
              true,
            )
          : await ask('query', '/api/v1/query', { query, time: isFixed(state) ? to : null }, true);
      if (this.state === state) this.draw(state, answer, grid, performance.now() - began);
    } catch (error) {
      if (outdated(error)) return;
      this.forget();
      this.fail(error);
    }
  }

  draw(state, { data, warnings = [], infos = [] }, grid, took) {
    const { result, resultType } = data;
    const rows = rowsOf(data);
    const drawn =
      resultType === 'matrix' && state.kind === 'range'
        ? result.filter((r) => r.values?.length).slice(0, mostSeries)
        : [];
    this.grid = grid;
    this.figure.element.hidden = !drawn.length;
    if (drawn.length) {
      this.figure.definition = { ...definition, by: shortNames(drawn.map((r) => r.metric)) };
      this.figure.show([drawn], grid, timesOf(grid));
      this.figure.resize();
    }
    const when =
      state.kind === 'range'
        ? `every ${grid.step} s from ${whenever(grid.start)} to ${whenever(grid.end)}`
        : isFixed(state)
          ? `at ${whenever(state.to)}`
          : 'now';
    fill(
      this.note,
      `${rows.length} series, ${when}. The query took ${plain(took)} ms.`,
      drawn.length < rows.length && state.kind === 'range' ? ` The chart shows ${drawn.length} of them.` : null,
    );
    fill(
      this.problem,
      ...[...warnings, ...infos].map((words) => el('p', { class: 'warning' }, clip(words, 400))),
      rows.length
        ? null
        : el(
            'p',
            { class: 'warning' },
            'No series matches in this time range. Choose another time range, or fewer labels. ',
            el('a', { href: 'api/v1/metadata' }, 'All metrics'),
          ),
    );
    fill(
      this.rows,
      rows.length
        ? table(
            'Result as a table',
            headOf(data),
            rows.slice(0, mostRows).map(([name, ...values]) => [el('bdi', {}, clip(name, 600)), ...values]),
          )
        : null,
      rows.length > mostRows
        ? el('p', { class: 'note' }, `${rows.length - mostRows} more series: the API returns all of them.`)
        : null,
    );
  }

  fail(error) {
    const { words, line, column } = adviceOf(error);
    fill(
      this.problem,
      el('p', { class: 'problem' }, clip(error.message, 600)),
      words
        ? el(
            'p',
            {},
            words,
            line ? ' ' : null,
            line
              ? el(
                  'button',
                  { type: 'button', id: 'go-to-error', on: { click: () => this.editor.goTo(line, column) } },
                  'Go to the error',
                )
              : null,
          )
        : null,
    );
  }
}
