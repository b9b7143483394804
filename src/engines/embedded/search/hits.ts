import { compareTexts } from './bytes';
import { difference, intersection, type OrdinalSet, SPAN, decode, union, Walk } from './containers';
import { FirstItems } from './heap';
import { DECODED, firstWhere, type Matches, type Searched, tokenSet } from './matches';
import { type After, type Order } from './query';
import { type Schema, type StoredOrder } from './segment';

/** A matching document with its sort keys; NaN is a missing one. */
export interface Hit {
  readonly searched: Searched;
  readonly ordinal: number;
  readonly keys: readonly number[];
  /** Read when it is first compared (`idOf`). */
  id?: string;
}

/** Compares sort keys. */
export class Ordering {
  private readonly descending: readonly boolean[];

  constructor(readonly order: readonly Order[]) {
    this.descending = order.map((key) => 'matches' in key || ('descending' in key && key.descending));
  }

  isDescending(key: number): boolean {
    return this.descending[key] === true;
  }

  /** Values of one key, missing ones last. */
  compareValues(key: number, a: number, b: number): number {
    if (a === b) return 0;
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
    if (Number.isNaN(b)) return -1;
    return a < b === this.isDescending(key) ? 1 : -1;
  }

  compareKeys(a: readonly number[], b: readonly number[]): number {
    for (let key = 0; key < this.order.length; key += 1) {
      const compared = this.compareValues(key, a[key] ?? NaN, b[key] ?? NaN);
      if (compared !== 0) return compared;
    }
    return 0;
  }

  /** Hits by their keys, then by id. */
  readonly compare = (a: Hit, b: Hit): number => this.compareKeys(a.keys, b.keys) || compareIds(a, b);

  /** Whether a hit comes after a cursor. */
  isAfter(hit: Hit, after: After): boolean {
    const compared = this.compareKeys(hit.keys, after.keys);
    return compared > 0 || (compared === 0 && compareTexts(idOf(hit), after.id) > 0);
  }
}

export function idOf(hit: Hit): string {
  hit.id ??= hit.searched.segment.idOf(hit.ordinal);
  return hit.id;
}

export function compareIds(a: Hit, b: Hit): number {
  return a.searched === b.searched
    ? a.searched.segment.ranks.get(a.ordinal) - a.searched.segment.ranks.get(b.ordinal)
    : compareTexts(idOf(a), idOf(b));
}

/**
 * What is stored for an order: the ordinals themselves, the order of a column, or, within the same number of tokens, the
 * ordinals again.
 */
type OrderKind = 'default' | 'stored' | 'relevance' | 'other';

function kindOf([first, second, third]: readonly Order[], { defaultOrder, orders }: Schema): OrderKind {
  const isDefault = (order: Order | undefined): boolean =>
    order !== undefined &&
    'column' in order &&
    !('by' in order) &&
    order.column === defaultOrder.column &&
    (order.descending ?? false) === (defaultOrder.descending ?? false);
  if (first === undefined) return 'other';
  if (second === undefined) {
    if (isDefault(first)) return 'default';
    return 'column' in first && !('by' in first) && orders.includes(first.column) ? 'stored' : 'other';
  }
  return 'matches' in first && third === undefined && isDefault(second) ? 'relevance' : 'other';
}

/** The matches of one segment in an order. */
export class Ranked {
  readonly kind: OrderKind;
  private levels: readonly OrdinalSet[] | undefined;

  constructor(
    readonly matches: Matches,
    readonly ordering: Ordering,
    private readonly schema: Schema,
    private readonly check: () => void,
  ) {
    this.kind = kindOf(ordering.order, schema);
  }

  hit(ordinal: number): Hit {
    return { searched: this.matches.searched, ordinal, keys: this.keysOf(ordinal) };
  }

