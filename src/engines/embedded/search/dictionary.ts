import {
  BlockReader,
  DictionaryBlock,
  enlarged,
  type Entry,
  findIn,
  KEY_BYTES,
  MAX_INLINE,
  NO_TOKENS,
  PER_BLOCK,
  withoutOrdinals,
} from './blocks';
import { ByteWriter, compareBytes, textOf } from './bytes';
import { addStored, decodeSet, encodeSet, type OrdinalSet, overheadOf, setOf } from './sets';
import { type BlobReader, type BlobWriter } from './storage';

/**
 * Sorted tokens, each with its ordinals. Blocks of 128 tokens are blobs (`blocks.ts`), and so are sets of many
 * ordinals. An index with the first token of each block is in memory.
 */

/** The blobs of one dictionary of one segment. */
interface DictionaryNames {
  readonly block: (block: number) => string;
  readonly list: (list: number) => string;
  readonly index: string;
}

export function dictionaryNames(segment: number, name: string): DictionaryNames {
  const prefix = `${segment}/${name}`;
  return {
    block: (block) => `${prefix}/${block}`,
    list: (list) => `${prefix}/list/${list}`,
    index: `${prefix}/index`,
  };
}

/** Writes a dictionary, token by token in ascending order. `size`: the number of documents of the segment. */
export class DictionaryWriter {
  private readonly block = new ByteWriter();
  private readonly firsts = new ByteWriter();
  private readonly offsets: number[] = [];
  /** A copy of the last token. */
  private last = new Uint8Array(256);
  private length = 0;
  private entries = 0;
  private lists = 0;

  constructor(
    private readonly blobs: BlobWriter,
    private readonly names: DictionaryNames,
    private readonly size: number,
  ) {}

  /** Adds a token: the bytes from `from` to before `to`. Its ordinals follow. */
  token(bytes: Uint8Array, from: number, to: number): void {
    const { block } = this;
    if (this.entries % PER_BLOCK === 0) this.startBlock(bytes, from, to);
    this.entries += 1;
    const length = to - from;
    if (length > this.last.length) this.last = enlarged(this.last, length);
    const { last } = this;
    const most = Math.min(this.length, length);
    let shared = 0;
    while (shared < most && last[shared] === bytes[from + shared]) shared += 1;
    block.number(shared);
    block.number(length - shared);
    block.append(bytes, from + shared, to);
    for (let at = shared; at < length; at += 1) last[at] = bytes[from + at] ?? 0;
    this.length = length;
  }

  /** The ordinals of the token: ascending, from `from` to before `to`. */
  ordinals(ordinals: Uint32Array, from: number, to: number): void {
    const { block } = this;
    const count = to - from;
    block.number(count);
    if (count > MAX_INLINE) {
      block.number(this.lists);
      this.blobs.write(this.names.list(this.lists), encodeSet(setOf(this.size, ordinals.subarray(from, to))));
      this.lists += 1;
      return;
    }
    block.ascending(ordinals, from, to);
  }

  /** The only ordinal of the token. */
  ordinal(ordinal: number): void {
    this.block.number(1);
    this.block.number(ordinal);
  }

  /** Writes what remains: the last block and the index. */
  finish(): void {
    this.endBlock();
    const { offsets, firsts } = this;
    const heads = new Uint32Array([this.entries, offsets.length, ...offsets, firsts.length]);
    const index = new ByteWriter();
    index.append(new Uint8Array(heads.buffer));
    index.append(firsts.take());
    this.blobs.write(this.names.index, index.take());
  }

  private startBlock(bytes: Uint8Array, from: number, to: number): void {
    this.endBlock();
    this.offsets.push(this.firsts.length);
    this.firsts.append(bytes, from, to);
    this.length = 0;
  }

  private endBlock(): void {
    if (this.block.length > 0) this.blobs.write(this.names.block(this.offsets.length - 1), this.block.take());
  }
}

/** Bytes of memory of a block besides those of its blob. */
const BLOCK_OVERHEAD = 700;

/** A byte that is greater than any in UTF-8. */
const BEYOND = 0xff;

/** Reads a dictionary. Raises `DamagedIndex`. */
export class Dictionary {
  /** The number of tokens. */
  readonly length: number;
  private readonly blocks: number;
  private readonly offsets: Uint32Array;
  private readonly firsts: Uint8Array;

