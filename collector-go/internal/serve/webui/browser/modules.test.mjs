// The page's pure modules, in Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviceOf, headOf, nameOfSeries, rowsOf, shortNames } from '../static/js/answer.js';
import { figures, quote } from '../static/js/expressions.js';
import { pathOf, placed } from '../static/js/slots.js';
import { layersOf, levelOf, streamsOf } from '../static/js/layers.js';
import { orderFor, alarmsOf } from '../static/js/order.js';
import { alertmanagerLink, grafanaLink, stateOf } from '../static/js/sentence.js';
import { momentsOf } from '../static/js/diagnosis.js';
import { Live, behind, gapOf, latest, noSamples, pointsOf, silentOf, take } from '../static/js/live.js';
import { gridOf, moved, timesOf } from '../static/js/grid.js';
import { byName, columnsOf, largest, lastKnown, together } from '../static/js/matrix.js';
import { pasteFor } from '../static/js/paste.js';
import { tasksOf } from '../static/js/placement.js';
import { chosen, defaults, format, moment, parse, sliceOf } from '../static/js/state.js';
import { bandsAndMarks } from '../static/js/timeline.js';
import { webAddress } from '../static/js/dom.js';
import {
  ago,
  clock,
  day,
  duration,
  fieldOf,
  fieldTime,
  plain,
  setZone,
  spoken,
  units,
  whenever,
  zoneOf,
} from '../static/js/units.js';

test('a state comes back from its hash', () => {
  for (const part of [
    {},
    { topology: 'a&b=c #<ü>' },
    { range: '7d', slice: '5m', cpu: 'ms', gc: 'share' },
    { range: '5m' },
    { from: 1795276140, to: 1795276320 },
    { figure: 'busy', at: 1795276140, component: 'Filter<b>' },
    { query: 'a{b="#&"} + 1', kind: 'instant' },
    { query: '' },
    { zone: 'utc' },
  ]) {
    const state = { ...defaults, ...part };
    assert.deepEqual(parse(format(state)), state);
  }
  assert.equal(format(defaults), '');
});

test('the settings to paste are those of this collector', () => {
  const own = 'bullet.topology.metrics.collector.';
  const pasted = (settings, pageHost = 'monitor.example', machine = 'box') =>
    pasteFor(`a: true\n${own}address:\n  - "127.0.0.1:4320"`, settings, pageHost, machine);
  const address = (...of) => /"(.*)"/.exec(pasted(...of).text)[1];
  for (const [listen, pageHost, want] of [
    ['10.0.0.7:4321', 'monitor.example', '10.0.0.7:4321'],
    ['collector.example:4320', '127.0.0.1', 'collector.example:4320'],
    ['127.0.0.1:41999', 'localhost', '127.0.0.1:41999'],
    ['[::]:4320', 'monitor.example', 'monitor.example:4320'],
    ['0.0.0.0:4320', '[2001:db8::7]', '[2001:db8::7]:4320'],
    [':4320', '127.0.0.1', 'box:4320'],
    ['[::]:4320', '[::1]', 'box:4320'],
    ['[::1]:4320', 'monitor.example', '[::1]:4320'],
  ])
    assert.equal(address({ 'grpc.listen': listen }, pageHost), want, listen);
  assert.match(pasted({ 'grpc.listen': '[::]:4320' }).note, /all addresses.*monitor\.example/);
  assert.match(pasted({ 'grpc.listen': '127.0.0.1:4320' }).note, /own machine can reach 127/);
  assert.equal(pasted({ 'grpc.listen': '10.0.0.7:4320', 'grpc.tls': 'false', 'grpc.token': 'false' }).note, '');
  assert.equal(address({}), '127.0.0.1:4320', 'nothing is known');
  const secured = { 'grpc.listen': 'c:1', 'grpc.tls': 'true', 'grpc.token': 'true' };
  const lines = (settings) => pasted(settings).text.split('\n').slice(3);
  assert.deepEqual(lines(secured), [
    `${own}tls.enabled: true`,
    `${own}tls.ca.file: "/etc/storm/bullet/ca.pem"`,
    `${own}token.file: "/etc/storm/bullet/bullet.token"`,
  ]);
  assert.deepEqual(lines({ ...secured, 'grpc.client_certificate': 'true' }).slice(2), [
    `${own}tls.cert.file: "/etc/storm/bullet/worker.pem"`,
    `${own}tls.key.file: "/etc/storm/bullet/worker-key.pem"`,
  ]);
  assert.match(pasted(secured).note, /every Storm host/);
});

test('a link of Prometheus is a query', () => {
  const of = (form) => parse(`#${new URLSearchParams(form)}`);
  const fixed = of({
    'g0.expr': 'a + b',
    'g0.tab': '0',
    'g0.range_input': '2h',
    'g0.end_input': '2026-11-21 15:51:00',
  });
  assert.deepEqual([fixed.query, fixed.kind, fixed.from, fixed.to], ['a + b', 'range', 1795276260 - 7200, 1795276260]);
  const live = of({ 'g0.expr': 'a', 'g0.tab': '1', 'g0.range_input': '2h' });
  assert.deepEqual([live.kind, live.range, live.from], ['instant', '6h', null], 'the least range that has all of it');
  assert.deepEqual(
    [of({ 'g0.expr': 'a', 'g0.range_input': '9w' }).range, of({ 'g0.expr': 'a', 'g0.range_input': 'x' }).range],
    ['7d', '1h'],
  );
});

