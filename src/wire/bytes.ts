import { isAscii, isUtf8 } from 'node:buffer';
import { type MakeFault, NamedError } from '../kernel/fault';

/** A malformed body: the message describes what was expected, and where. */
export class NotParsable extends NamedError {}

/** What is read of a body. Raises the fault for one that is malformed. */
export async function parsedOr<T>(refuse: MakeFault, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof NotParsable ? refuse(error.message) : error;
  }
}

/**
 * Decodes UTF-8 that arrives in chunks, cut anywhere; raises `NotParsable` for malformed UTF-8. Drops a byte order
 * mark at the beginning.
 */
export class Utf8Decoder {
  /** The bytes of a character that continues in the next chunk. */
  private rest = Buffer.alloc(0);
  private begun = false;

  write(chunk: Buffer): string {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const end = bytes.length - unfinished(bytes);
    this.rest = end === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(end));
    return this.decode(bytes.subarray(0, end));
  }

  end(): void {
    if (this.rest.length > 0) throw new NotParsable('the body ends within a UTF-8 character');
  }

  private decode(bytes: Buffer): string {
    if (isAscii(bytes)) {
      this.begun ||= bytes.length > 0;
      return bytes.toString('latin1');
    }
    const text = utf8Text(bytes);
    const hasMark = !this.begun && text.startsWith('\ufeff');
    this.begun = true;
    return hasMark ? text.slice(1) : text;
  }
}

/** Decodes complete UTF-8; raises `NotParsable` if it is malformed. */
export function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new NotParsable('the body is not UTF-8');
  return bytes.toString();
}

/** The first byte that is not UTF-8, as a message names it; undefined for UTF-8. */
export function foreignByte(bytes: Buffer): string | undefined {
  if (isUtf8(bytes)) return undefined;
  // What is UTF-8 is the same when it is decoded and encoded again.
  const again = Buffer.from(bytes.toString());
  const at = bytes.findIndex((byte, index) => byte !== again[index]);
  const byte = bytes.subarray(at, at + 1);
  return `byte ${at + 1} is 0x${byte.toString('hex').toUpperCase()} (${byte.toString('latin1')} in Latin-1)`;
}

/** The encoding of a name, as the WHATWG Encoding Standard calls it; undefined for one that it does not know. */
export function encodingNamed(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}

/** What the bytes 0x80 to 0x9f are in windows-1252. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/**
 * Decodes bytes of an encoding that arrive in chunks, cut anywhere; raises `NotParsable` for what is none of it. Drops
 * a byte order mark at the beginning.
 */
export class EncodedDecoder {
  private readonly decoder: InstanceType<typeof TextDecoder> | undefined;

  /** `encoding`: as `encodingNamed` returns it. */
  constructor(private readonly encoding: string) {
    // Some versions of Node.js decode this one, by far the most usual, as Latin-1.
    this.decoder = encoding === 'windows-1252' ? undefined : new TextDecoder(encoding, { fatal: true });
  }

  write(chunk: Buffer): string {
    const { decoder } = this;
    if (decoder !== undefined) return this.checked(() => decoder.decode(chunk, { stream: true }));
    const text = chunk.toString('latin1');
    return text.replace(/[\x80-\x9f]/g, (one) => WINDOWS_1252.charAt(one.charCodeAt(0) - 0x80));
  }

  /** The rest. */
  end(): string {
    return this.checked(() => this.decoder?.decode() ?? '');
  }

  private checked(decode: () => string): string {
    try {
      return decode();
    } catch (error) {
      if (error instanceof TypeError) throw new NotParsable(`it is not ${this.encoding}`);
      throw error;
    }
  }
}

/**
 * What begins a text that is not cut into bytes of ASCII, and what it is encoded in: with a byte order
 * mark, or XML without one.
 */
const MARKS = [
  ['\xef\xbb\xbf', 'utf-8'],
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
  ['<\0?\0', 'utf-16le'],
  ['\0<\0?', 'utf-16be'],
] as const;

/**
 * The encoding that the first bytes of a text say it has, of those that begin alike in no other;
 * undefined: they say nothing.
 */
export function markedEncoding(begin: Buffer): string | undefined {
  const first = begin.toString('latin1', 0, 4);
  return MARKS.find(([mark]) => first.startsWith(mark))?.[1];
}

/** Number of bytes at the end that begin an incomplete character. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}

/** Most texts are small. */
const SMALLEST = 4 * 1024;

const NOTHING = Buffer.alloc(0);

/** Collects bytes that arrive in chunks, maybe one by one: an array of those would take a hundred times more. */
export class GrowingBytes {
  private bytes = NOTHING;
  private used = 0;

  /** `smallest`: its initial size. */
  constructor(private readonly smallest = SMALLEST) {}

  get length(): number {
    return this.used;
  }

  add(chunk: Buffer): void {
    const length = this.used + chunk.length;
    if (length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, length, this.smallest));
      this.bytes.copy(larger, 0, 0, this.used);
      this.bytes = larger;
    }
    this.bytes.set(chunk, this.used);
    this.used = length;
  }

  /** Returns all bytes so far, and drops them. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.used);
    this.bytes = NOTHING;
    this.used = 0;
    return taken;
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

/** What gzip begins with, and no format of feeds does. */
const GZIP = Buffer.from([0x1f, 0x8b]);

export function isGzip(begin: Buffer): boolean {
  return begin.subarray(0, GZIP.length).equals(GZIP);
}

/** Looks at the first chunks of a stream, until they are enough or there are no more; `all` has them too. */
export async function beginningOf(
  bytes: AsyncIterable<Buffer>,
  isEnough: (begin: Buffer) => boolean,
): Promise<{ readonly begin: Buffer; readonly all: AsyncGenerator<Buffer, void> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let begin: Buffer = Buffer.alloc(0);
  let isDone = false;
  while (!isDone && !isEnough(begin)) {
    const next = await chunks.next();
    if (next.done === true) isDone = true;
    else begin = begin.length === 0 ? next.value : Buffer.concat([begin, next.value]);
  }
  async function* all(): AsyncGenerator<Buffer, void> {
    try {
      if (begin.length > 0) yield begin;
      while (!isDone) {
        const next = await chunks.next();
        if (next.done === true) isDone = true;
        else yield next.value;
      }
    } finally {
      if (!isDone) await chunks.return?.();
    }
  }
  return { begin, all: all() };
}
