import { indexIn } from '../bytes';
import { type Marks, type Weights } from '../marks';
import { CSV_SEPARATORS } from './rows';

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** Separators and line ends outside of cells in double quotes. `\r\n` is one mark, its `\r`. */
export class CsvMarks implements Marks {
  /** How many bytes of a byte order mark were there. */
  private marked = 0;
  /** One for each separator that it may have; after the first line, which shows it, only that one. */
  private rows: readonly CsvRows[];

  constructor(weights: Weights) {
    this.rows = CSV_SEPARATORS.map((separator) => new CsvRows(separator.charCodeAt(0), weights));
  }

  write(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && this.marked < BYTE_ORDER_MARK.length) {
      if (chunk[at] !== BYTE_ORDER_MARK[this.marked]) this.marked = BYTE_ORDER_MARK.length;
      else {
        this.marked += 1;
        at += 1;
      }
    }
    if (this.rows.length > 1) {
      const line = chunk.subarray(at, lineEnd(chunk, at));
      for (const rows of this.rows) rows.firstLine(line);
      at += line.length;
      if (at < chunk.length)
        this.rows = [this.rows.reduce((most, one) => (one.found > most.found ? one : most))];
    }
    for (const rows of this.rows) rows.write(chunk, at);
    return Math.max(...this.rows.map(({ sum }) => sum));
  }
}

function lineEnd(chunk: Buffer, from: number): number {
  let at = from;
  while (at < chunk.length && chunk[at] !== LINE_FEED && chunk[at] !== CARRIAGE_RETURN) at += 1;
  return at;
}

/** The marks of a text with a certain separator. */
class CsvRows {
  sum = 0;
  /** How often the first line has the separator, in quotes too. */
  found = 0;
  /** `ended`: after what may be the closing quote of a cell, or the first of two. */
  private place: 'start' | 'plain' | 'quoted' | 'ended' | 'return' = 'start';

  constructor(
    private readonly separator: number,
    private readonly weights: Weights,
  ) {}

  firstLine(part: Buffer): void {
    for (let at = 0; at < part.length; at += 1) if (part[at] === this.separator) this.found += 1;
    this.write(part, 0);
  }

  write(chunk: Buffer, from: number): void {
    for (let at = from; at < chunk.length;) {
      if (this.place === 'quoted') {
        const quote = indexIn(chunk, QUOTE, at);
        if (quote < chunk.length) this.place = 'ended';
        at = quote + 1;
      } else {
        this.byte(chunk[at] ?? 0);
        at += 1;
      }
    }
  }

  /** A byte that is not in quotes. */
  private byte(byte: number): void {
    const { place } = this;
    const isQuote = byte === QUOTE && (place === 'start' || place === 'ended' || place === 'return');
    if (isQuote) this.place = 'quoted';
    else if (byte === LINE_FEED && place === 'return') this.place = 'start';
    else if (byte === this.separator || byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      this.sum += this.weights[byte] ?? 0;
      this.place = byte === CARRIAGE_RETURN ? 'return' : 'start';
    } else this.place = 'plain';
  }
}
