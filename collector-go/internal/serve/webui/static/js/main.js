// Connects the parts of the page. The URL's hash selects what is shown, the API provides it, charts and lists show it.
import { Alerts } from './alerts.js';
import { ask, outdated } from './api.js';
import { Board, emptyNote } from './board.js';
import { Controls, foldOn } from './controls.js';
import { momentsOf } from './diagnosis.js';
import { clip, el, fill, link } from './dom.js';
import { lastAlert, lastSample, ofTopologies, quote } from './expressions.js';
import { gridOf } from './grid.js';
import { showHealth, windowOf } from './health.js';
import { Live, behind, silentOf } from './live.js';
import { TopologyMap } from './map.js';
import { showOverview } from './overview.js';
import { loopback, pasteFor } from './paste.js';
import { showPlacement } from './placement.js';
import { QueryBox } from './querybox.js';
import { showRuns } from './runs.js';
import { blind, grafanaLink, linksOf, registered, sentence, stateOf, when } from './sentence.js';
import { chosen, format, isFixed, parse, ranges, sliceOf } from './state.js';
import { Tiles } from './tiles.js';
import { mostAnnotations, showChanges } from './timeline.js';
import { knownTopologies } from './topologies.js';
import { clock, setZone, zoneOf } from './units.js';

const refreshEvery = 10_000; // ms
const slowEvery = 60_000; // ms: for data that is expensive and changes slowly
const around = 15 * 60; // s: shown before and after the time of a link
const [besideAlerts, aboveAlerts] = [3, 2]; // charts of a firing alert on wide and on narrow screens
const needSamples = ['map', 'tiles', 'lead', 'rest', 'health'];
const wide = matchMedia('(min-width: 1000px)');
const at = (id) => document.getElementById(id);
const now = () => Date.now() / 1000;

// an alert's link, as Prometheus writes it
if (location.hash.startsWith('#g0.')) history.replaceState(null, '', format(parse(location.hash)));
const page = {
  state: parse(location.hash),
  topologies: [],
  paused: false,
  slowAt: 0,
  okSince: null, // {at, startedAt}: when the last alert ended, and when the collector started, s
  reached: null,
  loading: null,
  behindAt: 0,
  silent: '', // the silent workers that the first line knows
  burning: null, // whether a problem comes first, so that further charts are folded
  figuresOf: new Map(), // by topology: values of the list
  answeredAt: null, // time of the collector's last response, s
  lost: null, // {at, words} while the collector does not respond
  grafana: '', // its URL
  withoutRuns: false, // the collector has no directory of runs
};
const snippet = at('snippet').textContent;
const linkTo = (part) => format({ ...page.state, at: null, ...part }) || '#';

const board = new Board({
  lead: at('lead'),
  panels: at('panels'),
  legend: at('legend'),
  readout: at('readout'),
  host: {
    select: (from, to) =>
      change({
        from: Math.floor(from),
        to: Math.max(Math.ceil(to), Math.floor(from) + 2 * sliceOf(page.state)),
        at: null,
        figure: '',
      }),
    say,
  },
});
const tiles = new Tiles(at('tiles'), (figure) => linkTo({ figure }));
const alerts = new Alerts(at('alerts-body'), { linkTo: (part) => linkToMoment(part), diagnosed: showState });
const map = new TopologyMap(at('map-body'), { choose: (component) => change({ component }), step: () => board.grid });
const box = new QueryBox(at('ask-body'), {
  change,
  select: (from, to) => change({ from: Math.floor(from), to: Math.max(Math.ceil(to), Math.floor(from) + 2) }),
});
const controls = new Controls(at('controls'), choose, (paused) => {
  page.paused = paused;
  followStream();
  refresh();
});
const live = new Live(
  () => showStream(),
  // so that a collector that ends, or is back, is noticed at once
  (connected) => connected === Boolean(page.lost) && refresh(),
);

foldOn(matchMedia('(max-width: 620px)'), at('chooser'));
// A click on the tile of the current URL scrolls to its chart again.
at('tiles').addEventListener('click', (event) => {
  const tile = event.target.closest('a');
  if (tile?.hash === location.hash) board.lead(page.state.figure);
});
at('skip').addEventListener('click', (event) => {
  event.preventDefault();
  at('figures').focus();
});

// A time outside the current range is shown with a quarter of an hour before and after it.
function linkToMoment(part) {
  const shown = board.grid && part.at >= board.grid.from && part.at <= board.grid.to;
  return linkTo(shown ? part : { ...part, from: part.at - around, to: part.at + around });
}

