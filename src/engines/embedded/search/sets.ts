import {
  and,
  andNot,
  compact,
  Container,
  containerOf,
  countBits,
  countOfBoth,
  countIn,
  decode,
  EMPTY,
  fillBits,
  has,
  MAX_SORTED,
  numbersOf,
  or,
  PART,
  SPAN,
  WORDS,
  wordsOf,
} from './containers';

/** An immutable set of ordinals below `size`, as in Roaring bitmaps: one container per 65,536. */
export class OrdinalSet {
  readonly count: number;

  constructor(
    readonly size: number,
    readonly containers: readonly Container[],
  ) {
    let count = 0;
    for (const container of containers) count += container.count;
    this.count = count;
  }

  has(ordinal: number): boolean {
    const container = this.containers[ordinal >>> 16];
    return container !== undefined && has(container, ordinal & 0xffff);
  }
}

/** The number of containers of a set. */
function spansOf(size: number): number {
  return Math.ceil(size / SPAN);
}

/** The number of ordinals below `size` in a container. */
function spanLength(size: number, span: number): number {
  return Math.min(SPAN, size - span * SPAN);
}

export function emptySet(size: number): OrdinalSet {
  return new OrdinalSet(size, new Array<Container>(spansOf(size)).fill(EMPTY));
}

export function everything(size: number): OrdinalSet {
  return rangeSet(size, 0, size);
}

/** The ordinals from `from` to before `to`. */
export function rangeSet(size: number, from: number, to: number): OrdinalSet {
  const containers: Container[] = [];
  for (let span = 0; span < spansOf(size); span += 1) {
    const length = spanLength(size, span);
    const first = Math.min(Math.max(from - span * SPAN, 0), length);
    const end = Math.min(Math.max(to - span * SPAN, 0), length);
    if (end <= first) containers.push(EMPTY);
    else if (end - first === length) containers.push(new Container(length, undefined, undefined));
    else if (end - first <= MAX_SORTED) {
      const sorted = new Uint16Array(end - first);
      for (let at = 0; at < sorted.length; at += 1) sorted[at] = first + at;
      containers.push(new Container(sorted.length, sorted, undefined));
    } else {
      const words = new Int32Array(WORDS);
      fillBits(words, first, end);
      containers.push(new Container(end - first, undefined, words));
    }
  }
  return new OrdinalSet(size, containers);
}

/** The set of `count` ascending, distinct ordinals. */
export function setOf(size: number, ordinals: ArrayLike<number>, count = ordinals.length): OrdinalSet {
  const containers = new Array<Container>(spansOf(size)).fill(EMPTY);
  for (let at = 0; at < count;) {
    const span = (ordinals[at] ?? 0) >>> 16;
    let end = at + 1;
    const beyond = (span + 1) * SPAN;
    while (end < count && (ordinals[end] ?? 0) < beyond) end += 1;
    containers[span] = containerOf(ordinals, at, end, spanLength(size, span));
    at = end;
  }
  return new OrdinalSet(size, containers);
}

/** The set of distinct ordinals in any order. */
export function unorderedSet(size: number, ordinals: Uint32Array): OrdinalSet {
  if (ordinals.length <= MAX_SORTED) return setOf(size, ordinals.slice().sort());
  const bitmaps: Int32Array[] = Array.from({ length: spansOf(size) }, () => new Int32Array(WORDS));
  const counts = new Uint32Array(bitmaps.length);
  for (let at = 0; at < ordinals.length; at += 1) {
    const ordinal = ordinals[at] ?? 0;
    const span = ordinal >>> 16;
    const words = bitmaps[span];
    if (words === undefined) continue;
    const index = (ordinal & 0xffff) >>> 5;
    words[index] = (words[index] ?? 0) | (1 << (ordinal & 31));
    counts[span] = (counts[span] ?? 0) + 1;
  }
  return new OrdinalSet(
    size,
    bitmaps.map((words, span) => {
      const count = counts[span] ?? 0;
      return count === spanLength(size, span)
        ? new Container(count, undefined, undefined)
        : compact(words, count);
    }),
  );
}

export function intersection(a: OrdinalSet, b: OrdinalSet): OrdinalSet {
  return new OrdinalSet(
    a.size,
    a.containers.map((container, span) => and(container, b.containers[span] ?? EMPTY)),
  );
}

export function difference(a: OrdinalSet, b: OrdinalSet): OrdinalSet {
  return b.count === 0
    ? a
    : new OrdinalSet(
        a.size,
        a.containers.map((container, span) => andNot(container, b.containers[span] ?? EMPTY)),
      );
}

export function union(size: number, sets: readonly OrdinalSet[]): OrdinalSet {
  const [first] = sets;
  if (first !== undefined && sets.length === 1) return first;
  const containers: Container[] = [];
  for (let span = 0; span < spansOf(size); span += 1) {
    const parts = sets.flatMap((set) => set.containers[span] ?? []).filter(({ count }) => count > 0);
    containers.push(or(parts));
  }
  return new OrdinalSet(size, containers);
}

