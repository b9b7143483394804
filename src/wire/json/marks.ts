import { type Marks, type Weights } from '../marks';

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