function choose(part) {
  const to = Math.floor(now());
  const shown = page.state.query == null ? board.grid : box.grid;
  if (part.fix) change({ from: shown?.from ?? to - 3600, to: shown?.to ?? to });
  else change({ ...part, at: null, figure: '', component: part.topology ? '' : page.state.component });
}

// change sets the hash, so that the browser's back button works.
function change(part) {
  const hash = format({ ...page.state, ...part });
  if (hash === location.hash) return;
  if (hash) location.hash = hash;
  else {
    history.pushState(null, '', location.pathname);
    follow();
  }
}

const asksFor = (state) => JSON.stringify([state.topology, state.range, state.from, state.to, state.slice, state.zone]);

function follow() {
  const before = page.state;
  page.state = parse(location.hash);
  showZone();
  if (page.topologies.length === 1) page.state.topology ||= page.topologies[0].name;
  if (before.topology !== page.state.topology) {
    board.forget();
    alerts.forget();
    page.okSince = null;
  }
  followStream();
  if (showBox()) return;
  if (page.state.topology && before.query == null && asksFor(before) === asksFor(page.state)) {
    show();
    return;
  }
  board.grid = null;
  board.showLive(null);
  page.slowAt = 0;
  board.point(null);
  refresh();
}

// If the URL has a query, only the query and its result are shown.
function showBox() {
  const { state } = page;
  const open = state.query != null;
  document.body.classList.toggle('asking', open);
  at('ask').hidden = !open;
  at('to-query').textContent = open
    ? `Back to ${state.topology ? clip(state.topology, 40) : 'all topologies'}`
    : 'Query';
  at('to-query').href = linkTo({ query: open ? null : '', kind: 'range' });
  if (!open) return false;
  at('chooser').hidden = false;
  at('chosen').textContent = chosen(state);
  controls.show(
    state,
    page.topologies.map((t) => t.name),
  );
  say('');
  box.show(state);
  return true;
}

// show updates everything that needs no request.
function show() {
  board.applyUnits(page.state);
  at('to-query').href = linkTo({ query: '' });
  at('chosen').textContent = chosen(page.state);
  controls.show(
    page.state,
    page.topologies.map((t) => t.name),
    endedOf(page.topologies),
  );
  map.select(page.state.component);
  if (page.reached === page.state || !board.figures[0].times) return; // do not scroll again if the reader has moved on
  page.reached = page.state;
  if (page.state.figure) board.lead(page.state.figure);
  if (page.state.at != null) board.pointAt(page.state.at);
}

const endedOf = (topologies) =>
  new Map(
    topologies.filter((t) => t.condition && t.condition.state !== 'running').map((t) => [t.name, t.condition.state]),
  );

async function refresh() {
  if (page.state.query != null) return;
  try {
    page.topologies = await knownTopologies();
  } catch (error) {
    if (!outdated(error)) markUnreachable(error);
    return;
  }
  markReachable();
  const { topologies, state } = page;
  const several = topologies.length > 1;
  if (!state.topology && topologies.length === 1) state.topology = topologies[0].name;
  controls.show(
    state,
    topologies.map((t) => t.name),
    endedOf(topologies),
  );
  at('chosen').textContent = chosen(state);
  board.applyUnits(state);
  const some = Boolean(state.topology);
  at('empty').hidden = topologies.length > 0 || some;
  if (!at('empty').hidden) showAddress();
  at('overview').hidden = some || !several;
  at('all').hidden = !some || !several;
  at('chooser').hidden = !some;
  for (const id of ['look', 'alerts', 'figures', 'changes']) at(id).hidden = !some;
  for (const id of needSamples) at(id).hidden = !some || Boolean(board.isEmpty);
  if (!some) say(several ? '' : 'Waiting for a topology to report.');
  const slow = Date.now() - page.slowAt >= slowEvery;
  if (slow) {
    page.slowAt = Date.now();
    live.retry();
  }
  followStream();
  await Promise.all([
    showAlerts(),
    some && !(page.paused && board.grid) && showFigures(),
    slow && listRuns(),
    slow && findServices(),
    slow && !some && several && findFiguresOf(),
  ]);
  if (some && slow) await Promise.all([showCollection(), showSharing()]);
}

// While the collector does not respond, the page must not show an old state as the current one.
function markUnreachable(error) {
  page.lost ??= {
    at: page.answeredAt ?? now(),
    words: error.status === 0 ? 'the collector does not respond' : clip(error.message, 200),
  };
  say(error.message, true);
  controls.answering(false);
  alerts.markUnreachable();
  if (page.state.topology) showState();
  else at('overview').hidden = true;
}

