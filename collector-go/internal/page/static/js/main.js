// Joins the page's parts: the address' hash selects what is shown, the API answers, figures and lists show it.
import { Alerts } from './alerts.js';
import { ask, outdated } from './api.js';
import { Controls } from './controls.js';
import { clip, el, fill } from './dom.js';
import { figures as definitions, intervals, metricOf, quote, workersAt } from './expressions.js';
import { Figure } from './figure.js';
import { gridOf, moved, timesOf } from './grid.js';
import { showHealth, windowOf } from './health.js';
import { Legend } from './legend.js';
import { byName, columnsOf } from './matrix.js';
import { showPlacement } from './placement.js';
import { showRuns } from './runs.js';
import { format, isFixed, parse, ranges, slices } from './state.js';
import { bandsAndMarks, mostAnnotations, showChanges } from './timeline.js';
import { clock } from './units.js';

const refreshEvery = 10_000; // ms
const slowEvery = 60_000; // ms: what is heavy to answer and changes slowly
const longAgo = 6 * 3600; // s: from here on the p99 is the one that the rules keep, where they do
const at = (id) => document.getElementById(id);

const page = {
  state: parse(location.hash), topologies: [], registered: [], ended: new Map(), workers: 1, grid: null, annotations: [], paused: false, pointed: null, intervals: {}, slowAt: 0,
};

const legend = new Legend(at('legend'), () => figures.forEach((f) => f.draw()));
const host = {
  legend,
  get pointed() { return page.pointed; },
  over: (labelled) => ({ ...bandsAndMarks(page.annotations, Date.now() / 1000), labelled, range: page.grid && [page.grid.from, page.grid.to] }),
  select: (from, to) => change({ from: Math.floor(from), to: Math.max(Math.ceil(to), Math.floor(from) + 2 * slices[page.state.slice]) }),
  point: (i) => point(i),
  move: (i, by) => {
    point(i);
    figures.forEach((f) => f.cross(i));
    at('readout').textContent = i == null ? '' : by.say(i);
  },
};
const figures = definitions.map((d, i) => new Figure(d, host, i === 0));
const alerts = new Alerts(at('alerts-body'));
const controls = new Controls(at('controls'), choose, (paused) => { page.paused = paused; if (!paused) refresh(); });

at('panels').replaceChildren(...figures.map((f) => f.element));
at('skip').addEventListener('click', (event) => { event.preventDefault(); at('figures').focus(); });

// The crosshair is at one time in all figures: each figure's value there is read out.
function point(i) {
  const to = i ?? null;
  if (to === page.pointed) return;
  page.pointed = to;
  figures.forEach((f) => f.read(to));
}

function choose(part) {
  if (part.fix) change({ from: page.grid?.from ?? Math.floor(Date.now() / 1000) - 3600, to: page.grid?.to ?? Math.floor(Date.now() / 1000) });
  else change(part);
}

// change goes by the hash, so that the way back works as everywhere.
function change(part) {
  const hash = format({ ...page.state, ...part });
  if (hash === location.hash) return;
  if (hash) location.hash = hash;
  else {
    history.pushState(null, '', location.pathname);
    follow();
  }
}

function follow() {
  const before = page.state;
  page.state = parse(location.hash);
  if (!page.state.topology && page.topologies.length) page.state.topology = page.topologies[0];
  if (before.topology !== page.state.topology) {
    legend.forget();
    alerts.forget();
    page.intervals = {};
    page.workers = 1;
  }
  page.grid = null;
  page.slowAt = 0;
  point(null);
  refresh();
}

async function refresh() {
  try {
    await findTopologies();
  } catch (error) {
    if (!outdated(error)) say(error.message, true);
    return;
  }
  controls.show(page.state, page.topologies, page.ended);
  applyUnits();
  const some = Boolean(page.state.topology);
  at('empty').hidden = some;
  at('figures').hidden = at('changes').hidden = at('health').hidden = !some;
  if (!some) say('Waiting for a topology to report.');
  const slow = Date.now() - page.slowAt >= slowEvery;
  if (slow) page.slowAt = Date.now();
  await Promise.all([showAlerts(), some && showFigures(), slow && listRuns()]);
  if (some && slow) await Promise.all([showCollection(), showSharing()]);
}