test('an answer is rows of what it is of and its numbers', () => {
  const metric = { __name__: 'm', a: 'x"y', b: '2' };
  assert.equal(nameOfSeries(metric), 'm{a="x\\"y", b="2"}');
  assert.equal(nameOfSeries({}), '{}');
  const short = shortNames([metric, { ...metric, b: '3', c: '1' }]);
  assert.deepEqual(
    [short(metric), short({ ...metric, b: '3', c: '1' }), shortNames([metric])(metric)],
    ['{b="2"}', '{b="3", c="1"}', 'm{a="x\\"y", b="2"}'],
  );
  const range = {
    resultType: 'matrix',
    result: [
      {
        metric: {},
        values: [
          [1, '2'],
          [2, 'NaN'],
          [3, '4.5'],
        ],
      },
      { metric: {}, histograms: [[1, { count: '3', sum: '1.5' }]] },
      { metric: {}, values: [[1, 'NaN']] },
    ],
  };
  assert.deepEqual(rowsOf(range), [
    ['{}', '4.5', '2', '3.25', '4.5'],
    ['{}', 'histogram: 3 values, sum 1.5', '–', '–', '–'],
    ['{}', 'NaN', 'NaN', 'NaN', 'NaN'],
  ]);
  assert.equal(headOf(range).length, 5);
  assert.deepEqual(
    rowsOf({
      resultType: 'vector',
      result: [
        { metric: { a: '1' }, value: [1, '1e3'] },
        { metric: {}, histogram: [1, { count: '3', sum: '1.5' }] },
      ],
    }),
    [
      ['{a="1"}', '1e3'],
      ['{}', 'histogram: 3 values, sum 1.5'],
    ],
  );
  assert.deepEqual(rowsOf({ resultType: 'scalar', result: [1, '7'] }), [['scalar', '7']]);
  assert.deepEqual(
    [0, 1e-5, 0.31, 123456.789, 314572800].map((v) => units.number.write(v)),
    ['0', '0.00001000', '0.31', '123,457', '314.6M'],
  );
});

test('an error of a query names what to do', () => {
  const of = (message, status, type) => adviceOf(Object.assign(new Error(message), { status, type }));
  assert.deepEqual(of('invalid parameter "query": 2:15: parse error: unexpected end of input', 400), {
    words: 'Correct the query at line 2, column 15, then run it again.',
    line: 2,
    column: 15,
  });
  assert.match(of('forbidden', 403).words, /scope read/);
  assert.match(of('query timed out in expression evaluation', 503, 'timeout').words, /shorter time/);
  assert.equal(
    of('query reads more than 5 series; select fewer series', 422, 'execution').words,
    '',
    'it names that itself',
  );
});

test('a hash that makes no sense is as by default', () => {
  for (const hash of [
    '#range=9y',
    '#slice=__proto__',
    '#range=constructor',
    '#from=5&to=4',
    '#from=x&to=y',
    '#from=1',
    '#cpu=<b>',
    '#zone=Mars',
    '#%%%',
  ])
    assert.deepEqual(parse(hash), defaults, hash);
  assert.equal(moment('2026-11-21T15:49:00Z'), 1795276140);
  assert.equal(moment('never'), null);
});

test('slices lie on the grid of their width, and end when no sample can come any more', () => {
  const live = gridOf({ from: null, to: null, range: 3600, slice: 60, now: 1_800_000_101, width: 900, workers: 2 });
  assert.deepEqual(
    [live.end, live.step, live.points, live.start, live.thinned],
    [1_800_000_060, 60, 60, 1_800_000_060 - 3540, false],
  );
  assert.deepEqual([timesOf(live)[0], timesOf(live).at(-1)], [live.start, live.end]);
  const fixed = gridOf({ from: 1_800_000_005, to: 1_800_000_125, range: 0, slice: 60, now: 0, width: 900, workers: 2 });
  assert.deepEqual([fixed.from, fixed.end, fixed.points], [1_800_000_000, 1_800_000_180, 3]);
});

test('a long time and many workers are thinned by whole slices, in bounds', () => {
  for (const [range, slice, workers, width] of [
    [86400, 60, 500, 1200],
    [7 * 86400, 10, 1, 400],
    [86400, 10, 5000, 300],
    [900, 3600, 3, 800],
  ]) {
    const g = gridOf({ from: null, to: null, range, slice, now: 1_800_000_000, width, workers });
    assert.equal(g.step % slice, 0);
    assert.ok(g.points <= Math.max(60, width), `${g.points} points`);
    assert.ok(g.points * workers <= Math.max(60_000, 60 * workers), `${g.points * workers} values`);
    assert.ok(g.points * g.step >= range, 'nothing at the beginning is left out');
  }
});

test('the store is asked again when there is something new', () => {
  const at = (now) => gridOf({ from: null, to: null, range: 86400, slice: 60, now, width: 1200, workers: 500 });
  const first = at(1_800_000_000);
  assert.ok(moved(null, first));
  assert.ok(!moved(first, at(1_800_000_010)));
  assert.ok(moved(first, at(1_800_000_000 + first.step)));
});

test('what is not there is null, and so are NaN and infinities', () => {
  const grid = { start: 100, step: 10, points: 5 };
  const [column] = columnsOf(
    [
      {
        metric: { worker: 'a' },
        values: [
          [100, '1'],
          [120, 'NaN'],
          [130, '+Inf'],
          [140, '4'],
        ],
      },
    ],
    grid,
  );
  assert.deepEqual(column.values, [1, null, null, null, 4]);
  const other = { metric: { worker: 'b' }, values: [3, null, 5, null, null] };
  assert.deepEqual(together([column, other], 5), {
    count: [2, 0, 1, 0, 1],
    total: [4, null, 5, null, 4],
    mean: [2, null, 5, null, 4],
  });
  assert.equal(lastKnown([column, other]), 4);
  assert.equal(lastKnown([{ values: [null] }]), -1);
  assert.deepEqual(largest([other, column], 1), ['b']);
  assert.deepEqual(['h-10', 'h-9'].sort(byName), ['h-9', 'h-10']);
});

test('a topology’s name stays inside its quotes', () => {
  const name = quote('a"} or vector(1) #\\\n');
  assert.equal(name, '"a\\"} or vector(1) #\\\\\\n"');
  for (const f of figures)
    for (const line of f.lines) assert.ok(line.expression(name, 60, 10).includes(`topology=${name}`));
});

test('a rate reaches from the sample before the slice, a mean over the slice alone', () => {
  const of = (name) => figures.find((f) => f.name === name).lines[0].expression('"t"', 60, 10);
  assert.match(of('cpu'), /\[70s\]/);
  assert.match(of('heap'), /\[60s\]/);
  assert.match(
    figures.find((f) => f.name === 'heap').lines[0].expression('"t"', 10, 60),
    /\[60s\]/,
    'a source that reports each minute',
  );
});

