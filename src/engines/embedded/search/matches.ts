import { bytesOf, compareBytes } from './bytes';
import { type Container, decode, SPAN } from './containers';
import {
  addToBitmap,
  bitmapOf,
  difference,
  emptySet,
  everything,
  intersection,
  OrdinalSet,
  overheadOf,
  rangeSet,
  setOf,
  setOfBitmap,
  union,
  unorderedSet,
} from './sets';
import { type Entry, MAX_INLINE } from './blocks';
import { type Dictionary, type DictionaryReader } from './dictionary';
import { type IndexFilter } from './query';
import { SAMPLED, type Schema, type Segment, type StoredOrder } from './segment';
import { type Derived, type Numbers } from './storage';

/** A segment as a query sees it. */
export interface Searched {
  readonly segment: Segment;
  readonly deleted: OrdinalSet;
  /** Only these documents are searched: by default all. */
  readonly among?: OrdinalSet;
}

/** Positions of a stored order, from `low` to before `high`. */
interface Interval {
  readonly column: string;
  readonly order: StoredOrder;
  readonly low: number;
  readonly high: number;
}

/** An interval, and those documents in it that do not match. */
interface OpenInterval extends Interval {
  readonly excluded: OrdinalSet;
}

/**
 * The matching documents of one segment. A range of one stored order, less a few documents, is not made into a set
 * until needed.
 */
export class Matches {
  readonly count: number;
  private made: OrdinalSet | undefined;
  readonly interval: OpenInterval | undefined;

  constructor(
    readonly searched: Searched,
    found: OrdinalSet | OpenInterval,
    check: () => void,
  ) {
    if (found instanceof OrdinalSet) {
      this.made = found;
      this.count = found.count;
    } else {
      this.interval = found;
      this.count = found.high - found.low - countWithin(found.excluded, found, check);
    }
  }

  get segment(): Segment {
    return this.searched.segment;
  }

  get set(): OrdinalSet {
    const { interval } = this;
    this.made ??=
      interval === undefined
        ? emptySet(this.segment.docs)
        : difference(setOfInterval(interval), interval.excluded);
    return this.made;
  }

  has(ordinal: number): boolean {
    const { interval, made } = this;
    if (made !== undefined || interval === undefined) return this.set.has(ordinal);
    return isWithin(interval, ordinal) && !interval.excluded.has(ordinal);
  }
}

/** If a range leaves out fewer than one document in so many, they are counted instead of those in it. */
const FEW_EXCLUDED = 8;

/** Finds the documents that match a filter. */
export function matchesOf(
  searched: Searched,
  schema: Schema,
  filter: IndexFilter,
  check: () => void,
): Matches {
  const { segment, deleted, among } = searched;
  const evaluation = new Evaluation(segment, schema, check);
  const parts = conjuncts(filter);
  const stored = parts.filter(
    (part): part is Range => 'column' in part && segment.order(part.column) !== undefined,
  );
  const [range] = stored;
  if (range !== undefined && stored.length === 1) {
    const others = difference(
      evaluation.all(
        parts.filter((part) => part !== range),
        among,
      ),
      deleted,
    );
    const order = segment.order(range.column);
    if (order !== undefined && (segment.docs - others.count) * FEW_EXCLUDED <= segment.docs) {
      const excluded = difference(everything(segment.docs), others);
      return new Matches(searched, { ...intervalOf(segment, order, range), excluded }, check);
    }
    return new Matches(searched, evaluation.within(others, range), check);
  }
  return new Matches(searched, difference(evaluation.all(parts, among), deleted), check);
}

function conjuncts(filter: IndexFilter): readonly IndexFilter[] {
  if ('all' in filter) return filter.all.flatMap(conjuncts);
  if ('any' in filter && filter.any.length === 1) return filter.any.flatMap(conjuncts);
  return [filter];
}

type Range = Extract<IndexFilter, { readonly column: string }>;

/** Finds the documents that meet a filter, whether deleted or not. */
export class Evaluation {
  constructor(
    private readonly segment: Segment,
    private readonly schema: Schema,
    private readonly check: () => void,
  ) {}

  /** What meets all parts, of some documents: the smallest sets first, ranges last. */
  all(parts: readonly IndexFilter[], among?: OrdinalSet): OrdinalSet {
    const { docs } = this.segment;
    const ranges = parts.filter((part): part is Range => 'column' in part);
    const sets = among === undefined ? [] : [among];
    for (const part of parts) {
      if ('column' in part) continue;
      const set = this.set(part);
      if (set.count === 0) return set;
      sets.push(set);
    }
    let found = everything(docs);
    for (const set of sets.sort((a, b) => a.count - b.count)) {
      this.check();
      if (set.count < docs) found = found.count === docs ? set : intersection(found, set);
    }
    for (const range of ranges) found = this.within(found, range);
    return found;
  }

