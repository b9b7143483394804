import { randomBytes } from 'node:crypto';

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