function markReachable() {
  page.answeredAt = now();
  if (!page.lost) return;
  page.lost = null;
  page.okSince = null; // the collector may have restarted
  live.retry();
  controls.answering(true);
}

// On a slow machine, a refresh starts while the previous one still loads. The previous one is completed first;
// otherwise the charts would never be drawn.
async function showFigures() {
  const asked = asksFor(page.state);
  if (page.loading === asked) return;
  page.loading = asked;
  try {
    await loadFigures();
  } finally {
    if (page.loading === asked) page.loading = null;
  }
}

async function loadFigures() {
  const known = page.topologies.find((t) => t.name === page.state.topology);
  board.workers = known?.worker_count || board.workers;
  const { state } = page;
  if (!(await board.show(state, findAnnotations))) return;
  const { grid } = board;
  at('figures-note').textContent = board.note();
  showTiles();
  await Promise.all([showAway(state), map.load(state.topology, grid, board.busyWindow)]);
  if (page.state !== state || board.grid !== grid) return;
  if (!board.failed) sayComplete();
  show();
  performance.mark('figures-shown');
}

function sayComplete() {
  const { state } = page;
  const complete = clock(board.grid.end);
  if (board.isEmpty) say('');
  else if (isFixed(state)) say('Not live. Choose another time range, such as the last hour, to see new data.');
  else if (live.on && behind(live.state) != null) {
    say('');
    at('status').append(
      'CPU, heap and GC are live',
      el('span', { id: 'behind' }),
      `; slices are complete up to ${complete}.`,
    );
    sayBehind();
  } else say(`Complete up to ${complete}. Newer data appears once late samples can no longer arrive.`);
}

// This changes all the time, so it must never be in a live region, which screen readers speak.
function sayBehind() {
  const seconds = behind(live.state);
  if (at('behind') && seconds != null) at('behind').textContent = ` (${seconds.toFixed(1)} s behind)`;
}

// The stream is open while its charts can be seen and follow the clock.
function followStream() {
  const { state } = page;
  const known = page.topologies.find((t) => t.name === state.topology);
  const reports = known?.registered && known.alive && !known.elsewhere;
  const follows = reports && !isFixed(state) && state.query == null && !page.paused && !document.hidden;
  live.follow(follows ? state.topology : null);
}

// showStream is called after each event, and when the stream ends. Its last samples stay in the charts.
function showStream() {
  const { state, on } = live;
  if (page.state.query != null || !page.state.topology) return;
  if (on && live.topology === page.state.topology) board.showLive(state);
  const said = at('behind') != null;
  if (
    board.grid &&
    !board.failed &&
    !at('status').classList.contains('problem') &&
    said !== (on && behind(state) != null)
  )
    sayComplete();
  if (performance.now() - page.behindAt >= 1000) {
    page.behindAt = performance.now();
    sayBehind();
  }
  const silent = on
    ? JSON.stringify(silentOf(state).silent.map(({ worker, seconds }) => [worker, Math.floor(seconds / 10)]))
    : '';
  if (silent === page.silent) return;
  page.silent = silent;
  showState();
}

// If the time range has no samples, a link to the last sample replaces the empty charts. If queries are unavailable,
// the reason is shown.
async function showAway(state) {
  const empty = board.isEmpty;
  for (const id of needSamples) at(id).hidden = Boolean(empty);
  at('away').hidden = !empty;
  if (!empty) return;
  if (board.unavailable) {
    fill(at('away'), el('p', { class: 'problem' }, `No charts: ${clip(board.unavailable, 400)}.`));
    return;
  }
  const { result } = await ask('last sample', '/api/v1/query', {
    query: lastSample(quote(state.topology)),
    time: isFixed(state) ? state.to : null,
  }).catch((error) => {
    if (outdated(error)) throw error;
    return { result: [] };
  });
  const heard = page.topologies.find((t) => t.name === state.topology)?.last_seen;
  const last = result.length ? Number(result[0].value[1]) : heard && !isFixed(state) ? Date.parse(heard) / 1000 : null;
  const long = isFixed(state) ? state.to - state.from : Math.min(ranges[state.range], 3600);
  fill(
    at('away'),
    emptyNote(
      last,
      when,
      last == null ? '' : linkTo({ from: Math.floor(last - long * 0.9), to: Math.ceil(last + long * 0.1) }),
      now(),
    ),
  );
}

