// Experiment runs and their reports.
import { clip, el, fill, table } from './dom.js';
import { whenever } from './units.js';

const most = 50;

export function showRuns(box, list) {
  if (!list.runs.length) {
    fill(
      box,
      el(
        'p',
        {},
        'No runs in ',
        el('code', {}, clip(list.dir, 300)),
        '. To create one, use ',
        el('code', {}, 'bullet-metrics tune run EXPERIMENT.yaml'),
        ', or ',
        el('code', {}, 'make demo'),
        ' for a local cluster.',
      ),
    );
    return;
  }
  const rows = list.runs
    .slice(0, most)
    .map((r) => [
      whenever(Date.parse(r.started) / 1000),
      el('bdi', {}, clip(r.title || r.experiment || r.name, 160)),
      verdict(r),
      r.trials ?? '–',
      el('bdi', {}, clip(r.capacity.join('; '), 300) || '–'),
      r.report
        ? el('a', { href: r.report.replace(/^\//, '') }, el('bdi', {}, `Report of ${clip(r.name, 80)}`))
        : 'none yet',
    ]);
  fill(
    box,
    table('Runs', ['Started', 'Run', 'Verdict', 'Trials', 'Capacity', 'Report'], rows),
    ...list.unreadable.slice(0, 10).map((u) => el('p', { class: 'problem' }, `Unreadable: ${clip(u, 400)}`)),
  );
}

const marks = { OK: '✓', FAIL: '✗', INCONCLUSIVE: '?' };
function verdict(run) {
  if (!run.verdict) return 'running or interrupted';
  return el(
    'span',
    { class: `verdict ${run.verdict.toLowerCase().replace(/[^a-z]/g, '')}` },
    `${marks[run.verdict.toUpperCase()] ?? ''} ${clip(run.verdict, 40)}`,
  );
}
