import { crc32 } from 'node:zlib';
import { bytesOf, sharedArray, textOf } from './bytes';
import { keepingBitmaps } from './containers';

/**
 * Where an index keeps its bytes. Names are distinct; a blob is written once unless it is replaced whole. Reads and
 * writes take part in the caller's transaction, if there is one.
 */
export interface Blobs {
  get(name: string): Uint8Array | undefined;
  put(name: string, bytes: Uint8Array): void;
  /** All blobs whose names start with a prefix. */
  all(prefix: string): readonly (readonly [name: string, bytes: Uint8Array])[];
  /** Removes at most `most` blobs whose names start with a prefix; false if no more of them are left. */
  remove(prefix: string, most: number): boolean;
}

/** A blob is missing, or is not what was written: the index must be built again. */
export class DamagedIndex extends Error {
  override readonly name = 'DamagedIndex';
}

/** Arrays in shared memory, by name, that the indexes of several threads with the same blobs have in memory once. */
export interface SharedArrays {
  get<Arrays extends object>(name: string, make: () => Arrays): Arrays;
  /** Arrays whose names start with a prefix are no longer in use. */
  forget(prefix: string): void;
}

/** Where the blobs of a segment are read. Raises `DamagedIndex`. */
export interface BlobReader {
  /**
   * The decoded blob, possibly cached: `decode` must always be the same for one name. `overhead`: the bytes of memory
   * of the value besides those of the blob, unless they are few.
   */
  read<Value>(name: string, decode: (bytes: Uint8Array) => Value, overhead?: (value: Value) => number): Value;
  /** The decoded blob, without caching. */
  readOnce<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value;
  /** What a part of the blob is, cached without the rest; undefined where blobs are not cached by themselves. */
  readPart<Value>(
    name: string,
    part: string,
    decode: (bytes: Uint8Array) => Derived<Value>,
  ): Value | undefined;
}

/** Where the blobs of a segment are written. */
export interface BlobWriter {
  write(name: string, bytes: Uint8Array): void;
}

/** A value that is made of blobs, and its bytes of memory. */
export interface Derived<Value> {
  readonly value: Value;
  readonly bytes: number;
}

/** Decoded blobs, up to a number of bytes: the least recently used ones are forgotten. Indexes may share one. */
export class BlobCache {
  private readonly cached = new Map<string, { readonly value: unknown; readonly bytes: number }>();
  private used = 0;
  private owners = 0;

  constructor(private readonly maxBytes: number) {}

  /** A prefix for the names of one index. */
  prefix(): string {
    this.owners += 1;
    return `${this.owners} `;
  }

  /** Wrapped, since a value may be anything. */
  get(name: string): { readonly value: unknown } | undefined {
    const found = this.cached.get(name);
    if (found === undefined) return undefined;
    this.cached.delete(name);
    this.cached.set(name, found);
    return found;
  }

  set(name: string, value: unknown, length: number): void {
    const bytes = length + OVERHEAD;
    if (bytes > this.maxBytes) return;
    this.cached.set(name, { value, bytes });
    this.used += bytes;
    for (const oldest of this.cached.keys()) {
      if (this.used <= this.maxBytes) return;
      this.forget(oldest);
    }
  }

  /** Whether a value of so many bytes leaves room for others. */
  hasRoom(bytes: number): boolean {
    return bytes * 2 <= this.maxBytes;
  }

  forget(name: string): void {
    this.used -= this.cached.get(name)?.bytes ?? 0;
    this.cached.delete(name);
  }

  forgetAll(prefix: string): void {
    for (const name of this.cached.keys()) if (name.startsWith(prefix)) this.forget(name);
  }
}

/** What a cached blob takes besides its bytes, approximately: its name, its place and an array. */
const OVERHEAD = 360;
/** The same of a part of a pack. */
const PART_OVERHEAD = 200;

/** Blobs by name, with a checksum over name and bytes at the end of each. */
export class CheckedBlobs implements BlobReader, BlobWriter {
  private readonly prefix: string;

