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

/** Bytes that are looked at one by one: a call of `Buffer.indexOf` takes longer. */
const NEAR = 48;

/** The index of the first such byte, or the length of the chunk. */
export function indexIn(chunk: Buffer, byte: number, from: number): number {
  const near = Math.min(from + NEAR, chunk.length);
  for (let at = from; at < near; at += 1) if (chunk[at] === byte) return at;
  const at = near === chunk.length ? -1 : chunk.indexOf(byte, near);
  return at === -1 ? chunk.length : at;
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
