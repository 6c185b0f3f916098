// Colours. Most colour-blind readers can distinguish the lines (after Okabe and Ito) and keep their contrast on light
// and dark; beyond the colours a dash distinguishes them.
const lines = ['#2b7bd6', '#d97706', '#129c78', '#b85ca8', '#8a8f1e', '#3da9c9', '#c44e52', '#7a68c8'];
const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

/** distinct is the number of lines with their own colour; further lines are thin and gray. */
export const distinct = lines.length;

export const lineColour = (i) => lines[i % lines.length];

/** dash returns the dash pattern of a line. Neighbours differ in it, for readers who see no colours. */
export const dash = (i) => dashes[i % dashes.length];

/** theme reads the colours of the current light or dark mode from the style sheet. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    ['ink', 'paper', 'muted', 'rule', 'shade', 'shade-2', 'limit', 'crowd', 'mark', 'cause', 'spark'].map((name) => [
      name,
      style.getPropertyValue(`--${name}`).trim(),
    ]),
  );
}