// Topologies are those that the registry knows; a store that was filled another way has them in its labels.
async function findTopologies() {
  let names = [];
  try {
    const known = await ask('topologies', '/api/v1/topologies');
    page.registered = known.map((t) => t.name);
    page.ended = new Map(known.filter((t) => t.condition && t.condition.state !== 'running').map((t) => [t.name, t.condition.state]));
    names = known.sort((a, b) => Number(b.alive) - Number(a.alive) || b.last_seen.localeCompare(a.last_seen)).map((t) => t.name);
    page.workers = known.find((t) => t.name === (page.state.topology || names[0]))?.worker_count || page.workers;
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  if (!names.length) names = (await ask('labels', '/api/v1/label/topology/values', { 'match[]': 'bullet_worker_heap_used_bytes' }).catch(() => [])).sort(byName);
  page.topologies = names;
  if (!page.state.topology && names.length) page.state.topology = names[0];
}

function applyUnits() {
  const cpu = page.state.cpu === 'ms' ? 'cpuMs' : 'cores';
  const wanted = { cpu, 'cpu-parts': cpu, gc: page.state.gc };
  for (const f of figures) {
    const unit = wanted[f.definition.name] ?? f.definition.unit;
    if (unit !== f.unit) {
      f.unit = unit;
      f.draw();
    }
  }
}

// How many workers there are decides how far figures are thinned. The registry knows those of now; the time that is shown may have had others.
async function countWorkers() {
  const { topology, to } = page.state;
  const key = JSON.stringify([topology, to]);
  if (page.counted === key) return;
  const [found] = await ask('workers', '/api/v1/query', { query: workersAt(quote(topology)), time: to }).then((d) => d.result, () => []);
  page.counted = key;
  page.workers = Math.max(page.workers, Number(found?.value[1] ?? 1));
}

async function showFigures() {
  const { state } = page;
  await countWorkers();
  if (page.state !== state) return;
  const next = gridOf({ from: state.from, to: state.to, range: ranges[state.range], slice: slices[state.slice], now: Date.now() / 1000, width: at('panels').clientWidth || 800, workers: page.workers });
  if (!moved(page.grid, next)) return;
  page.grid = next;
  await Promise.all([findIntervals(), findAnnotations(next)]);
  const asked = figures.map((f) => ({ figure: f, answer: load(f, next) }));
  await Promise.all(asked.map(({ figure, answer }) => showFigure(figure, next, answer, figure.definition.byWorker ? nameWorkers(asked, next) : null)));
  if (page.grid !== next) return;
  at('figures-note').textContent = noteOf(next);
  if (!figures.some((f) => !f.problem.hidden)) say(`${isFixed(state) ? 'Not live: choose a time that ends now to follow the clock' : `Complete up to ${clock(next.end)}; a slice is shown when its samples can no longer come`}.`);
  performance.mark('figures-shown');
}

const load = (figure, grid) => Promise.all(figure.definition.lines.map((line, i) => rangeOf(`${figure.definition.name}-${i}`, figure, line, grid)));

// Whom the legend names is chosen once for all figures: by the first of them, CPU before heap before GC, that has workers.
function nameWorkers(asked, grid) {
  grid.named ??= (async () => {
    for (const { figure, answer } of asked) {
      const [matrix] = figure.definition.byWorker ? await answer.catch(() => [[]]) : [[]];
      if (!matrix.length) continue;
      if (page.grid === grid) legend.take(columnsOf(matrix, grid));
      return;
    }
  })();
  return grid.named;
}

async function showFigure(figure, grid, answer, before) {
  try {
    const [matrices] = await Promise.all([answer, before]);
    if (page.grid !== grid) return;
    figure.show(matrices, grid, timesOf(grid));
    performance.mark(`figure-${figure.definition.name}`);
  } catch (error) {
    if (!outdated(error)) {
      page.grid = null; // asked again with the next refresh
      figure.fail(error);
      say(error.message, true);
    }
  }
}

async function rangeOf(name, figure, line, grid) {
  const topology = quote(page.state.topology);
  const run = async (query) => (await ask(name, '/api/v1/query_range', { query, start: grid.start, end: grid.end, step: grid.step })).result;
  if (line.recorded && grid.end - grid.start > longAgo) {
    const kept = await run(line.recorded(topology, grid.step));
    if (kept.length) return kept;
  }
  return run(line.expression(topology, grid.step, page.intervals[metricOf[figure.definition.name]] ?? 10));
}

// How often figures are reported decides how far a rate must look back.
async function findIntervals() {
  try {
    const { result } = await ask('intervals', '/api/v1/query', { query: intervals(quote(page.state.topology)), time: page.grid.end });
    for (const r of result) page.intervals[r.metric.metric] = Number(r.value[1]) || 10;
  } catch (error) {
    if (outdated(error)) throw error; // without it 10 s stand: the sampler's
  }
}

async function findAnnotations(grid) {
  try {
    page.annotations = await ask('annotations', '/api/v1/annotations', { topology: page.state.topology, start: grid.from, end: grid.to, limit: mostAnnotations });
    showChanges(at('changes-body'), page.annotations);
  } catch (error) {
    if (outdated(error)) throw error;
    page.annotations = [];
    fill(at('changes-body'), el('p', { class: 'problem' }, clip(error.message, 400)));
  }
}

const noteOf = (grid) => `Slices of ${page.state.slice}${grid.thinned ? `; for so long a time and so many workers ${grid.step / grid.slice} of them stand together, by their mean, latencies by their worst` : ''}. A gap in a line is a time without samples.`;

const showAlerts = () => part('alerts', '/api/v1/alerts', {}, (data) => alerts.show(data.alerts, page.state.topology));
const listRuns = () => part('runs', '/api/v1/runs', {}, (data) => showRuns(at('runs-body'), data));
const showCollection = () => page.grid && part('health', `/api/v1/collection/${encodeURIComponent(page.state.topology)}`, windowOf(page.grid), (data) => showHealth(at('health-body'), data));


// A topology of which only the figures are left has no workers that the registry knows.
async function showSharing() {
  const { topology } = page.state;
  at('placement').hidden = !page.registered.includes(topology);
  if (!at('placement').hidden) await part('placement', `/api/v1/topologies/${encodeURIComponent(topology)}`, {}, (data) => showPlacement(at('placement-body'), data));
}

/** part requests one of the page's lists, and shows in its place what went wrong. */
async function part(name, path, parameters, show) {
  try {
    show(await ask(name, path, parameters));
  } catch (error) {
    if (outdated(error)) return;
    fill(at(`${name}-body`), el('p', { class: error.status === 404 ? 'note' : 'problem' }, clip(error.message ?? String(error), 500)));
  }
}

function say(words, trouble = false) {
  at('status').textContent = clip(words, 500);
  at('status').classList.toggle('problem', trouble);
}

addEventListener('hashchange', follow);
addEventListener('popstate', () => { if (!location.hash) follow(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => figures.forEach((f) => f.repaint()));
new ResizeObserver(() => requestAnimationFrame(() => figures.forEach((f) => f.resize()))).observe(at('panels'));
setInterval(() => { if (!page.paused && !document.hidden && (!isFixed(page.state) || !page.state.topology)) refresh(); else if (!document.hidden && !page.paused) showAlerts(); }, refreshEvery);
document.addEventListener('visibilitychange', () => { if (!document.hidden && !page.paused) refresh(); });

// For the page's tests: what the charts hold.
globalThis.bulletPage = { figures, page };
refresh();
