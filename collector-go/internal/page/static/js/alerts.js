// Alerts that fire or wait to, each with what changed before it when somebody asks.
import { ask, outdated } from './api.js';
import { clip, el, fill, link } from './dom.js';
import { duration, plain, whenever } from './units.js';

const watchdog = 'BulletMetricsWatchdog';
const most = 50; // alerts shown

/** Alerts shows /api/v1/alerts of a topology. */
export class Alerts {
  constructor(box) {
    this.box = box;
    this.answers = new Map(); // by alert and topology: what why answered
  }

  show(all, topology) {
    const alive = all.some((a) => a.labels.alertname === watchdog && a.state === 'firing');
    const alarms = all.filter((a) => a.labels.alertname !== watchdog);
    const here = alarms.filter((a) => !a.labels.topology || a.labels.topology === topology).sort(bySeverity);
    const elsewhere = alarms.length - here.length;
    fill(this.box,
      ...here.slice(0, most).map((a) => this.card(a)),
      here.length ? null : el('p', { class: 'calm' }, 'No alert fires or is pending for this topology.'),
      here.length > most ? el('p', { class: 'note' }, `${here.length - most} further alerts are not shown; /api/v1/alerts has all.`) : null,
      elsewhere ? el('p', { class: 'note' }, `${elsewhere} of other topologies: choose one above.`) : null,
      el('p', { class: 'note' }, alive ? 'The watchdog fires, as it should: rules are evaluated.' : 'The watchdog does not fire: the rules that come with the program are off (rules.builtin), not evaluated yet, or not evaluated.'));
    for (const button of this.box.querySelectorAll('button[data-key]')) button.onclick = () => this.why(button);
  }

  card(a) {
    const name = a.labels.alertname;
    const key = JSON.stringify([name, a.labels.topology ?? '']);
    const rest = Object.entries(a.labels).filter(([label]) => !['alertname', 'severity', 'topology'].includes(label));
    return el('article', { class: `alert ${a.state === 'firing' ? 'firing' : 'pending'}` },
      el('h3', {}, el('span', { class: 'state' }, a.state), ' ', el('bdi', {}, clip(name, 120)), a.labels.severity ? el('span', { class: 'severity' }, clip(a.labels.severity, 40)) : null),
      el('p', {}, el('bdi', {}, clip(a.annotations.summary ?? '', 500))),
      a.annotations.description ? el('p', {}, el('bdi', {}, clip(a.annotations.description, 1000))) : null,
      el('p', { class: 'note' }, `since ${whenever(Date.parse(a.activeAt) / 1000)}, value ${plain(Number(a.value))}`, ...rest.slice(0, 12).map(([label, value]) => el('bdi', { class: 'label' }, `${label}=${clip(value, 120)}`))),
      el('p', {}, el('button', { type: 'button', 'data-key': key, 'aria-expanded': String(this.answers.has(key)) }, 'Why?'), ' ', a.annotations.runbook_url ? link(a.annotations.runbook_url, 'Runbook: what to do') : null),
      el('div', { class: 'why' }, ...(this.answers.get(key) ?? []).map((n) => n.cloneNode(true))));
  }

  async why(button) {
    const key = button.dataset.key;
    const box = button.closest('.alert').querySelector('.why');
    if (this.answers.delete(key)) {
      button.setAttribute('aria-expanded', 'false');
      box.replaceChildren();
      return;
    }
    const [alert, topology] = JSON.parse(key);
    box.replaceChildren(el('p', { role: 'status' }, 'Looking at what changed before it …'));
    button.setAttribute('aria-expanded', 'true');
    let nodes;
    try {
      nodes = explained(await ask(`why ${key}`, '/api/v1/why', { alert, topology: topology || null }));
    } catch (error) {
      if (outdated(error)) return;
      nodes = [el('p', { class: 'problem', role: 'alert' }, clip(error.message, 500))];
    }
    this.answers.set(key, nodes.map((n) => n.cloneNode(true)));
    (this.box.querySelector(`button[data-key="${CSS.escape(key)}"]`)?.closest('.alert').querySelector('.why') ?? box).replaceChildren(...nodes);
  }

  forget() { this.answers.clear(); }
}

const severities = ['critical', 'page', 'warning', 'info'];
const rank = (a) => (a.state === 'firing' ? 0 : 10) + (severities.indexOf(a.labels.severity) + 1 || 9);
const bySeverity = (a, b) => rank(a) - rank(b) || a.labels.alertname.localeCompare(b.labels.alertname) || JSON.stringify(a.labels).localeCompare(JSON.stringify(b.labels));

/** explained is an answer of /api/v1/why: events, figures that moved, what limited the topology. */
function explained(answer) {
  const list = (title, items) => [el('h4', {}, title), items.length ? el('ul', {}, ...items) : el('p', {}, 'none')];
  return [
    ...list(`Events in the ${duration((Date.parse(answer.at) - Date.parse(answer.since)) / 1000)} before`, answer.events.map((e) => el('li', {}, `${duration(e.seconds_before)} before: `, el('bdi', {}, clip([e.title, e.text].filter(Boolean).join(': '), 600))))),
    ...list('Figures that moved, the earliest first', answer.changes.map(moved)),
    answer.limit ? el('p', {}, el('b', {}, 'Limited by: '), el('bdi', {}, clip(answer.limit, 600))) : null,
    ...answer.notes.map((n) => el('p', { class: 'note' }, clip(n, 600))),
  ].filter(Boolean);
}

function moved(c) {
  const of = Object.entries(c.labels ?? {}).map(([, value]) => clip(value, 80)).join(' ');
  return el('li', {}, el('bdi', {}, `${clip(c.name, 120)}${of ? ` (${of})` : ''}`), `: ${figure(c.before, c.unit)} → ${figure(c.after, c.unit)}, ${duration(c.seconds_before)} before`,
    c.advice ? el('span', { class: 'advice' }, ` ${clip(c.advice, 400)}`) : null);
}

const figure = (value, unit) => (unit === 'seconds' || unit === 's' ? `${plain(value * 1000)} ms` : unit === 'bytes' ? `${plain(value / 2 ** 20)} MiB` : unit === 'ratio' ? `${plain(value * 100)}%` : `${plain(value)}${unit ? ` ${unit}` : ''}`);
