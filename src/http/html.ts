/** A piece of a page, written as it is. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a page is made of; undefined and false are nothing. */
export type Piece = Html | string | number | false | undefined | readonly Piece[];

/** Makes a piece of a page; what is inserted is escaped, in text and in quoted attributes, unless it is one itself. */
export function markup(fixed: TemplateStringsArray, ...inserted: readonly Piece[]): Html {
  return new Html(fixed.map((text, at) => text + textOf(inserted[at])).join(''));
}

function textOf(piece: Piece): string {
  if (piece === undefined || piece === false) return '';
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(textOf).join('');
  return String(piece).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The addresses of what a document needs. */
interface DocumentFiles {
  readonly title: string;
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
}

/** A whole document of HTML. */
export function documentText({ title, styles, scripts }: DocumentFiles, body: Html): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Affilog</title>
<link rel="icon" href="data:,">
${styles.map((file) => markup`<link rel="stylesheet" href="${file}">\n`)}
${scripts.map((file) => markup`<script defer src="${file}"></script>\n`)}
</head>
<body>${body}</body>
</html>
`.text;
}

/** A table; where it is narrow, each row is a list. `isNumeric`: by the number of the column. */
export function gridPiece(
  columns: readonly string[],
  rows: readonly (readonly Piece[])[],
  isNumeric: (at: number) => boolean = () => false,
): Html {
  const numeric = columns.map((_, at) => isNumeric(at) && new Html('class="number"'));
  const head = (column: string, at: number) => markup`<th scope="col" ${numeric[at]}>${column}</th>`;
  const cell = (one: Piece, at: number) =>
    markup`<td ${numeric[at]} data-label="${columns[at]}"><div>${one}</div></td>`;
  return markup`<div class="scrolled" tabindex="0"><table>
<thead><tr>${columns.map(head)}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${row.map(cell)}</tr>\n`)}</tbody>
</table></div>`;
}

/** What a person fills in. Without `choices` it is a line of text. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Several lines. */
  readonly isLong?: true;
  readonly isRequired?: true;
}

export function fieldPiece({ name, label, value, choices, isLong, isRequired }: FormField): Html {
  const attributes = markup`name="${name}" ${isRequired === true && new Html('required')}`;
  const option = ([one, text]: readonly [string, string]) =>
    markup`<option value="${one}" ${one === value && new Html('selected')}>${text}</option>`;
  const field =
    choices !== undefined
      ? markup`<select ${attributes}>${choices.map(option)}</select>`
      : isLong === true
        ? markup`<textarea ${attributes} rows="4" spellcheck="false">${value}</textarea>`
        : markup`<input ${attributes} value="${value}" autocomplete="off" spellcheck="false">`;
  return markup`<label ${isLong === true && new Html('class="long"')}>${label} ${field}</label>`;
}

