import { GrowingBytes, NotParsable } from '../bytes';
import { CSV_SEPARATORS } from './rows';

/** How the cells of a CSV text are told apart: both are characters of ASCII. */
export interface CsvDialect {
  readonly separator: string;
  /** What a cell is in that has separators or line ends; in it the character is doubled. */
  readonly embrace: string;
}

interface CsvCutterOptions extends CsvDialect {
  /** Bytes that a row may have; a larger one is not buffered. */
  readonly maxRow: number;
  /**
   * Called with each row that has anything, without its line end, and its first line, from 1: a view of the
   * chunk if the row is in one.
   */
  readonly onRow: (bytes: Buffer, line: number) => void;
  readonly onOversized: (line: number) => void;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Where the next byte is: `closed` is after the second embrace of a cell. */
type CellPart = 'start' | 'plain' | 'embraced' | 'closed';

/**
 * Cuts the rows out of CSV (RFC 4180) in UTF-8, or another encoding that has ASCII in it, that arrives in chunks. A
 * line ends with LF, CR LF or CR. Memory use is constant. Raises `NotParsable` for a cell that is not closed, and for a
 * text behind a closed cell in a row of several lines: a quote is missing then, and rows may be within the cell.
 */
export class CsvCutter {
  private readonly separator: number;
  private readonly embrace: number;
  private part: CellPart = 'start';
  /** Of the next byte. */
  private line = 1;
  private rowLine = 1;
  /** Of the row, from 1. */
  private cell = 1;
  /** The cell of the row that has text behind its closing embrace. */
  private malformed = 0;
  /** The last byte was a CR, which a LF belongs to. */
  private isAfterCr = false;
  private readonly held = new GrowingBytes();
  private isOver = false;

  constructor(private readonly options: CsvCutterOptions) {
    this.separator = options.separator.charCodeAt(0);
    this.embrace = options.embrace.charCodeAt(0);
  }

  /** Consumes the next bytes; they must not be overwritten. */
  write(chunk: Buffer): void {
    const { separator, embrace } = this;
    const { length } = chunk;
    let { part } = this;
    let { isAfterCr } = this;
    let from = 0;
    let at = 0;
    if (isAfterCr && part === 'start' && length > 0) {
      isAfterCr = false;
      if (chunk[0] === LF) from = at = 1;
    }
    while (at < length) {
      const byte = chunk[at];
      if (part === 'embraced') {
        if (byte === embrace) part = 'closed';
        // CR LF is one line end, wherever the chunks are cut.
        else if (byte === CR || (byte === LF && !isAfterCr)) this.line += 1;
        isAfterCr = byte === CR;
        at += 1;
      } else if (byte === separator) {
        this.cell += 1;
        part = 'start';
        at += 1;
      } else if (byte === LF || byte === CR) {
        this.endRow(chunk.subarray(from, at));
        part = 'start';
        at += 1;
        if (byte === CR) {
          if (at === length) isAfterCr = true;
          else if (chunk[at] === LF) at += 1;
        }
        from = at;
      } else if (byte === embrace && part !== 'plain') {
        // The embrace after a closing one is one of the cell: it was no closing one.
        part = 'embraced';
        at += 1;
      } else {
        if (part === 'closed' && this.malformed === 0) this.malformed = this.cell;
        part = 'plain';
        at += 1;
      }
    }
    this.part = part;
    this.isAfterCr = isAfterCr;
    this.hold(chunk.subarray(from));
  }

  end(): void {
    if (this.part === 'embraced')
      throw new NotParsable(
        `line ${this.rowLine}, cell ${this.cell}: the ${this.options.embrace} before it is not closed`,
      );
    if (this.held.length > 0 || this.isOver) this.endRow(Buffer.alloc(0));
  }

  private hold(bytes: Buffer): void {
    if (this.isOver || bytes.length === 0) return;
    this.held.add(bytes);
    if (this.held.length <= this.options.maxRow) return;
    this.isOver = true;
    this.held.take();
  }

  private endRow(last: Buffer): void {
    const { onOversized, onRow, maxRow, embrace } = this.options;
    if (this.malformed > 0 && this.line > this.rowLine)
      throw new NotParsable(
        `line ${this.rowLine}, cell ${this.malformed}: text behind the closing ${embrace} of a cell that began ` +
          `lines before; a ${embrace} within a cell is doubled`,
      );
    const { rowLine } = this;
    const isOver = this.isOver || this.held.length + last.length > maxRow;
    let row = last;
    if (this.held.length > 0) {
      if (!isOver) this.held.add(last);
      row = this.held.take();
    }
    this.line += 1;
    this.rowLine = this.line;
    this.cell = 1;
    this.malformed = 0;
    this.isOver = false;
    if (isOver) onOversized(rowLine);
    else if (!this.isBlank(row)) onRow(row, rowLine);
  }

  /** True if all its cells are empty. */
  private isBlank(row: Buffer): boolean {
    const { separator, embrace } = this;
    return row.every((byte) => byte === separator || byte === embrace || byte === SPACE);
  }
}

/**
 * The cells of a row as it was cut out; `malformed`: the first one, from 1, that has text behind its closing embrace.
 */
export interface CsvCells {
  readonly cells: string[];
  readonly malformed?: number;
}

/** Splits a row into its cells. */
export function csvCells(row: string, { separator, embrace }: CsvDialect): CsvCells {
  if (!row.includes(embrace)) return { cells: row.split(separator) };
  const cells: string[] = [];
  let malformed: number | undefined;
  let at = 0;
  for (;;) {
    let end: number;
    if (row.charAt(at) === embrace) {
      let close = row.indexOf(embrace, at + 1);
      let isDoubled = false;
      while (close !== -1 && row.charAt(close + 1) === embrace) {
        isDoubled = true;
        close = row.indexOf(embrace, close + 2);
      }
      if (close === -1) close = row.length;
      const inside = row.slice(at + 1, close);
      cells.push(isDoubled ? inside.replaceAll(embrace + embrace, () => embrace) : inside);
      end = close + 1;
      if (end < row.length && row.charAt(end) !== separator) {
        malformed ??= cells.length;
        const next = row.indexOf(separator, end);
        end = next === -1 ? row.length : next;
      }
    } else {
      const next = row.indexOf(separator, at);
      end = next === -1 ? row.length : next;
      cells.push(row.slice(at, end));
    }
    if (end >= row.length) return malformed === undefined ? { cells } : { cells, malformed };
    at = end + 1;
  }
}

/** The separator of a header: the most frequent one outside of embraced cells; of several, the first in the list. */
export function separatorIn(header: string, embrace: string): string {
  const bare = header.split(embrace).filter((_, at) => at % 2 === 0);
  const counts = CSV_SEPARATORS.map(
    (separator) => [separator, bare.join('').split(separator).length] as const,
  );
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}
