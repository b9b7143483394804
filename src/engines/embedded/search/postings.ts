import { compareBytes } from './bytes';
import { dictionaryNames, DictionaryWriter } from './dictionary';
import { type BlobWriter } from './storage';

/**
 * Writes the dictionary of the tokens of documents, each a text with one token per line. Tokens are numbered as they
 * come, in a hash table of their bytes: no string is made of any. Then the postings are sorted by counting, and only the
 * distinct tokens by name.
 */
export function writeTerms(blobs: BlobWriter, segment: number, texts: readonly string[]): void {
  const tokens = new NumberedTokens();
  const postings = new Numbers();
  const ends = new Uint32Array(texts.length);
  for (const [ordinal, text] of texts.entries()) {
    tokens.ofText(text, ordinal, postings);
    ends[ordinal] = postings.length;
  }
  const starts = new Uint32Array(tokens.count + 1);
  for (let at = 0; at < postings.length; at += 1) {
    const next = (postings.values[at] ?? 0) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let number = 0; number < tokens.count; number += 1)
    starts[number + 1] = (starts[number + 1] ?? 0) + (starts[number] ?? 0);
  const ordinals = new Uint32Array(postings.length);
  const filled = starts.slice();
  for (let ordinal = 0, at = 0; ordinal < texts.length; ordinal += 1)
    for (; at < (ends[ordinal] ?? 0); at += 1) {
      const number = postings.values[at] ?? 0;
      const to = filled[number] ?? 0;
      ordinals[to] = ordinal;
      filled[number] = to + 1;
    }
  const writer = new DictionaryWriter(blobs, dictionaryNames(segment, 'terms'), texts.length);
  for (const number of tokens.sorted()) {
    const from = starts[number] ?? 0;
    const to = starts[number + 1] ?? 0;
    writer.add(tokens.bytesOf(number), ordinals.subarray(from, to), to - from);
  }
  writer.finish();
}

/** Integers from 0 that grow in number. */
class Numbers {
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

class NumberedTokens {
  private bytes = new Uint8Array(65_536);
  /** The end of each token in `bytes`; each begins at the end of the one before. */
  private readonly ends = new Numbers();
  private readonly hashes = new Numbers();
  /** The document that had each token last. */
  private readonly lasts = new Numbers();
  /** Numbers plus one, by hash; 0 is free. */
  private slots = new Int32Array(16_384);
  private text = Buffer.alloc(16_384);

  get count(): number {
    return this.ends.length;
  }

  /** Adds the numbers of the tokens of a document, each once. */
  ofText(text: string, ordinal: number, into: Numbers): void {
    if (text.length * 3 > this.text.length) this.text = Buffer.alloc(text.length * 6);
    const bytes = this.text;
    const length = bytes.write(text);
    let start = 0;
    let hash = 0;
    for (let at = 0; at <= length; at += 1) {
      const byte = at === length ? LINE_FEED : (bytes[at] ?? 0);
      if (byte !== LINE_FEED) {
        hash = Math.imul(hash ^ byte, 0x0100_0193);
        continue;
      }
      if (at > start) {
        const number = this.numberOf(start, at, hash);
        if (this.lasts.values[number] !== ordinal + 1) {
          this.lasts.values[number] = ordinal + 1;
          into.add(number);
        }
      }
      start = at + 1;
      hash = 0;
    }
  }

  bytesOf(number: number): Uint8Array {
    return this.bytes.subarray(this.startOf(number), this.ends.values[number]);
  }

  /** The numbers in the order of the tokens' bytes: sorted by their first bytes, then each run of equal ones. */
  sorted(): Uint32Array {
    const { count } = this;
    const width = count > 2 ** 21 ? 3 : 4;
    const room = 2 ** (53 - width * 8);
    const keys: Float64Array = new Float64Array(count);
    for (let number = 0; number < count; number += 1) {
      const start = this.startOf(number);
      const end = this.ends.values[number] ?? 0;
      let key = 0;
      for (let at = start; at < start + width; at += 1)
        key = key * 256 + (at < end ? (this.bytes[at] ?? 0) : 0);
      keys[number] = key * room + number;
    }
    keys.sort();
    const numbers = new Uint32Array(count);
    let runStart = 0;
    for (let at = 0; at < count; at += 1) {
      const key = keys[at] ?? 0;
      numbers[at] = key % room;
      const isLast = at + 1 === count || Math.floor((keys[at + 1] ?? 0) / room) !== Math.floor(key / room);
      if (!isLast) continue;
      if (at > runStart)
        numbers.subarray(runStart, at + 1).sort((a, b) => compareBytes(this.bytesOf(a), this.bytesOf(b)));
      runStart = at + 1;
    }
    return numbers;
  }

  private startOf(number: number): number {
    return number === 0 ? 0 : (this.ends.values[number - 1] ?? 0);
  }

  private numberOf(start: number, end: number, hash: number): number {
    const mask = this.slots.length - 1;
    const wanted = hash >>> 0;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let found = this.slots[slot] ?? 0; found !== 0; found = this.slots[slot] ?? 0) {
      if (this.hashes.values[found - 1] === wanted && this.isEqual(found - 1, start, end)) return found - 1;
      slot = (slot + 1) & mask;
    }
    const number = this.add(start, end, wanted);
    this.slots[slot] = number + 1;
    if (this.count * 2 > this.slots.length) this.grow();
    return number;
  }

  private isEqual(number: number, start: number, end: number): boolean {
    const from = this.startOf(number);
    const length = end - start;
    if ((this.ends.values[number] ?? 0) - from !== length) return false;
    for (let at = 0; at < length; at += 1) if (this.bytes[from + at] !== this.text[start + at]) return false;
    return true;
  }

  private add(start: number, end: number, hash: number): number {
    const number = this.count;
    const from = this.startOf(number);
    const to = from + end - start;
    if (to > this.bytes.length) {
      const larger = new Uint8Array(to * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    for (let at = start; at < end; at += 1) this.bytes[from + at - start] = this.text[at] ?? 0;
    this.ends.add(to);
    this.hashes.add(hash);
    this.lasts.add(0);
    return number;
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
