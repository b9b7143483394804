import { indexIn, type Marks, type Weights } from '../marks';

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const LESS = 0x3c;
const GREATER = 0x3e;
const EXCLAMATION = 0x21;
const QUESTION = 0x3f;

/** The bytes before the `>` that ends a comment, section or instruction: two or one. */
interface Ending {
  readonly bytes: number;
  readonly mask: number;
}

/** By what is between `<` and the content of these. */
const NO_TAGS: ReadonlyMap<string, Ending> = new Map([
  ['!--', { bytes: 0x2d2d, mask: 0xffff }],
  ['![CDATA[', { bytes: 0x5d5d, mask: 0xffff }],
  ['?', { bytes: 0x3f, mask: 0xff }],
]);
const BEGINNINGS: ReadonlySet<string> = new Set(
  [...NO_TAGS.keys()].flatMap((opening) => Array.from(opening, (_, at) => opening.slice(0, at))),
);

/** The `<` of tags, comments, sections and instructions, and the opening quotes of attributes' values. */
export class XmlMarks implements Marks {
  private sum = 0;
  private place: 'text' | 'opening' | 'tag' | 'value' | 'noTag' = 'text';
  /** What has followed `<`. */
  private opening = '';
  /** The quote that ends the present value. */
  private quote = 0;
  /** Of the present comment, section or instruction: its end, and its last two bytes. */
  private end: Ending | undefined = undefined;
  private last = 0;

  constructor(private readonly weights: Weights) {}

  write(chunk: Buffer): number {
    for (let at = 0; at < chunk.length;) at = this.step(chunk, at);
    return this.sum;
  }

  /** Returns where the next step begins. */
  private step(chunk: Buffer, from: number): number {
    switch (this.place) {
      case 'text':
        return this.text(chunk, from);
      case 'opening':
        return this.open(chunk, from);
      case 'tag':
        return this.tag(chunk, from);
      case 'value':
        return this.value(chunk, from);
      case 'noTag':
        return this.noTag(chunk, from);
    }
  }

  private text(chunk: Buffer, from: number): number {
    const found = indexIn(chunk, LESS, from);
    if (found === chunk.length) return found;
    this.mark(LESS);
    this.opening = '';
    this.place = 'opening';
    return found + 1;
  }

  private open(chunk: Buffer, from: number): number {
    const byte = chunk[from] ?? 0;
    if (this.opening === '' && byte !== EXCLAMATION && byte !== QUESTION) {
      this.place = 'tag';
      return from;
    }
    const opening = this.opening + String.fromCharCode(byte);
    this.end = NO_TAGS.get(opening);
    if (this.end !== undefined) {
      this.place = 'noTag';
      this.last = 0;
    } else if (BEGINNINGS.has(opening)) this.opening = opening;
    else {
      this.place = 'tag';
      return from;
    }
    return from + 1;
  }

  private tag(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === GREATER) {
        this.place = 'text';
        return at + 1;
      }
      if (byte === QUOTE || byte === APOSTROPHE) {
        this.mark(byte);
        this.quote = byte;
        this.place = 'value';
        return at + 1;
      }
    }
    return chunk.length;
  }

  private value(chunk: Buffer, from: number): number {
    const found = indexIn(chunk, this.quote, from);
    if (found < chunk.length) this.place = 'tag';
    return found + 1;
  }

  private noTag(chunk: Buffer, from: number): number {
    const { bytes, mask } = this.end ?? { bytes: 0, mask: 0 };
    let { last } = this;
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === GREATER && (last & mask) === bytes) {
        this.place = 'text';
        return at + 1;
      }
      last = ((last << 8) | byte) & 0xffff;
    }
    this.last = last;
    return chunk.length;
  }

  private mark(byte: number): void {
    this.sum += this.weights[byte] ?? 0;
  }
}