async function findAnnotations(grid) {
  try {
    board.annotations = await ask('annotations', '/api/v1/annotations', {
      topology: page.state.topology,
      start: grid.from,
      end: grid.to,
      limit: mostAnnotations,
    });
    showChanges(at('changes-body'), board.annotations, linkToMoment);
  } catch (error) {
    if (outdated(error)) throw error;
    board.annotations = [];
    fill(at('changes-body'), el('p', { class: 'problem' }, clip(error.message, 400)));
  }
}

async function showAlerts() {
  if (page.state.query != null) return;
  let data;
  try {
    data = await ask('alerts', '/api/v1/alerts');
  } catch (error) {
    if (!outdated(error)) markUnreachable(error);
    return;
  }
  markReachable();
  if (!page.state.topology) {
    showOverview(at('overview-body'), page.topologies, data.alerts, page.figuresOf, linkTo);
    return;
  }
  const diagnosed = alerts.show(data.alerts, page.state.topology);
  try {
    await findOkSince();
  } catch (error) {
    if (!outdated(error)) throw error;
    return; // a newer refresh has asked again
  }
  showState();
  await diagnosed;
}

// Latency, queries and busy share of all topologies, at the time of the tiles.
async function findFiguresOf() {
  const { end: time } = gridOf({ range: 3600, slice: 60, now: now(), width: 800, workers: 1 });
  const names = Object.keys(ofTopologies);
  const found = await Promise.all(
    names.map((name) => ask(`list ${name}`, '/api/v1/query', { query: ofTopologies[name], time }).catch(() => ({}))),
  );
  page.figuresOf = new Map();
  found.forEach(({ result = [] }, i) => {
    for (const { metric, value } of result)
      page.figuresOf.set(metric.topology, { ...page.figuresOf.get(metric.topology), [names[i]]: Number(value[1]) });
  });
  await showAlerts();
}

// The time since which all is well is requested when the page opens, when an alert has ended, and when the collector
// responds again.
async function findOkSince() {
  const quiet = !alerts.alarms.some((a) => a.state === 'firing');
  if (!quiet) page.okSince = null;
  if (!quiet || page.okSince) return;
  const optional = (data) => (error) => {
    if (outdated(error)) throw error;
    return data;
  };
  const [{ result }, { startTime }] = await Promise.all([
    ask('ok since', '/api/v1/query', { query: lastAlert(page.state.topology) }).catch(optional({ result: [] })),
    ask('started', '/api/v1/status/runtimeinfo').catch(optional({})),
  ]);
  page.okSince = { at: result.length ? Number(result[0].value[1]) : null, startedAt: seconds(startTime) };
}

function showTiles() {
  if (!board.grid || board.unavailable) return;
  const known = page.topologies.find((t) => t.name === page.state.topology);
  const current = (a) => a.state === 'firing' && !alerts.answerOf(a)?.alert.held;
  tiles.show(
    board.byName,
    (known?.worker_count ?? 0) + (known?.lost_workers?.length ?? 0),
    isFixed(page.state) ? [] : alerts.alarms.filter(current),
  );
}

// An Alertmanager on the collector's loopback address cannot be opened from another machine.
async function findServices() {
  const [{ activeAlertmanagers: all }, { 'http.grafana_url': grafana }] = await Promise.all([
    ask('alertmanagers', '/api/v1/alertmanagers').catch(() => ({})),
    ask('services', '/api/v1/status/flags').catch(() => ({})),
  ]);
  const isHere = loopback.test(location.hostname);
  if (all)
    alerts.alertmanagers = all.map(({ url }) => url).filter((url) => isHere || !loopback.test(new URL(url).hostname));
  page.grafana = grafana ?? page.grafana;
}

const seconds = (time) => (time ? Date.parse(time) / 1000 : null);

function showState() {
  const { state, lost, okSince } = page;
  const { topology } = state;
  const known = page.topologies.find((t) => t.name === topology);
  const found = stateOf({
    alarms: alerts.alarms,
    answerOf: (a) => alerts.answerOf(a),
    evaluated: alerts.evaluated,
    ...registered(known),
    empty: Boolean(board.isEmpty && !isFixed(state)),
    okSince: okSince?.at,
    startedAt: okSince?.startedAt,
    now: now(),
    lost,
    stream: live.on && live.topology === topology ? silentOf(live.state) : null,
    range: isFixed(state) ? state : null,
    paused: page.paused,
  });
  const links = linksOf(found.alert, alerts.alertmanagers);
  if (page.grafana) links.push(link(grafanaLink(page.grafana, state), 'Grafana'));
  fill(at('state'), sentence(found, topology, links));
  const lead = at('to-alert');
  if (lead)
    lead.onclick = (event) => {
      event.preventDefault();
      at('alerts').scrollIntoView();
      at('alerts').focus();
    };
  showTiles();
  document.body.classList.toggle('stale', Boolean(lost));
  if (lost) return; // the order of the charts stays
  const burning = found.kind === 'firing';
  const alert = found.alert ?? (burning ? alerts.alarms[0] : null);
  const answer = alert && alerts.answerOf(alert);
  const leading = wide.matches ? besideAlerts : aboveAlerts;
  const name = found.alert?.labels.alertname ?? blind;
  board.arrange(burning ? name : null, answer?.cause?.figure, burning ? leading : 0);
  if (page.burning !== burning) at('rest').open = !burning;
  page.burning = burning;
  at('rest-title').textContent = burning ? 'More charts' : 'Charts';
  at('first').classList.toggle('healthy', !burning);
  board.mark(momentsOf(answer));
}

