// Alerts that fire or wait to, each with its diagnosis: open for what is critical and fires, behind a click otherwise.
import { ask, outdated } from './api.js';
import { explained, isMoving } from './diagnosis.js';
import { clip, el, fill, link } from './dom.js';
import { alarmsOf, watchdog } from './order.js';
import { plain, spoken, whenever } from './units.js';

const most = 50; // alerts shown
const mostOpen = 3; // diagnoses that are asked for without a click
const askedAgainAfter = 30_000; // ms: while an alert is young its figures still settle

/** Alerts shows /api/v1/alerts of a topology. `host` has linkTo(part) and diagnosed(), called when a diagnosis came. */
export class Alerts {
  constructor(box, host) {
    this.box = box;
    this.host = host;
    this.answers = new Map(); // by alert: {answer, problem, at} of /api/v1/why
    this.chosen = new Map(); // by alert: whether somebody opened or closed it
    this.alarms = [];
    this.judged = false;
  }

  /** show takes all alerts, and asks for what is open. */
  show(all, topology) {
    this.topology = topology;
    this.lost = false;
    this.judged = all.some((a) => a.labels.alertname === watchdog && a.state === 'firing');
    this.alarms = alarmsOf(all, topology);
    this.elsewhere = all.filter((a) => a.labels.alertname !== watchdog).length - this.alarms.length;
    this.draw();
    return Promise.all(
      this.alarms
        .filter((a, i) => i === 0 || this.isOpen(a)) // the first one's evidence is in the page's first line
        .slice(0, most)
        .map((a) => this.diagnose(a)),
    );
  }

  /** lose is for a collector that does not answer: whether rules are evaluated is not known. */
  lose() {
    this.lost = true;
    this.draw();
  }

  draw() {
    const here = this.alarms;
    fill(
      this.box,
      ...here.slice(0, most).map((a) => this.card(a)),
      here.length > most
        ? el('p', { class: 'note' }, `${here.length - most} further alerts are not shown; /api/v1/alerts has all.`)
        : null,
      el(
        'p',
        { class: 'note' },
        [
          here.length ? '' : 'No alert fires or is pending for this topology.',
          this.elsewhere ? `${this.elsewhere} of other topologies.` : '',
          this.lost
            ? 'Not known: the collector does not answer.'
            : this.judged
              ? 'The watchdog fires, as it should: rules are evaluated.'
              : 'The watchdog does not fire: the rules that come with the program are off (rules.builtin), not evaluated yet, or not evaluated.',
        ]
          .filter(Boolean)
          .join(' '),
      ),
    );
    for (const button of this.box.querySelectorAll('button[data-key]'))
      button.onclick = () => this.toggle(button.dataset.key);
  }

  // Of the same name the diagnosis is the same: it is asked for by name and topology.
  isOpen(a) {
    return (
      this.chosen.get(keyOf(a)) ??
      (a.state === 'firing' && a.labels.severity === 'critical' && this.alarms.indexOf(a) < mostOpen)
    );
  }

  card(a) {
    const key = keyOf(a);
    const rest = Object.entries(a.labels).filter(([label]) => !['alertname', 'severity', 'topology'].includes(label));
    return el(
      'article',
      { class: `alert ${a.state === 'firing' ? 'firing' : 'pending'}` },
      el(
        'h3',
        {},
        el('span', { class: 'state' }, a.state),
        ' ',
        el('bdi', {}, clip(a.labels.alertname, 120)),
        a.labels.severity ? el('span', { class: 'severity' }, clip(a.labels.severity, 40)) : null,
      ),
      el('p', {}, el('bdi', {}, clip(spoken(a.annotations.summary ?? ''), 500))),
      el('div', { class: 'why' }, ...this.explanation(a)),
      el(
        'p',
        {},
        el('button', { type: 'button', 'data-key': key, 'aria-expanded': String(this.isOpen(a)) }, 'Why?'),
        ' ',
        a.annotations.runbook_url ? link(a.annotations.runbook_url, 'Runbook: what to do') : null,
      ),
      a.annotations.description ? el('p', {}, el('bdi', {}, clip(spoken(a.annotations.description), 1000))) : null,
      el(
        'p',
        { class: 'note' },
        `since ${whenever(Date.parse(a.activeAt) / 1000)}, value ${plain(Number(a.value))}`,
        ...rest.slice(0, 12).map(([label, value]) => el('bdi', { class: 'label' }, `${label}=${clip(value, 120)}`)),
      ),
    );
  }

  explanation(a) {
    if (!this.isOpen(a)) return [];
    const known = this.answers.get(keyOf(a));
    if (!known) return [el('p', { role: 'status' }, 'Looking at what changed before it …')];
    if (known.problem) return [el('p', { class: 'problem', role: 'alert' }, clip(known.problem, 500))];
    return explained(known.answer, this.host.linkTo);
  }

  toggle(key) {
    const a = this.alarms.find((one) => keyOf(one) === key);
    if (!a) return;
    this.chosen.set(key, !this.isOpen(a));
    this.draw();
    this.box.querySelector(`button[data-key="${CSS.escape(key)}"]`)?.focus();
    if (this.isOpen(a)) this.diagnose(a);
  }

  async diagnose(a) {
    const key = keyOf(a);
    const known = this.answers.get(key);
    if (known && known.activeAt === a.activeAt && (known.done || Date.now() - known.at < askedAgainAfter)) return;
    const fresh = { at: Date.now(), activeAt: a.activeAt };
    try {
      fresh.answer = await ask(`why ${key}`, '/api/v1/why', {
        alert: a.labels.alertname,
        topology: a.labels.topology || null,
      });
      fresh.done = !isMoving(fresh.answer, Date.now());
    } catch (error) {
      if (outdated(error)) return;
      fresh.problem = error.message;
    }
    this.answers.set(key, fresh);
    this.draw();
    this.host.diagnosed();
  }

  /** diagnosis is the answer about the worst alert that has one; null where none is open. */
  get diagnosis() {
    for (const a of this.alarms.slice(0, mostOpen)) {
      const known = this.isOpen(a) ? this.answers.get(keyOf(a)) : null;
      if (known?.answer) return known.answer;
    }
    return null;
  }

  /** evidence is what the diagnosis knows of the first alert itself; null before it came. */
  get evidence() {
    const [first] = this.alarms;
    return (first && this.answers.get(keyOf(first))?.answer?.alert) ?? null;
  }

  forget() {
    this.answers.clear();
    this.chosen.clear();
    this.alarms = [];
  }
}

const keyOf = (a) => JSON.stringify([a.labels.alertname, a.labels.topology ?? '']);
