import { crc32 } from 'node:zlib';

/**
 * Where an index keeps its bytes. Names are distinct; a blob is written once unless it is replaced whole. Reads and
 * writes take part in the caller's transaction, if there is one.
 */
export interface Blobs {
  get(name: string): Uint8Array | undefined;
  put(name: string, bytes: Uint8Array): void;
  /** Removes at most `most` blobs whose names start with a prefix; false if there was none. */
  remove(prefix: string, most: number): boolean;
}

/** A blob is missing, or is not what was written: the index must be built again. */
export class DamagedIndex extends Error {
  override readonly name = 'DamagedIndex';
}

/** Blobs by name, with a checksum over name and bytes at the end of each. Caches what was read, up to a number of bytes. */
export class CheckedBlobs {
  private readonly cached = new Map<string, { readonly value: unknown; readonly bytes: number }>();
  private used = 0;

  constructor(
    private readonly blobs: Blobs,
    private readonly maxBytes: number,
  ) {}

  /** The decoded blob. Raises `DamagedIndex`. `decode` must always be the same for one name. */
  read<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value {
    const found = this.cached.get(name);
    if (found !== undefined) {
      // The least recently used ones come first.
      this.cached.delete(name);
      this.cached.set(name, found);
      return found.value as Value;
    }
    const bytes = this.bytes(name);
    const value = decoded(name, bytes, decode);
    if (bytes.length <= this.maxBytes) {
      this.cached.set(name, { value, bytes: bytes.length + OVERHEAD });
      this.used += bytes.length + OVERHEAD;
      this.shrink();
    }
    return value;
  }

  /** The decoded blob, without caching. Raises `DamagedIndex`. */
  readOnce<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value {
    return decoded(name, this.bytes(name), decode);
  }

  /** The decoded blob, without caching; undefined if there is none. Raises `DamagedIndex`. */
  readIfPresent<Value>(name: string, decode: (bytes: Uint8Array) => Value): Value | undefined {
    const stored = this.blobs.get(name);
    return stored === undefined ? undefined : decoded(name, unsealed(name, stored), decode);
  }

  write(name: string, bytes: Uint8Array): void {
    const sealed = new Uint8Array(bytes.length + 4);
    sealed.set(bytes);
    new DataView(sealed.buffer).setUint32(bytes.length, checksum(name, bytes), true);
    this.blobs.put(name, sealed);
    this.forget(name);
  }

  /** Removes some of the blobs whose names start with a prefix; false if there was none. */
  remove(prefix: string): boolean {
    for (const name of this.cached.keys()) if (name.startsWith(prefix)) this.forget(name);
    return this.blobs.remove(prefix, REMOVED_AT_ONCE);
  }

  /** Forgets everything that is cached. */
  clear(): void {
    this.cached.clear();
    this.used = 0;
  }

  private bytes(name: string): Uint8Array {
    const stored = this.blobs.get(name);
    if (stored === undefined) throw new DamagedIndex(`${name} is missing in the search index`);
    return unsealed(name, stored);
  }

  private forget(name: string): void {
    this.used -= this.cached.get(name)?.bytes ?? 0;
    this.cached.delete(name);
  }

  private shrink(): void {
    for (const name of this.cached.keys()) {
      if (this.used <= this.maxBytes) return;
      this.forget(name);
    }
  }
}

const REMOVED_AT_ONCE = 1_000;

/** What a cached blob takes besides its bytes, approximately. */
const OVERHEAD = 200;

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
