/**
 * Containers as in Roaring bitmaps: numbers below 65,536 as a sorted array of 16-bit numbers, as a bitmap, or all of
 * them. They are immutable; their arrays may be views of a stored blob.
 */

/** Ordinals per container. */
export const SPAN = 65_536;
/** The greatest number of a sorted array: beyond it, a bitmap is smaller. */
export const MAX_SORTED = 4_096;
/** Words of a bitmap. */
export const WORDS = SPAN / 32;
/** Parts that may be decoded alone: 32 per container. */
export const PART = SPAN / 32;

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

export const EMPTY = new Container(0, new Uint16Array(0), undefined);

/** Bitmaps are parts of larger arrays: it takes longer to make an array, and to collect it, than to fill it. */
const TOGETHER = 16;
let spare = new Int32Array(0);

/** Bitmaps that one query after the other uses: so many at most, 4 MB. */
const MOST_REUSED = 512;
const reused: Int32Array[] = [];
/** How many of them the current query has; undefined outside of queries. */
let taken: number | undefined;

/** Runs a query. No bitmap that it makes may be used after it. */
export function reusingBitmaps<Result>(query: () => Result): Result {
  if (taken !== undefined) return query();
  taken = 0;
  try {
    return query();
  } finally {
    taken = undefined;
  }
}

/** Makes what may be used after the current query. */
export function keepingBitmaps<Result>(make: () => Result): Result {
  const before = taken;
  taken = undefined;
  try {
    return make();
  } finally {
    taken = before;
  }
}

/** A bitmap, with any bits if it is to be `overwritten`, otherwise without. */
function newWords(overwritten = false): Int32Array {
  if (taken === undefined || taken === MOST_REUSED) return ownWords();
  const known = reused[taken];
  const words = known ?? ownWords();
  if (known === undefined) reused.push(words);
  else if (!overwritten) words.fill(0);
  taken += 1;
  return words;
}

function ownWords(): Int32Array {
  if (spare.length === 0) spare = new Int32Array(TOGETHER * WORDS);
  const words = spare.subarray(0, WORDS);
  spare = spare.subarray(WORDS);
  return words;
}

/** The container of some ascending ordinals of one span, which has so many. */
export function containerOf(
  ordinals: ArrayLike<number>,
  from: number,
  to: number,
  length: number,
): Container {
  if (to - from === length) return new Container(length, undefined, undefined);
  if (to - from <= MAX_SORTED) {
    const sorted = new Uint16Array(to - from);
    for (let at = from; at < to; at += 1) sorted[at - from] = (ordinals[at] ?? 0) & 0xffff;
    return new Container(sorted.length, sorted, undefined);
  }
  const words = newWords();
  for (let at = from; at < to; at += 1) setBit(words, (ordinals[at] ?? 0) & 0xffff);
  return new Container(to - from, undefined, words);
}

/** Whether a container includes everything. */
function isWhole({ sorted, words }: Container): boolean {
  return sorted === undefined && words === undefined;
}