test('CPU is user and system together, as in reports and Grafana, and both parts stand beside it', () => {
  const of = (name) => figures.find((f) => f.name === name);
  assert.ok(!of('cpu').lines[0].expression('"t"', 60, 10).includes('mode'));
  assert.match(of('cpu').title, /^CPU time, user and system/);
  assert.deepEqual(
    of('cpu-parts').lines.map((l) => [l.name, /mode="(\w+)"/.exec(l.expression('"t"', 60, 10))[1]]),
    [
      ['user', 'user'],
      ['system', 'system'],
      ['steal on the worst host, if at least 5%', 'steal'],
    ],
  );
});

test('annotations are bands, marks and restarts', () => {
  const a = (title, time, end, ...tags) => ({ title, time, end_time: end, text: '', tags });
  const { bands, marks } = bandsAndMarks(
    [
      a('step 1', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z', 'step'),
      a('step 2', '2026-01-01T00:01:00Z', undefined, 'step'),
      a('settings', '2026-01-01T00:00:30Z', undefined, 'config'),
      a('again', '2026-01-01T00:00:10Z', undefined, 'restart'),
      a('no time', 'x', undefined),
    ],
    1767225720,
  );
  assert.deepEqual(
    bands.map((b) => [b.label, b.to - b.from]),
    [
      ['step 1', 60],
      ['step 2', 60],
    ],
  );
  assert.deepEqual(
    marks.map((m) => [m.label, m.restart]),
    [
      ['again', true],
      ['settings', false],
    ],
  );
});

test('numbers are written with their units', () => {
  assert.deepEqual([0.0123, 1.234, 12.34, 1234.5, 5].map(plain), ['0.012', '1.23', '12.3', '1,235', '5']);
  assert.equal(units.cpuMs.write(5 * units.cpuMs.times), '300,000 ms/min');
  assert.equal(units.seconds.write(0.2 * units.seconds.times), '200 ms');
  assert.deepEqual([0.5, 0, 41, 125, 3900, 100_000, -2].map(duration), [
    '500 ms',
    '0 s',
    '41 s',
    '2 min 5 s',
    '1 h 5 min',
    '1 d 3 h',
    '−2 s',
  ]);
});

test('only the web’s addresses become links', () => {
  assert.ok(webAddress('https://example.org/runbook'));
  for (const bad of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '//x', 'x', ''])
    assert.ok(!webAddress(bad), bad);
});

test('a worker holds its own components before those of Storm', () => {
  const components = [
    { component: '__system', tasks: [-1] },
    { component: '__acker', tasks: [9] },
    { component: 'JoinBolt', tasks: [5] },
    { component: 'FilterBolt', tasks: [3, 4] },
  ];
  assert.equal(tasksOf(components), 'FilterBolt 2, JoinBolt 1, __acker 1');
});

test('slices are as wide as the range asks for, or as chosen', () => {
  for (const [part, want] of [
    [{ range: '5m' }, 10],
    [{ range: '15m' }, 10],
    [{}, 60],
    [{ range: '6h' }, 300],
    [{ range: '24h' }, 300],
    [{ range: '7d' }, 3600],
    [{ range: '7d', slice: '10s' }, 10],
    [{ from: 100, to: 280 }, 10],
    [{ from: 0, to: 30 * 86400 }, 21600],
  ]) {
    assert.equal(sliceOf({ ...defaults, ...part }), want, JSON.stringify(part));
  }
  assert.equal(chosen({ ...defaults, topology: 'bullet' }), 'bullet, last hour');
});

test('every alert leads to its own figure first, and no figure is lost', () => {
  const all = figures.map((f) => f.name).sort();
  for (const [alert, first] of [
    [null, 'latency'],
    ['BulletFilterLatencyP99High', 'latency'],
    ['BulletGCShareHigh', 'gc'],
    ['BulletSourceFallingBehind', 'lag'],
    ['BulletWorkerRestarted', 'workers'],
    ['constructor', 'latency'],
  ]) {
    const order = orderFor(alert);
    assert.equal(order[0], first, alert);
    assert.deepEqual([...order].sort(), all, alert);
  }
  assert.equal(orderFor('BulletFilterLatencyMeanHigh')[1], 'busy', 'then its usual causes');
  assert.deepEqual(orderFor('BulletFilterLatencyMeanHigh', 'gc').slice(0, 3), ['latency', 'gc', 'busy'], 'its cause');
});

test('the worst alert of a topology comes first, the watchdog never', () => {
  const alert = (alertname, state, severity, topology, activeAt = '2026-11-21T15:00:00Z') => ({
    state,
    activeAt,
    labels: { alertname, severity, topology },
    annotations: { summary: alertname },
  });
  const all = [
    alert('W', 'firing', 'warning', 't'),
    alert('P', 'pending', 'critical', 't'),
    alert('C', 'firing', 'critical', 't'),
    alert('Other', 'firing', 'critical', 'u'),
    alert('BulletMetricsWatchdog', 'firing', 'none'),
  ];
  assert.deepEqual(
    alarmsOf(all, 't').map((a) => a.labels.alertname),
    ['C', 'W', 'P'],
  );
});

test('components stand behind what feeds them, and streams that lead back go round', () => {
  const streams = [
    ['Source', 'Filter'],
    ['Query', 'Filter'],
    ['Filter', 'Join'],
    ['Query', 'Join'],
    ['Join', 'Loop'],
    ['Loop', 'Filter'],
  ].map(([from, to]) => ({ from, to }));
  const layers = layersOf(['Join', 'Filter', 'Loop', 'Query', 'Source', 'Alone'], streams);
  assert.deepEqual(
    layers.map((l) => [...l].sort()),
    [['Alone', 'Query', 'Source'], ['Filter'], ['Join'], ['Loop']],
  );
  assert.deepEqual([undefined, 0.1, 0.5, 0.8, 1.01].map(levelOf), [
    'unmeasured',
    'idle',
    'working',
    'busy',
    'saturated',
  ]);
});

// The rows with the names of their boxes and the ends of their slots.
const written = (rows) => rows.map((row) => row.map(({ name, slot }) => name ?? JSON.parse(slot).join('>')));
const ends = (...streams) => streams.map((s) => ({ from: s.split('>')[0], to: s.split('>')[1] }));
const rowsFor = (names, streams, most) => placed(layersOf(names.split(' '), streams), streams, most);