  /**
   * The hits in order, from the first one after a cursor on. About `wanted` of them will be read: what is faster depends
   * on it.
   */
  hits(wanted: number, after: After | null): Iterator<Hit, unknown> {
    const { matches, kind } = this;
    if (matches.count === 0) return [][Symbol.iterator]();
    if (kind === 'relevance') return this.byRelevance(after);
    if (kind === 'default') return this.byDefault(matches.set, after);
    const [first] = this.ordering.order;
    if (kind === 'stored' && first !== undefined && 'column' in first) {
      const order = matches.segment.order(first.column);
      if (order !== undefined)
        return new StoredHits(this, first.column, order, wanted, this.check).hits(after);
    }
    return this.sorted(wanted, after)[Symbol.iterator]();
  }

  /**
   * How many of the tokens of the first key the matches have: those that have at least one, two, …; all matches come
   * first.
   */
  atLeast(): readonly OrdinalSet[] {
    if (this.levels !== undefined) return this.levels;
    const { segment, set } = this.matches;
    const levels: OrdinalSet[] = [set];
    for (const key of this.ordering.order) {
      if (!('matches' in key)) continue;
      for (const token of new Set(key.matches)) {
        this.check();
        const own = intersection(tokenSet(segment, token), set);
        if (own.count === 0) continue;
        for (let level = levels.length; level > 0; level -= 1) {
          const more = intersection(levels[level - 1] ?? set, own);
          const before = levels[level];
          if (before === undefined) {
            if (more.count > 0) levels.push(more);
          } else levels[level] = union(segment.docs, [before, more]);
        }
      }
      break;
    }
    this.levels = levels;
    return levels;
  }

  /** The matches with exactly so many of the tokens. */
  level(level: number): OrdinalSet | undefined {
    const [own, more] = [this.atLeast()[level], this.atLeast()[level + 1]];
    return own === undefined || more === undefined ? own : difference(own, more);
  }

  keysOf(ordinal: number): readonly number[] {
    return this.ordering.order.map((key) => {
      if ('matches' in key) return this.levelOf(ordinal);
      const value = this.matches.segment.column(key.column).get(ordinal);
      return 'by' in key && !Number.isNaN(value) ? key.by(value) : value;
    });
  }

  /** Hits of a set in the default order, after a cursor. The default order are the last keys. */
  *byDefault(set: OrdinalSet, after: After | null): Generator<Hit, undefined> {
    const { docs } = this.matches.segment;
    const from = after === null ? 0 : firstWhere(docs, (at) => this.isAfterByDefault(at, after));
    const walk = new Walk(set, from);
    for (let ordinal = walk.next(); ordinal >= 0; ordinal = walk.next()) yield this.hit(ordinal);
  }

  private isAfterByDefault(ordinal: number, after: After): boolean {
    const { segment } = this.matches;
    const { column } = this.schema.defaultOrder;
    const key = this.ordering.order.length - 1;
    const compared = this.ordering.compareValues(
      key,
      segment.column(column).get(ordinal),
      after.keys[key] ?? NaN,
    );
    return compared > 0 || (compared === 0 && compareTexts(segment.idOf(ordinal), after.id) > 0);
  }

  private levelOf(ordinal: number): number {
    const levels = this.atLeast();
    let level = levels.length - 1;
    while (level > 0 && levels[level]?.has(ordinal) !== true) level -= 1;
    return level;
  }

  private *byRelevance(after: After | null): Generator<Hit, undefined> {
    const from = after === null ? Infinity : (after.keys[0] ?? 0);
    for (let level = Math.min(from, this.atLeast().length - 1); level >= 0; level -= 1) {
      const set = this.level(level);
      this.check();
      if (set !== undefined) yield* this.byDefault(set, level === from ? after : null);
    }
  }

  /** Any other order: all matches are compared. */
  private sorted(wanted: number, after: After | null): readonly Hit[] {
    const first = new FirstItems<Hit>(wanted, this.ordering.compare);
    for (const [span, container] of this.matches.set.containers.entries()) {
      this.check();
      // The comparisons use the shared array too.
      const decoded = DECODED.slice(0, decode(container, span * SPAN, DECODED));
      for (const ordinal of decoded) {
        const hit = this.hit(ordinal);
        if (after === null || this.ordering.isAfter(hit, after)) first.add(hit);
      }
    }
    return first.sorted();
  }
}

