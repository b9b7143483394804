import { jsonProblem } from './scan';
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

/** What is known about an element. */
export interface ElementOrigin {
  /** The place of its first byte in the body. */
  readonly firstByte: number;
  /** Members of all objects in it, repeated ones too. */
  readonly members: number;
}

interface JsonCutterOptions {
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
