import { NotParsable } from './not-parsable';

export interface JsonCutterOptions {
  /** The one key of the object: its value is the list to be cut. */
  readonly key: string;
  /** Bytes that an element may have; a larger one is passed over. */
  readonly maxElement: number;
  /** How deep objects and lists may be nested in an element; the element itself is 1. */
  readonly maxDepth: number;
  /**
   * Called for each element, numbered from 0: the bytes from `{` to its `}`, not yet proved well-formed. They are
   * a view of the chunk where they can be, so that they hold as long as the chunk does.
   */
  readonly onElement: (slice: Buffer, index: number) => void;
  /** Called at the end of a larger one, with its first `maxElement` bytes at most. */
  readonly onOversized: (index: number, head: Buffer) => void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What a byte outside of strings does to the nesting: 1 opens, 2 closes, 3 begins a string. */
const STRUCTURE = new Uint8Array(256);
STRUCTURE[OPEN_LIST] = STRUCTURE[OPEN_OBJECT] = 1;
STRUCTURE[CLOSE_LIST] = STRUCTURE[CLOSE_OBJECT] = 2;
STRUCTURE[QUOTE] = 3;

const BOM = [0xef, 0xbb, 0xbf];

/** Where the frame around the elements may stand, and what comes next there. */
const EXPECTED = {
  object: '{',
  key: 'the key',
  inKey: 'the end of the key',
  colon: ':',
  list: '[',
  first: '{ or ]',
  element: '{',
  inElement: 'the end of the element',
  next: ', or ]',
  closing: '}',
  end: 'nothing more',
} as const;

/** Longest spelling of the key, escapes and quotes included, that is looked at. */
const MAX_KEY = 256;

/**
 * Cuts the elements out of `{"<key>":[{…},{…}]}`, a body that arrives in chunks, without parsing them. Together
 * with `JSON.parse` of each slice it takes exactly what `JSON.parse` takes of this shape (a byte order mark before it is
 * passed over); what it passes over as oversized is checked for its nesting only. Memory stays flat.
 *
 * `write` and `end` raise `NotParsable`; after that the cutter is of no more use.
 */
export class JsonCutter {
  private place: keyof typeof EXPECTED = 'object';
  /** Bytes of the body before the present chunk. */
  private offset = 0;
  private index = 0;
  private depth = 0;
  private inString = false;
  /** The byte before the present chunk was a backslash that escapes the next one. */
  private escaped = false;
  private keyBytes: number[] = [];
  /** The beginning of an element whose end is in a later chunk: its first `held` bytes. */
  private hold = Buffer.alloc(0);
  private held = 0;
  /** Bytes of the present element in earlier chunks. */
  private before = 0;

  constructor(private readonly options: JsonCutterOptions) {}

  write(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      at = this.place === 'inElement' ? this.element(chunk, at) : this.frame(chunk, at);
    }
    this.offset += chunk.length;
  }

  end(): void {
    if (this.place !== 'end') throw this.unexpected(0, 'the end of the body');
  }

  /** Takes one byte of the frame (or leaves it to `element`) and gives the place of the next. */
  private frame(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (this.place === 'inKey') return this.key(byte, at);
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return at + 1;
    switch (this.place) {
      case 'object':
        if (byte === OPEN_OBJECT) return this.to('key', at);
        if (this.offset + at < BOM.length && byte === BOM[this.offset + at]) return at + 1;
        break;
      case 'key':
        if (byte === QUOTE) return this.to('inKey', at);
        break;
      case 'colon':
        if (byte === COLON) return this.to('list', at);
        break;
      case 'list':
        if (byte === OPEN_LIST) return this.to('first', at);
        break;
      case 'first':
        if (byte === CLOSE_LIST) return this.to('closing', at);
        if (byte === OPEN_OBJECT) return this.begin(at);
        break;
      case 'element':
        if (byte === OPEN_OBJECT) return this.begin(at);
        break;
      case 'next':
        if (byte === COMMA) return this.to('element', at);
        if (byte === CLOSE_LIST) return this.to('closing', at);
        break;
      case 'closing':
        if (byte === CLOSE_OBJECT) return this.to('end', at);
        break;
      default:
    }
    throw this.unexpected(at, shown(byte));
  }

