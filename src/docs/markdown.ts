import { Html, markup, type Piece } from '../http/html';

/** Where a link leads; undefined if it leads to nothing that readers have: then its text is left. */
export type LinkTo = (target: string) => string | undefined;

/**
 * The Markdown of `docs/` and of descriptions: headings, paragraphs, lists, tables, fenced code, and within texts
 * code, bold, emphasis, links and anchors. Everything else is text. `deeper`: by how many levels its headings are
 * below those of a document.
 */
export function markdown(text: string, linkTo: LinkTo, deeper = 0): Html {
  return new Html(
    blocksOf(text.split('\n'), linkTo, deeper)
      .map(({ text: one }) => one)
      .join('\n'),
  );
}

/** A text of one paragraph without its element. */
export function inline(text: string, linkTo: LinkTo): Piece {
  return spansOf(text, linkTo);
}

const FENCE = /^```(\w*)\s*$/;
const HEADING = /^(#{1,5}) (.*)$/;
const ITEM = /^( *)(?:[-*]|(\d+)\.) +(.*)$/;
const isBlockStart = (line: string): boolean =>
  FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || line.startsWith('|');

function blocksOf(lines: readonly string[], linkTo: LinkTo, deeper: number): readonly Html[] {
  const blocks: Html[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    const heading = HEADING.exec(line);
    if (FENCE.test(line)) {
      const length = lengthOf(lines.slice(at + 1), (one) => !one.startsWith('```'));
      const code = lines.slice(at + 1, at + 1 + length).join('\n');
      blocks.push(markup`<pre tabindex="0">${code}</pre>`);
      at += length + 2;
    } else if (heading !== null) {
      const [, marks = '', title = ''] = heading;
      const level = new Html(`h${Math.min(6, marks.length + deeper)}`);
      blocks.push(markup`<${level} id="${slugOf(title)}">${spansOf(title, linkTo)}</${level}>`);
      at += 1;
    } else if (line.startsWith('|')) {
      const length = lengthOf(lines.slice(at), (one) => one.startsWith('|'));
      blocks.push(tableOf(lines.slice(at, at + length), linkTo));
      at += length;
    } else if (ITEM.test(line)) {
      const length = lengthOf(lines.slice(at), (one, more) => isOfList(one, lines[at + more + 1]));
      blocks.push(listOf(lines.slice(at, at + length), linkTo, deeper));
      at += length;
    } else if (line.trim() === '') {
      at += 1;
    } else {
      const length = 1 + lengthOf(lines.slice(at + 1), (one) => one.trim() !== '' && !isBlockStart(one));
      blocks.push(markup`<p>${spansOf(lines.slice(at, at + length).join('\n'), linkTo)}</p>`);
      at += length;
    }
  }
  return blocks;
}

/** How many lines there are before the first one that does not continue. */
function lengthOf(lines: readonly string[], continues: (line: string, at: number) => boolean): number {
  const end = lines.findIndex((line, at) => !continues(line, at));
  return end < 0 ? lines.length : end;
}

/** A list ends with a heading, and with an empty line before what is neither an item nor indented. */
function isOfList(line: string, next = ''): boolean {
  if (line.trim() === '') return ITEM.test(next) || /^ {2,}\S/.test(next);
  return !HEADING.test(line) && !line.startsWith('|') && !line.startsWith('```');
}

function listOf(lines: readonly string[], linkTo: LinkTo, deeper: number): Html {
  const [, indent = '', number] = ITEM.exec(lines[0] ?? '') ?? [];
  const items: string[][] = [];
  for (const line of lines) {
    const [, own, , text = ''] = ITEM.exec(line) ?? [];
    if (own === indent) items.push([text]);
    else items.at(-1)?.push(line.replace(new RegExp(`^ {0,${indent.length + 3}}`), ''));
  }
  const inner = (item: readonly string[]): Piece => {
    const nested = lengthOf(item.slice(1), (one) => one.trim() !== '' && !isBlockStart(one)) + 1;
    const rest = blocksOf(item.slice(nested), linkTo, deeper);
    return [spansOf(item.slice(0, nested).join('\n'), linkTo), ...rest];
  };
  const list = new Html(number === undefined ? 'ul' : 'ol');
  return markup`<${list}>${items.map((item) => markup`<li>${inner(item)}</li>\n`)}</${list}>`;
}

function tableOf(lines: readonly string[], linkTo: LinkTo): Html {
  // A bar within a cell is written `\|`.
  const rows = lines.map((line) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/),
  );
  const cells = rows.map((row) => row.map((cell) => spansOf(cell.trim().replaceAll('\\|', '|'), linkTo)));
  const [head = [], , ...body] = cells;
  return markup`<div class="scrolled plain" tabindex="0"><table>
<thead><tr>${head.map((cell) => markup`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${body.map((row) => markup`<tr>${row.map((cell) => markup`<td>${cell}</td>`)}</tr>\n`)}</tbody>
</table></div>`;
}

/** Code, an anchor, a link, bold, emphasis: whatever begins first. */
const SPAN =
  /(`+)(.+?)\1(?!`)|<a id="([\w-]+)"><\/a>|\[((?:`[^`]*`|[^\]`])+)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|(?<!\w)_([^_\s](?:[^_]*[^_\s])?)_(?!\w)/s;

function spansOf(text: string, linkTo: LinkTo): Piece {
  const pieces: Piece[] = [];
  let rest = text;
  for (let found = SPAN.exec(rest); found !== null; found = SPAN.exec(rest)) {
    pieces.push(rest.slice(0, found.index), spanOf(found, linkTo));
    rest = rest.slice(found.index + found[0].length);
  }
  return [...pieces, rest];
}

function spanOf([, , code, anchor, shown, target, bold, emphasis]: RegExpExecArray, linkTo: LinkTo): Piece {
  if (code !== undefined) return markup`<code>${code.trim()}</code>`;
  if (anchor !== undefined) return markup`<a id="${anchor}"></a>`;
  if (bold !== undefined) return markup`<strong>${spansOf(bold, linkTo)}</strong>`;
  if (emphasis !== undefined) return markup`<em>${spansOf(emphasis, linkTo)}</em>`;
  const address = linkTo(target ?? '');
  const inner = spansOf(shown ?? '', linkTo);
  return address === undefined ? inner : markup`<a href="${address}">${inner}</a>`;
}

/** The id of a heading, as GitHub makes it. */
export function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}