  constructor(
    private readonly blobs: Blobs,
    private readonly cache: BlobCache,
    readonly arrays?: SharedArrays,
  ) {
    this.prefix = cache.prefix();
  }

  read<Value>(
    name: string,
    decode: (bytes: Uint8Array) => Value,
    overhead: (value: Value) => number = () => 0,
  ): Value {
    const found = this.cache.get(this.prefix + name);
    if (found !== undefined) return found.value as Value;
    const bytes = this.bytes(name);
    const value = decoded(name, bytes, decode);
    this.cache.set(this.prefix + name, value, bytes.length + overhead(value));
    return value;
  }

  readOnce<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value {
    return decoded(name, this.bytes(name), decode);
  }

  readPart<Value>(name: string, part: string, decode: (bytes: Uint8Array) => Derived<Value>): Value {
    const key = `${this.prefix}${name}/${part}`;
    const found = this.cache.get(key);
    if (found !== undefined) return found.value as Value;
    const { value, bytes } = this.readOnce(name, decode);
    this.cache.set(key, value, bytes);
    return value;
  }

  /**
   * What is made of blobs whose names start alike, which are removed together; undefined if the
   * cache has no room for it.
   */
  derived<Value>(name: string, most: number, make: () => Derived<Value>): Value | undefined {
    const found = this.cache.get(this.prefix + name);
    if (found !== undefined) return found.value as Value;
    if (!this.cache.hasRoom(most)) return undefined;
    const { value, bytes } = keepingBitmaps(make);
    this.cache.set(this.prefix + name, value, bytes);
    return value;
  }

  /** The decoded blob, without caching; undefined if there is none. Raises `DamagedIndex`. */
  readIfPresent<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value | undefined {
    const stored = this.blobs.get(name);
    return stored === undefined ? undefined : decoded(name, unsealed(name, stored), decode);
  }

  /** All decoded blobs whose names start with a prefix, without caching. Raises `DamagedIndex`. */
  readAll<Value>(
    prefix: string,
    decode: (bytes: Uint8Array) => Value,
  ): readonly (readonly [name: string, value: Value])[] {
    return this.blobs
      .all(prefix)
      .map(([name, stored]) => [name, decoded(name, unsealed(name, stored), decode)] as const);
  }

  write(name: string, bytes: Uint8Array): void {
    const sealed = new Uint8Array(bytes.length + 4);
    sealed.set(bytes);
    new DataView(sealed.buffer).setUint32(bytes.length, checksum(name, bytes), true);
    this.blobs.put(name, sealed);
    this.cache.forget(this.prefix + name);
  }

  /** Removes some of the blobs whose names start with a prefix; false if no more of them are left. */
  remove(prefix: string): boolean {
    this.cache.forgetAll(this.prefix + prefix);
    return this.blobs.remove(prefix, REMOVED_AT_ONCE);
  }

  /** Forgets everything that is cached. */
  clear(): void {
    this.cache.forgetAll(this.prefix);
  }

  private bytes(name: string): Uint8Array {
    const stored = this.blobs.get(name);
    if (stored === undefined) throw missing(name);
    return unsealed(name, stored);
  }
}

/** Gathers the blobs of a small segment, which become one: `finish`. */
export class PackWriter implements BlobWriter {
  private readonly parts: (readonly [name: string, bytes: Uint8Array])[] = [];

  write(name: string, bytes: Uint8Array): void {
    this.parts.push([name, bytes]);
  }

  /** The directory (its length, then JSON of the names and lengths), then the parts, each at a multiple of eight. */
  finish(blobs: BlobWriter, name: string): void {
    const directory = bytesOf(JSON.stringify(this.parts.map(([part, { length }]) => [part, length])));
    const start = padded(4 + directory.length);
    const pack = new Uint8Array(this.parts.reduce((sum, [, { length }]) => sum + padded(length), start));
    new DataView(pack.buffer).setUint32(0, directory.length, true);
    pack.set(directory, 4);
    let at = start;
    for (const [, bytes] of this.parts) {
      pack.set(bytes, at);
      at += padded(bytes.length);
    }
    blobs.write(name, pack);
  }
}

