import { indexIn } from './bytes';
import { CSV_SEPARATORS } from './csv/rows';
import { LESS, XmlMarkup } from './xml/cut';

/** What each byte weighs as a mark: one that begins a value, or separates two. */
export type Weights = Uint16Array;

/**
 * Adds up the weights of the marks of a body in UTF-8 as its chunks arrive, cut anywhere: of bytes that are marks to
 * the parser of its format, not of those in texts. Of a malformed body the sum is right up to where its parser refuses
 * it.
 */
export interface Marks {
  /** Returns the sum of all chunks so far. */
  write(chunk: Buffer): number;
}

/** Every byte that may be a mark, wherever it is: for bodies that declare no format. */
export class AnyMarks implements Marks {
  private sum = 0;

  constructor(private readonly weights: Weights) {}

  write(chunk: Buffer): number {
    for (let at = 0; at < chunk.length; at += 1) this.sum += this.weights[chunk[at] ?? 0] ?? 0;
    return this.sum;
  }
}

/** The `<` of tags, comments, sections and instructions, and the opening quotes of attributes' values. */
export class XmlMarks implements Marks {
  private sum = 0;
  private readonly markup: XmlMarkup;

  constructor(weights: Weights) {
    const mark = (byte: number): void => {
      this.sum += weights[byte] ?? 0;
    };
    this.markup = new XmlMarkup({ begins: () => mark(LESS), quoted: mark });
  }

  write(chunk: Buffer): number {
    this.markup.scan(chunk);
    return this.sum;
  }
}

/** Bytes outside of strings. A string is one mark, its opening quote. */
export class JsonMarks implements Marks {
  private sum = 0;
  private readonly string = new JsonStringEnd();

  constructor(private readonly weights: Weights) {}

  write(chunk: Buffer): number {
    const { weights, string } = this;
    const { length } = chunk;
    let sum = 0;
    let at = string.isWithin() ? string.endIn(chunk, 0) : 0;
    while (at < length) {
      const byte = chunk[at] ?? 0;
      at += 1;
      sum += weights[byte] ?? 0;
      if (byte === QUOTE) at = string.endIn(chunk, at);
    }
    this.sum += sum;
    return this.sum;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Most strings end this near: looking at each byte is faster than a call. */
const NEAR = 64;

/** Finds the ends of JSON strings in a stream of chunks, cut anywhere. Reused for one string after the other. */
export class JsonStringEnd {
  private isOpen = false;
  /** The last byte of the chunk before was a backslash that escapes the next one. */
  private isEscaped = false;

  /** Whether the string continues in the next chunk. */
  isWithin(): boolean {
    return this.isOpen;
  }

  /**
   * Continues within a string, the first time at the byte after its opening quote. Returns the index after the closing
   * one, or the length of the chunk if that is in a later one.
   */
  endIn(chunk: Buffer, from: number): number {
    let at = this.isEscaped ? from + 1 : from;
    this.isEscaped = false;
    const near = Math.min(chunk.length, at + NEAR);
    while (at < near) {
      const byte = chunk[at];
      at += 1;
      if (byte === QUOTE) {
        this.isOpen = false;
        return at;
      }
      if (byte === BACKSLASH) at += 1;
    }
    return this.farEndIn(chunk, at);
  }

  /** Jumps from quote to quote. `from`: not an escaped byte. */
  private farEndIn(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = from;
    while (at < length) {
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote < 0 ? length : quote;
      let backslash = end - 1;
      while (backslash >= at && chunk[backslash] === BACKSLASH) backslash -= 1;
      const escapes = ((end - 1 - backslash) & 1) === 1;
      if (quote >= 0 && !escapes) {
        this.isOpen = false;
        return quote + 1;
      }
      // Beyond the length if the first byte of the next chunk is escaped.
      at = escapes ? end + 1 : end;
    }
    this.isOpen = true;
    this.isEscaped = at > length;
    return length;
  }
}

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