  set(filter: IndexFilter): OrdinalSet {
    const { segment } = this;
    this.check();
    if ('all' in filter) return this.all(conjuncts(filter));
    if ('any' in filter) {
      const sets = filter.any.map((part) => this.set(part)).filter(({ count }) => count > 0);
      return sets.length === 0 ? emptySet(segment.docs) : union(segment.docs, sets);
    }
    if ('column' in filter) return this.within(everything(segment.docs), filter);
    if ('token' in filter) return tokenSet(segment, filter.token);
    return prefixSet(segment, filter.prefix, this.check);
  }

  /** Those of a set that are in a range. */
  within(set: OrdinalSet, range: Range): OrdinalSet {
    const { segment } = this;
    if (set.count === 0) return set;
    if (range.column === this.schema.defaultOrder?.column) return intersection(set, this.firstRange(range));
    const order = segment.order(range.column);
    if (order !== undefined) {
      const interval = intervalOf(segment, order, range);
      const { low, high } = interval;
      if (low === 0 && high === segment.docs) return set;
      if (high - low < set.count / 4) return intersection(set, setOfInterval(interval));
      const { places } = order;
      return this.filtered(set, (ordinal) => {
        const place = places[ordinal] ?? 0;
        return place >= low && place < high;
      });
    }
    const { min = -Infinity, max = Infinity } = range;
    const numbers = segment.column(range.column);
    return this.filtered(set, (ordinal) => {
      const value = numbers.get(ordinal);
      return value >= min && value <= max;
    });
  }

  /** A range of the column of the default order: adjacent ordinals. */
  private firstRange({ column, min = -Infinity, max = Infinity }: Range): OrdinalSet {
    const { docs } = this.segment;
    const numbers = this.segment.column(column);
    const present = firstWhere(docs, (ordinal) => Number.isNaN(numbers.get(ordinal)));
    const descending = this.schema.defaultOrder?.descending;
    const isReached = (ordinal: number): boolean =>
      descending === true ? numbers.get(ordinal) <= max : numbers.get(ordinal) >= min;
    const isBeyond = (ordinal: number): boolean =>
      descending === true ? numbers.get(ordinal) < min : numbers.get(ordinal) > max;
    return rangeSet(docs, firstWhere(present, isReached), firstWhere(present, isBeyond));
  }

  private filtered(set: OrdinalSet, isIn: (ordinal: number) => boolean): OrdinalSet {
    const containers: Container[] = [];
    for (const [span, container] of set.containers.entries()) {
      this.check();
      const count = decode(container, span * SPAN, DECODED);
      let kept = 0;
      for (let at = 0; at < count; at += 1) {
        const ordinal = DECODED[at] ?? 0;
        DECODED[kept] = ordinal;
        if (isIn(ordinal)) kept += 1;
      }
      const alone = setOf(set.size, DECODED, kept);
      const own = alone.containers[span];
      if (own !== undefined) containers.push(own);
    }
    return new OrdinalSet(set.size, containers);
  }
}

/** How many documents a loop may visit between checks: some milliseconds. */
export const CHECKED = 1_024;

/** To be called for each document that a loop visits: calls `check` every so many times. */
export function everyFew(check: () => void, most = CHECKED): () => void {
  let left = most;
  return () => {
    left -= 1;
    if (left > 0) return;
    left = most;
    check();
  };
}

/** For one container at a time. */
export const DECODED = new Int32Array(SPAN);

/**
 * The documents that have a token. What its entry has is cached apart from the block of the dictionary, which has the
 * ordinals of many other tokens.
 */
export function tokenSet(segment: Segment, token: string): OrdinalSet {
  const { terms, docs } = segment;
  const found = (): Derived<Entry | OrdinalSet> => {
    const entry = terms.findOnce(bytesOf(token));
    if (entry?.list !== undefined) return { value: entry, bytes: token.length };
    const value = entry === undefined ? emptySet(docs) : terms.set(entry);
    return { value, bytes: token.length + value.count * Uint16Array.BYTES_PER_ELEMENT + overheadOf(value) };
  };
  const value = segment.derived(`token/${token}`, MOST_TOKEN_BYTES, found) ?? found().value;
  return value instanceof OrdinalSet ? value : terms.set(value);
}

/** Of memory, about, for a token with few ordinals. */
const MOST_TOKEN_BYTES = 10_000;

/** The documents that have any of some tokens, which are sorted. */
export function anyTokenSet({ terms, docs }: Segment, tokens: readonly Uint8Array[]): OrdinalSet {
  const [first] = tokens;
  if (first === undefined || tokens.length <= FEW_TOKENS) {
    const entries = tokens.flatMap((token) => terms.find(token) ?? []);
    return entries.length === 0
      ? emptySet(docs)
      : union(
          docs,
          entries.map((entry) => terms.set(entry)),
        );
  }
  // Reading the tokens in between is faster than looking for each.
  const found = new GatheredSet(terms, docs);
  const reader = terms.from(first);
  for (let at = 0, isMore = reader !== undefined; reader !== undefined && isMore;) {
    const { token } = reader;
    const rest = at;
    // Often the next one.
    if (compareBytes(tokens[at] ?? token, token) < 0)
      at += firstWhere(
        tokens.length - at,
        (skipped) => compareBytes(tokens[rest + skipped] ?? token, token) >= 0,
      );
    if (at === tokens.length) break;
    if (compareBytes(tokens[at] ?? token, token) === 0) {
      found.add(reader);
      at += 1;
    }
    isMore = reader.next();
  }
  return found.take();
}

