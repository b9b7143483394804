import { pacer } from '../../runtime/concurrency';
import { NotParsable } from '../bytes';

/** A row of a CSV text, and its first line, from 1. */
export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * The rows of a CSV text (RFC 4180): cells in double quotes may contain the separator, line ends, and doubled quotes.
 * Empty lines are skipped. By default the separator is that of the first line.
 */
export function* csvRows(text: string, separator = separatorOf(text)): Generator<CsvRow> {
  for (const row of allRows(text, separator)) if (isFilled(row)) yield row;
}

/**
 * The same, at most this many rows, and yields to the event loop. Drops a byte order mark. Raises `NotParsable` for
 * more of them, and for a row of more than 1,000 cells or a cell of more than 100,000 characters.
 */
export async function csvRowsInSlices(marked: string, most: number): Promise<readonly CsvRow[]> {
  const text = marked.replace(/^\ufeff/, '');
  const found: CsvRow[] = [];
  const pace = pacer();
  for (const row of allRows(text, separatorOf(text), MOST_CELLS, MOST_CHARACTERS)) {
    await pace();
    if (!isFilled(row)) continue;
    if (found.length === most) throw new NotParsable(`more than ${most} lines: expected at most ${most}`);
    found.push(row);
  }
  return found;
}

/** Cells of a row of a posted text, and characters of a cell. */
const MOST_CELLS = 1000;
const MOST_CHARACTERS = 100_000;

function isFilled({ cells }: CsvRow): boolean {
  return cells.some((cell) => cell !== '');
}

/** Empty rows too. */
function* allRows(
  text: string,
  separator: string,
  mostCells = Infinity,
  mostCharacters = Infinity,
): Generator<CsvRow> {
  let line = 1;
  let row: { line: number; cells: string[] } = { line, cells: [] };
  for (let at = 0; at < text.length;) {
    const { cell, end } =
      text[at] === '"' ? quoted(text, at, separator, mostCharacters) : plain(text, at, separator);
    if (cell.length > mostCharacters)
      throw new NotParsable(`line ${row.line} has a cell of more than ${mostCharacters} characters`);
    if (row.cells.length === mostCells)
      throw new NotParsable(`line ${row.line} has more than ${mostCells} cells`);
    row.cells.push(cell);
    for (const character of text.slice(at, end)) if (character === '\n') line += 1;
    at = end;
    if (text[at] === separator) {
      at += 1;
      if (at === text.length) row.cells.push('');
      continue;
    }
    if (text[at] === '\r') at += 1;
    if (text[at] === '\n') at += 1;
    line += 1;
    yield row;
    row = { line, cells: [] };
  }
  if (row.cells.length > 0) yield row;
}

/** Whether the text ends within a cell in double quotes. */
export function isUnclosed(text: string, separator: string): boolean {
  for (let at = 0; at < text.length;) {
    const { end, isOpen } = text[at] === '"' ? quoted(text, at, separator) : plain(text, at, separator);
    if (isOpen) return true;
    at = end + 1;
  }
  return false;
}

export const CSV_SEPARATORS = [',', ';', '\t'] as const;

/** The most frequent separator in the first line; of several, the first in the list. */
export function separatorOf(text: string): string {
  const line = text.slice(0, text.search(/[\r\n]|$/));
  const counts = CSV_SEPARATORS.map((separator) => [separator, line.split(separator).length] as const);
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

/** A cell, and the position after it. */
interface ReadCell {
  readonly cell: string;
  readonly end: number;
  /** It is in quotes and not closed. */
  readonly isOpen: boolean;
}

/**
 * Text between the closing quote and the next separator belongs to the cell: `"a"b` is `ab`. An unclosed cell extends
 * to the end of the text.
 */
function quoted(text: string, start: number, separator: string, most = Infinity): ReadCell {
  let close = text.indexOf('"', start + 1);
  while (close !== -1 && close - start <= most && text[close + 1] === '"')
    close = text.indexOf('"', close + 2);
  const isOpen = close === -1;
  if ((isOpen ? text.length : close) - start > most)
    throw new NotParsable(`a cell has more than ${most} characters`);
  if (isOpen) close = text.length;
  const inside = text.slice(start + 1, close).replaceAll('""', '"');
  const { cell: behind, end } = plain(text, close + 1, separator);
  return { cell: inside + behind, end: Math.min(end, text.length), isOpen };
}

function plain(text: string, start: number, separator: string): ReadCell {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1;
  return { cell: text.slice(start, end), end, isOpen: false };
}

/** Between columns, between values of one cell, inside one such value (`docs/decisions.md#p16`). */
export type CsvSeparators = readonly [column: string, value: string, part: string];

export type CsvCell = string | number | undefined;

/**
 * Returns a function that writes a row as a line with its line end: every cell is embraced, embraces inside are doubled
 * (`docs/decisions.md#x26`). The bytes are those of csv-stringify (`docs/adr/0012-csv-by-ourselves.md`).
 */
export function csvLines(
  [delimiter]: CsvSeparators | readonly [column: string],
  embrace: string,
): (cells: readonly CsvCell[]) => string {
  const doubled = embrace + embrace;
  const between = embrace + delimiter + embrace;
  // As a replacement text, `$` would be special.
  const inside = (cell: CsvCell = ''): string => {
    const text = String(cell);
    return text.includes(embrace) ? text.replaceAll(embrace, () => doubled) : text;
  };
  return (cells) => `${embrace}${cells.map(inside).join(between)}${embrace}\r\n`;
}