// If the collector has no directory of runs, they are not requested again.
async function listRuns() {
  if (page.withoutRuns) return;
  await part(
    'runs',
    '/api/v1/runs',
    {},
    (data) => showRuns(at('runs-body'), data),
    () => {
      page.withoutRuns = true;
    },
  );
}
const showCollection = () =>
  board.grid &&
  !board.isEmpty &&
  part('health', `/api/v1/collection/${encodeURIComponent(page.state.topology)}`, windowOf(board.grid), (data) =>
    showHealth(at('health-body'), data),
  );

// The registry knows no workers of a topology if only its metrics are left.
async function showSharing() {
  const { topology } = page.state;
  at('placement').hidden = !page.topologies.some((t) => t.name === topology && t.registered);
  if (!at('placement').hidden)
    await part('placement', `/api/v1/topologies/${encodeURIComponent(topology)}`, {}, (data) => {
      showPlacement(at('placement-body'), data);
    });
}

/** part requests one of the page's lists, and shows an error in its place. */
async function part(name, path, parameters, put, none = () => {}) {
  try {
    await put(await ask(name, path, parameters));
  } catch (error) {
    if (outdated(error)) return;
    if (error.status === 404) none();
    fill(
      at(`${name}-body`),
      el('p', { class: error.status === 404 ? 'note' : 'problem' }, clip(error.message ?? String(error), 500)),
    );
  }
}

async function showAddress() {
  const [settings, { hostname }] = await Promise.all([
    ask('settings', '/api/v1/status/flags').catch(() => ({})),
    ask('machine', '/api/v1/status/runtimeinfo').catch(() => ({})),
  ]);
  const { text, note } = pasteFor(snippet, settings, location.hostname, hostname);
  at('reach').textContent = note;
  if (at('snippet').textContent !== text) at('snippet').textContent = text; // keeps a selection
}

at('copy').addEventListener('click', async () => {
  const copied = await navigator.clipboard?.writeText(at('snippet').textContent).then(
    () => true,
    () => false,
  );
  if (!copied) getSelection().selectAllChildren(at('snippet')); // over plain HTTP a page may not write the clipboard
  at('copied').textContent = copied ? 'Copied.' : 'Selected: press Ctrl+C to copy.';
});

function say(words, trouble = false) {
  at('status').textContent = clip(words, 500);
  at('status').classList.toggle('problem', trouble);
}

// showZone fills the choice of the time zone. Without another zone than UTC there is nothing to choose.
function showZone() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const own = zoneOf(timeZone, new Date().getTimezoneOffset());
  setZone(page.state.zone);
  fill(
    at('zone'),
    el('option', { value: 'local' }, own),
    timeZone === 'UTC' ? null : el('option', { value: 'utc' }, 'UTC'),
  );
  at('zone').value = timeZone === 'UTC' ? 'local' : page.state.zone;
}
at('zone').addEventListener('change', () => change({ zone: at('zone').value }));

wide.addEventListener('change', showState);
addEventListener('hashchange', follow);
addEventListener('popstate', () => {
  if (!location.hash) follow();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  [...board.figures, box.figure].forEach((f) => f.repaint());
  tiles.show(board.byName);
  map.draw();
});
const resized = new ResizeObserver(() =>
  requestAnimationFrame(() => {
    [...board.figures, box.figure].forEach((f) => f.resize());
    map.draw();
  }),
);
for (const id of ['panels', 'ask-body', 'map-body']) resized.observe(at(id));
setInterval(() => {
  if (!document.hidden) refresh();
}, refreshEvery);
document.addEventListener('visibilitychange', () => {
  followStream();
  if (!document.hidden) refresh();
});

// For the page's tests.
globalThis.bulletPage = { figures: board.figures, page, board, map, box, live };
showZone();
if (!showBox()) refresh();
