import { writeBytes } from './bytes';
import { dictionaryNames, DictionaryWriter } from './dictionary';
import { type BlobWriter } from './storage';

/** Documents, or tokens, per step. */
const STEP = 4_096;

/**
 * Writes the dictionary of the tokens of documents, in steps: bytes with one token per line. `inOrder`: the documents
 * by ordinal. Tokens are numbered as they come, in a hash table: no string is made of any. Then the postings are sorted
 * by counting, and only the distinct tokens by name.
 */
export function* writeTerms(
  blobs: BlobWriter,
  segment: number,
  documents: readonly { readonly tokens: Uint8Array }[],
  inOrder: Uint32Array,
): Generator<undefined> {
  const tokens = NumberedTokens.take();
  const { postings } = tokens;
  const ends = new Uint32Array(documents.length + 1);
  for (let at = 0; at < documents.length; at += 1) {
    const bytes = documents[at]?.tokens;
    if (bytes !== undefined) tokens.add(bytes, at);
    ends[at + 1] = postings.length;
    if (at % STEP === STEP - 1) yield;
  }
  const starts = new Uint32Array(tokens.count + 1);
  const numbers = postings.values;
  for (let at = 0; at < postings.length; at += 1) {
    const next = (numbers[at] ?? 0) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let number = 0; number < tokens.count; number += 1)
    starts[number + 1] = (starts[number + 1] ?? 0) + (starts[number] ?? 0);
  const ordinals = new Uint32Array(postings.length);
  const filled = starts.slice();
  for (let ordinal = 0; ordinal < inOrder.length; ordinal += 1) {
    const document = inOrder[ordinal] ?? 0;
    for (let at = ends[document] ?? 0, end = ends[document + 1] ?? 0; at < end; at += 1) {
      const number = numbers[at] ?? 0;
      const to = filled[number] ?? 0;
      ordinals[to] = ordinal;
      filled[number] = to + 1;
    }
  }
  yield;
  const sorted = tokens.sorted();
  yield;
  const writer = new DictionaryWriter(blobs, dictionaryNames(segment, 'terms'), documents.length);
  for (let at = 0; at < sorted.length; at += 1) {
    const number = sorted[at] ?? 0;
    tokens.addTo(writer, number);
    writer.ordinals(ordinals, starts[number] ?? 0, starts[number + 1] ?? 0);
    if (at % STEP === STEP - 1) yield;
  }
  writer.finish();
  tokens.giveBack();
}

/** Distinct ids in the order of their bytes. */
export class SortedIds {
  private readonly tokens = NumberedTokens.take();
  /** The places of the ids as given. */
  readonly sorted: Uint32Array;

  constructor(ids: readonly { readonly id: string }[]) {
    for (const { id } of ids) this.tokens.addText(id);
    this.sorted = this.tokens.sorted();
  }

  /** Writes the dictionary of the ids, each with an ordinal; once. */
  write(blobs: BlobWriter, segment: number, ordinalOf: Uint32Array): void {
    const { tokens, sorted } = this;
    const writer = new DictionaryWriter(blobs, dictionaryNames(segment, 'ids'), sorted.length);
    for (let rank = 0; rank < sorted.length; rank += 1) {
      const at = sorted[rank] ?? 0;
      tokens.addTo(writer, at);
      writer.ordinal(ordinalOf[at] ?? 0);
    }
    writer.finish();
    tokens.giveBack();
  }
}

/** Integers from 0 that grow in number. */
class GrowingNumbers {
  values = new Uint32Array(1_024);
  length = 0;

  add(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Uint32Array(this.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length] = value;
    this.length += 1;
  }
}

const LINE_FEED = 10;
/** Values of a byte, and one for none. */
const DIGITS = 257;
/** So few tokens are sorted by insertion. */
const FEW = 12;

/** So many bytes of tokens, at most, are kept for the next segment. */
const MOST_KEPT = 2 ** 20;

class NumberedTokens {
  private static readonly spare: NumberedTokens[] = [];