test('a stream has a slot in each row that it skips', () => {
  const streams = ends('Source>Filter', 'Filter>Join', 'Join>Result', 'Source>Result', 'Source>Result', 'Join>Join');
  const rows = written(rowsFor('Source Filter Join Result', streams));
  assert.deepEqual(
    rows.map((row) => [...row].sort()),
    [['Source'], ['Filter', 'Source>Result'], ['Join', 'Source>Result'], ['Result']],
  );
  assert.equal(rows[1].indexOf('Filter'), rows[2].indexOf('Join'), 'the slots are on one side');
});

test('the layers of a phone are rows of two, and the component with the most streams is next to the following layer', () => {
  const streams = ends('Query>Filter', 'Query>Join', 'Tick>Filter', 'Data>Filter', 'Filter>Join');
  assert.deepEqual(
    written(rowsFor('Data Query Tick Filter Join', streams, 2)).map((row) => [...row].sort()),
    [['Data', 'Tick'], ['Data>Filter', 'Query', 'Tick>Filter'], ['Filter', 'Query>Join'], ['Join']],
  );
});

test('a stream that leads back has a slot in each row from its start to its end', () => {
  const rows = written(
    rowsFor('Source Filter Join Loop', ends('Source>Filter', 'Filter>Join', 'Join>Loop', 'Loop>Filter')),
  );
  assert.deepEqual(
    rows.map((row) => row.includes('Loop>Filter')),
    [false, true, true, true],
  );
});

test('rows are in an order with few crossings', () => {
  assert.deepEqual(written(rowsFor('A B C D', ends('A>D', 'B>C'))), [
    ['A', 'B'],
    ['D', 'C'],
  ]);
});

test('the line of a stream goes straight through its slots', () => {
  const spot = (start, middle) => ({ start, end: start + 10, middle });
  const [a, b] = [spot(0, 0), spot(40, 0)];
  const straight = (points) =>
    points.filter(([along]) => along > 20 && along < 30).map(([, across]) => Math.round(across * 1e6) / 1e6);
  const there = pathOf(a, [spot(20, 50)], b);
  assert.deepEqual(
    [there[0], there.at(-1)],
    [
      [10, 0],
      [40, 0],
    ],
  );
  assert.deepEqual([...new Set(straight(there))], [50], 'through the slot');
  const back = pathOf(b, [spot(0, 50), spot(20, 50), spot(40, 50)], a);
  assert.deepEqual(
    [back[0], back.at(-1)],
    [
      [50, 0],
      [0, 0],
    ],
  );
  assert.deepEqual([...new Set(straight(back))], [50], 'and back');
});

test('streams are those that are known and those that were seen, each once', () => {
  const components = [
    {
      name: 'Filter',
      inputs: [
        { component: 'Source', stream: 'default', grouping: 'shuffle' },
        { component: '__system', stream: '__tick', grouping: 'all' },
      ],
    },
  ];
  const executed = [
    ['Source', 'Filter', 'default', '12'],
    ['Filter', 'Join', 'default', '3'],
    ['Join', '__acker', '__ack', '9'],
  ].map(([source, component, stream, v]) => ({ metric: { source, component, stream }, value: [0, v] }));
  assert.deepEqual(streamsOf(components, executed), [
    { from: 'Filter', to: 'Join', stream: 'default', grouping: '', rate: 3 },
    { from: 'Source', to: 'Filter', stream: 'default', grouping: 'shuffle', rate: 12 },
  ]);
});

test('a diagnosis is moments on the figures that moved', () => {
  const answer = {
    at: '2026-11-21T15:10:00Z',
    alert: { name: 'Slow' },
    changes: [{ name: 'busy', labels: { component: 'FilterBolt' }, figure: 'busy', since: '2026-11-21T15:06:00Z' }],
  };
  assert.deepEqual(
    momentsOf(answer).map((m) => [m.label, m.figure, m.cause]),
    [
      ['busy FilterBolt', 'busy', true],
      ['Slow began', '', true],
    ],
  );
  assert.deepEqual(momentsOf(null), []);
});

const now = Date.parse('2026-11-21T16:11:00Z') / 1000;
const ISO = (minutesAgo) => new Date((now - 60 * minutesAgo) * 1000).toISOString();
const alarm = (name, severity, { state = 'firing', minutes = 4, ...labels } = {}) => ({
  state,
  activeAt: ISO(minutes),
  labels: { alertname: name, severity, topology: 't', ...labels },
  annotations: { summary: `${name} is 418 ms` },
});

test('what is not known comes before what was measured last', () => {
  const alarms = alarmsOf(
    [
      alarm('BulletFilterLatencyMeanHigh', 'critical', { minutes: 9 }),
      alarm('BulletMetricsCollectorBlind', 'critical', { minutes: 1 }),
      alarm('BulletClockSkew', 'critical', { minutes: 5 }),
      alarm('BulletClockSkew', 'warning', { minutes: 10 }),
    ],
    't',
  );
  assert.deepEqual(
    alarms.map((a) => a.labels.alertname + a.labels.severity[0]),
    ['BulletClockSkewc', 'BulletMetricsCollectorBlindc', 'BulletFilterLatencyMeanHighc', 'BulletClockSkeww'],
  );
});

const latency = alarm('BulletFilterLatencyMeanHigh', 'critical');
const silent = alarm('BulletMetricsCollectorBlind', 'critical', { minutes: 1 });
const workerSilent = alarm('BulletMetricsCollectorBlind', 'critical', { minutes: 1, worker: 'h:1' });
const lostWorkers = [
  { worker: 'h:2', last_seen: ISO(3) },
  { worker: 'h:1', last_seen: ISO(20) },
];
const cause = (figure, text) => ({ figure, text, advice: `Look at ${figure}` });
const current = (of, why) => [of, { alert: { held: false }, cause: why }];
const held = (of, why) => [
  of,
  { alert: { held: true, summary: 'Filter latency of t was 418 ms', last_bad: ISO(20) }, cause: why },
];
const was = 'Filter latency of t was 418 ms (last measured 15:51, 20 min ago)';
const isNow = 'BulletFilterLatencyMeanHigh is 418 ms';
const away = cause('workers', 'The collector did not run from 16:01 to 16:09');

