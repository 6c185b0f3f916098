// Elements of the page. Received text always becomes a text node, never HTML.

/**
 * el creates an element. Attributes that are false or null are omitted, `on` has listeners, and children are texts or
 * nodes.
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

/** text creates a text node of at most 2,000 characters. */
export function text(value) {
  return document.createTextNode(clip(String(value), 2000));
}

/** fill replaces an element's children unless they are equal, so that position and focus stay. */
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
 * link creates an anchor for an http or https URL, and otherwise only the text: a received URL may be a script.
 */
export function link(address, words, attributes = {}) {
  return webAddress(address)
    ? el('a', { href: address, rel: 'noreferrer noopener', ...attributes }, words)
    : el('span', {}, words);
}

/** webAddress reports whether a URL is http or https, and not a script or a file. */
export function webAddress(address) {
  try {
    return ['http:', 'https:'].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** clip shortens a text to a number of characters. */
export function clip(value, most) {
  return value.length > most ? `${value.slice(0, most - 1)}…` : value;
}

/** table creates a table with a head, and a caption for screen readers. */
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
