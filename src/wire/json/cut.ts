import { JsonElement } from './element';
import { jsonProblem } from './scan';
import { NotParsable } from '../bytes';

/** What is known about an element. */
export interface ElementOrigin {
  /** The place of its first byte in the body. */
  readonly firstByte: number;
  /** Members of all objects in it, repeated ones too. */
  readonly members: number;
}

export interface JsonCutterOptions {
  /**
   * The one key of the object: its value is the list to be cut. Without one the body is the list, and elements may be
   * any values.
   */
  readonly key?: string;
  /** Elements of the list below the key may be any values too. */
  readonly hasAnyElements?: true;
  /** Bytes that an element may have; a larger one is skipped. */
  readonly maxElement: number;
  /** How deep objects and lists may be nested in an element; the element itself is 1. */
  readonly maxDepth: number;
  /**
   * Called for each element, numbered from 0, with its bytes, which may be malformed. They are a view of the chunk if
   * possible, and valid as long as the chunk is.
   */
  readonly onElement: (slice: Buffer, index: number, origin: ElementOrigin) => void;
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
  inWord: 'the end of the element',
  next: ', or ]',
  closing: '}',
  end: 'nothing more',
} as const;

type Expectation = keyof typeof EXPECTED;

/** The bytes of the frame, apart from its key and white space, and the states they lead to. */
const STEPS: Readonly<Record<Expectation, Readonly<Record<string, Expectation>>>> = {
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
  inWord: {},
  next: { ',': 'element', ']': 'closing' },
  closing: { '}': 'end' },
  end: {},
};

/** The same of a list that is the whole body. */
const STEPS_OF_LIST: typeof STEPS = {
  ...STEPS,
  start: { '[': 'first', '\xef': 'mark' },
  object: { '[': 'first' },
  first: { '{': 'inElement', '[': 'inElement', '"': 'inElement', ']': 'end' },
  element: { '{': 'inElement', '[': 'inElement', '"': 'inElement' },
  next: { ',': 'element', ']': 'end' },
};

/** The same of a list below a key. */
const STEPS_OF_ANY: typeof STEPS = {
  ...STEPS,
  first: { ...STEPS_OF_LIST.first, ']': 'closing' },
  element: STEPS_OF_LIST.element,
};

/** Characters of numbers and of true, false and null. */
const WORD = /[-+.\w]/;
/** Length limit of a number. */
const MAX_WORD = 1000;

const WHITE_SPACE = ' \n\r\t';
/** Length limit of the key in the body, escapes included. */
const MAX_KEY = 256;

/**
 * Cuts the elements out of `{"<key>":[{…},{…}]}`, or of a plain list, a body that arrives in chunks, without parsing
 * them. Together with `JSON.parse` of each slice it accepts exactly what `JSON.parse` accepts of this shape (and a byte
 * order mark before it); of oversized elements only the nesting is checked. Memory use is constant.
 *
 * `write` and `end` raise `NotParsable`; after that the cutter cannot be used.
 */
export class JsonCutter {
  private place: Expectation = 'start';
  /** Bytes of the body before the present chunk. */
  private offset = 0;
  private index = 0;
  /** Where the present element begins. */
  private firstByte = 0;
  private readonly present: JsonElement;
  private readonly hasAny: boolean;
  private readonly steps: typeof STEPS;
  /** The beginning of a number or of true, false or null. */
  private word = '';
  private readonly keyBytes: number[] = [];

  constructor(private readonly options: JsonCutterOptions) {
    this.present = new JsonElement(options.maxElement, options.maxDepth);
    this.hasAny = options.key === undefined || options.hasAnyElements === true;
    this.steps = options.key === undefined ? STEPS_OF_LIST : this.hasAny ? STEPS_OF_ANY : STEPS;
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

  /** Whether the body ends, or is broken, within an element. */
  get isWithin(): boolean {
    return this.place === 'inElement';
  }

  /**
   * What is wrong in an element that does not end: the rest of the body is part of it, but the problem is before. Call
   * it after a failure.
   */
  problem(): string | undefined {
    if (!this.isWithin) return undefined;
    const { bytes, oversized } = this.present.take(Buffer.alloc(0), 0, 0);
    const problem = oversized ? undefined : jsonProblem(bytes, this.firstByte);
    return problem !== undefined && problem.byte < this.firstByte + bytes.length
      ? problem.message
      : undefined;
  }

  /** Continues within an element until it or the chunk ends. */
  private element(chunk: Buffer, from: number): number {
    const to = this.present.endIn(chunk, from);
    if (to === undefined) return chunk.length;
    const { bytes, oversized, members } = this.present.take(chunk, from, to);
    this.elementEnded(bytes, oversized, members);
    return to;
  }

  private elementEnded(bytes: Buffer, oversized: boolean, members: number): void {
    const { index } = this;
    this.index += 1;
    this.place = 'next';
    if (oversized) this.options.onOversized(index, bytes);
    else this.options.onElement(bytes, index, { firstByte: this.firstByte, members });
  }

  /** Consumes a byte of the frame, or white space, and returns the index of the next; leaves an element's bracket. */
  private frame(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (this.place === 'inKey') {
      this.key(byte, at);
      return at + 1;
    }
    const character = String.fromCharCode(byte);
    if (this.place === 'inWord') {
      if (this.word.length < MAX_WORD && WORD.test(character)) {
        this.word += character;
        return at + 1;
      }
      this.elementEnded(Buffer.from(this.word), false, 0);
    }
    const next = this.steps[this.place][character];
    if (next !== undefined) {
      this.place = next;
      if (next !== 'inElement') return at + 1;
      this.firstByte = this.offset + at;
      return at;
    }
    const isWord = (this.place === 'first' || this.place === 'element') && WORD.test(character);
    if (isWord && this.hasAny) {
      this.place = 'inWord';
      this.word = character;
      this.firstByte = this.offset + at;
      return at + 1;
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

  private expected(): string {
    const { place, options } = this;
    const { key } = options;
    if (place === 'key' || place === 'inKey') return `the key "${key}"`;
    if (place === 'closing' && this.hasAny) return `} after ${key}, the only member`;
    const isInFrame = key !== undefined && (place === 'start' || place === 'object');
    return (this.hasAny && !isInFrame ? EXPECTED_OF_LIST[place] : undefined) ?? EXPECTED[place];
  }

  private unexpected(at: number, found: string): NotParsable {
    return new NotParsable(`expected ${this.expected()}, found ${found}, at byte ${this.offset + at}`);
  }
}

const QUOTE = 0x22;

/** What a list that is the whole body has in other places. */
const EXPECTED_OF_LIST: Readonly<Partial<Record<Expectation, string>>> = {
  start: '[',
  object: '[',
  first: 'a value or ]',
  element: 'a value',
  inElement: 'the end of the element',
};

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
