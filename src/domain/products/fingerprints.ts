// eslint-disable-next-line no-restricted-imports -- a random key of a hash table in memory: it changes no result.
import { hash, randomBytes } from 'node:crypto';
import { NO_STREAM } from '../../kernel/event';
import { currencyCode } from '../../wire/record/minor-units';

/** 128 bits of SHA-256 as 32 hexadecimal digits. */
export type Digest = string;

export function digestOf(content: string | Uint8Array): Digest {
  return hash('sha256', content, 'hex').slice(0, 32);
}

/** Four 32-bit words make a digest. */
const WORDS = 4;

/** Flags of a product. */
const LISTED = 1;
const OUT_OF_STOCK = 2;

/**
 * The state that decides a feed, folded from its stream up to `revision`. For each product: whether it is listed and
 * out of stock, the digest of its content, and its price with its currency. Beside it a cache: the digest of the bytes
 * that a product was last posted as, so that the same bytes need not be parsed again.
 *
 * About 80 bytes per product, outside the JavaScript heap.
 */
export class Fingerprints {
  /** Revision of the last event folded. */
  revision = NO_STREAM;
  /** Id of that event, empty before the first: another log has a different one at the same revision. */
  lastEvent = '';
  /** How many platform categories had been removed when the posted bytes were last validated. */
  removals = 0;
  listed = 0;
  private contents = new Uint32Array(512 * WORDS);
  private posted = new Uint32Array(512 * WORDS);
  private prices = new Float64Array(512);
  /** `currencyCode`; 0 if it is unknown. */
  private currencies = new Uint16Array(512);
  private flags = new Uint8Array(512);
  /** Hash table of product numbers by posted digest; lookups skip outdated entries. */
  private byPosted = new Int32Array(1024).fill(-1);
  private postedEntries = 0;

  constructor(private readonly ids: IdTable = new IdTable()) {
    this.reserve(ids.size);
  }

  /** How many products were ever listed: their numbers are below it. */
  get size(): number {
    return this.ids.size;
  }

  /** Size in bytes. */
  get memory(): number {
    const columns = [this.contents, this.posted, this.prices, this.currencies, this.flags, this.byPosted];
    return columns.reduce((sum, column) => sum + column.byteLength, this.ids.memory);
  }

  /** The number of a product that was ever listed, or -1. */
  find(sourceProductId: string): number {
    return this.ids.find(sourceProductId);
  }

  /** True if the posted bytes of any product are known. */
  get knowsPosted(): boolean {
    return this.postedEntries > 0;
  }

  /** The number of a listed product that was last posted as exactly these bytes, or -1. */
  findPosted(posted: Digest): number {
    const mask = this.byPosted.length - 1;
    for (let slot = word(posted, 0) & mask; ; slot = (slot + 1) & mask) {
      const product = this.byPosted[slot] ?? -1;
      if (product < 0) return -1;
      if (this.isListed(product) && this.hasPosted(product, posted)) return product;
    }
  }

  idOf(product: number): string {
    return this.ids.idOf(product);
  }

  /** False for -1. */
  isListed(product: number): boolean {
    return product >= 0 && ((this.flags[product] ?? 0) & LISTED) !== 0;
  }

  /** By its last content, also after it was delisted; false for -1. */
  isOutOfStock(product: number): boolean {
    return product >= 0 && ((this.flags[product] ?? 0) & OUT_OF_STOCK) !== 0;
  }

  /** Ids of the listed products. The state may change meanwhile. */
  *listedIds(): Generator<string> {
    for (let product = 0; product < this.size; product += 1) {
      if (this.isListed(product)) yield this.idOf(product);
    }
  }

  hasContent(product: number, content: Digest): boolean {
    return matches(this.contents, product, content);
  }

  hasPosted(product: number, posted: Digest): boolean {
    return matches(this.posted, product, posted);
  }

  priceOf(product: number): number {
    return this.prices[product] ?? 0;
  }

