// The editor of Ask: CodeMirror in the place of the textarea, which stays in the form and holds the text. It stands in
// a shadow root, where its style sheets need no inline style: the content policy is that of every page.
import {autocompletion, completionKeymap} from '@codemirror/autocomplete';
import {defaultKeymap, history, historyKeymap} from '@codemirror/commands';
import {PostgreSQL, schemaCompletionSource, sql} from '@codemirror/lang-sql';
import {bracketMatching, HighlightStyle, syntaxHighlighting} from '@codemirror/language';
import {lintKeymap, setDiagnostics} from '@codemirror/lint';
import {EditorState} from '@codemirror/state';
import {EditorView, keymap, placeholder} from '@codemirror/view';
import {tags} from '@lezer/highlight';

// tablesIn reads the schema panel: what the analyst may see, as the server has written it.
const tablesIn = (panel) => [...panel.querySelectorAll('[data-table]')].map((table) => ({
  name: table.dataset.table,
  apply: table.dataset.sql,
  columns: [...table.querySelectorAll('[data-column]')].map((column) => ({
    label: column.dataset.column, apply: column.dataset.insert, type: 'property',
    detail: column.dataset.type, info: column.dataset.info || undefined,
  })),
}));

// schemaOf is what lang-sql completes behind a table's name or alias.
const schemaOf = (tables) => Object.fromEntries(tables.map((t) => [t.name, t.columns]));

// keywords are those of questions; the dialect has hundreds that nobody asks with.
const keywords = ['SELECT', 'FROM', 'WHERE', 'GROUP BY', 'HAVING', 'ORDER BY', 'LIMIT', 'JOIN', 'LEFT JOIN', 'ON',
  'USING', 'AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'LIKE', 'IS NULL', 'CASE', 'WHEN', 'THEN', 'ELSE', 'END', 'AS', 'ASC',
  'DESC', 'DISTINCT', 'WITH', 'OVER', 'PARTITION BY', 'FILTER', 'UNION ALL', 'DATE', 'INTERVAL', 'true', 'false',
].map((label) => ({label, type: 'keyword', boost: -1}));

const functions = ['count', 'sum', 'avg', 'min', 'max', 'stddev', 'variance', 'corr', 'percentile_cont', 'round',
  'date_trunc', 'extract', 'coalesce', 'width_bucket', 'rank', 'greatest', 'least',
].map((label) => ({label, apply: `${label}(`, type: 'function', detail: '()'}));

// words completes tables, and the columns of those that the question names; of all where it names none.
const words = (tables) => (context) => {
  const word = context.matchBefore(/[\p{L}_][\p{L}\d_$]*/u);
  if (!word && !context.explicit || context.matchBefore(/\.\s*"?[\p{L}\d_$]*/u)) return null;
  const text = context.state.doc.toString().toLowerCase();
  const named = tables.filter((t) => text.includes(t.name.toLowerCase()));
  const seen = new Map();
  for (const table of named.length ? named : tables) {
    for (const column of table.columns) {
      const {detail} = column;
      if (!seen.has(column.label)) seen.set(column.label, {...column, detail: `${detail} · ${table.name}`, boost: 1});
    }
  }
  const names = tables.map((t) => ({label: t.name, apply: t.apply, type: 'class', detail: 'table'}));
  return {from: word ? word.from : context.pos, options: [...seen.values(), ...names, ...functions, ...keywords], validFor: /^[\p{L}\d_$]*$/u};
};

const colours = HighlightStyle.define([
  {tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], color: 'var(--keyword)', fontWeight: '600'},
  {tag: [tags.string, tags.special(tags.string)], color: 'var(--string)'},
  {tag: tags.number, color: 'var(--number)'},
  {tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--soft)', fontStyle: 'italic'},
  {tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--accent)'},
]);

const look = EditorView.theme({
  '&': {fontSize: '.95rem', backgroundColor: 'var(--card)', color: 'var(--text)', border: '1px solid var(--edge)',
    borderRadius: '10px', minHeight: '9.5rem', maxHeight: '60vh'},
  '&.cm-focused': {outline: 'none'}, // the host shows it
  '.cm-scroller': {fontFamily: 'ui-monospace, monospace', lineHeight: '1.55', overflow: 'auto', minHeight: '9.4rem'},
  '.cm-content': {padding: '.8rem 0', caretColor: 'var(--text)'},
  '.cm-line': {padding: '0 .9rem'},
  '.cm-placeholder': {color: 'var(--soft)'},
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {backgroundColor: 'var(--tint)'},
  '.cm-lintRange-error': {backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)',
    textUnderlineOffset: '.25em'},
  '.cm-tooltip': {backgroundColor: 'var(--card)', color: 'var(--text)', border: '1px solid var(--edge)',
    borderRadius: '6px', maxWidth: 'min(90vw, 30rem)'},
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {fontFamily: 'ui-monospace, monospace', maxWidth: '90vw'},
  '.cm-tooltip-autocomplete ul li[aria-selected]': {backgroundColor: 'var(--accent)', color: 'var(--on-accent)'},
  '.cm-completionIcon': {display: 'none'},
  '.cm-completionDetail': {color: 'inherit', opacity: '.85', fontStyle: 'normal'},
  '.cm-completionInfo': {fontFamily: 'system-ui, sans-serif', whiteSpace: 'pre-line'},
  '.cm-diagnostic': {borderLeft: '4px solid var(--bad)', fontFamily: 'system-ui, sans-serif', whiteSpace: 'pre-line'},
  '.cm-panels': {backgroundColor: 'var(--ground)', color: 'var(--text)'},
});