/** A set as one bitmap: 2,048 words for each container. */
export function bitmapOf(set: OrdinalSet): Int32Array {
  const words = new Int32Array(set.containers.length * WORDS);
  addToBitmap(set, words);
  return words;
}

/** Adds a set to a bitmap of the same size. */
export function addToBitmap({ containers }: OrdinalSet, bitmap: Int32Array): void {
  for (const [span, container] of containers.entries()) addTo(bitmap, span * WORDS, container);
}

/** Adds a container to the part of a larger bitmap that begins with the word `first`. */
function addTo(bitmap: Int32Array, first: number, { count, sorted, words }: Container): void {
  if (words !== undefined)
    for (let at = 0; at < WORDS; at += 1) bitmap[first + at] = (bitmap[first + at] ?? 0) | (words[at] ?? 0);
  else if (sorted === undefined) fillBits(bitmap, first * 32, first * 32 + count);
  else addNumbers(bitmap, first, sorted, 0, count);
}

/** Adds some numbers to the part of a larger bitmap that begins with the word `first`. */
function addNumbers(bitmap: Int32Array, first: number, numbers: Uint16Array, from: number, to: number): void {
  for (let at = from; at < to; at += 1) {
    const number = numbers[at] ?? 0;
    const index = first + (number >>> 5);
    bitmap[index] = (bitmap[index] ?? 0) | (1 << (number & 31));
  }
}

/** The set of a bitmap, which becomes part of it. */
export function setOfBitmap(size: number, bitmap: Int32Array): OrdinalSet {
  const containers: Container[] = [];
  for (let span = 0; span < spansOf(size); span += 1) {
    const words = bitmap.subarray(span * WORDS, (span + 1) * WORDS);
    const count = countBits(words);
    containers.push(
      count === spanLength(size, span) ? new Container(count, undefined, undefined) : compact(words, count),
    );
  }
  return new OrdinalSet(size, containers);
}