  constructor(
    private readonly blobs: BlobReader,
    private readonly names: DictionaryNames,
    private readonly size: number,
  ) {
    [this.length, this.blocks, this.offsets, this.firsts] = blobs.readOnce(names.index, (bytes) => {
      const [length = 0, blocks = 0] = new Uint32Array(bytes.buffer, bytes.byteOffset, 2);
      // Copies: what was read may be larger.
      const offsets = new Uint32Array(bytes.buffer, bytes.byteOffset + 8, blocks + 1).slice();
      return [length, blocks, offsets, bytes.slice(8 + (blocks + 1) * 4)] as const;
    });
  }

  find(token: Uint8Array): Entry | undefined {
    const block = this.blockOf(token);
    return block < 0 ? undefined : findIn(this.block(block), token);
  }

  /**
   * Like `find`, for a token whose entry the caller caches: its block, which has the ordinals of many others, is not.
   */
  findOnce(token: Uint8Array): Entry | undefined {
    const block = this.blockOf(token);
    return block < 0 ? undefined : findIn(this.readBlock(block), token);
  }

  /** Whether it has a token. Of the blocks, only the tokens are cached. */
  has(token: Uint8Array): boolean {
    const block = this.blockOf(token);
    return block >= 0 && findIn(this.tokensIn(block), token) !== undefined;
  }

  /** The tokens from one on, in order: the first of them is current. Undefined if there is none. */
  from(token: Uint8Array): DictionaryReader | undefined {
    return this.started(token, (block) => this.block(block));
  }

  /** Like `from`, for tokens alone: they may have no ordinals. */
  tokensFrom(token: Uint8Array): DictionaryReader | undefined {
    return this.started(token, (block) => this.tokensIn(block));
  }

  private started(
    token: Uint8Array,
    blockOf: (block: number) => DictionaryBlock,
  ): DictionaryReader | undefined {
    const reader = new DictionaryReader(this.blocks, blockOf, Math.max(0, this.blockOf(token)));
    while (reader.next()) if (reader.compareTo(token) >= 0) return reader;
    return undefined;
  }

  /** Visits the tokens that start with these bytes, in order. */
  startingWith(prefix: Uint8Array, visit: (reader: DictionaryReader) => void): void {
    const reader = this.from(prefix);
    if (reader === undefined) return;
    for (let isMore = true; isMore && reader.startsWith(prefix); isMore = reader.next()) visit(reader);
  }

  /** The distinct letters (code points) that follow these bytes in tokens. `visit` is called for each. */
  lettersAfter(prefix: Uint8Array, visit: () => void): readonly string[] {
    const letters: string[] = [];
    const next = new Uint8Array(prefix.length + 4);
    next.set(prefix);
    let length = prefix.length;
    for (;;) {
      visit();
      const reader = this.tokensFrom(next.subarray(0, length));
      if (reader?.startsWith(prefix) !== true) return letters;
      const { token } = reader;
      const width = widthOf(token[prefix.length]);
      if (width > 0) letters.push(textOf(token.subarray(prefix.length, prefix.length + width)));
      // After all tokens with this letter.
      length = prefix.length + Math.max(width, 1);
      next.set(token.subarray(prefix.length, length), prefix.length);
      next[length - 1] = width === 0 ? 0 : (next[length - 1] ?? 0) + 1;
    }
  }

  /** How many blocks, at most, have tokens that start with these bytes. */
  blocksWith(prefix: Uint8Array): number {
    const beyond = new Uint8Array(prefix.length + 1).fill(BEYOND);
    beyond.set(prefix);
    return this.blockOf(beyond) - Math.max(0, this.blockOf(prefix)) + 1;
  }

  /** How many tokens are not after this one. */
  positionAfter(token: Uint8Array): number {
    const block = this.blockOf(token);
    if (block < 0) return 0;
    const entries = new BlockReader(this.block(block));
    let position = block * PER_BLOCK;
    while (entries.next() && compareBytes(entries.token, token) <= 0) position += 1;
    return position;
  }

  tokenAt(position: number): Uint8Array {
    const entries = new BlockReader(this.block(Math.floor(position / PER_BLOCK)));
    for (let skipped = position % PER_BLOCK; skipped >= 0; skipped -= 1) entries.next();
    return entries.token.slice();
  }

  set({ few, list }: Entry): OrdinalSet {
    return few === undefined
      ? this.blobs.read(this.names.list(list ?? 0), (bytes) => decodeSet(bytes, this.size), overheadOf)
      : setOf(this.size, few);
  }

  /** Like `set`, but leaves the cache alone. */
  setOnce({ few, list }: Entry): OrdinalSet {
    return few === undefined
      ? this.blobs.readOnce(this.names.list(list ?? 0), (bytes) => decodeSet(bytes, this.size))
      : setOf(this.size, few);
  }