  private to(place: keyof typeof EXPECTED, at: number): number {
    this.place = place;
    return at + 1;
  }

  /** The key may be spelt with escapes, as anywhere in JSON. */
  private key(byte: number, at: number): number {
    const ends = byte === QUOTE && !this.escaped;
    this.escaped = byte === BACKSLASH && !this.escaped;
    if (!ends) {
      this.keyBytes.push(byte);
      if (this.keyBytes.length > MAX_KEY) throw this.unexpected(at, 'a longer one');
      return at + 1;
    }
    const spelt = Buffer.from(this.keyBytes).toString();
    if (parsedString(spelt) !== this.options.key) throw this.unexpected(at, `"${spelt}"`);
    return this.to('colon', at);
  }

  private begin(at: number): number {
    this.place = 'inElement';
    this.depth = 0;
    this.before = 0;
    this.held = 0;
    return at;
  }

  /** Goes on in an element until it or the chunk ends. */
  private element(chunk: Buffer, from: number): number {
    const { length } = chunk;
    const { maxDepth } = this.options;
    let { depth } = this;
    let at = from;
    if (this.inString) at = this.string(chunk, at);
    while (at < length) {
      const kind = STRUCTURE[chunk[at] ?? 0];
      at += 1;
      if (kind === 0) continue;
      if (kind === 3) {
        at = this.string(chunk, at);
      } else if (kind === 1) {
        depth += 1;
        if (depth > maxDepth) throw this.error(at - 1, `nested deeper than ${maxDepth}`);
      } else {
        depth -= 1;
        if (depth === 0) {
          this.complete(chunk, from, at);
          return at;
        }
      }
    }
    this.depth = depth;
    this.keep(chunk, from);
    return at;
  }

  /** Goes on in a string until it or the chunk ends: jumps from quote to quote. */
  private string(chunk: Buffer, from: number): number {
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

  private complete(chunk: Buffer, from: number, to: number): void {
    const { maxElement, onElement, onOversized } = this.options;
    const size = this.before + to - from;
    this.place = 'next';
    const { index } = this;
    this.index += 1;
    if (this.before === 0 && size <= maxElement) {
      onElement(chunk.subarray(from, to), index);
      return;
    }
    this.keep(chunk, from, to);
    const bytes = Buffer.from(this.hold.subarray(0, this.held));
    if (size <= maxElement) onElement(bytes, index);
    else onOversized(index, bytes);
  }

  /** Keeps what an element has in this chunk, as far as an element may go. */
  private keep(chunk: Buffer, from: number, to = chunk.length): void {
    const { maxElement } = this.options;
    this.before += to - from;
    const length = Math.min(to - from, maxElement - this.held);
    if (this.held + length > this.hold.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(maxElement, 2 * (this.held + length)));
      this.hold.copy(larger, 0, 0, this.held);
      this.hold = larger;
    }
    chunk.copy(this.hold, this.held, from, from + length);
    this.held += length;
  }

  private unexpected(at: number, found: string): NotParsable {
    const expected =
      this.place === 'key' || this.place === 'inKey' ? `the key "${this.options.key}"` : EXPECTED[this.place];
    return this.error(at, `expected ${expected}, found ${found}`);
  }

  private error(at: number, what: string): NotParsable {
    return new NotParsable(`${what}, at byte ${this.offset + at}`);
  }
}

function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? String.fromCharCode(byte)
    : `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

function parsedString(spelt: string): unknown {
  try {
    return JSON.parse(`"${spelt}"`);
  } catch {
    return undefined;
  }
}
