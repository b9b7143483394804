import { ByteReader, ByteWriter } from './bytes';

/**
 * Blocks of the sorted tokens of a dictionary: a token is stored without the bytes it shares with the one before,
 * followed by its ordinals if they are few, or by the number of the blob that has them.
 */

export const PER_BLOCK = 128;
/** Most ordinals within a block. */
export const MAX_INLINE = 256;

/** A token as found in a block. */
export interface Entry {
  readonly count: number;
  /** Its ordinals, ascending. */
  readonly few?: Uint32Array;
  /** Or the number of the blob that has them. */
  readonly list?: number;
}

/** A block as it is cached. It takes longest to pass ordinals: so it notes where the next token begins. */
export class DictionaryBlock {
  /** Where tokens begin, as far as they have been reached since the second look-up. */
  private starts: Uint32Array | undefined;
  private reached = 0;
  private isReadAgain = false;

  constructor(readonly bytes: Uint8Array) {}

  /** A reader at the first token. */
  read(): ByteReader {
    if (this.isReadAgain) this.starts ??= new Uint32Array(PER_BLOCK + 1);
    this.isReadAgain = true;
    return new ByteReader(this.bytes);
  }

  /** Goes from the ordinals of a token, by its position in the block, to the next token. */
  pass(reader: ByteReader, position: number): void {
    const { starts } = this;
    if (position < this.reached) {
      reader.at = starts?.[position] ?? 0;
      return;
    }
    skipEntry(reader);
    if (starts === undefined || position > this.reached) return;
    starts[position] = reader.at;
    this.reached = position + 1;
  }
}

export const NO_TOKENS = new DictionaryBlock(new Uint8Array(0));

/**
 * Finds a token in a block. The tokens before it are not decoded: as long as each shares more bytes with its
 * predecessor than that does with the token, it is less too.
 */
export function findIn(block: DictionaryBlock, token: Uint8Array): Entry | undefined {
  const reader = block.read();
  const { bytes } = block;
  let matched = 0;
  for (let position = 0; reader.at < bytes.length; position += 1) {
    const shared = reader.number();
    const length = reader.number();
    const start = reader.at;
    reader.at += length;
    if (shared < matched) return undefined;
    if (shared === matched) {
      const most = Math.min(length, token.length - matched);
      let same = 0;
      while (same < most && bytes[start + same] === token[matched + same]) same += 1;
      const isEnd = matched + same === token.length;
      if (same === length && isEnd) return entryAt(reader);
      if (same < length && (isEnd || (bytes[start + same] ?? 0) > (token[matched + same] ?? 0)))
        return undefined;
      matched += same;
    }
    block.pass(reader, position);
  }
  return undefined;
}

function entryAt(reader: ByteReader): Entry {
  const count = reader.number();
  if (count > MAX_INLINE) return { count, list: reader.number() };
  const few = new Uint32Array(count);
  let ordinal = 0;
  for (let at = 0; at < count; at += 1) {
    ordinal += reader.number();
    few[at] = ordinal;
  }
  return { count, few };
}

function skipEntry(reader: ByteReader): void {
  const count = reader.number();
  let numbers = count > MAX_INLINE ? 1 : count;
  const { bytes } = reader;
  let { at } = reader;
  for (; numbers > 0; at += 1) if ((bytes[at] ?? 0) < 0x80) numbers -= 1;
  reader.at = at;
}

/** A block whose tokens have no ordinals. */
export function withoutOrdinals(block: Uint8Array): Uint8Array {
  const reader = new ByteReader(block);
  const tokens = new ByteWriter();
  while (reader.at < block.length) {
    const start = reader.at;
    reader.number();
    const length = reader.number();
    reader.at += length;
    tokens.append(block, start, reader.at);
    tokens.number(0);
    skipEntry(reader);
  }
  return tokens.take();
}

/** Bytes of a token that are compared at once, as one number. */
export const KEY_BYTES = 6;

/** Reads a block from its start. */
export class BlockReader {
  length = 0;
  /** Its first bytes as a number: tokens are in the order of their keys, but several may have the same. */
  key = 0;
  private readonly reader: ByteReader;
  private position = -1;
  private isRead = true;

  /** `bytes`: the first `length` of them are the current token, which the next one overwrites. */
  constructor(
    private readonly block: DictionaryBlock,
    public bytes: Uint8Array = new Uint8Array(256),
  ) {
    this.reader = block.read();
  }

  get token(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  next(): boolean {
    const { reader } = this;
    if (!this.isRead) this.block.pass(reader, this.position);
    if (reader.at >= reader.bytes.length) return false;
    this.position += 1;
    const shared = reader.number();
    const length = shared + reader.number();
    if (length > this.bytes.length) this.bytes = enlarged(this.bytes, length);
    const { bytes } = this;
    const from = reader.at - shared;
    for (let to = shared; to < length; to += 1) bytes[to] = reader.bytes[from + to] ?? 0;
    reader.at = from + length;
    this.length = length;
    if (shared < KEY_BYTES) this.key = keyOf(bytes, length);
    this.isRead = false;
    return true;
  }

  /** The entry of the current token; once. */
  entry(): Entry {
    this.isRead = true;
    return entryAt(this.reader);
  }

  /**
   * Like `entry`, for a token with few ordinals: writes them to `into`, which has room for `MAX_INLINE`, and returns
   * their number; 0 if they are many.
   */
  few(into: Uint32Array): number {
    const { reader } = this;
    const start = reader.at;
    const count = reader.number();
    if (count > MAX_INLINE) {
      reader.at = start;
      return 0;
    }
    let ordinal = 0;
    for (let at = 0; at < count; at += 1) {
      ordinal += reader.number();
      into[at] = ordinal;
    }
    this.isRead = true;
    return count;
  }
}

function keyOf(bytes: Uint8Array, length: number): number {
  let key = 0;
  for (let at = 0; at < KEY_BYTES; at += 1) key = key * 257 + (at < length ? (bytes[at] ?? 0) + 1 : 0);
  return key;
}

/** A larger copy of some bytes, with room for `length`. */
export function enlarged(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length * 2);
  larger.set(bytes);
  return larger;
}