// refusalIn is the error that a card shows, at its place in the text; the server counts characters from 1.
const refusalIn = (card, text) => {
  const refusal = card.querySelector('[data-position]');
  if (!refusal) return [];
  const characters = [...text];
  const at = Number(refusal.dataset.position) - 1;
  if (!(at >= 0 && at <= characters.length)) return [];
  const from = characters.slice(0, at).join('').length;
  const token = /^(?:[\p{L}\d_$.]+|"[^"]*"|'[^']*'|\S)/u.exec(text.slice(from));
  return [{
    from: token ? from : Math.max(0, from - 1), to: from + (token ? token[0].length : 0), severity: 'error',
    message: [...refusal.querySelectorAll('[data-say]')].map((e) => e.textContent.trim()).join('\n'),
  }];
};

const begin = (area) => {
  const label = document.querySelector(`label[for=${area.id}]`);
  const panel = document.getElementById('schema');
  const tables = panel ? tablesIn(panel) : [];
  const host = document.createElement('div');
  host.id = 'editor';
  area.after(host);
  const focused = document.activeElement === area || document.activeElement === document.body;
  const complete = [
    words(tables),
    schemaCompletionSource({dialect: PostgreSQL, schema: schemaOf(tables)}),
  ];
  const write = (update) => {
    if (!update.docChanged) return;
    area.value = update.state.doc.toString();
    area.dispatchEvent(new Event('input', {bubbles: true}));
  };
  const view = new EditorView({
    parent: host.attachShadow({mode: 'open'}),
    root: host.shadowRoot,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        keymap.of([{key: 'Mod-Enter', run: () => true}]), // the form asks
        history(), bracketMatching(), EditorView.lineWrapping, look, syntaxHighlighting(colours),
        sql({dialect: PostgreSQL}), placeholder(area.placeholder),
        autocompletion({override: complete, icons: false, maxRenderedOptions: 60}),
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({
          'aria-label': label.textContent, spellcheck: 'false', autocapitalize: 'none', autocorrect: 'off',
        }),
        EditorView.updateListener.of(write),
      ],
    }),
  });
  area.hidden = true;
  area.required = false;
  area.focus = () => view.focus();
  label.addEventListener('click', () => view.focus());
  area.addEventListener('change', () => {
    if (area.value === view.state.doc.toString()) return;
    view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: area.value},
      selection: {anchor: area.value.length}});
  });
  area.addEventListener('insert', (e) => {
    view.dispatch(view.state.replaceSelection(e.detail));
    view.focus();
  });
  for (const id of ['dryrun', 'outcome']) {
    const card = document.getElementById(id);
    const show = () => view.dispatch(setDiagnostics(view.state, refusalIn(card, view.state.doc.toString())));
    new MutationObserver(show).observe(card, {childList: true});
    if (card.querySelector('[data-position]')) show();
  }
  if (focused) view.focus();
};

const area = document.getElementById('sql');
if (area) begin(area);