type Pack = ReadonlyMap<string, Uint8Array>;

/** The blobs of a small segment, in one. */
export class PackReader implements BlobReader {
  private pack: Pack | undefined;

  /** `isCached`: the pack is read through the cache; otherwise it is read once, and stays in memory with the reader. */
  constructor(
    private readonly blobs: CheckedBlobs,
    private readonly name: string,
    private readonly isCached: boolean,
  ) {}

  read<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value {
    const bytes = this.parts().get(name);
    if (bytes === undefined) throw missing(name);
    return decoded(name, bytes, decode);
  }

  readOnce<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value {
    return this.read(name, decode);
  }

  readPart(): undefined {
    return undefined;
  }

  private parts(): Pack {
    if (this.isCached) return this.blobs.read(this.name, decodePack, (pack) => pack.size * PART_OVERHEAD);
    this.pack ??= this.blobs.readOnce(this.name, decodePack);
    return this.pack;
  }
}

function decodePack(bytes: Uint8Array): Pack {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const directory = JSON.parse(textOf(bytes.subarray(4, 4 + length))) as readonly [string, number][];
  let at = padded(4 + length);
  return new Map(
    directory.map(([name, size]) => {
      const part = bytes.subarray(at, at + size);
      at += padded(size);
      return [name, part];
    }),
  );
}

function padded(length: number): number {
  return Math.ceil(length / 8) * 8;
}

const REMOVED_AT_ONCE = 1_000;

function missing(name: string): DamagedIndex {
  return new DamagedIndex(`${name} is missing in the search index`);
}

function checksum(name: string, bytes: Uint8Array): number {
  return crc32(bytes, crc32(name));
}

/** The bytes without their checksum, at a multiple of eight: typed arrays are views of them. */
function unsealed(name: string, stored: Uint8Array): Uint8Array {
  const aligned = stored.byteOffset % 8 === 0 ? stored : stored.slice();
  const length = aligned.length - 4;
  if (length < 0) throw new DamagedIndex(`${name} in the search index is cut`);
  const bytes = aligned.subarray(0, length);
  const expected = new DataView(aligned.buffer, aligned.byteOffset + length, 4).getUint32(0, true);
  if (checksum(name, bytes) !== expected)
    throw new DamagedIndex(`${name} in the search index does not match its checksum`);
  return bytes;
}

function decoded<Value>(name: string, bytes: Uint8Array, decode: (bytes: Uint8Array) => Value): Value {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError)
      throw new DamagedIndex(`${name} in the search index cannot be read: ${error.message}`);
    throw error;
  }
}

/**
 * Numbers by ordinal or by position, in blobs of 8,192: as offsets from the least one (0 is missing) of 8, 16 or 32
 * bits, or as floating point numbers (NaN is missing) where these are too large. One number that is that of all of them
 * is written once.
 */
const PIECE = 8_192;

/** A blob of numbers. One of the arrays is empty; both if all numbers are `base`. */
interface NumberPiece {
  /** The number of an offset of 1. */
  readonly base: number;
  readonly offsets: Uint8Array | Uint16Array | Uint32Array;
  readonly floats: Float64Array;
}

/** Writes numbers; NaN is missing. */
export function writeNumbers(blobs: BlobWriter, name: string, numbers: Float64Array | Uint32Array): void {
  for (let from = 0; from < numbers.length; from += PIECE)
    blobs.write(`${name}/${from / PIECE}`, encodePiece(numbers.subarray(from, from + PIECE)));
}