  /** Adds a set that has a blob of its own to a bitmap, and leaves the cache alone. */
  addOnce({ list = 0 }: Entry, bitmap: Int32Array): void {
    this.blobs.readOnce(this.names.list(list), (bytes) => {
      addStored(bytes, this.size, bitmap);
    });
  }

  /** All tokens in order, read once. */
  all(): DictionaryReader {
    return new DictionaryReader(this.blocks, (block) => this.readBlock(block));
  }

  private readBlock(block: number): DictionaryBlock {
    return this.blobs.readOnce(this.names.block(block), (bytes) => new DictionaryBlock(bytes));
  }

  private tokensIn(block: number): DictionaryBlock {
    const tokens = this.blobs.readPart(this.names.block(block), 'tokens', (bytes) => {
      const value = new DictionaryBlock(withoutOrdinals(bytes));
      return { value, bytes: value.bytes.length + BLOCK_OVERHEAD };
    });
    return tokens ?? this.block(block);
  }

  private block(block: number): DictionaryBlock {
    return this.blobs.read(
      this.names.block(block),
      (bytes) => new DictionaryBlock(bytes),
      () => BLOCK_OVERHEAD,
    );
  }

  /** The last block that starts at or before a token; -1 if it is before all. */
  private blockOf(token: Uint8Array): number {
    let low = 0;
    let high = this.blocks;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const first = this.firsts.subarray(this.offsets[middle], this.offsets[middle + 1]);
      if (compareBytes(first, token) <= 0) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** The bytes of a character in UTF-8 that begins with this one; 0 for none. */
function widthOf(first: number | undefined): number {
  if (first === undefined) return 0;
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** Reads all tokens of a dictionary in order. */
export class DictionaryReader {
  private block = new BlockReader(NO_TOKENS);
  /** Of the next token. */
  private position: number;

  /** `read`: the first block. */
  constructor(
    private readonly blocks: number,
    private readonly blockOf: (block: number) => DictionaryBlock,
    private read = 0,
  ) {
    this.position = read * PER_BLOCK;
  }

  /** Goes to the next token; false after the last one. */
  next(): boolean {
    while (!this.block.next()) {
      if (this.read === this.blocks) return false;
      this.block = new BlockReader(this.blockOf(this.read), this.block.bytes);
      this.read += 1;
    }
    this.position += 1;
    return true;
  }

  /** Goes forwards to the token at a position. */
  goTo(position: number): void {
    const block = Math.floor(position / PER_BLOCK);
    if (block >= this.read) {
      this.block = new BlockReader(this.blockOf(block), this.block.bytes);
      this.read = block + 1;
      this.position = block * PER_BLOCK;
    }
    while (this.position <= position) this.next();
  }

  /** The position of the current token. */
  get at(): number {
    return this.position - 1;
  }

  /** The current token. The next one overwrites it. */
  get token(): Uint8Array {
    return this.block.token;
  }

  /** The bytes of the current token: the first `length` of these. No array is made of them. */
  get bytes(): Uint8Array {
    return this.block.bytes;
  }

  get length(): number {
    return this.block.length;
  }

  compareTo(token: Uint8Array): number {
    const { bytes, length } = this.block;
    const shorter = Math.min(length, token.length);
    for (let at = 0; at < shorter; at += 1) {
      const difference = (bytes[at] ?? 0) - (token[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return length - token.length;
  }

  startsWith(prefix: Uint8Array): boolean {
    const { bytes, length } = this.block;
    if (length < prefix.length) return false;
    for (let at = 0; at < prefix.length; at += 1) if (bytes[at] !== prefix[at]) return false;
    return true;
  }

  /** The bytes of the current token, each as a character: texts in the order of the bytes. */
  binary(): string {
    const { bytes, length } = this.block;
    return Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1');
  }

  /** Compares the current tokens of two readers. */
  compare({ block: other }: DictionaryReader): number {
    const { block } = this;
    if (block.key !== other.key) return block.key < other.key ? -1 : 1;
    const length = Math.min(block.length, other.length);
    for (let at = KEY_BYTES; at < length; at += 1) {
      const difference = (block.bytes[at] ?? 0) - (other.bytes[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return block.length - other.length;
  }

  /** Adds the current token to another dictionary; its ordinals follow. */
  addTo(writer: DictionaryWriter): void {
    writer.token(this.block.bytes, 0, this.block.length);
  }

  /** The entry of the current token; once. */
  entry(): Entry {
    return this.block.entry();
  }

  /** The few ordinals of the current token (`BlockReader.few`), or 0: then there is `entry`. */
  few(into: Uint32Array): number {
    return this.block.few(into);
  }
}
