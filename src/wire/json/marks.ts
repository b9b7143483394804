import { type Marks, type Weights } from '../marks';
import { JsonStringEnd } from './string-end';

const QUOTE = 0x22;

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
