import { NotParsable } from '../bytes';
import { JsonStringEnd } from '../marks';

/** Effect of a byte outside of strings: 1 opens, 2 closes, 3 begins a string, 4 follows the name of a member. */
const STRUCTURE = new Uint8Array(256);
for (const opening of '[{') STRUCTURE[opening.charCodeAt(0)] = 1;
for (const closing of ']}') STRUCTURE[closing.charCodeAt(0)] = 2;
STRUCTURE['"'.charCodeAt(0)] = 3;
STRUCTURE[':'.charCodeAt(0)] = 4;

interface TakenElement {
  readonly bytes: Buffer;
  readonly oversized: boolean;
  readonly members: number;
}

/**
 * Finds the end of a JSON object, list or string in a stream of chunks, by its brackets and strings alone, and collects
 * its bytes: a view of the chunk if they are in one, otherwise a copy. Reused for one object after the other.
 */
export class JsonElement {
  private depth = 0;
  private readonly string = new JsonStringEnd();
  /** Members of all objects in it, repeated ones too. */
  private members = 0;
  /** Its bytes in earlier chunks: their number, and the first ones as buffered. */
  private before = 0;
  private held = 0;
  private hold = Buffer.alloc(0);

  constructor(
    private readonly maxBytes: number,
    private readonly maxDepth: number,
  ) {}

  /**
   * Continues at `from`, the first time at the opening bracket or quote. Returns the index after the closing one, or
   * undefined if it is in a later chunk. Raises `NotParsable` if it is nested too deep.
   */
  endIn(chunk: Buffer, from: number): number | undefined {
    const { length } = chunk;
    const { maxDepth, string } = this;
    let { depth, members } = this;
    let at = from;
    if (string.isWithin()) {
      at = string.endIn(chunk, from);
      if (depth === 0 && !string.isWithin()) return at;
    }
    while (at < length) {
      const kind = STRUCTURE[chunk[at] ?? 0];
      at += 1;
      if (kind === 0) continue;
      if (kind === 3) {
        at = string.endIn(chunk, at);
        if (depth === 0 && !string.isWithin()) return at;
      } else if (kind === 4) {
        members += 1;
      } else if (kind === 1) {
        depth += 1;
        if (depth > maxDepth) throw new NotParsable(`an element is nested deeper than ${maxDepth}`);
      } else {
        depth -= 1;
        if (depth === 0) {
          this.depth = 0;
          this.members = members;
          return at;
        }
      }
    }
    this.depth = depth;
    this.members = members;
    this.keep(chunk, from, length);
    return undefined;
  }

  /** After its end: whether it is too large, its bytes up to the limit, and how many members its objects have. */
  take(chunk: Buffer, from: number, to: number): TakenElement {
    const oversized = this.before + to - from > this.maxBytes;
    const { members } = this;
    this.members = 0;
    if (this.before === 0)
      return { bytes: chunk.subarray(from, Math.min(to, from + this.maxBytes)), oversized, members };
    this.keep(chunk, from, to);
    const bytes = Buffer.from(this.hold.subarray(0, this.held));
    this.before = 0;
    this.held = 0;
    return { bytes, oversized, members };
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