const FEW_TOKENS = 64;

/**
 * The documents that have a token that starts with a text. If these are many tokens, their set is cached instead of
 * their lists: while one types, the first letters are searched again and again.
 */
function prefixSet(segment: Segment, prefix: string, check: () => void): OrdinalSet {
  const { terms, docs } = segment;
  const gathered = (): Derived<OrdinalSet> => {
    const found = new GatheredSet(terms, docs, true);
    const visit = everyFew(check);
    terms.startingWith(bytesOf(prefix), (reader) => {
      visit();
      found.add(reader);
    });
    const value = found.take();
    return { value, bytes: found.isOfMany ? docs / 8 + overheadOf(value) : Infinity };
  };
  return segment.derived(`prefix/${prefix}`, docs / 8, gathered) ?? gathered().value;
}

/** The union of the sets of many tokens. */
class GatheredSet {
  private readonly sets: OrdinalSet[] = [];
  private readonly few = new Uint32Array(MAX_INLINE);
  private bitmap: Int32Array | undefined;

  /** `once`: further lists are not cached. */
  constructor(
    private readonly terms: Dictionary,
    private readonly docs: number,
    private readonly once = false,
  ) {}

  /** Whether it has been made of more sets than are united at once. */
  get isOfMany(): boolean {
    return this.bitmap !== undefined;
  }

  /** Adds the documents of the token that a reader is at. */
  add(reader: DictionaryReader): void {
    const { terms, docs, sets, few } = this;
    if (sets.length < FEW_SETS) {
      sets.push(terms.set(reader.entry()));
      return;
    }
    const bitmap = (this.bitmap ??= bitmapOf(union(docs, sets)));
    const count = reader.few(few);
    if (count === 0) {
      if (this.once) terms.addOnce(reader.entry(), bitmap);
      else addToBitmap(terms.set(reader.entry()), bitmap);
    }
    for (let at = 0; at < count; at += 1) {
      const ordinal = few[at] ?? 0;
      bitmap[ordinal >>> 5] = (bitmap[ordinal >>> 5] ?? 0) | (1 << (ordinal & 31));
    }
  }

  take(): OrdinalSet {
    const { docs, sets, bitmap } = this;
    if (bitmap !== undefined) return setOfBitmap(docs, bitmap);
    return sets.length === 0 ? emptySet(docs) : union(docs, sets);
  }
}

/** Sets that are united at once; more of them are added to a bitmap. */
const FEW_SETS = 8;

/** The first of `count` ascending positions at which a condition holds, from which on it does; else `count`. */
export function firstWhere(count: number, condition: (at: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (condition(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function intervalOf(segment: Segment, order: StoredOrder, { column, min, max }: Range): Interval {
  const numbers = segment.column(column);
  const low = min === undefined ? 0 : firstPlace(order, numbers, (value) => value >= min);
  const high = max === undefined ? order.present : firstPlace(order, numbers, (value) => value > max);
  return { column, order, low, high: Math.max(low, high) };
}

/**
 * The first place of a stored order whose value meets a condition, from which on all do; else
 * that after the last value.
 */
export function firstPlace(
  { ordinals, present, samples }: StoredOrder,
  numbers: Numbers,
  condition: (value: number) => boolean,
): number {
  const sample = firstWhere(samples.length, (at) => condition(samples[at] ?? NaN));
  const from = Math.max(0, (sample - 1) * SAMPLED);
  const to = Math.min(sample * SAMPLED, present);
  return from + firstWhere(to - from, (at) => condition(numbers.get(ordinals[from + at] ?? 0)));
}

function isWithin({ order, low, high }: Interval, ordinal: number): boolean {
  const place = order.places[ordinal] ?? 0;
  return place >= low && place < high;
}

function countWithin(set: OrdinalSet, interval: Interval, check: () => void): number {
  let count = 0;
  const visit = everyFew(check);
  for (const [span, container] of set.containers.entries()) {
    const decoded = decode(container, span * SPAN, DECODED);
    for (let at = 0; at < decoded; at += 1) {
      visit();
      if (isWithin(interval, DECODED[at] ?? 0)) count += 1;
    }
  }
  return count;
}

export function setOfInterval({ order, low, high }: Pick<Interval, 'order' | 'low' | 'high'>): OrdinalSet {
  return unorderedSet(order.places.length, order.ordinals.subarray(low, high));
}