// What the page says first: [what is known, the kind, the first line, more of the answer].
const situations = {
  'a lost worker, before an alert': [
    { lostWorkers: lostWorkers.slice(1), workers: 2 },
    'firing',
    'A worker is lost: h:1 last reported at 15:51, 20 min ago; 2 of 3 workers report',
    { cause: { advice: "Read the worker's log: the most frequent reason is lack of memory" }, also: [] },
  ],
  'two lost workers, and the latency that one reported last': [
    { alarms: [workerSilent, latency], answers: [held(latency)], lostWorkers, workers: 2 },
    'firing',
    '2 workers are lost. The first: h:1 last reported at 15:51, 20 min ago; 2 of 4 workers report',
    { alert: workerSilent, also: [was], more: 0 },
  ],
  'a lost worker that only the diagnosis knows yet': [
    { alarms: [latency], answers: [held(latency, cause('workers', 'A worker is lost: 2 workers report'))], workers: 3 },
    'firing',
    'A worker is lost: 2 workers report',
    { cause: { advice: 'Look at workers' }, alert: undefined, also: [was] },
  ],
  'a lost worker, and a latency that is high now': [
    { alarms: [latency], answers: [current(latency)], lostWorkers: lostWorkers.slice(1), workers: 2 },
    'firing',
    'A worker is lost: h:1 last reported at 15:51, 20 min ago; 2 of 3 workers report',
    { also: [isNow] },
  ],
  'a lost worker, after the collector was away': [
    { alarms: [workerSilent], answers: [current(workerSilent, away)], lostWorkers: lostWorkers.slice(1), workers: 2 },
    'firing',
    'A worker is lost: h:1 last reported at 15:51, 20 min ago; 2 of 3 workers report',
    { cause: { advice: "Read the worker's log: the most frequent reason is lack of memory" }, alert: workerSilent },
  ],
  'a lost worker, beside a client that does not report': [
    {
      alarms: [alarm('BulletMetricsCollectorBlind', 'critical', { worker: 'c:0', class: 'raw' })],
      lostWorkers: lostWorkers.slice(1),
      workers: 2,
    },
    'firing',
    'A worker is lost: h:1 last reported at 15:51, 20 min ago; 2 of 3 workers report',
    { alert: undefined, also: ['BulletMetricsCollectorBlind is 418 ms'] },
  ],
  'a worker that was lost and is back': [
    {
      alarms: [latency],
      answers: [held(latency, cause('workers', 'A worker was lost and restarted at 15:51'))],
      workers: 3,
    },
    'firing',
    was,
    { cause: cause('workers', 'A worker was lost and restarted at 15:51'), alert: latency },
  ],
  'a slow bolt': [
    { alarms: [latency], answers: [current(latency, cause('busy', 'FilterBolt has been busy 97%'))] },
    'firing',
    isNow,
    { cause: cause('busy', 'FilterBolt has been busy 97%'), alert: latency, also: [] },
  ],
  'CPU taken away': [
    { alarms: [latency], answers: [current(latency, cause('cpu', 'The workers have got less CPU'))] },
    'firing',
    isNow,
    { cause: cause('cpu', 'The workers have got less CPU') },
  ],
  'garbage collection of two workers': [
    {
      alarms: [
        alarm('BulletGCShareHigh', 'warning', { worker: 'h:1' }),
        alarm('BulletHeapNearLimit', 'warning', { worker: 'h:1' }),
        alarm('BulletGCShareHigh', 'warning', { worker: 'h:2' }),
        alarm('BulletHeapNearLimit', 'warning', { worker: 'h:2' }),
      ],
    },
    'firing',
    'BulletGCShareHigh is 418 ms',
    { also: ['BulletHeapNearLimit is 418 ms', 'BulletGCShareHigh is 418 ms'], more: 1 },
  ],
  'a stalled source': [
    { alarms: [alarm('BulletSourceFallingBehind', 'critical'), alarm('BulletGCShareHigh', 'warning')] },
    'firing',
    'BulletSourceFallingBehind is 418 ms',
    { also: ['BulletGCShareHigh is 418 ms'] },
  ],
  'an alert that is kept for an old value, and a current one': [
    {
      alarms: [latency, alarm('BulletGCShareHigh', 'warning')],
      answers: [held(latency, cause('busy', 'FilterBolt was busy'))],
    },
    'firing',
    'BulletGCShareHigh is 418 ms',
    { cause: undefined, also: [was] },
  ],
  'an alert that is kept for an old value': [
    { alarms: [latency], answers: [held(latency, cause('busy', 'FilterBolt was busy 97%'))] },
    'firing',
    was,
    { cause: cause('busy', 'FilterBolt was busy 97%') },
  ],
  'a silent topology': [
    {
      alarms: [silent, latency],
      answers: [current(silent, cause('workers', 't has not reported since 15:51')), held(latency)],
      condition: { state: 'silent', since: ISO(20) },
      alive: false,
      lastSeen: now - 1200,
    },
    'firing',
    'No report since 15:51, 20 min ago',
    { cause: cause('workers', 't has not reported since 15:51'), alert: silent, also: [was] },
  ],
  'a silent topology, before an alert': [{ alive: false }, 'unknown', 'No reports'],
  'a topology that Storm stopped': [
    { condition: { state: 'stopped', since: ISO(2) } },
    'unknown',
    'Stopped by Storm at 16:09, 2 min ago: killed, or being rebalanced',
  ],
  'a killed topology, whose last values raised an alert': [
    { alarms: [latency], answers: [held(latency)], condition: { state: 'killed', since: ISO(26 * 60) }, alive: false },
    'ended',
    'Killed at 2026-11-20 14:11, 1 d 2 h ago',
    { also: [was] },
  ],
  'a collector that does not respond, while the page is open': [
    { alarms: [latency], lost: { at: now - 90, words: 'the collector does not respond' } },
    'unknown',
    'Unknown since 16:09:30: the collector does not respond',
    { aside: 'Charts, map and alerts show the state before that.' },
  ],
  'a collector that has just started': [
    { evaluated: false, startedAt: now - 40 },
    'unknown',
    'The collector started at 16:10, 40 s ago: alert rules are not evaluated yet',
  ],
  'a collector that was away': [
    { alarms: [silent], answers: [current(silent, away)] },
    'firing',
    'BulletMetricsCollectorBlind is 418 ms',
    { cause: away },
  ],
  'nothing wrong since the collector started': [
    { okSince: now - 3600, startedAt: now - 600 },
    'ok',
    'OK since 16:01, when the collector started',
  ],
  'nothing wrong since an alert': [{ okSince: now - 3600, startedAt: now - 9e5 }, 'ok', 'OK since 15:11'],
  'nothing wrong for long': [{}, 'ok', 'OK for more than a day'],
  'a pending alert': [
    { alarms: [alarm('BulletSourceFallingBehind', 'critical', { state: 'pending' })] },
    'pending',
    'Pending alert: BulletSourceFallingBehind is 418 ms',
    { also: [] },
  ],
  'a worker that has just become silent': [
    { stream: { silent: [{ worker: 'h:1', seconds: 6.4 }], reporting: 1 } },
    'pending',
    'No samples from worker h:1 for 6 s; 1 of 2 workers report',
    { alert: undefined, also: [] },
  ],
  'a worker that has been silent for a while': [
    { stream: { silent: [{ worker: 'h:1', seconds: 59.9 }], reporting: 1 } },
    'pending',
    'No samples from worker h:1 for 50 s; 1 of 2 workers report',
  ],
  'two silent workers': [
    {
      stream: {
        silent: [
          { worker: 'h:2', seconds: 17 },
          { worker: 'h:1', seconds: 6 },
        ],
        reporting: 1,
      },
    },
    'pending',
    'No samples from 2 workers. The longest silent: h:2, for 10 s; 1 of 3 workers report',
  ],
  'a topology whose workers are all silent': [
    {
      alarms: [latency],
      answers: [current(latency)],
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 0 },
    },
    'firing',
    'No samples from any worker for 6 s',
    { alert: undefined, also: [isNow] },
  ],
  'a silent worker that the registry no longer has': [
    { workers: 1, stream: { silent: [{ worker: 'h:1', seconds: 100 }], reporting: 1 } },
    'ok',
    'OK for more than a day',
  ],
  'a silent worker beside one that the registry no longer has': [
    {
      workers: 2,
      stream: {
        silent: [
          { worker: 'h:1', seconds: 200 },
          { worker: 'h:2', seconds: 6 },
        ],
        reporting: 1,
      },
    },
    'pending',
    'No samples from worker h:2 for 6 s; 1 of 2 workers report',
  ],
  'a silent worker that the registry has lost': [
    {
      lostWorkers: lostWorkers.slice(1),
      workers: 2,
      stream: { silent: [{ worker: 'h:1', seconds: 45 }], reporting: 2 },
    },
    'firing',
    'A worker is lost: h:1 last reported at 15:51, 20 min ago; 2 of 3 workers report',
  ],
  'a silent worker, before the latency that it reported last': [
    {
      alarms: [latency],
      answers: [held(latency)],
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 2 },
    },
    'firing',
    'No samples from worker h:1 for 6 s; 2 of 3 workers report',
    { alert: undefined, also: [was] },
  ],
  'a silent worker, before an alert about that worker alone': [
    {
      alarms: [alarm('BulletGCShareHigh', 'warning', { worker: 'h:1' })],
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 2 },
    },
    'firing',
    'No samples from worker h:1 for 6 s; 2 of 3 workers report',
    { also: ['BulletGCShareHigh is 418 ms'] },
  ],
  'an alert about the silence of a topology, before its silent workers': [
    {
      alarms: [silent],
      answers: [current(silent, away)],
      stream: { silent: [{ worker: 'h:1', seconds: 30 }], reporting: 0 },
    },
    'firing',
    'BulletMetricsCollectorBlind is 418 ms',
    { cause: away, alert: silent },
  ],
  'a silent worker, before a pending alert': [
    {
      alarms: [alarm('BulletSourceFallingBehind', 'critical', { state: 'pending' })],
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 2 },
    },
    'pending',
    'No samples from worker h:1 for 6 s; 2 of 3 workers report',
    { also: ['BulletSourceFallingBehind is 418 ms'] },
  ],
  'a latency that is high now, before a silent worker': [
    {
      alarms: [alarm('BulletGCShareHigh', 'critical', { worker: 'h:1' }), latency],
      answers: [current(latency)],
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 2 },
    },
    'firing',
    isNow,
    { alert: latency, also: ['BulletGCShareHigh is 418 ms'] },
  ],
  'a killed topology, whose workers have just become silent': [
    {
      condition: { state: 'killed', since: ISO(0.1) },
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 0 },
    },
    'ended',
    'Killed at 16:10, 6 s ago',
  ],
  'a collector that does not respond, and a silent worker': [
    {
      lost: { at: now - 5, words: 'the collector does not respond' },
      stream: { silent: [{ worker: 'h:1', seconds: 6 }], reporting: 1 },
    },
    'unknown',
    'Unknown since 16:10:55: the collector does not respond',
  ],
  'a topology without data yet': [
    { empty: true, firstSeen: now - 20, evaluated: false },
    'unknown',
    'First report at 16:10, 20 s ago: no values yet',
  ],
  'rules that are not evaluated': [
    { evaluated: false, startedAt: now - 600 },
    'unknown',
    'Alert rules are not being evaluated',
  ],
  'now, above charts of the past': [
    { alarms: [latency], answers: [current(latency)], range: { from: now - 1320, to: now - 1140 } },
    'firing',
    isNow,
    { aside: 'Charts and map show 15:49 to 15:52, not the present.' },
  ],
  'now, above charts that are paused': [
    { paused: true },
    'ok',
    'OK for more than a day',
    { aside: 'Charts and map are paused.' },
  ],
  'a topology of another collector': [{ federated: true }, 'unknown', 'Monitored by another collector'],
};

