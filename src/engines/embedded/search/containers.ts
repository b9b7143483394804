/**
 * Sets of ordinals as in Roaring bitmaps: per 65,536 ordinals a container, which is a sorted array of 16-bit numbers, a
 * bitmap, or everything. Sets are immutable; their arrays may be views of a stored blob.
 */

/** Ordinals per container. */
export const SPAN = 65_536;
/** The greatest number of a sorted array: beyond it, a bitmap is smaller. */
const MAX_SORTED = 4_096;
const WORDS = SPAN / 32;

/**
 * A set of numbers below 65,536. Without `sorted` and `words` it contains everything below `count`. Containers that are
 * combined belong to sets of the same size, so such a container includes any other.
 */
export class Container {
  constructor(
    readonly count: number,
    readonly sorted: Uint16Array | undefined,
    /** Signed: V8 stores words beyond 2^31 as objects otherwise. */
    readonly words: Int32Array | undefined,
  ) {}
}

const EMPTY = new Container(0, new Uint16Array(0), undefined);

/** A set of ordinals below `size`: one container per 65,536. */
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
    setBit(words, ordinal & 0xffff);
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

function containerOf(ordinals: ArrayLike<number>, from: number, to: number, length: number): Container {
  if (to - from === length) return new Container(length, undefined, undefined);
  if (to - from <= MAX_SORTED) {
    const sorted = new Uint16Array(to - from);
    for (let at = from; at < to; at += 1) sorted[at - from] = (ordinals[at] ?? 0) & 0xffff;
    return new Container(sorted.length, sorted, undefined);
  }
  const words = new Int32Array(WORDS);
  for (let at = from; at < to; at += 1) setBit(words, (ordinals[at] ?? 0) & 0xffff);
  return new Container(to - from, undefined, words);
}

