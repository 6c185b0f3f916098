// Firing and pending alerts with their diagnosis. The diagnosis of a firing critical alert is open; others open on a
// click.
import { ask, outdated } from './api.js';
import { explained, isMoving } from './diagnosis.js';
import { clip, el, fill } from './dom.js';
import { alarmsOf, isEvaluated, watchdog } from './order.js';
import { linksOf, textOf } from './sentence.js';
import { plain, spoken, whenever } from './units.js';

const most = 50; // alerts shown
const mostOpen = 3; // diagnoses that are asked for without a click
// ms: the diagnosis of a new alert may still change, and later the measurements may end that raised it
const askedAgainAfter = (answer, now) => (answer && isMoving(answer, now) ? 30_000 : 60_000);

/** Alerts shows /api/v1/alerts of a topology. `host` has linkTo(part) and diagnosed(), called when a diagnosis came. */
export class Alerts {
  constructor(box, host) {
    this.box = box;
    this.host = host;
    this.answers = new Map(); // by alert: {answer, problem, at} of /api/v1/why
    this.chosen = new Map(); // by alert: whether somebody opened or closed it
    this.alarms = [];
    this.alertmanagers = [];
    this.evaluated = false;
  }

  /** show draws the alerts and requests the diagnoses that are open. */
  show(all, topology) {
    this.topology = topology;
    this.lost = false;
    this.evaluated = isEvaluated(all);
    this.alarms = alarmsOf(all, topology);
    this.others = all.filter((a) => a.labels.alertname !== watchdog).length - this.alarms.length;
    this.draw();
    return Promise.all(
      this.alarms
        .filter((a, i) => i < mostOpen || this.isOpen(a)) // the first lines need the evidence of the worst alerts
        .slice(0, most)
        .map((a) => this.diagnose(a)),
    );
  }

  /** markUnreachable is called when the collector does not respond. It is then unknown whether rules are evaluated. */
  markUnreachable() {
    this.lost = true;
    this.draw();
  }

  draw() {
    const here = this.alarms;
    fill(
      this.box,
      ...here.slice(0, most).map((a) => this.card(a)),
      here.length > most ? el('p', { class: 'note' }, `${here.length - most} more alerts: see /api/v1/alerts.`) : null,
      el(
        'p',
        { class: 'note' },
        [
          here.length ? '' : 'No alerts for this topology.',
          this.others ? `${this.others} alert${this.others === 1 ? '' : 's'} in other topologies.` : '',
          this.lost
            ? 'Unknown: the collector does not respond.'
            : this.evaluated
              ? 'Alert rules are being evaluated.'
              : 'The watchdog alert does not fire: the built-in alert rules are disabled (rules.builtin), or are not being evaluated.',
        ]
          .filter(Boolean)
          .join(' '),
      ),
    );
    for (const button of this.box.querySelectorAll('button[data-key]'))
      button.onclick = () => this.toggle(button.dataset.key);
  }

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
      el('p', {}, el('bdi', {}, clip(spoken(textOf(a, this.answerOf(a)?.alert, Date.now() / 1000)), 500))),
      el('div', { class: 'why' }, ...this.explanation(a)),
      el(
        'p',
        {},
        el('button', { type: 'button', 'data-key': key, 'aria-expanded': String(this.isOpen(a)) }, 'Why?'),
        ...linksOf(a, this.alertmanagers).flatMap((one) => [' ', one]),
      ),
      a.annotations.description ? el('p', {}, el('bdi', {}, clip(spoken(a.annotations.description), 1000))) : null,
      el(
        'p',
        { class: 'note' },
        `Since ${whenever(Date.parse(a.activeAt) / 1000)}`,
        /\d/.test(a.annotations.summary ?? '') ? null : `, value ${plain(Number(a.value))}`,
        ...rest.slice(0, 12).map(([label, value]) => el('bdi', { class: 'label' }, `${label}=${clip(value, 120)}`)),
      ),
    );
  }

  explanation(a) {
    if (!this.isOpen(a)) return [];
    const known = this.answers.get(keyOf(a));
    if (!known) return [el('p', { role: 'status' }, 'Searching for changes before the alert …')];
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
    const now = Date.now();
    if (known && known.activeAt === a.activeAt && now - known.at < askedAgainAfter(known.answer, now)) return;
    const fresh = { at: now, activeAt: a.activeAt };
    try {
      fresh.answer = await ask(`why ${key}`, '/api/v1/why', {
        alert: a.labels.alertname,
        topology: a.labels.topology || null,
      });
    } catch (error) {
      if (outdated(error)) return;
      fresh.problem = error.message;
    }
    this.answers.set(key, fresh);
    this.draw();
    this.host.diagnosed();
  }

  /** answerOf returns the diagnosis of an alert, or null before it has arrived. */
  answerOf(a) {
    const known = this.answers.get(keyOf(a));
    return (known?.activeAt === a.activeAt && known?.answer) || null;
  }

  forget() {
    this.answers.clear();
    this.chosen.clear();
    this.alarms = [];
  }
}

const keyOf = (a) => JSON.stringify([a.labels.alertname, a.labels.topology ?? '']);
