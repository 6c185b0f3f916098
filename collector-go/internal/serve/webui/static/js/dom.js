// Elements of the page. Text from the wire only ever becomes a text node.

/**
 * el makes an element: attributes are set as they are (false and null leave one out), `on` has listeners, children are
 * texts or nodes.
 */
export function el(tag, attributes = {}, ...children) {
  const { on = {}, ...rest } = attributes;
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(rest)) {
    if (value !== false && value != null) element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(
    ...children.filter((child) => child != null).map((child) => (child instanceof Node ? child : text(child))),
  );
  return element;
}

/** text is a node of text; a text longer than anybody reads is cut. */
export function text(value) {
  return document.createTextNode(clip(String(value), 2000));
}

/** fill replaces what is in an element, unless it would be the same: a reader's place and focus stay. */
export function fill(element, ...children) {
  const fresh = document.createDocumentFragment();
  fresh.append(...children.filter((child) => child != null));
  const box = el('div');
  box.append(fresh);
  if (same(box, element)) return;
  element.replaceChildren(...box.childNodes);
}

const same = (a, b) =>
  a.childNodes.length === b.childNodes.length &&
  [...a.childNodes].every((child, i) => child.isEqualNode(b.childNodes[i]));

/**
 * link is an anchor where the address is one of the web, else its text alone: an address from the wire may be anything.
 */
export function link(address, words, attributes = {}) {
  return webAddress(address)
    ? el('a', { href: address, rel: 'noreferrer noopener', ...attributes }, words)
    : el('span', {}, words);
}

/** webAddress reports whether an address leads to a page, and not to a script or a file. */
export function webAddress(address) {
  try {
    return ['http:', 'https:'].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** clip shortens a text to so many characters. */
export function clip(value, most) {
  return value.length > most ? `${value.slice(0, most - 1)}…` : value;
}

/** table is one with a caption for those who cannot see it and a head. */
export function table(caption, head, rows) {
  return el(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    el(
      'table',
      {},
      el('caption', { class: 'unseen' }, caption),
      el('thead', {}, el('tr', {}, ...head.map((h) => el('th', { scope: 'col' }, h)))),
      el('tbody', {}, ...rows.map((cells) => el('tr', {}, ...cells.map((cell) => el('td', {}, cell))))),
    ),
  );
}