/** Of all pages: the console has no other, `/docs` has some more. */
export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f5f6f8; --text: #1c2128; --quiet: #5d6673; --line: #d9dee5; --edge: #858f9d; --accent: #1a5fb4;
  --good: #1b6e3c; --bad: #b3261e; --waiting: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --raised: #1d2127; --text: #e3e6ea; --quiet: #9aa3af; --line: #323843; --edge: #6f7987; --accent: #82b1f5;
    --good: #6fcf97; --bad: #ff8a80; --waiting: #e3b341;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  display: grid; grid-template: auto 1fr / 13rem minmax(0, 1fr); min-height: 100vh;
}
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main:focus { outline: 0; }
.skip { position: absolute; left: -99rem; padding: 0.5rem 1rem; background: var(--accent); color: var(--ground); }
.skip:focus { left: 0.5rem; top: 0.5rem; z-index: 1; }
header {
  grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1.25rem; padding: 0.6rem 1.25rem;
  background: var(--raised); border-bottom: 1px solid var(--line);
}
header [role='search'] { flex: 1; max-width: 24rem; margin: 0 auto 0 4rem; }
.brand { font-weight: 650; color: var(--text); }
nav { padding: 1rem 0; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; }
nav h2 { margin: 1rem 1.25rem 0.25rem; font-size: 0.75rem; font-weight: 600; color: var(--quiet); letter-spacing: 0.03em; }
nav h2:first-child { margin-top: 0; } nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: 0.2rem 1.25rem; color: var(--text); }
nav a:hover, nav a[aria-current] { background: var(--raised); text-decoration: none; }
nav a[aria-current] { box-shadow: inset 3px 0 var(--accent); font-weight: 600; }
main { min-width: 0; max-width: 96rem; padding: 0.75rem 1.5rem 4rem; border-left: 1px solid var(--line); }
main.login { border: 0; grid-column: 1 / -1; width: 100%; max-width: 28rem; margin: 12vh auto 0; }
h1 { font-size: 1.5rem; font-weight: 650; margin: 0.5rem 0 1rem; overflow-wrap: anywhere; }
main h2 { font-size: 1.05rem; font-weight: 650; margin: 2rem 0 0.5rem; overflow-wrap: anywhere; }
section > * + :not(h2) { margin-top: 0.75rem; }
section > details { display: inline-block; margin-right: 0.5rem; vertical-align: top; }
section > details[open] { display: block; }
time { white-space: nowrap; }
.links { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin-bottom: 0; }
.fields { display: flex; flex-wrap: wrap; align-items: end; gap: 0.6rem 0.9rem; }
.fields label { display: grid; gap: 0.15rem; color: var(--quiet); font-size: 0.85rem; }
.asking label:not(.long) { flex: 1 1 7rem; max-width: 13rem; }
.fields .long, .fields p, .login .fields label { flex-basis: 100%; margin: 0; }
input, select, textarea, button, summary { font: inherit; color: var(--text); } input, select { height: 2.2rem; }
input, select, textarea {
  min-width: 0; width: 100%; padding: 0.35rem 0.5rem; background: var(--ground); border: 1px solid var(--edge); border-radius: 4px;
}
textarea { font-family: ui-monospace, monospace; font-size: 0.9rem; resize: vertical; }
button, summary {
  padding: 0.3rem 0.9rem; border: 1px solid var(--accent); border-radius: 4px; background: var(--accent); color: var(--ground);
  cursor: pointer; white-space: nowrap;
}
button:disabled { opacity: 0.5; cursor: default; }
button.plain { background: none; border: 0; color: var(--accent); padding: 0.25rem 0; }
summary { width: fit-content; list-style: none; background: none; color: var(--accent); }
summary::-webkit-details-marker { display: none; }
td summary { padding: 0.05rem 0.6rem; font-size: 0.9rem; }
details .fields { margin: 0.5rem 0; padding: 0.75rem 1rem; max-width: 42rem; border: 1px solid var(--accent); border-radius: 6px; white-space: normal; }
td details .fields { min-width: 16rem; }
.scrolled { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 0.75rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--raised); color: var(--quiet); font-weight: 600; font-size: 0.85rem; white-space: nowrap; }
tr:last-child td { border-bottom: 0; } th.number, td.number { text-align: right; white-space: nowrap; }
td > div { max-width: 24rem; overflow-wrap: break-word; } td > div:has(> a) { max-width: 14rem; } td:last-child > div { max-width: 32rem; overflow-wrap: anywhere; } td:last-child time { white-space: normal; } .id { white-space: nowrap; }
progress { width: 8rem; height: 0.6rem; accent-color: var(--accent); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 0.75rem 1.5rem; margin: 0; }
dt, figcaption { color: var(--quiet); font-size: 0.85rem; } dd { margin: 0; overflow-wrap: anywhere; }
pre {
  margin: 0; padding: 0.75rem 1rem; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; overflow: auto; max-height: 40rem;
  font: 0.85rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
figure { margin: 0 0 1rem; }
.said { padding: 0.5rem 0.9rem; border-left: 3px solid; background: var(--raised); overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .waiting { color: var(--waiting); } .quiet { color: var(--quiet); }
@media (max-width: 800px) {
  body { display: block; }
  header { padding: 0.6rem 1rem; }
  header [role='search'] { order: 1; flex-basis: 100%; max-width: none; margin: 0; }
  header form:last-child { margin-left: auto; }
  nav { display: flex; position: static; overflow-x: auto; padding: 0; border-bottom: 1px solid var(--line); }
  nav h2 { display: none; } nav ul { display: flex; }
  nav a { padding: 0.5rem 0.75rem; white-space: nowrap; } nav a[aria-current] { box-shadow: inset 0 -3px var(--accent); }
  main { padding: 0.5rem 1rem 3rem; border: 0; }
  .asking label:not(.long) { flex-basis: 100%; max-width: none; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); } tr:last-child { border-bottom: 0; }
  td, td.number { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: 0.5rem; padding: 0.15rem 0.75rem; border: 0; text-align: left; }
  td > div { max-width: none; white-space: normal; overflow-wrap: anywhere; }
  dl { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  td::before { content: attr(data-label); color: var(--quiet); font-size: 0.85rem; overflow-wrap: anywhere; }
  td details .fields { min-width: 0; }
}
`;