function encodePiece(numbers: Float64Array | Uint32Array): Uint8Array {
  let least = Infinity;
  let greatest = -Infinity;
  let missing = 0;
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at] ?? NaN;
    if (number < least) least = number;
    if (number > greatest) greatest = number;
    if (Number.isNaN(number)) missing += 1;
  }
  const isOne = missing === numbers.length || (missing === 0 && least === greatest);
  const width = isOne ? 0 : widthOf(greatest - least + 1);
  const bytes = new Uint8Array(16 + numbers.length * width);
  new Float64Array(bytes.buffer, 0, 1)[0] = least === Infinity ? NaN : least;
  new Uint32Array(bytes.buffer, 8, 2).set([width, numbers.length]);
  if (width === 8) new Float64Array(bytes.buffer, 16).set(numbers);
  else if (width > 0) {
    const offsets = offsetsOf(bytes.buffer, 16, width, numbers.length);
    // NaN becomes 0.
    for (let at = 0; at < numbers.length; at += 1) offsets[at] = (numbers[at] ?? 0) - least + 1;
  }
  return bytes;
}

/** Bytes per number. */
function widthOf(greatest: number): number {
  if (greatest <= 0xff) return 1;
  if (greatest <= 0xffff) return 2;
  return greatest <= 0xffff_ffff ? 4 : 8;
}

function offsetsOf(
  buffer: ArrayBufferLike,
  from: number,
  width: number,
  length: number,
): NumberPiece['offsets'] {
  if (width === 1) return new Uint8Array(buffer, from, length);
  if (width === 2) return new Uint16Array(buffer, from, length);
  return new Uint32Array(buffer, from, width === 4 ? length : 0);
}

function decodePiece(bytes: Uint8Array): NumberPiece {
  const { buffer, byteOffset } = bytes;
  const [base = 0] = new Float64Array(buffer, byteOffset, 1);
  const [width = 0, length = 0] = new Uint32Array(buffer, byteOffset + 8, 2);
  return {
    base,
    offsets: offsetsOf(buffer, byteOffset + 16, width, length),
    floats: new Float64Array(buffer, byteOffset + 16, width === 8 ? length : 0),
  };
}

/** Reads numbers by the piece. Raises `DamagedIndex`. */
export class Numbers {
  private piece: NumberPiece | undefined;
  private at = -1;

  constructor(
    private readonly blobs: BlobReader,
    private readonly name: string,
    readonly length: number,
    private readonly isCached = true,
  ) {}

  /** The number at a position; NaN if it is missing. */
  get(position: number): number {
    const number = position >>> 13;
    if (this.at !== number || this.piece === undefined) {
      const name = `${this.name}/${number}`;
      this.piece = this.isCached
        ? this.blobs.read(name, decodePiece)
        : this.blobs.readOnce(name, decodePiece);
      this.at = number;
    }
    const { base, offsets, floats } = this.piece;
    const within = position & (PIECE - 1);
    if (offsets.length > 0) {
      const offset = offsets[within] ?? 0;
      return offset === 0 ? NaN : base + offset - 1;
    }
    return floats.length > 0 ? (floats[within] ?? NaN) : base;
  }

  /** Forgets the piece that was read last, which may be out of the cache by now. */
  release(): void {
    this.piece = undefined;
  }

  /** All numbers; a missing one is 0, others are increased by `plus`. */
  whole(plus = 0): Uint32Array {
    const all = sharedArray(this.length);
    for (let from = 0; from < this.length; from += PIECE) {
      const { base, offsets, floats } = this.blobs.readOnce(`${this.name}/${from / PIECE}`, decodePiece);
      if (offsets.length === 0 && floats.length === 0 && !Number.isNaN(base))
        all.fill(base + plus, from, from + PIECE);
      for (const [at, number] of floats.entries()) all[from + at] = Number.isNaN(number) ? 0 : number + plus;
      for (let at = 0; at < offsets.length; at += 1) {
        const offset = offsets[at] ?? 0;
        all[from + at] = offset === 0 ? 0 : base + offset - 1 + plus;
      }
    }
    return all;
  }

  /** All numbers, each less `start`; undefined if one is missing, or does not fit in 32 bits then. */
  wholeFrom(start: number): Uint32Array | undefined {
    const all = sharedArray(this.length);
    for (let at = 0; at < all.length; at += 1) {
      const number = this.get(at) - start;
      if (!(number >= 0 && number < BEYOND_32_BITS)) return undefined;
      all[at] = number;
    }
    return all;
  }
}

export const BEYOND_32_BITS = 2 ** 32;