for (const [name, [known, kind, text, more = {}]] of Object.entries(situations))
  test(`the first line of ${name}`, () => {
    setZone('utc');
    const answers = new Map(known.answers);
    const state = stateOf({
      alarms: [],
      answerOf: (a) => answers.get(a) ?? null,
      condition: { state: 'running' },
      alive: true,
      evaluated: true,
      firstSeen: now - 9e5,
      startedAt: now - 9e5,
      now,
      ...known,
    });
    assert.deepEqual([state.kind, state.text], [kind, text]);
    for (const [key, value] of Object.entries(more)) assert.deepEqual(state[key], value, key);
  });

// The samples of a worker: `heard` is when they came, ms after the start, and `times` are by the worker's clock.
const start = 1_800_000_000_000;
const sent = (worker, heard, times, values = times.map((t) => t / 1000), every = 2000) => ({
  worker,
  heard_ms: start + heard,
  every_ms: every,
  times_ms: times.map((t) => start + t),
  cpu_cores: values,
  heap_bytes: values.map((v) => v && 100 * v),
  gc_share: values.map((v) => v && v / 100),
});
const after = (...events) =>
  events.reduce(
    (state, [at, ...workers]) => take(state, { now_ms: start + at, read_ms: start + at, workers }),
    noSamples,
  );