/** How many of some ordinals, or of a set, are in a bitmap. */
export function countFewIn(bitmap: Int32Array, ordinals: Uint32Array, count: number): number {
  let found = 0;
  for (let at = 0; at < count; at += 1) {
    const ordinal = ordinals[at] ?? 0;
    found += ((bitmap[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1;
  }
  return found;
}

/** How many ordinals are in both of two sets of the same size. */
export function countCommon(a: OrdinalSet, b: OrdinalSet): number {
  let count = 0;
  for (let span = 0; span < a.containers.length; span += 1)
    count += countOfBoth(a.containers[span] ?? EMPTY, b.containers[span] ?? EMPTY);
  return count;
}

export function countSetIn(bitmap: Int32Array, { containers }: OrdinalSet): number {
  let found = 0;
  for (let span = 0; span < containers.length; span += 1)
    found += countIn(bitmap, span * WORDS, containers[span] ?? EMPTY);
  return found;
}

/** Visits a set in ascending order from any ordinal on, decoding only as far as needed. */
export class Walk {
  private readonly decoded: Int32Array;
  private at = 0;
  private end = 0;
  /** The next 2,048 ordinals to decode. */
  private part: number;

  constructor(
    private readonly set: OrdinalSet,
    from = 0,
  ) {
    this.decoded = new Int32Array(Math.min(PART, set.count));
    this.part = Math.floor(from / PART);
    this.decodeNext();
    while (this.at < this.end && (this.decoded[this.at] ?? 0) < from) this.at += 1;
  }

  /** The next ordinal; -1 after the last one. */
  next(): number {
    while (this.at === this.end) if (!this.decodeNext()) return -1;
    const ordinal = this.decoded[this.at] ?? -1;
    this.at += 1;
    return ordinal;
  }

  private decodeNext(): boolean {
    const { set, part } = this;
    if (part * PART >= set.size) return false;
    const container = set.containers[part >>> 5];
    this.at = 0;
    this.end = 0;
    this.part = part + 1;
    if (container === undefined || container.count === 0) this.part = ((part >>> 5) + 1) << 5;
    else this.end = decode(container, part * PART - (part & 31) * PART, this.decoded, part & 31);
    return true;
  }
}

// Stored sets -------------------------------------------------------------------------------------------------

/**
 * The set as bytes (little-endian, like every typed array here): the number of its containers that are not empty; for
 * each its index and count; then their arrays, each a multiple of four bytes long.
 */
export function encodeSet({ size, containers }: OrdinalSet): Uint8Array {
  const present = [...containers.entries()].filter(([, { count }]) => count > 0);
  const heads = 4 + present.length * 8;
  const lengths = present.map(([span, container]) => storedLength(container.count, spanLength(size, span)));
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, heads));
  const head = new Uint32Array(bytes.buffer, 0, heads / 4);
  head[0] = present.length;
  let at = heads;
  for (const [index, [span, container]] of present.entries()) {
    head[1 + index * 2] = span;
    head[2 + index * 2] = container.count;
    const length = lengths[index] ?? 0;
    if (length === WORDS * 4) new Int32Array(bytes.buffer, at, WORDS).set(wordsOf(container));
    else if (length > 0) new Uint16Array(bytes.buffer, at, container.count).set(numbersOf(container));
    at += length;
  }
  return bytes;
}

function storedLength(count: number, length: number): number {
  if (count === length) return 0;
  return count > MAX_SORTED ? WORDS * 4 : Math.ceil(count / 2) * 4;
}

/**
 * A set whose arrays are views of these bytes, which start at a multiple of four. Raises `RangeError` if they are cut.
 */
export function decodeSet(bytes: Uint8Array, size: number): OrdinalSet {
  const { buffer, byteOffset } = bytes;
  const length = new Uint32Array(buffer, byteOffset, 1)[0] ?? 0;
  const head = new Uint32Array(buffer, byteOffset + 4, length * 2);
  const containers = new Array<Container>(spansOf(size)).fill(EMPTY);
  let at = byteOffset + 4 + length * 8;
  for (let index = 0; index < length; index += 1) {
    const span = head[index * 2] ?? 0;
    const count = head[index * 2 + 1] ?? 0;
    const stored = storedLength(count, spanLength(size, span));
    containers[span] =
      stored === 0
        ? new Container(count, undefined, undefined)
        : stored === WORDS * 4
          ? new Container(count, undefined, new Int32Array(buffer, at, WORDS))
          : new Container(count, new Uint16Array(buffer, at, count), undefined);
    at += stored;
  }
  return new OrdinalSet(size, containers);
}

/** Adds a set that is stored in these bytes to a bitmap of its size. Raises `RangeError` if they are cut. */
export function addStored(
  { buffer, byteOffset, length }: Uint8Array,
  size: number,
  bitmap: Int32Array,
): void {
  const words = new Int32Array(buffer, byteOffset, length >>> 2);
  const numbers = new Uint16Array(buffer, byteOffset, length >>> 1);
  const count = words[0] ?? 0;
  let at = 1 + count * 2;
  for (let index = 0; index < count; index += 1) {
    const span = words[1 + index * 2] ?? 0;
    const own = words[2 + index * 2] ?? 0;
    const stored = storedLength(own, spanLength(size, span)) >>> 2;
    const first = span * WORDS;
    if (at + stored > words.length) throw new RangeError('the set is cut');
    if (stored === 0) fillBits(bitmap, first * 32, first * 32 + own);
    else if (stored === WORDS)
      for (let word = 0; word < WORDS; word += 1)
        bitmap[first + word] = (bitmap[first + word] ?? 0) | (words[at + word] ?? 0);
    else addNumbers(bitmap, first, numbers, at * 2, at * 2 + own);
    at += stored;
  }
}

/** Bytes of memory that a set takes besides those that it was decoded from. */
export function overheadOf({ containers }: OrdinalSet): number {
  return containers.reduce((sum, { count }) => sum + (count === 0 ? 8 : 140), 200);
}

/** Numbers below a limit that grows. */
export class NumberSet {
  private words = new Int32Array(1_024);

  has(number: number): boolean {
    return ((this.words[number >>> 5] ?? 0) & (1 << (number & 31))) !== 0;
  }

  /** Marks a number; false if it was marked. */
  add(number: number): boolean {
    const index = number >>> 5;
    this.reserve(number);
    const word = this.words[index] ?? 0;
    const bit = 1 << (number & 31);
    this.words[index] = word | bit;
    return (word & bit) === 0;
  }

  /**
   * Marks the numbers of some ordinals, but for 0, and returns how many of these have 0. Numbers are at most
   * `greatest`. Without a branch per number, which would often be mispredicted.
   */
  addAll(numbers: Uint32Array, greatest: number, ordinals: Int32Array, count: number): number {
    this.reserve(greatest);
    const { words } = this;
    let zeros = 0;
    for (let at = 0; at < count; at += 1) {
      const number = numbers[ordinals[at] ?? 0] ?? 0;
      words[number >>> 5] = (words[number >>> 5] ?? 0) | (1 << (number & 31));
      zeros += (number - 1) >>> 31;
    }
    words[0] = (words[0] ?? 0) & ~1;
    return zeros;
  }

  addBitmap(others: Int32Array): void {
    this.reserve(others.length * 32 - 1);
    const { words } = this;
    for (let at = 0; at < others.length; at += 1) words[at] = (words[at] ?? 0) | (others[at] ?? 0);
  }

  count(): number {
    return countBits(this.words);
  }

  private reserve(greatest: number): void {
    const index = greatest >>> 5;
    if (index < this.words.length) return;
    const larger = new Int32Array(Math.max(this.words.length * 2, index + 1));
    larger.set(this.words);
    this.words = larger;
  }
}
