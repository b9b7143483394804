import { JsonElement } from './json-element';
import { NotParsable } from './not-parsable';

export interface JsonCutterOptions {
  /** The one key of the object: its value is the list to be cut. */
  readonly key: string;
  /** Bytes that an element may have; a larger one is skipped. */
  readonly maxElement: number;
  /** How deep objects and lists may be nested in an element; the element itself is 1. */
  readonly maxDepth: number;
  /**
   * Called for each element, numbered from 0, with the place of its first byte in the body: the bytes from `{` to its `}`, which may be malformed. They are a view of
   * the chunk if possible, and valid as long as the chunk is.
   */
  readonly onElement: (slice: Buffer, index: number, firstByte: number) => void;
  /** Called at the end of an oversized element, with its first `maxElement` bytes. */
  readonly onOversized: (index: number, head: Buffer) => void;
}

/** The states of the frame around the elements, and what each expects next. */
const EXPECTED = {
  start: '{',
  mark: 'a byte order mark',
  restOfMark: 'a byte order mark',
  object: '{',
  key: 'the key',
  inKey: 'the end of the key',
  colon: ':',
  list: '[',
  first: '{ or ]',
  element: '{',
  inElement: 'the end of the object',
  next: ', or ]',
  closing: '}',
  end: 'nothing more',
} as const;

type Place = keyof typeof EXPECTED;

/** The bytes of the frame, apart from its key and white space, and the states they lead to. */
const STEPS: Readonly<Record<Place, Readonly<Record<string, Place>>>> = {
  start: { '{': 'key', '\xef': 'mark' },
  mark: { '\xbb': 'restOfMark' },
  restOfMark: { '\xbf': 'object' },
  object: { '{': 'key' },
  key: { '"': 'inKey' },
  inKey: {},
  colon: { ':': 'list' },
  list: { '[': 'first' },
  first: { '{': 'inElement', ']': 'closing' },
  element: { '{': 'inElement' },
  inElement: {},
  next: { ',': 'element', ']': 'closing' },
  closing: { '}': 'end' },
  end: {},
};

const WHITE_SPACE = ' \n\r\t';
/** Length limit of the key in the body, escapes included. */
const MAX_KEY = 256;

/**
 * Cuts the elements out of `{"<key>":[{…},{…}]}`, a body that arrives in chunks, without parsing them.
 * Together with `JSON.parse` of each slice it accepts exactly what `JSON.parse` accepts of this shape (and a byte
 * order mark before it); of oversized elements only the nesting is checked. Memory use is constant.
 *
 * `write` and `end` raise `NotParsable`; after that the cutter cannot be used.
 */
export class JsonCutter {
  private place: Place = 'start';
  /** Bytes of the body before the present chunk. */
  private offset = 0;
  private index = 0;
  /** Where the present element begins. */
  private firstByte = 0;
  private readonly present: JsonElement;
  private readonly keyBytes: number[] = [];

  constructor(private readonly options: JsonCutterOptions) {
    this.present = new JsonElement(options.maxElement, options.maxDepth);
  }

  write(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length)
      at = this.place === 'inElement' ? this.element(chunk, at) : this.frame(chunk, at);
    this.offset += chunk.length;
  }

  end(): void {
    if (this.place !== 'end') throw this.unexpected(0, 'the end of the body');
  }

  /** How many elements are complete. */
  get count(): number {
    return this.index;
  }

  /** The element that has begun, as far as it is there and not oversized. Call it after a failure. */
  unfinished(): { readonly bytes: Buffer; readonly firstByte: number } | undefined {
    if (this.place !== 'inElement') return undefined;
    const { bytes, oversized } = this.present.take(Buffer.alloc(0), 0, 0);
    return oversized ? undefined : { bytes, firstByte: this.firstByte };
  }

  /** Continues within an element until it or the chunk ends. */
  private element(chunk: Buffer, from: number): number {
    const to = this.present.endIn(chunk, from);
    if (to === undefined) return chunk.length;
    const { bytes, oversized } = this.present.take(chunk, from, to);
    const { index } = this;
    this.index += 1;
    this.place = 'next';
    if (oversized) this.options.onOversized(index, bytes);
    else this.options.onElement(bytes, index, this.firstByte);
    return to;
  }

  /** Consumes a byte of the frame, or white space, and returns the index of the next; leaves an element's bracket. */
  private frame(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (this.place === 'inKey') {
      this.key(byte, at);
      return at + 1;
    }
    const character = String.fromCharCode(byte);
    const next = STEPS[this.place][character];
    if (next !== undefined) {
      this.place = next;
      if (next !== 'inElement') return at + 1;
      this.firstByte = this.offset + at;
      return at;
    }
    const isInMark = this.place === 'mark' || this.place === 'restOfMark';
    if (isInMark || !WHITE_SPACE.includes(character)) throw this.unexpected(at, shown(byte));
    if (this.place === 'start') this.place = 'object';
    return endOfBlanks(chunk, at + 1);
  }

  /** The key may contain escapes, as anywhere in JSON. */
  private key(byte: number, at: number): void {
    const spelt = Buffer.from(this.keyBytes).toString();
    if (byte !== QUOTE || /(?<!\\)(\\\\)*\\$/.test(spelt)) {
      this.keyBytes.push(byte);
      if (this.keyBytes.length > MAX_KEY) throw this.unexpected(at, 'a longer one');
      return;
    }
    if (parsedString(spelt) !== this.options.key) throw this.unexpected(at, `"${spelt}"`);
    this.place = 'colon';
  }

  private unexpected(at: number, found: string): NotParsable {
    const { place, options } = this;
    const expected = place === 'key' || place === 'inKey' ? `the key "${options.key}"` : EXPECTED[place];
    return new NotParsable(`expected ${expected}, found ${found}, at byte ${this.offset + at}`);
  }
}

const QUOTE = 0x22;

/** The end of a run of white space of any length. */
function endOfBlanks(chunk: Buffer, from: number): number {
  let at = from;
  while (chunk[at] === 0x20 || chunk[at] === 0x0a || chunk[at] === 0x0d || chunk[at] === 0x09) at += 1;
  return at;
}

function shown(byte: number): string {
  if (byte > 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

function parsedString(spelt: string): unknown {
  try {
    return JSON.parse(`"${spelt}"`);
  } catch {
    return undefined;
  }
}