const samplesOf = (state, worker) => {
  const { times_ms: times, cpu_cores: values } = state.workers.get(worker);
  return times.map((t, i) => [t - start, values[i]]);
};

test('samples of a worker follow each other, in bounds', () => {
  const state = after([2100, sent('a', 2000, [900, 1900])], [4100, sent('a', 4000, [2900, 3900])], [5100]);
  assert.deepEqual(samplesOf(state, 'a'), [
    [900, 0.9],
    [1900, 1.9],
    [2900, 2.9],
    [3900, 3.9],
  ]);
  assert.equal(state.nowMs, start + 5100);
  let long = noSamples;
  for (let s = 0; s < 1000; s++)
    long = take(long, {
      now_ms: start + 1000 * s,
      read_ms: start + 1000 * s,
      workers: [sent('a', 1000 * s, [1000 * s])],
    });
  const times = long.workers.get('a').times_ms;
  assert.deepEqual([times.length, times[0], times.at(-1)], [300, start + 700_000, start + 999_000]);
  const fast = take(noSamples, {
    now_ms: start,
    read_ms: start,
    workers: [
      sent(
        'a',
        0,
        Array.from({ length: 9000 }, (_, i) => i - 9000),
      ),
    ],
  });
  assert.equal(fast.workers.get('a').times_ms.length, 600);
});

test('samples that come twice or late are each there once, in order', () => {
  const state = after(
    [4100, sent('a', 4000, [900, 1900, 3900])],
    [6100, sent('a', 6000, [1900, 2900, 3900, 4900, 5900], [7, 2.9, 3.9, 4.9, 5.9])],
    [6200, sent('a', 6100, [400, 3400])],
  );
  assert.deepEqual(samplesOf(state, 'a'), [
    [400, 0.4],
    [900, 0.9],
    [1900, 7],
    [2900, 2.9],
    [3400, 3.4],
    [3900, 3.9],
    [4900, 4.9],
    [5900, 5.9],
  ]);
});

test('a worker is silent after two packs that did not come, and forgotten after five minutes', () => {
  const report = [1000, sent('a', 1000, [900]), sent('old', 1000, [900], [1], 10_000), sent('b', 5000, [900])];
  const at = (ms) => silentOf(after(report, [ms]));
  assert.deepEqual(at(5500), { silent: [], reporting: 3 });
  assert.deepEqual(at(5501), { silent: [{ worker: 'a', seconds: 4.501 }], reporting: 2 });
  assert.deepEqual(
    at(21_501).silent.map((s) => s.worker),
    ['a', 'old', 'b'],
  );
  assert.equal(after(report, [301_000]).workers.size, 3);
  assert.deepEqual([...after(report, [301_001]).workers.keys()], ['b']);
  const back = after(report, [8000, sent('a', 8000, [7900])]);
  assert.deepEqual(silentOf(back), { silent: [], reporting: 3 });
});

test('after a reconnect, workers have the time of two packs again', () => {
  const state = { ...after([1000, sent('a', 1000, [900])]), sinceMs: start + 60_000 };
  assert.equal(
    silentOf(take(state, { now_ms: start + 64_000, read_ms: start + 64_000, workers: [] })).silent.length,
    0,
  );
  assert.equal(
    silentOf(take(state, { now_ms: start + 65_000, read_ms: start + 65_000, workers: [] })).silent[0].seconds,
    64,
  );
});

test('a worker that another one replaces stays until it is forgotten, and a new process begins without values', () => {
  const state = after(
    [2000, sent('a', 2000, [900, 1900])],
    [9000, sent('b', 9000, [7900, 8900], [null, 5]), sent('a', 9000, [8000, 8900], [null, 4])],
  );
  assert.deepEqual(silentOf(state), { silent: [], reporting: 2 });
  assert.deepEqual(latest(state, 'cpu_cores'), {
    at: start / 1000 + 8.9,
    count: 2,
    total: 9,
    mean: 4.5,
    of: new Map([
      ['a', 4],
      ['b', 5],
    ]),
  });
  const [times, values] = pointsOf(state.workers.get('a'), 'cpu_cores', {});
  assert.deepEqual(
    times.map((t) => Math.round(10 * (t - start / 1000)) / 10),
    [0.9, 1.9, 8, 8, 8.9],
  );
  assert.deepEqual(values, [0.9, 1.9, null, null, 4], 'nothing is drawn between both');
  assert.equal(latest(after([2000, sent('a', 2000, [1900], [null])]), 'cpu_cores'), null);
  assert.equal(latest(after([2000, sent('a', 2000, [1900])], [9000]), 'cpu_cores'), null, 'a silent one has no value');
});

test('a worker’s clock that is ahead does not bring samples from the future', () => {
  const state = after([2100, sent('a', 2000, [30_900, 31_900]), sent('b', 2000, [900, 1900])]);
  const timesOf = (w) => pointsOf(state.workers.get(w), 'cpu_cores', {})[0].map((t) => Math.round(1000 * t - start));
  assert.deepEqual(
    [timesOf('a'), timesOf('b')],
    [
      [1000, 2000],
      [900, 1900],
    ],
  );
  assert.equal(behind(state), 0.2, 'the oldest of the newest');
  const setBack = after([2000, sent('a', 2000, [900_000])], [4000, sent('a', 4000, [2900, 3900])]);
  assert.deepEqual(samplesOf(setBack, 'a'), [
    [2900, 2.9],
    [3900, 3.9],
  ]);
  assert.equal(behind(noSamples), null);
  assert.equal(behind(after([600_000, sent('a', 600_000, [1000])])), null, 'it was buffered');
});