  /** False if the price is known to be in another currency. */
  isIn(product: number, currency: string): boolean {
    const known = this.currencies[product] ?? 0;
    const code = currencyCode(currency);
    return known === code || known === 0 || code === 0;
  }

  /** True if the price is known to be in this currency. */
  isPricedIn(product: number, currency: string): boolean {
    const code = currencyCode(currency);
    return code !== 0 && this.currencies[product] === code;
  }

  /** Lists or revises a product; returns its number. */
  set(
    sourceProductId: string,
    content: Digest,
    price: number,
    currency: string,
    isOutOfStock = false,
  ): number {
    const product = this.ids.add(sourceProductId);
    this.reserve(product + 1);
    if (!this.isListed(product)) this.listed += 1;
    this.flags[product] = isOutOfStock ? LISTED | OUT_OF_STOCK : LISTED;
    write(this.contents, product, content);
    this.posted.fill(0, product * WORDS, (product + 1) * WORDS);
    this.prices[product] = price;
    this.currencies[product] = currencyCode(currency);
    return product;
  }

  /** Returns the product's number, or -1. */
  reprice(sourceProductId: string, price: number, currency: string): number {
    const product = this.find(sourceProductId);
    if (product < 0) return product;
    this.prices[product] = price;
    this.currencies[product] = currencyCode(currency);
    this.posted.fill(0, product * WORDS, (product + 1) * WORDS);
    return product;
  }

  /** Delists a product; returns its number, or -1. */
  remove(sourceProductId: string): number {
    const product = this.find(sourceProductId);
    if (!this.isListed(product)) return product;
    this.flags[product] = (this.flags[product] ?? 0) & ~LISTED;
    this.listed -= 1;
    return product;
  }

  /** Remembers the bytes that a product's current state was posted as. */
  rememberPosted(product: number, posted: Digest): void {
    if (product < 0 || this.hasPosted(product, posted)) return;
    write(this.posted, product, posted);
    if ((this.postedEntries + 1) * 2 > this.byPosted.length) this.indexPosted();
    else this.enterPosted(product);
  }

  /** Forgets all posted bytes if categories were removed since, so that products are validated when posted again. */
  forgetPostedBefore(removals: number): void {
    if (this.removals === removals) return;
    this.removals = removals;
    this.posted.fill(0);
    this.indexPosted();
  }

  /** The columns to be saved; `fromColumns` restores them. */
  columns(): FingerprintColumns {
    const { size } = this;
    return {
      ...this.ids.columns(),
      contents: this.contents.subarray(0, size * WORDS),
      posted: this.posted.subarray(0, size * WORDS),
      prices: this.prices.subarray(0, size),
      currencies: this.currencies.subarray(0, size),
      flags: this.flags.subarray(0, size),
    };
  }

  static fromColumns(columns: FingerprintColumns): Fingerprints {
    const one = new Fingerprints(IdTable.fromColumns(columns.ends, columns.bytes));
    one.contents = columns.contents;
    one.posted = columns.posted;
    one.prices = columns.prices;
    one.currencies = columns.currencies;
    one.flags = columns.flags;
    one.listed = columns.flags.reduce((sum, flag) => sum + (flag & LISTED), 0);
    one.indexPosted();
    return one;
  }

  private reserve(size: number): void {
    if (size <= this.prices.length) return;
    const length = Math.max(512, size, this.prices.length * 2);
    this.contents = extended(this.contents, new Uint32Array(length * WORDS));
    this.posted = extended(this.posted, new Uint32Array(length * WORDS));
    this.prices = extended(this.prices, new Float64Array(length));
    this.currencies = extended(this.currencies, new Uint16Array(length));
    this.flags = extended(this.flags, new Uint8Array(length));
  }

  private enterPosted(product: number): void {
    const mask = this.byPosted.length - 1;
    let slot = (this.posted[product * WORDS] ?? 0) & mask;
    while ((this.byPosted[slot] ?? -1) >= 0) slot = (slot + 1) & mask;
    this.byPosted[slot] = product;
    this.postedEntries += 1;
  }

