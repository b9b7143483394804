import { NotParsable } from './not-parsable';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Effect of a byte outside of strings: 1 opens, 2 closes, 3 begins a string. */
const STRUCTURE = new Uint8Array(256);
for (const opening of '[{') STRUCTURE[opening.charCodeAt(0)] = 1;
for (const closing of ']}') STRUCTURE[closing.charCodeAt(0)] = 2;
STRUCTURE[QUOTE] = 3;

/**
 * Finds the end of a JSON object in a stream of chunks, by its brackets and strings alone, and collects its
 * bytes: a view of the chunk if they are in one, otherwise a copy. Reused for one object after the other.
 */
export class JsonElement {
  private depth = 0;
  private inString = false;
  /** The last byte of the chunk before was a backslash that escapes the next one. */
  private escaped = false;
  /** Its bytes in earlier chunks: their number, and the first ones as buffered. */
  private before = 0;
  private held = 0;
  private hold = Buffer.alloc(0);

  constructor(
    private readonly maxBytes: number,
    private readonly maxDepth: number,
  ) {}

  /**
   * Continues at `from`, the first time at the opening bracket. Returns the index after the closing bracket, or
   * undefined if it is in a later chunk. Raises `NotParsable` if it is nested too deep.
   */
  endIn(chunk: Buffer, from: number): number | undefined {
    const { length } = chunk;
    const { maxDepth } = this;
    let { depth } = this;
    let at = this.inString ? this.endOfString(chunk, from) : from;
    while (at < length) {
      const kind = STRUCTURE[chunk[at] ?? 0];
      at += 1;
      if (kind === 0) continue;
      if (kind === 3) {
        at = this.endOfString(chunk, at);
      } else if (kind === 1) {
        depth += 1;
        if (depth > maxDepth) throw new NotParsable(`an element is nested deeper than ${maxDepth}`);
      } else {
        depth -= 1;
        if (depth === 0) {
          this.depth = 0;
          return at;
        }
      }
    }
    this.depth = depth;
    this.keep(chunk, from, length);
    return undefined;
  }

  /** After its end: whether it exceeds the size limit, and its bytes up to that limit. */
  take(chunk: Buffer, from: number, to: number): { readonly bytes: Buffer; readonly oversized: boolean } {
    const oversized = this.before + to - from > this.maxBytes;
    if (this.before === 0) {
      return { bytes: chunk.subarray(from, Math.min(to, from + this.maxBytes)), oversized };
    }
    this.keep(chunk, from, to);
    const bytes = Buffer.from(this.hold.subarray(0, this.held));
    this.before = 0;
    this.held = 0;
    return { bytes, oversized };
  }

  /** Continues within a string until it or the chunk ends: jumps from quote to quote. */
  private endOfString(chunk: Buffer, from: number): number {
    const start = this.escaped ? from + 1 : from;
    this.escaped = false;
    let at = start;
    for (;;) {
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote < 0 ? chunk.length : quote;
      let backslash = end - 1;
      while (backslash >= start && chunk[backslash] === BACKSLASH) backslash -= 1;
      const escapes = ((end - 1 - backslash) & 1) === 1;
      if (quote < 0) {
        this.inString = true;
        this.escaped = escapes;
        return chunk.length;
      }
      if (!escapes) {
        this.inString = false;
        return quote + 1;
      }
      at = quote + 1;
    }
  }

  private keep(chunk: Buffer, from: number, to: number): void {
    this.before += to - from;
    const length = Math.min(to - from, this.maxBytes - this.held);
    if (this.held + length > this.hold.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, 2 * (this.held + length)));
      this.hold.copy(larger, 0, 0, this.held);
      this.hold = larger;
    }
    chunk.copy(this.hold, this.held, from, from + length);
    this.held += length;
  }
}