// Sets --------------------------------------------------------------------------------------------------------

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
export function addToBitmap(set: OrdinalSet, bitmap: Int32Array): void {
  for (const [span, { count, sorted, words }] of set.containers.entries()) {
    const own = bitmap.subarray(span * WORDS, (span + 1) * WORDS);
    if (words !== undefined)
      for (let at = 0; at < WORDS; at += 1) own[at] = (own[at] ?? 0) | (words[at] ?? 0);
    else if (sorted === undefined) fillBits(own, 0, count);
    else for (let at = 0; at < count; at += 1) setBit(own, sorted[at] ?? 0);
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

export function countSetIn(bitmap: Int32Array, set: OrdinalSet): number {
  const { containers } = set;
  let found = 0;
  for (let span = 0; span < containers.length; span += 1) {
    const { count, sorted, words } = containers[span] ?? EMPTY;
    if (count === 0) continue;
    // A view of its words would take longer than counting few of them.
    const first = span * WORDS;
    if (words !== undefined)
      for (let at = 0; at < WORDS; at += 1) found += bitsIn((bitmap[first + at] ?? 0) & (words[at] ?? 0));
    else if (sorted === undefined) found += countBits(bitmap.subarray(first, first + WORDS));
    else
      for (let at = 0; at < count; at += 1) {
        const number = sorted[at] ?? 0;
        found += ((bitmap[first + (number >>> 5)] ?? 0) >>> (number & 31)) & 1;
      }
  }
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

/** Ordinals that `Walk` decodes at once: 32 parts per container. */
const PART = SPAN / 32;

// Containers --------------------------------------------------------------------------------------------------

/** Whether a container includes everything. */
function isWhole({ sorted, words }: Container): boolean {
  return sorted === undefined && words === undefined;
}

function has({ sorted, words, count }: Container, number: number): boolean {
  if (words !== undefined) return ((words[number >>> 5] ?? 0) & (1 << (number & 31))) !== 0;
  if (sorted === undefined) return number < count;
  const at = lowerBound(sorted, number);
  return at < count && sorted[at] === number;
}

/** The position of the first element that is not less. */
function lowerBound(sorted: Uint16Array, number: number, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

function and(a: Container, b: Container): Container {
  if (a.count === 0 || b.count === 0) return EMPTY;
  if (isWhole(a)) return b;
  if (isWhole(b)) return a;
  if (a.words !== undefined && b.words !== undefined) {
    const words = new Int32Array(WORDS);
    let count = 0;
    for (let at = 0; at < WORDS; at += 1) {
      const word = (a.words[at] ?? 0) & (b.words[at] ?? 0);
      words[at] = word;
      count += bitsIn(word);
    }
    return compact(words, count);
  }
  if (a.sorted !== undefined && b.sorted !== undefined)
    return a.count <= b.count ? andSorted(a.sorted, b.sorted) : andSorted(b.sorted, a.sorted);
  return a.sorted === undefined ? keep(b, a, true) : keep(a, b, true);
}

/** How many times longer an array must be to be searched instead of merged. */
const MUCH_LONGER = 16;

function andSorted(few: Uint16Array, many: Uint16Array): Container {
  const found = new Uint16Array(few.length);
  let count = 0;
  let at = 0;
  if (many.length > few.length * MUCH_LONGER) {
    for (const number of few) {
      at = lowerBound(many, number, at);
      if (at === many.length) break;
      if (many[at] === number) found[count++] = number;
    }
    return ofSorted(found, count);
  }
  for (let other = 0; at < few.length && other < many.length;) {
    const a = few[at] ?? 0;
    const b = many[other] ?? 0;
    if (a === b) found[count++] = a;
    if (a <= b) at += 1;
    if (b <= a) other += 1;
  }
  return ofSorted(found, count);
}

/** Those numbers of a sorted container that are in `other`, or are not. */
function keep({ sorted = EMPTY_NUMBERS }: Container, other: Container, isIn: boolean): Container {
  const found = new Uint16Array(sorted.length);
  const { words } = other;
  let count = 0;
  if (words === undefined) {
    for (const number of sorted) if (has(other, number) === isIn) found[count++] = number;
  } else {
    const wanted = isIn ? 1 : 0;
    for (let at = 0; at < sorted.length; at += 1) {
      const number = sorted[at] ?? 0;
      found[count] = number;
      count += (((words[number >>> 5] ?? 0) >>> (number & 31)) & 1) === wanted ? 1 : 0;
    }
  }
  return ofSorted(found, count);
}

const EMPTY_NUMBERS = new Uint16Array(0);

function andNot(a: Container, b: Container): Container {
  if (a.count === 0 || b.count === 0) return a;
  if (isWhole(b)) return EMPTY;
  if (a.sorted !== undefined) return keep(a, b, false);
  const words = wordsOf(a);
  let { count } = a;
  if (b.words !== undefined) {
    count = 0;
    for (let at = 0; at < WORDS; at += 1) {
      const word = (words[at] ?? 0) & ~(b.words[at] ?? 0);
      words[at] = word;
      count += bitsIn(word);
    }
  } else if (b.sorted !== undefined) {
    for (const number of b.sorted) {
      const word = words[number >>> 5] ?? 0;
      const bit = 1 << (number & 31);
      if ((word & bit) === 0) continue;
      words[number >>> 5] = word & ~bit;
      count -= 1;
    }
  }
  return compact(words, count);
}

/** The union of containers, none of them empty. */
function or(containers: readonly Container[]): Container {
  const [first] = containers;
  if (first === undefined) return EMPTY;
  if (containers.length === 1) return first;
  const whole = containers.find(isWhole);
  if (whole !== undefined) return whole;
  const total = containers.reduce((sum, { count }) => sum + count, 0);
  if (total <= MAX_SORTED) return mergeFew(containers, total);
  const words = new Int32Array(WORDS);
  for (const { sorted, words: others } of containers) {
    if (others !== undefined)
      for (let at = 0; at < WORDS; at += 1) words[at] = (words[at] ?? 0) | (others[at] ?? 0);
    else if (sorted !== undefined)
      for (let at = 0; at < sorted.length; at += 1) setBit(words, sorted[at] ?? 0);
  }
  return compact(words, countBits(words));
}

/** With more of them, arrays are sorted together instead of merged two by two. */
const FEW_MERGED = 4;

function mergeFew(containers: readonly Container[], total: number): Container {
  const arrays = containers.map(({ sorted = EMPTY_NUMBERS }) => sorted);
  if (arrays.length > FEW_MERGED) return sortTogether(arrays, total);
  const merged = arrays.toSorted((a, b) => a.length - b.length).reduce(orSorted);
  return ofSorted(merged, merged.length);
}

function orSorted(a: Uint16Array, b: Uint16Array): Uint16Array {
  const numbers = new Uint16Array(a.length + b.length);
  let count = 0;
  let at = 0;
  let other = 0;
  while (at < a.length && other < b.length) {
    const x = a[at] ?? 0;
    const y = b[other] ?? 0;
    numbers[count] = x <= y ? x : y;
    count += 1;
    at += x <= y ? 1 : 0;
    other += y <= x ? 1 : 0;
  }
  numbers.set(a.subarray(at), count);
  count += a.length - at;
  numbers.set(b.subarray(other), count);
  count += b.length - other;
  return numbers.subarray(0, count);
}

function sortTogether(arrays: readonly Uint16Array[], total: number): Container {
  const numbers = new Uint16Array(total);
  let end = 0;
  for (const array of arrays) {
    numbers.set(array, end);
    end += array.length;
  }
  numbers.sort();
  let count = 0;
  for (let at = 0; at < end; at += 1)
    if (count === 0 || numbers[at] !== numbers[count - 1]) numbers[count++] = numbers[at] ?? 0;
  return ofSorted(numbers, count);
}

/**
 * Writes the numbers of a container, each plus `base`, to the start of `into`, and returns how many there are. `part`:
 * only those of this 32nd of the container.
 */
export function decode(
  { count, sorted, words }: Container,
  base: number,
  into: Int32Array,
  part?: number,
): number {
  const from = part === undefined ? 0 : part * PART;
  const to = part === undefined ? SPAN : from + PART;
  let at = 0;
  if (words !== undefined) {
    for (let index = from >>> 5; index < to >>> 5; index += 1) {
      let word = (words[index] ?? 0) | 0;
      const first = base + (index << 5);
      while (word !== 0) {
        const lowest = word & -word;
        into[at] = first + 31 - Math.clz32(lowest);
        at += 1;
        word ^= lowest;
      }
    }
  } else if (sorted !== undefined) {
    const end = to === SPAN ? sorted.length : lowerBound(sorted, to);
    for (let index = lowerBound(sorted, from); index < end; index += 1) {
      into[at] = base + (sorted[index] ?? 0);
      at += 1;
    }
  } else {
    const end = Math.min(to, count);
    for (let number = from; number < end; number += 1) {
      into[at] = base + number;
      at += 1;
    }
  }
  return at;
}

/** The bits of a container as a bitmap of one's own. */
function wordsOf({ count, sorted, words }: Container): Int32Array {
  if (words !== undefined) return words.slice();
  const copy = new Int32Array(WORDS);
  if (sorted === undefined) fillBits(copy, 0, count);
  else for (const number of sorted) setBit(copy, number);
  return copy;
}

function setBit(words: Int32Array, number: number): void {
  words[number >>> 5] = (words[number >>> 5] ?? 0) | (1 << (number & 31));
}

function fillBits(words: Int32Array, from: number, to: number): void {
  for (let number = from; number < to;) {
    if ((number & 31) === 0 && number + 32 <= to) {
      words[number >>> 5] = -1;
      number += 32;
    } else {
      setBit(words, number);
      number += 1;
    }
  }
}

/** A bitmap of few numbers becomes a sorted array. */
function compact(words: Int32Array, count: number): Container {
  if (count === 0) return EMPTY;
  const container = new Container(count, undefined, words);
  if (count > MAX_SORTED) return container;
  const numbers = new Int32Array(count);
  decode(container, 0, numbers);
  return new Container(count, Uint16Array.from(numbers), undefined);
}

function ofSorted(numbers: Uint16Array, count: number): Container {
  return count === 0 ? EMPTY : new Container(count, numbers.subarray(0, count), undefined);
}

export function countBits(words: Int32Array): number {
  let count = 0;
  for (let at = 0; at < words.length; at += 1) count += bitsIn((words[at] ?? 0) | 0);
  return count;
}

function bitsIn(word: number): number {
  const pairs = (word - ((word >>> 1) & 0x55555555)) | 0;
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
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

function numbersOf(container: Container): Uint16Array {
  if (container.sorted !== undefined) return container.sorted;
  const numbers = new Int32Array(container.count);
  decode(container, 0, numbers);
  return Uint16Array.from(numbers);
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