  private indexPosted(): void {
    let length = 1024;
    while (length < this.size * 4) length *= 2;
    this.byPosted = new Int32Array(length).fill(-1);
    this.postedEntries = 0;
    for (let product = 0; product < this.size; product += 1) {
      const at = product * WORDS;
      const isKnown = this.posted[at] !== 0 || this.posted[at + 1] !== 0 || this.posted[at + 2] !== 0;
      if (isKnown && this.isListed(product)) this.enterPosted(product);
    }
  }
}

interface FingerprintColumns {
  readonly ends: Uint32Array;
  readonly bytes: Buffer;
  readonly contents: Uint32Array<ArrayBuffer>;
  readonly posted: Uint32Array<ArrayBuffer>;
  readonly prices: Float64Array<ArrayBuffer>;
  readonly currencies: Uint16Array<ArrayBuffer>;
  readonly flags: Uint8Array<ArrayBuffer>;
}

function word(digest: Digest, index: number): number {
  let value = 0;
  for (let at = index * 8; at < index * 8 + 8; at += 1) {
    const code = digest.charCodeAt(at);
    value = (value << 4) | (code > 57 ? code - 87 : code - 48);
  }
  return value >>> 0;
}

function matches(column: Uint32Array, product: number, digest: Digest): boolean {
  for (let index = 0; index < WORDS; index += 1) {
    if (column[product * WORDS + index] !== word(digest, index)) return false;
  }
  return true;
}

function write(column: Uint32Array, product: number, digest: Digest): void {
  for (let index = 0; index < WORDS; index += 1) column[product * WORDS + index] = word(digest, index);
}

function extended<Column extends Uint32Array | Float64Array | Uint16Array | Uint8Array>(
  old: Column,
  larger: Column,
): Column {
  larger.set(old);
  return larger;
}

/**
 * A hash table that numbers strings from 0 in the order they were added: a million ids of twelve characters take about
 * 30 MB, outside the JavaScript heap. The hash has a random key, so that nobody can choose ids that collide.
 */
export class IdTable {
  private count = 0;
  private slots = new Int32Array(1024).fill(-1);
  private hashes = new Int32Array(512);
  /** Where each id ends in `bytes`; it begins where the previous one ends. */
  private ends: Uint32Array = new Uint32Array(512);
  private bytes: Buffer = Buffer.allocUnsafe(8192);
  private readonly key0: number;
  private readonly key1: number;
  private scratch = Buffer.allocUnsafe(1024);
  private scratchLength = 0;

  constructor() {
    const key = randomBytes(8);
    this.key0 = key.readInt32LE(0) | 1;
    this.key1 = key.readInt32LE(4) | 1;
  }

  get size(): number {
    return this.count;
  }

  /** Bytes in use: each id takes its own and at most 24. What the columns reserve beyond that is not touched. */
  get memory(): number {
    const { BYTES_PER_ELEMENT } = this.hashes;
    return this.slots.byteLength + this.count * 2 * BYTES_PER_ELEMENT + this.startOf(this.count);
  }

  /** The number of an id, or -1. */
  find(id: string): number {
    return this.slots[this.slotOf(id)] ?? -1;
  }

  /** The number of an id, assigned now if it has none. */
  add(id: string): number {
    const slot = this.slotOf(id);
    const known = this.slots[slot] ?? -1;
    if (known >= 0) return known;
    if (this.count === this.ends.length) this.growColumns();
    const start = this.startOf(this.count);
    const end = start + this.scratchLength;
    if (end > this.bytes.length) this.bytes = grown(this.bytes, end);
    this.scratch.copy(this.bytes, start, 0, this.scratchLength);
    this.ends[this.count] = end;
    this.hashes[this.count] = this.hashOf(this.scratchLength);
    this.slots[slot] = this.count;
    this.count += 1;
    if (this.count * 2 > this.slots.length) this.rebuildSlots(this.slots.length * 2);
    return this.count - 1;
  }

  /** The id of a number below `size`. */
  idOf(number: number): string {
    return this.bytes.toString('utf8', this.startOf(number), this.ends[number] ?? 0);
  }