/** How many positions are visited between checks. */
const CHECKED = 4_096;

/**
 * Hits in the stored order of a column: visits its positions and leaves out what does not match, or, with few matches,
 * sorts their positions.
 */
class StoredHits {
  private readonly few: Uint32Array | undefined;
  private readonly low: number;
  private readonly length: number;
  /** The first position of a document without a value. */
  private readonly present: number;
  private visited = 0;

  constructor(
    private readonly ranked: Ranked,
    private readonly column: string,
    private readonly order: StoredOrder,
    wanted: number,
    private readonly check: () => void,
  ) {
    const { count, interval, segment } = ranked.matches;
    const own = interval?.column === column ? interval : undefined;
    const isFew = own === undefined && count * count <= wanted * segment.docs;
    this.few = isFew ? this.placesOf(ranked.matches.set) : undefined;
    this.low = own?.low ?? 0;
    this.length = this.few?.length ?? (own?.high ?? segment.docs) - this.low;
    this.present = firstWhere(this.length, (at) => this.placeAt(at) >= order.present);
  }

  hits(after: After | null): Generator<Hit, undefined> {
    return this.ranked.ordering.isDescending(0) ? this.descending(after) : this.ascending(after);
  }

  private *ascending(after: After | null): Generator<Hit, undefined> {
    yield* this.between(this.firstAfter(0, this.length, after), this.length);
  }

  /** By equal values, backwards; the documents of one value and those without any forwards. */
  private *descending(after: After | null): Generator<Hit, undefined> {
    const value = after === null ? Infinity : (after.keys[0] ?? NaN);
    let end = Number.isNaN(value) ? 0 : firstWhere(this.present, (at) => this.valueAt(at) > value);
    if (after !== null && end > 0) {
      const start = firstWhere(end, (at) => this.valueAt(at) >= value);
      yield* this.between(this.firstAfter(start, end, after), end);
      end = start;
    }
    while (end > 0) {
      end -= 1;
      if (!this.isMatch(end)) continue;
      const start = this.startOfValue(end);
      yield* this.between(start, end + 1);
      end = start;
    }
    yield* this.between(
      Number.isNaN(value) ? this.firstAfter(this.present, this.length, after) : this.present,
      this.length,
    );
  }

  private *between(from: number, to: number): Generator<Hit, undefined> {
    for (let at = from; at < to; at += 1) if (this.isMatch(at)) yield this.ranked.hit(this.ordinalAt(at));
  }

  /** The first position after a cursor, of sorted ones. */
  private firstAfter(from: number, to: number, after: After | null): number {
    if (after === null) return from;
    return (
      from +
      firstWhere(to - from, (at) =>
        this.ranked.ordering.isAfter(this.ranked.hit(this.ordinalAt(from + at)), after),
      )
    );
  }

  private startOfValue(at: number): number {
    const value = this.valueAt(at);
    // Most values are of few documents.
    if (at === 0 || this.valueAt(at - 1) < value) return at;
    return firstWhere(at, (before) => this.valueAt(before) >= value);
  }

  private isMatch(at: number): boolean {
    this.visited += 1;
    if (this.visited % CHECKED === 0) this.check();
    return this.few !== undefined || this.ranked.matches.has(this.ordinalAt(at));
  }

  private placeAt(at: number): number {
    return this.few === undefined ? this.low + at : (this.few[at] ?? 0);
  }

  private ordinalAt(at: number): number {
    return this.order.ordinals[this.placeAt(at)] ?? 0;
  }

  private valueAt(at: number): number {
    return this.ranked.matches.segment.column(this.column).get(this.ordinalAt(at));
  }

  private placesOf(set: OrdinalSet): Uint32Array {
    const places = new Uint32Array(set.count);
    let count = 0;
    for (const [span, container] of set.containers.entries()) {
      const decoded = decode(container, span * SPAN, DECODED);
      for (let at = 0; at < decoded; at += 1) places[count++] = this.order.places[DECODED[at] ?? 0] ?? 0;
    }
    return places.sort();
  }
}
