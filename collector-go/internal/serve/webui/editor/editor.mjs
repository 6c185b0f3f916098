// The PromQL editor: CodeMirror with Prometheus' language support, and completion from the collector's API. `make
// editor` bundles it.
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, insertNewlineAndIndent } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec } from '@codemirror/state';
import { drawSelection, EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { PromQLExtension } from '@prometheus-io/codemirror-promql';
import { HTTPPrometheusClient } from '@prometheus-io/codemirror-promql/dist/esm/client/prometheus.js';

const mostAnswers = 200; // kept for completion

// The colours are CSS variables of the page, so that light and dark mode apply to the editor too.
const looks = EditorView.theme({
  '&': {
    backgroundColor: 'var(--field)',
    border: '1px solid var(--muted)',
    borderRadius: '6px',
    color: 'var(--ink)',
    fontSize: '15px',
  },
  '&.cm-focused': { outline: '3px solid var(--focus)', outlineOffset: '2px' },
  '.cm-scroller': {
    fontFamily: 'ui-monospace, "Liberation Mono", monospace',
    lineHeight: '1.5',
    maxHeight: '40vh',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--ink)', minHeight: '42px', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--shade-2)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--shade-2)', outline: '1px solid var(--muted)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--warm)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--paper)',
    border: '1px solid var(--muted)',
    borderRadius: '4px',
    color: 'var(--ink)',
    maxWidth: 'calc(100vw - 24px)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'ui-monospace, "Liberation Mono", monospace',
    fontSize: '14px',
    maxHeight: '15em',
    maxWidth: 'calc(100vw - 24px)',
    minWidth: 'min(250px, 70vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    overflowX: 'hidden',
    padding: '4px 6px',
    textOverflow: 'ellipsis',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--focus)', color: 'var(--paper)' },
  '.cm-completionMatchedText': { fontWeight: '700', textDecoration: 'none' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-tooltip.cm-completionInfo': { fontSize: '13px', maxWidth: 'min(360px, 90vw)', padding: '6px 9px' },
  '.cm-diagnostic': { borderLeft: '4px solid var(--fail)', padding: '4px 8px' },
  '.cm-lintRange-error, .cm-lintRange-warning, .cm-lintRange-info, .cm-lintRange-hint, .cm-lintRange-active': {
    // no images inside the style, which the page's policy forbids
    backgroundColor: 'transparent',
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--fail) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lintPoint:after': { borderBottomColor: 'var(--fail)' },
});
const colours = HighlightStyle.define([
  { tag: [tags.variableName, tags.constant(tags.variableName)], color: 'var(--ink)' },
  { tag: [tags.function(tags.variableName), tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--link)' },
  { tag: tags.labelName, color: 'var(--wait)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: tags.number, color: 'var(--mark)' },
  { tag: tags.comment, color: 'var(--muted)' },
  { tag: tags.invalid, color: 'var(--fail)' },
]);

/**
 * Editor is in a shadow root with constructed style sheets, because the page's policy forbids inline styles. `submit`
 * is called on Enter.
 */
export class Editor {
  constructor(element, { text, label, hint, submit }) {
    const root = element.attachShadow({ mode: 'open' });
    this.promql = new PromQLExtension();
    const enter = {
      key: 'Enter',
      run: (view) => acceptCompletion(view) || (closeCompletion(view), submit(), true),
      shift: insertNewlineAndIndent,
    };
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          Prec.highest(keymap.of([enter, { key: 'Mod-Enter', run: enter.run }])),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ activateOnTyping: true, interactionDelay: 0, maxRenderedOptions: 100 }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          placeholder(hint),
          syntaxHighlighting(colours),
          looks,
          this.promql.asExtension(),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    if (text !== this.text)
      this.view.dispatch({
        changes: { from: 0, to: this.view.state.doc.length, insert: text },
        selection: { anchor: text.length },
      });
  }

  /** completeFrom restricts completion to the names and values between two times in Unix seconds. */
  completeFrom(start, end) {
    const between = JSON.stringify([start, end]);
    if (between === this.between) return;
    this.between = between;
    // by URL, because the client's own cache returns incomplete lists of labels
    const answers = new Map();
    const fetchFn = async (address) => {
      const url = address.endsWith('/metadata')
        ? address
        : `${address}${address.endsWith('?') ? '' : '&'}${new URLSearchParams({ start, end })}`;
      if (answers.size >= mostAnswers) answers.clear();
      if (!answers.has(url)) answers.set(url, fetch(url));
      try {
        const answer = await answers.get(url);
        if (!answer.ok) answers.delete(url);
        return answer.clone();
      } catch (error) {
        answers.delete(url);
        throw error;
      }
    };
    this.promql.setComplete({ remote: new HTTPPrometheusClient({ httpMethod: 'GET', fetchFn }) });
  }

  focus() {
    this.view.focus();
  }

  /** goTo puts the cursor at a line and column, both counted from 1. */
  goTo(line, column) {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(1, line), doc.lines));
    this.view.dispatch({
      selection: { anchor: Math.min(at.from + Math.max(0, column - 1), at.to) },
      scrollIntoView: true,
    });
    this.focus();
  }
}