  /** The columns to be saved: the ids end to end, and where each ends. `fromColumns` restores them. */
  columns(): { readonly ends: Uint32Array; readonly bytes: Buffer } {
    return {
      ends: this.ends.subarray(0, this.count),
      bytes: this.bytes.subarray(0, this.startOf(this.count)),
    };
  }

  static fromColumns(ends: Uint32Array, bytes: Buffer): IdTable {
    const table = new IdTable();
    table.ends = ends;
    table.bytes = bytes;
    table.count = ends.length;
    table.hashes = new Int32Array(ends.length);
    for (let number = 0; number < table.count; number += 1) {
      const start = table.startOf(number);
      table.takeScratch((ends[number] ?? 0) - start);
      bytes.copy(table.scratch, 0, start, ends[number]);
      table.hashes[number] = table.hashOf(table.scratchLength);
    }
    let slots = 1024;
    while (slots <= table.count * 2) slots *= 2;
    table.rebuildSlots(slots);
    return table;
  }

  /** The slot of the id, or the free one where it belongs. Leaves the id's bytes in `scratch`. */
  private slotOf(id: string): number {
    this.encode(id);
    const length = this.scratchLength;
    const hash = this.hashOf(length);
    const mask = this.slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.slots[slot] ?? -1;
      if (number < 0) return slot;
      if (this.hashes[number] === hash && this.isInScratch(number, length)) return slot;
    }
  }

  private isInScratch(number: number, length: number): boolean {
    const start = this.startOf(number);
    if ((this.ends[number] ?? 0) - start !== length) return false;
    for (let at = 0; at < length; at += 1) {
      if (this.bytes[start + at] !== this.scratch[at]) return false;
    }
    return true;
  }

  private encode(id: string): void {
    const { length } = id;
    this.takeScratch(length * 3);
    for (let at = 0; at < length; at += 1) {
      const code = id.charCodeAt(at);
      if (code > 127) {
        this.scratchLength = this.scratch.write(id, 'utf8');
        return;
      }
      this.scratch[at] = code;
    }
    this.scratchLength = length;
  }

  private takeScratch(length: number): void {
    if (length > this.scratch.length) this.scratch = Buffer.allocUnsafe(length * 2);
    this.scratchLength = length;
  }

  /** Multiplies and shifts word by word, with random multipliers. */
  private hashOf(length: number): number {
    const { scratch, key0, key1 } = this;
    let hash = length ^ key1;
    for (let at = 0; at < length; at += 4) {
      const word =
        (scratch[at] ?? 0) |
        ((at + 1 < length ? (scratch[at + 1] ?? 0) : 0) << 8) |
        ((at + 2 < length ? (scratch[at + 2] ?? 0) : 0) << 16) |
        ((at + 3 < length ? (scratch[at + 3] ?? 0) : 0) << 24);
      hash = Math.imul(hash ^ word, key0);
      hash = Math.imul(hash ^ (hash >>> 15), key1);
      hash ^= hash >>> 13;
    }
    return hash;
  }

  private startOf(number: number): number {
    return number === 0 ? 0 : (this.ends[number - 1] ?? 0);
  }

  private growColumns(): void {
    const ends = new Uint32Array(Math.max(512, this.ends.length * 2));
    ends.set(this.ends);
    this.ends = ends;
    const hashes = new Int32Array(ends.length);
    hashes.set(this.hashes);
    this.hashes = hashes;
  }

  private rebuildSlots(length: number): void {
    const slots = new Int32Array(length).fill(-1);
    const mask = length - 1;
    for (let number = 0; number < this.count; number += 1) {
      let slot = (this.hashes[number] ?? 0) & mask;
      while ((slots[slot] ?? -1) >= 0) slot = (slot + 1) & mask;
      slots[slot] = number;
    }
    this.slots = slots;
  }
}

function grown(bytes: Buffer, least: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(least, bytes.length * 2));
  bytes.copy(larger);
  return larger;
}