  /** The numbers of the tokens of all documents, each once per document. */
  readonly postings = new GrowingNumbers();
  private bytes = new Uint8Array(65_536);
  /** The end of each token in `bytes`; each begins at the end of the one before. */
  private readonly ends = new GrowingNumbers();
  private readonly hashes = new GrowingNumbers();
  /** The document that had each token last, plus one. */
  private readonly lasts = new GrowingNumbers();
  /** Numbers plus one, by hash; 0 is free. */
  private slots = new Int32Array(16_384);

  /** An empty one: typed arrays are expensive to make and to collect. */
  static take(): NumberedTokens {
    return NumberedTokens.spare.pop() ?? new NumberedTokens();
  }

  giveBack(): void {
    if (this.bytes.length > MOST_KEPT || NumberedTokens.spare.length > 1) return;
    for (const numbers of [this.postings, this.ends, this.hashes, this.lasts]) numbers.length = 0;
    this.slots.fill(0);
    NumberedTokens.spare.push(this);
  }

  get count(): number {
    return this.ends.length;
  }

  /** Adds the tokens of a document. */
  add(bytes: Uint8Array, ordinal: number): void {
    const { length } = bytes;
    let start = 0;
    let hash = 0;
    for (let at = 0; at <= length; at += 1) {
      const byte = at === length ? LINE_FEED : (bytes[at] ?? 0);
      if (byte !== LINE_FEED) {
        hash = Math.imul(hash ^ byte, 0x0100_0193);
        continue;
      }
      if (at > start) {
        const number = this.numberOf(bytes, start, at, hash);
        if (this.lasts.values[number] !== ordinal + 1) {
          this.lasts.values[number] = ordinal + 1;
          this.postings.add(number);
        }
      }
      start = at + 1;
      hash = 0;
    }
  }

  /** Adds a token that is not there yet. */
  addText(text: string): void {
    const from = this.startOf(this.count);
    this.reserve(from + text.length * 3);
    this.ends.add(from + writeBytes(text, this.bytes.subarray(from)));
    this.hashes.add(0);
    this.lasts.add(0);
  }

  /** The numbers in the order of the tokens' bytes. */
  sorted(): Uint32Array {
    const numbers = new Uint32Array(this.count);
    for (let number = 0; number < numbers.length; number += 1) numbers[number] = number;
    this.sort(numbers, 0);
    return numbers;
  }

  /** Adds a token to a dictionary; its ordinals follow. */
  addTo(writer: DictionaryWriter, number: number): void {
    writer.token(this.bytes, this.startOf(number), this.endOf(number));
  }

  /**
   * Sorts tokens whose first `depth` bytes are equal: by the bytes after these, as many as fit in a floating point
   * number with a position; then those that are still equal by what follows. Tokens are distinct, so none of these has
   * ended.
   */
  private sort(numbers: Uint32Array, depth: number): void {
    const count = numbers.length;
    if (count <= FEW) {
      this.sortFew(numbers, depth);
      return;
    }
    const from = depth + this.sharedFrom(numbers, depth);
    const room = 2 ** (32 - Math.clz32(count - 1));
    const width = Math.floor(Math.log(2 ** 53 / room) / Math.log(DIGITS));
    const keys: Float64Array = new Float64Array(count);
    for (let at = 0; at < count; at += 1) keys[at] = this.digits(numbers[at] ?? 0, from, width) * room + at;
    keys.sort();
    const before = numbers.slice();
    let start = 0;
    let digits = Math.floor((keys[0] ?? 0) / room);
    for (let at = 0; at < count; at += 1) {
      const key = keys[at] ?? 0;
      numbers[at] = before[key - digits * room] ?? 0;
      const next = at + 1 === count ? -1 : Math.floor((keys[at + 1] ?? 0) / room);
      if (next === digits) continue;
      if (at > start) this.sort(numbers.subarray(start, at + 1), from + width);
      start = at + 1;
      digits = next;
    }
  }

