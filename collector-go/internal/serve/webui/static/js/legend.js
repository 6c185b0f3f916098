// The colours of workers, and which workers are shown. All workers beyond the number of colours share one button.
import { clip, el } from './dom.js';
import { byName, largest } from './matrix.js';
import { dash, lineColour, distinct } from './palette.js';

/** Legend keeps the choice while figures come and go. */
export class Legend {
  constructor(element, changed) {
    this.element = element;
    this.changed = changed;
    this.hidden = new Set();
    this.crowdShown = true;
    this.named = [];
    this.crowd = 0;
  }

  /** take chooses the workers to name: all if they are few, otherwise those with the most CPU time. */
  take(cpu) {
    const all = cpu.map((c) => c.metric.worker ?? '').sort(byName);
    const named = all.length <= distinct ? all : (this.still(all) ?? largest(cpu, distinct));
    const crowd = all.length - named.length;
    if (crowd === this.crowd && named.join('\n') === this.named.join('\n')) return;
    this.named = named;
    this.crowd = crowd;
    this.draw();
  }

  // still returns the workers that were named before if all of them are present, so that colours do not change every 10
  // s.
  still(all) {
    return this.named.length === distinct && this.named.every((w) => all.includes(w)) ? this.named : null;
  }

  /** forget is for another topology. */
  forget() {
    this.named = [];
    this.hidden.clear();
    this.crowd = 0;
    this.draw();
  }

  /** looks of a worker's line. */
  looks(worker, crowdColour) {
    const i = this.named.indexOf(worker);
    if (i < 0)
      return { colour: crowdColour, width: 1, dash: [], points: { show: false }, show: this.crowdShown, named: false };
    return { colour: () => lineColour(i), width: 2, dash: dash(i), show: !this.hidden.has(worker), named: true };
  }

  colourOf(worker) {
    const i = this.named.indexOf(worker);
    return i < 0 ? null : lineColour(i);
  }

  draw() {
    const buttons = this.named.map((worker, i) =>
      this.button(el('bdi', {}, clip(worker, 44)), worker, lineColour(i), !this.hidden.has(worker), (shown) => {
        if (shown) this.hidden.delete(worker);
        else this.hidden.add(worker);
      }),
    );
    if (this.crowd)
      buttons.push(
        this.button(
          el('span', {}, `${this.crowd} more (gray)`),
          'all other workers',
          null,
          this.crowdShown,
          (shown) => {
            this.crowdShown = shown;
          },
        ),
      );
    this.element.replaceChildren(...buttons);
  }

  button(words, title, colour, shown, choose) {
    const swatch = el('span', { class: 'swatch', 'aria-hidden': 'true' });
    if (colour) swatch.style.setProperty('background', colour);
    const button = el(
      'button',
      { type: 'button', 'aria-pressed': String(shown), title: clip(title, 300) },
      swatch,
      words,
    );
    button.addEventListener('click', () => {
      const now = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(now));
      choose(now);
      this.changed();
    });
    return button;
  }
}