export function has({ sorted, words, count }: Container, number: number): boolean {
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

/** How many numbers are in both. */
export function countOfBoth(a: Container, b: Container): number {
  if (a.count === 0 || b.count === 0) return 0;
  if (isWhole(a)) return b.count;
  if (isWhole(b)) return a.count;
  if (a.words === undefined || b.words === undefined) return and(a, b).count;
  let count = 0;
  for (let at = 0; at < WORDS; at += 1) count += bitsIn((a.words[at] ?? 0) & (b.words[at] ?? 0));
  return count;
}

export function and(a: Container, b: Container): Container {
  if (a.count === 0 || b.count === 0) return EMPTY;
  if (isWhole(a)) return b;
  if (isWhole(b)) return a;
  if (a.words !== undefined && b.words !== undefined) {
    const words = newWords(true);
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
    // 1 or 0: branches would often be mispredicted.
    const isUpTo = (a - b - 1) >>> 31;
    const isFrom = (b - a - 1) >>> 31;
    found[count] = a;
    count += isUpTo & isFrom;
    at += isUpTo;
    other += isFrom;
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

export function andNot(a: Container, b: Container): Container {
  if (a.count === 0 || b.count === 0) return a;
  if (isWhole(b)) return EMPTY;
  if (a.sorted !== undefined) return keep(a, b, false);
  const words = wordsOf(a);
  let { count } = a;
  if (b.words !== undefined && isWhole(a)) {
    for (let at = 0; at < WORDS; at += 1) words[at] = (words[at] ?? 0) & ~(b.words[at] ?? 0);
    count -= b.count;
  } else if (b.words !== undefined) {
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
export function or(containers: readonly Container[]): Container {
  const [first] = containers;
  if (first === undefined) return EMPTY;
  if (containers.length === 1) return first;
  const whole = containers.find(isWhole);
  if (whole !== undefined) return whole;
  const total = containers.reduce((sum, { count }) => sum + count, 0);
  if (total <= MAX_SORTED && containers.every(({ sorted }) => sorted !== undefined))
    return mergeFew(containers, total);
  const words = newWords();
  let count = 0;
  for (const { words: others, count: own } of containers) {
    if (others === undefined) continue;
    if (count > 0) count = addWords(words, others);
    else {
      words.set(others);
      count = own;
    }
  }
  for (const { sorted } of containers) if (sorted !== undefined) count += addSorted(words, sorted);
  return compact(words, count);
}

/** Adds a bitmap to another one, and returns how many bits that has then. */
function addWords(words: Int32Array, others: Int32Array): number {
  let count = 0;
  for (let at = 0; at < WORDS; at += 1) {
    const word = (words[at] ?? 0) | (others[at] ?? 0);
    words[at] = word;
    count += bitsIn(word);
  }
  return count;
}

/** Adds numbers to a bitmap, and returns how many of them it did not have. */
function addSorted(words: Int32Array, sorted: Uint16Array): number {
  let count = sorted.length;
  for (let at = 0; at < sorted.length; at += 1) {
    const number = sorted[at] ?? 0;
    const word = words[number >>> 5] ?? 0;
    words[number >>> 5] = word | (1 << (number & 31));
    count -= (word >>> (number & 31)) & 1;
  }
  return count;
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

/** How many numbers of a container are in the part of a larger bitmap that begins with the word `first`. */
export function countIn(bitmap: Int32Array, first: number, { count, sorted, words }: Container): number {
  let found = 0;
  if (sorted === undefined) {
    const own = bitmap.subarray(first, first + WORDS);
    if (words === undefined) return countBits(own);
    for (let at = 0; at < WORDS; at += 1) found += bitsIn((own[at] ?? 0) & (words[at] ?? 0));
  } else
    for (let at = 0; at < count; at += 1) {
      const number = sorted[at] ?? 0;
      found += ((bitmap[first + (number >>> 5)] ?? 0) >>> (number & 31)) & 1;
    }
  return found;
}

/** The bits of a container as a bitmap of one's own. */
export function wordsOf({ count, sorted, words }: Container): Int32Array {
  const copy = newWords(words !== undefined);
  if (words !== undefined) copy.set(words);
  else if (sorted === undefined) fillBits(copy, 0, count);
  else for (const number of sorted) setBit(copy, number);
  return copy;
}

export function setBit(words: Int32Array, number: number): void {
  words[number >>> 5] = (words[number >>> 5] ?? 0) | (1 << (number & 31));
}

export function fillBits(words: Int32Array, from: number, to: number): void {
  const first = Math.min(Math.ceil(from / 32) * 32, to);
  const last = Math.max(Math.floor(to / 32) * 32, first);
  for (let number = from; number < first; number += 1) setBit(words, number);
  words.fill(-1, first / 32, last / 32);
  for (let number = last; number < to; number += 1) setBit(words, number);
}

/** In memory, bitmaps of more numbers are combined faster than these are listed and combined. */
const MAX_LISTED = 512;

/** A bitmap of few numbers becomes a sorted array. */
export function compact(words: Int32Array, count: number): Container {
  if (count === 0) return EMPTY;
  const container = new Container(count, undefined, words);
  return count > MAX_LISTED ? container : new Container(count, numbersOf(container), undefined);
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

export function numbersOf(container: Container): Uint16Array {
  if (container.sorted !== undefined) return container.sorted;
  decode(container, 0, NUMBERS);
  // Much faster than `Uint16Array.from`.
  return new Uint16Array(NUMBERS.subarray(0, container.count));
}

/** For one container at a time. */
const NUMBERS = new Int32Array(SPAN);
