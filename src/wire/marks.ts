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