test('a wide range has means of several samples, and keeps gaps', () => {
  const times = [0, 1, 2, 3, 4, 5, 20, 21].map((s) => 1000 * s);
  const w = after([21_000, sent('a', 21_000, times, [1, 2, 3, 4, null, 6, 7, 9])]).workers.get('a');
  assert.equal(gapOf(w), 3.5);
  const [at, values] = pointsOf(w, 'cpu_cores', { after: start / 1000, width: 2 });
  assert.deepEqual(values, [2, 3.5, null, 6, null, 8]);
  assert.deepEqual(
    at.map((t) => t - start / 1000),
    [1, 2.5, 4, 5, 20, 20.5],
  );
  const [until] = pointsOf(w, 'gc_share', { until: start / 1000 + 1 });
  assert.equal(until.length, 2);
});

test('the stream of a topology is opened, closed, and opened again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const opened = [];
  let changes = 0;
  const connections = [];
  const live = new Live(
    () => changes++,
    (connected) => connections.push(connected),
    (address) => {
      const source = new EventTarget();
      Object.assign(source, { address, readyState: 0, close: () => Object.assign(source, { readyState: 2 }) });
      opened.push(source);
      return source;
    },
  );
  const send = (source, ...event) => {
    const [at, ...workers] = event;
    const data = JSON.stringify({ now_ms: start + at, read_ms: start + at, workers });
    source.dispatchEvent(Object.assign(new Event('samples'), { data }));
  };
  const fail = (source, readyState) => {
    source.readyState = readyState;
    source.dispatchEvent(new Event('error'));
  };
  live.follow('a&b');
  live.follow('a&b');
  assert.deepEqual(
    opened.map((s) => s.address),
    ['api/v1/live?topology=a%26b'],
    'one, below the path of the page',
  );
  assert.equal(live.on, false);
  opened[0].dispatchEvent(new Event('open'));
  send(opened[0], 2000, sent('w', 2000, [1900]));
  assert.deepEqual([live.on, changes, live.state.workers.size], [true, 1, 1]);
  fail(opened[0], 0);
  assert.deepEqual([live.on, changes], [true, 1], 'it connects again by itself');
  assert.deepEqual(connections, [true, false]);
  opened[0].dispatchEvent(new Event('open'));
  send(opened[0], 9000, sent('w', 2000, [1900]));
  assert.deepEqual([live.on, silentOf(live.state).silent], [true, []], 'the collector may have been away');
  send(opened[0], 14_000, { ...sent('w', 14_000, []), times_ms: null });
  assert.deepEqual(silentOf(live.state), { silent: [], reporting: 1 }, 'what came was known already');
  t.mock.timers.tick(5000);
  assert.deepEqual([live.on, opened[0].readyState], [false, 2], 'no event, not even one without news');
  live.follow('a&b');
  assert.equal(opened.length, 2, 'another connection may work');
  opened[1].dispatchEvent(new Event('open'));
  send(opened[1], 19_000, sent('w', 2000, [1900]));
  live.follow(null);
  assert.deepEqual([live.on, opened[1].readyState, live.state.workers.size], [false, 2, 1]);
  send(opened[1], 20_000);
  assert.equal(live.on, false, 'what still comes from a closed stream is nothing');
  live.follow('c');
  assert.deepEqual([opened.length, live.state.workers.size], [3, 0]);
  fail(opened[2], 2); // status 404 or 429
  live.follow('c');
  assert.equal(opened.length, 3, 'a refused stream is not asked for at once');
  live.retry();
  live.follow('c');
  assert.equal(opened.length, 4);
  live.follow('d');
  assert.deepEqual([opened.length, opened[3].readyState], [5, 2]);
});

test('links lead to the alert in Alertmanager and to the topology in Grafana', () => {
  const live = { topology: 'a&b', range: '6h', from: null, to: null };
  const overview = 'https://grafana.example/sub/d/bullet-overview?var-topology=a%26b';
  assert.equal(grafanaLink('https://grafana.example/sub/', live), `${overview}&from=now-6h&to=now`);
  assert.equal(
    grafanaLink('https://grafana.example/sub', { ...live, from: 5, to: 6 }),
    `${overview}&from=5000&to=6000`,
  );
  assert.equal(
    decodeURIComponent(
      alertmanagerLink('https://am.example/am/api/v2/alerts', 'silences/new', { alertname: 'A', topology: 'a "b"' }),
    ),
    'https://am.example/am/#/silences/new?filter={alertname="A", topology="a \\"b\\""}',
  );
});

test('all times are in the zone that the reader chose', () => {
  const at = Date.parse('2026-11-21T23:51:02Z') / 1000;
  setZone('utc');
  assert.deepEqual(
    [clock(at), day(at), whenever(at), fieldOf(at)],
    ['23:51:02', '21 Nov', '2026-11-21 23:51:02', '2026-11-21T23:51:02'],
  );
  assert.equal(moment(fieldTime(fieldOf(at))), at);
  setZone('local');
  assert.equal(moment(fieldTime(fieldOf(at))), at);
  assert.deepEqual([ago(41), ago(119), ago(1234)], ['41 s ago', '1 min 59 s ago', '20 min ago']);
});

test('times and durations in a sentence are written as everywhere on the page', () => {
  const at = Date.parse('2026-11-21T15:51:00Z') / 1000;
  assert.match(
    spoken('busy 97% since 2026-11-21T15:51:00Z (30% before)', at),
    /^busy 97% since \d\d:\d\d \(30% before\)$/,
  );
  assert.match(spoken('since 2026-11-20T15:51:00.000Z', at + 86400), /^since 2026-11-2\d \d\d:\d\d$/);
  assert.equal(spoken('latency of a-5m is 430ms, above 200 ms', at), 'latency of a-5m is 430 ms, above 200 ms');
  assert.equal(spoken('h:6700 waits for 12480 records', at), 'h:6700 waits for 12,480 records');
  assert.equal(spoken('at least 2h 0m 3s behind (1.5s)', at), 'at least 2 h 0 min 3 s behind (1.5 s)');
  assert.equal(zoneOf('UTC', 0), 'UTC');
  assert.equal(zoneOf('Europe/Berlin', -60), 'Europe/Berlin (UTC+1)');
  assert.equal(zoneOf('Asia/Kolkata', -330), 'Asia/Kolkata (UTC+5:30)');
  assert.equal(zoneOf('America/New_York', 300), 'America/New_York (UTC−5)');
});
