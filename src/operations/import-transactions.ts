import { stat } from 'node:fs/promises';
import { MOST, postedTransaction } from '../domain/transactions/transaction-fields';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { VisibleWrites, WaitForReadModels } from '../http/visible-writes';
import { type EventLog } from '../kernel/event-log';
import { FollowedDirectory } from '../network/follower';
import { type Progress, ProgressMeter } from '../projector/progress-meter';
import { type CommandResults, TransactionCommands } from '../services/transactions/commands';
import { isPosted, type Posted } from '../wire/api/posted';
import { csvRows, isUnclosed, separatorOf } from '../wire/csv/rows';
import { fileLines, type Line, MAX_LINE_BYTES } from './text-files';
import { CommandError } from './command-error';

/** `events` are lines. */
export interface ImportProgress extends Progress {
  readonly phase: 'import';
}

export interface TransactionImport {
  /** Called with the line and the cause, in the order of the lines. */
  readonly onRefused: (line: number, message: string) => void;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Stops between two batches. A further import of the file continues. */
  readonly signal?: AbortSignal;
}

/** Numbers of transactions; `known` ones had been reported before. */
export interface Imported {
  readonly created: number;
  readonly known: number;
  readonly refused: number;
}

/**
 * Reports the transactions of a file (`reportLines`) as an operator does. Reports that are repeated do nothing
 * (`docs/decisions.md#t2`), so a file can be imported again. Raises what reading the file raises, and
 * `EngineUnavailable`.
 */
export async function importTransactions(
  log: EventLog,
  path: string,
  { onRefused, onProgress, signal }: TransactionImport,
): Promise<Imported> {
  const ending = new AbortController();
  const follower = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
  try {
    await follower.ready;
    const commands = commandsOver(log, follower);
    const { size } = await stat(path);
    const meter = new ProgressMeter(SYSTEM_CLOCK);
    const counts = { created: 0, known: 0, refused: 0 };
    let read = 0;
    for await (const batch of batchesOf(reportLines(path, (bytes) => (read = bytes)))) {
      signal?.throwIfAborted();
      for (const outcome of await report(commands, batch)) {
        counts[outcome.is] += 1;
        for (const message of outcome.messages) onRefused(outcome.line, message);
      }
      meter.count(batch.length);
      onProgress?.({ phase: 'import', ...meter.at(size === 0 ? 1 : read / size) });
    }
    return counts;
  } finally {
    ending.abort();
    await follower.ended;
  }
}

function commandsOver(log: EventLog, follower: FollowedDirectory): TransactionCommands {
  // Nobody waits for the read models.
  const visible = new VisibleWrites(log, new WaitForReadModels(SYSTEM_CLOCK, async () => true));
  return new TransactionCommands(SYSTEM_CLOCK, log, visible, follower);
}

async function* batchesOf(lines: AsyncIterable<ReportLine>): AsyncGenerator<readonly ReportLine[]> {
  let batch: ReportLine[] = [];
  for await (const line of lines) {
    batch.push(line);
    if (batch.length < MOST) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface ImportOutcome {
  readonly line: number;
  readonly is: keyof Imported;
  readonly messages: readonly string[];
}

const OPERATOR = { kind: 'operator', organisationId: 0 } as const;

/** Reports those lines of a batch that could be read. */
async function report(
  commands: TransactionCommands,
  batch: readonly ReportLine[],
): Promise<readonly ImportOutcome[]> {
  const posted = batch.flatMap((line) => ('posted' in line ? [line.posted] : []));
  const { results } = await commands.report(posted, OPERATOR);
  const next = results[Symbol.iterator]();
  return batch.map((read) => {
    const { line } = read;
    if ('problem' in read) return { line, is: 'refused', messages: [read.problem] };
    return { line, ...outcomeOf(next.next().value) };
  });
}

function outcomeOf(result: CommandResults['results'][number] | undefined): Omit<ImportOutcome, 'line'> {
  if (result === undefined) throw new Error('each item has a result');
  if ('faults' in result)
    return { is: 'refused', messages: result.faults.map(({ code, message }) => `${code} ${message}`) };
  return { is: result.outcome === 'created' ? 'created' : 'known', messages: [] };
}

/** A report in a file, unchecked, or what is wrong with its line. */
type ReportLine = { readonly line: number } & ReadReport;

type ReadReport = { readonly posted: Posted } | { readonly problem: string };

/**
 * Reads the reports of a file: CSV if its name ends in `.csv` or `.csv.gz`, otherwise one JSON object a line. Empty
 * lines are skipped. `onRead` receives the number of bytes of the file that have been read. Raises `CommandError` and
 * system errors.
 */
function reportLines(
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

function jsonIn(text: string): ReadReport {
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
  let header: CsvHeader | undefined;
  for await (const row of rowsOf(lines)) {
    if (header === undefined) {
      if (row.text === undefined) throw new CommandError(`the first line: ${row.problem}`);
      header = headerIn(row.text);
    } else if (row.text === undefined) yield { line: row.line, problem: row.problem };
    else
      for (const { cells } of csvRows(`${row.text}\n`, header.separator))
        yield { line: row.line, ...cellsIn(cells, header) };
  }
}

/** The name of the field in each column. */
interface CsvHeader {
  readonly columns: readonly string[];
  readonly separator: string;
}

function headerIn(text: string): CsvHeader {
  const separator = separatorOf(text);
  const [row] = csvRows(text);
  const columns = (row?.cells ?? []).map((cell) => {
    const name = cell.trim();
    return FIELDS.find((field) => field.toLowerCase() === name.toLowerCase()) ?? name;
  });
  const unknown = columns.filter((name) => !FIELDS.includes(name));
  const missing = REQUIRED.filter((name) => !columns.includes(name));
  if (unknown.length > 0)
    throw new CommandError(
      `unknown columns in the first line: ${unknown.join(', ')}: expected some of ${FIELDS.join(', ')}`,
    );
  if (missing.length > 0)
    throw new CommandError(
      `missing columns in the first line: expected at least ${REQUIRED.join(', ')}, missing ${missing.join(', ')}`,
    );
  const repeated = columns.find((name, at) => columns.indexOf(name) !== at);
  if (repeated !== undefined) throw new CommandError(`the first line has the column ${repeated} twice`);
  return { columns, separator };
}

function cellsIn(cells: readonly string[], { columns }: CsvHeader): ReadReport {
  if (cells.length !== columns.length)
    return { problem: `${cells.length} columns: expected ${columns.length}, as in the first line` };
  return { posted: Object.fromEntries(columns.map((name, at) => [name, cells[at]])) };
}

/** A row may extend over several lines; `line` is the first one. */
type ReportRow = { readonly line: number } & (
  { readonly text: string } | { readonly text: undefined; readonly problem: string }
);

/** Puts lines together to rows: those that end within a quoted cell continue in the next one. */
async function* rowsOf(lines: AsyncIterable<Line>): AsyncGenerator<ReportRow> {
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
    else if (row.text.length > MAX_LINE_BYTES) yield unclosed(row.line, line);
    else open = row;
  }
  if (open !== undefined) yield unclosed(open.line, last);
}

function unclosed(first: number, last: number): ReportRow {
  const lines = first === last ? '' : `; lines ${first} to ${last} were not read`;
  return { line: first, text: undefined, problem: `a quoted cell is not closed${lines}` };
}
