import { type Marks, type Weights } from '../marks';
import { LESS, XmlMarkup } from './cut';

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