  /** How many bytes from `depth` on these tokens share. */
  private sharedFrom(numbers: Uint32Array, depth: number): number {
    const { bytes } = this;
    const first = this.startOf(numbers[0] ?? 0) + depth;
    let shared = this.endOf(numbers[0] ?? 0) - first;
    for (let at = 1; at < numbers.length && shared > 0; at += 1) {
      const start = this.startOf(numbers[at] ?? 0) + depth;
      const most = Math.min(shared, this.endOf(numbers[at] ?? 0) - start);
      let same = 0;
      while (same < most && bytes[first + same] === bytes[start + same]) same += 1;
      shared = same;
    }
    return shared;
  }

  /** Bytes of a token as one number; those beyond its end come first. */
  private digits(number: number, from: number, width: number): number {
    const start = this.startOf(number) + from;
    const end = Math.min(this.endOf(number), start + width);
    let digits = 0;
    for (let at = start; at < end; at += 1) digits = digits * DIGITS + (this.bytes[at] ?? 0) + 1;
    for (let at = end; at < start + width; at += 1) digits *= DIGITS;
    return digits;
  }

  /** Sorts by insertion. */
  private sortFew(numbers: Uint32Array, depth: number): void {
    for (let at = 1; at < numbers.length; at += 1) {
      const number = numbers[at] ?? 0;
      let to = at;
      for (; to > 0; to -= 1) {
        const above = numbers[to - 1] ?? 0;
        if (this.compare(above, number, depth) <= 0) break;
        numbers[to] = above;
      }
      numbers[to] = number;
    }
  }

  private compare(a: number, b: number, depth: number): number {
    const { bytes } = this;
    const ofA = this.startOf(a);
    const ofB = this.startOf(b);
    const lengthA = this.endOf(a) - ofA;
    const lengthB = this.endOf(b) - ofB;
    const length = Math.min(lengthA, lengthB);
    for (let at = depth; at < length; at += 1) {
      const difference = (bytes[ofA + at] ?? 0) - (bytes[ofB + at] ?? 0);
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  private endOf(number: number): number {
    return this.ends.values[number] ?? 0;
  }

  private startOf(number: number): number {
    return number === 0 ? 0 : (this.ends.values[number - 1] ?? 0);
  }

  private numberOf(text: Uint8Array, start: number, end: number, hash: number): number {
    const mask = this.slots.length - 1;
    const wanted = hash >>> 0;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let found = this.slots[slot] ?? 0; found !== 0; found = this.slots[slot] ?? 0) {
      if (this.hashes.values[found - 1] === wanted && this.isEqual(found - 1, text, start, end))
        return found - 1;
      slot = (slot + 1) & mask;
    }
    const number = this.append(text, start, end, wanted);
    this.slots[slot] = number + 1;
    if (this.count * 2 > this.slots.length) this.grow();
    return number;
  }

  private isEqual(number: number, text: Uint8Array, start: number, end: number): boolean {
    const { bytes } = this;
    const from = this.startOf(number);
    const length = end - start;
    if ((this.ends.values[number] ?? 0) - from !== length) return false;
    for (let at = 0; at < length; at += 1) if (bytes[from + at] !== text[start + at]) return false;
    return true;
  }

  private append(text: Uint8Array, start: number, end: number, hash: number): number {
    const number = this.count;
    const from = this.startOf(number);
    const to = from + end - start;
    this.reserve(to);
    const { bytes } = this;
    for (let at = start; at < end; at += 1) bytes[from + at - start] = text[at] ?? 0;
    this.ends.add(to);
    this.hashes.add(hash);
    this.lasts.add(0);
    return number;
  }

  private reserve(length: number): void {
    if (length <= this.bytes.length) return;
    const larger = new Uint8Array(length * 2);
    larger.set(this.bytes);
    this.bytes = larger;
  }

  private grow(): void {
    this.slots = new Int32Array(this.slots.length * 2);
    const mask = this.slots.length - 1;
    for (let number = 0; number < this.count; number += 1) {
      const hash = (this.hashes.values[number] ?? 0) | 0;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = number + 1;
    }
  }
}
