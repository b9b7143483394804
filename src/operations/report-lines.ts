import { csvRows, isUnclosed, separatorOf } from '../wire/csv/read';
import { isPosted, type Posted } from '../wire/api/posted';
import { postedTransaction } from '../domain/transactions/fields';
import { fileLines, type Line, MAX_BYTES } from './file-lines';

/** A report in a file, unchecked, or what is wrong with its line. */
export type ReportLine = { readonly line: number } & Read;

type Read = { readonly posted: Posted } | { readonly problem: string };

/** The first line of a CSV file is unusable; no report has been read. */
class UnusableCsv extends Error {
  override readonly name = 'UnusableCsv';
}

/**
 * Reads the reports of a file: CSV if its name ends in `.csv` or `.csv.gz`, otherwise one JSON object a line. Empty lines are
 * skipped. `onRead` receives the number of bytes of the file that have been read. Raises `UnusableCsv`, `UnreadableFile` and
 * system errors.
 */
export function reportLines(
  path: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<ReportLine> {
  const lines = fileLines(path, onRead);
  return /\.csv(\.gz)?$/i.test(path) ? csvLines(lines) : jsonLines(lines);
}

async function* jsonLines(lines: AsyncIterable<Line>): AsyncGenerator<ReportLine> {
  for await (const read of lines) {
    const { line, text } = read;
    if (text === undefined) yield { line, problem: read.problem };
    else if (text.trim() !== '') yield { line, ...jsonIn(text) };
  }
}

function jsonIn(text: string): Read {
  let posted: unknown;
  try {
    posted = JSON.parse(text);
  } catch {
    // Below.
  }
  return isPosted(posted) ? { posted } : { problem: 'expected a JSON object' };
}

const FIELDS = Object.keys(postedTransaction.fields);
const REQUIRED = Object.entries(postedTransaction.fields).flatMap(([name, field]) =>
  'required' in field ? [name] : [],
);

async function* csvLines(lines: AsyncIterable<Line>): AsyncGenerator<ReportLine> {
  let header: Header | undefined;
  for await (const row of rowsOf(lines)) {
    if (header === undefined) {
      if (row.text === undefined) throw new UnusableCsv(`the first line: ${row.problem}`);
      header = headerIn(row.text);
    } else if (row.text === undefined) yield { line: row.line, problem: row.problem };
    else
      for (const { cells } of csvRows(`${row.text}\n`, header.separator))
        yield { line: row.line, ...cellsIn(cells, header) };
  }
}

/** The name of the field in each column. */
interface Header {
  readonly columns: readonly string[];
  readonly separator: string;
}

function headerIn(text: string): Header {
  const separator = separatorOf(text);
  const [row] = csvRows(text);
  const columns = (row?.cells ?? []).map((cell) => {
    const name = cell.trim();
    return FIELDS.find((field) => field.toLowerCase() === name.toLowerCase()) ?? name;
  });
  const unknown = columns.filter((name) => !FIELDS.includes(name));
  const missing = REQUIRED.filter((name) => !columns.includes(name));
  if (unknown.length > 0)
    throw new UnusableCsv(
      `unknown columns in the first line: ${unknown.join(', ')}: expected some of ${FIELDS.join(', ')}`,
    );
  if (missing.length > 0)
    throw new UnusableCsv(
      `missing columns in the first line: expected at least ${REQUIRED.join(', ')}, missing ${missing.join(', ')}`,
    );
  const repeated = columns.find((name, at) => columns.indexOf(name) !== at);
  if (repeated !== undefined) throw new UnusableCsv(`the first line has the column ${repeated} twice`);
  return { columns, separator };
}

function cellsIn(cells: readonly string[], { columns }: Header): Read {
  if (cells.length !== columns.length)
    return { problem: `${cells.length} columns: expected ${columns.length}, as in the first line` };
  return { posted: Object.fromEntries(columns.map((name, at) => [name, cells[at]])) };
}

/** A row may extend over several lines; `line` is the first one. */
type Row = { readonly line: number } & (
  { readonly text: string } | { readonly text: undefined; readonly problem: string }
);

/** Puts lines together to rows: those that end within a quoted cell continue in the next one. */
async function* rowsOf(lines: AsyncIterable<Line>): AsyncGenerator<Row> {
  let separator: string | undefined;
  let open: { readonly line: number; text: string } | undefined;
  let last = 0;
  for await (const read of lines) {
    const { line, text } = read;
    last = line;
    if (text === undefined) {
      yield { line: open?.line ?? line, text, problem: read.problem };
      open = undefined;
      continue;
    }
    separator ??= separatorOf(text);
    const row = open === undefined ? { line, text } : { line: open.line, text: `${open.text}\n${text}` };
    // Only a line with a quote can open or close a quoted cell.
    const isOpen = text.includes('"') ? isUnclosed(row.text, separator) : open !== undefined;
    open = undefined;
    if (!isOpen) yield row;
    else if (row.text.length > MAX_BYTES) yield unclosed(row.line, line);
    else open = row;
  }
  if (open !== undefined) yield unclosed(open.line, last);
}

function unclosed(first: number, last: number): Row {
  const lines = first === last ? '' : `; lines ${first} to ${last} were not read`;
  return { line: first, text: undefined, problem: `a quoted cell is not closed${lines}` };
}
