import { compareTexts } from './bytes';
import { decode, SPAN } from './containers';
import { difference, intersection, type OrdinalSet, setOf, union, Walk } from './sets';
import { FirstItems } from './sorting';
import { CHECKED, DECODED, Evaluation, everyFew, firstWhere, type Matches, type Searched } from './matches';
import { type After, type IndexFilter, type Key, type IndexOrder } from './query';
import { type Schema, type StoredOrder } from './segment';

/** A matching document. Its sort keys and its id are read when they are first needed. */
export class Hit {
  private known: readonly Key[] | undefined;
  private text: string | undefined;

  /** `keys`: other ones than its own. */
  constructor(
    readonly ranked: Ranked,
    readonly ordinal: number,
    keys?: readonly Key[],
  ) {
    this.known = keys;
  }

  get searched(): Searched {
    return this.ranked.matches.searched;
  }

  get keys(): readonly Key[] {
    this.known ??= this.ranked.keysOf(this.ordinal);
    return this.known;
  }

  get id(): string {
    this.text ??= this.searched.segment.idOf(this.ordinal);
    return this.text;
  }
}

/** A group of hits: its members in order, at least one. Its sort keys are read when they are first needed. */
export class Group {
  private known: readonly Key[] | undefined;

  constructor(
    readonly first: Hit,
    readonly members: readonly Hit[],
    private readonly keysOf: () => readonly Key[],
  ) {}

  get keys(): readonly Key[] {
    this.known ??= this.keysOf();
    return this.known;
  }
}

/** Compares sort keys. */
export class Ordering {
  private readonly descending: readonly boolean[];

  constructor(readonly order: readonly IndexOrder[]) {
    this.descending = order.map(isDescending);
  }

  isDescending(key: number): boolean {
    return this.descending[key] === true;
  }

  /** Values of one key, missing ones last. */
  compareValues(key: number, a: Key, b: Key): number {
    if (a === b) return 0;
    if (typeof a === 'string' && typeof b === 'string')
      return this.isDescending(key) ? compareTexts(b, a) : compareTexts(a, b);
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
    if (Number.isNaN(b)) return -1;
    return a < b === this.isDescending(key) ? 1 : -1;
  }

  compareKeys(a: readonly Key[], b: readonly Key[]): number {
    for (let key = 0; key < this.order.length; key += 1) {
      const compared = this.compareValues(key, a[key] ?? NaN, b[key] ?? NaN);
      if (compared !== 0) return compared;
    }
    return 0;
  }

  /** Hits by their keys, then by id; those of one segment by their places, where it stores the order. */
  readonly compare = (a: Hit, b: Hit): number => {
    const place = a.ranked === b.ranked ? a.ranked.placeOf(a.ordinal) : undefined;
    return place === undefined
      ? this.compareKeys(a.keys, b.keys) || compareIds(a, b)
      : place - (b.ranked.placeOf(b.ordinal) ?? 0);
  };

  /** Whether a hit comes after a cursor. */
  isAfter(hit: Hit, after: After): boolean {
    const compared = this.compareKeys(hit.keys, after.keys);
    return compared > 0 || (compared === 0 && compareTexts(hit.id, after.id) > 0);
  }
}

export function compareIds(a: Hit, b: Hit): number {
  return a.searched === b.searched
    ? a.searched.segment.ranks.get(a.ordinal) - a.searched.segment.ranks.get(b.ordinal)
    : compareTexts(a.id, b.id);
}

/**
 * What is stored for an order: the ordinals themselves, the order of a column (in either direction), or, within the
 * same number of filters, the ordinals again.
 */
type OrderKind = 'default' | 'stored' | 'relevance' | 'other';

function kindOf([first, second, third]: readonly IndexOrder[], { defaultOrder, orders }: Schema): OrderKind {
  const isDefault = (order: IndexOrder): boolean =>
    columnOf(order) === defaultOrder?.column && isDescending(order) === (defaultOrder?.descending ?? false);
  if (first === undefined) return defaultOrder === undefined ? 'default' : 'other';
  if (second === undefined) {
    const column = columnOf(first);
    if (column === undefined) return 'other';
    if (isDefault(first)) return 'default';
    return orders.includes(column) || column === defaultOrder?.column ? 'stored' : 'other';
  }
  const isThen = third === undefined && columnOf(second) !== undefined && isDefault(second);
  return 'matches' in first && isThen ? 'relevance' : 'other';
}

export function isDescending(key: IndexOrder): boolean {
  return 'matches' in key || ('descending' in key && key.descending);
}

/** The column that a sort key is the value of. */
export function columnOf(order: IndexOrder): string | undefined {
  return 'column' in order && !('by' in order) ? order.column : undefined;
}

/** The matches of one segment in an order. */
export class Ranked {
  readonly kind: OrderKind;
  /** By sort key. */
  private readonly levels: (readonly OrdinalSet[])[] = [];

  constructor(
    readonly matches: Matches,
    readonly ordering: Ordering,
    readonly schema: Schema,
    private readonly check: () => void,
  ) {
    this.kind = kindOf(ordering.order, schema);
  }

  hit(ordinal: number): Hit {
    return new Hit(this, ordinal);
  }

  /** Where a document is in this order, if the segment stores that in this direction. */
  placeOf(ordinal: number): number | undefined {
    if (this.kind === 'default') return ordinal;
    const [first] = this.ordering.order;
    if (this.kind !== 'stored' || first === undefined || this.ordering.isDescending(0)) return undefined;
    return this.matches.segment.order(columnOf(first) ?? '')?.places[ordinal];
  }

  /**
   * The hits in order, from the first one after a cursor on. About `wanted` of them will be read: what is faster
   * depends on it.
   */
  hits(wanted: number, after: After | null): Iterator<Hit, unknown> {
    const { matches, kind } = this;
    if (matches.count === 0) return [][Symbol.iterator]();
    if (kind === 'relevance') return this.byRelevance(after);
    if (kind === 'default') return this.byDefault(matches.set, after);
    const [first] = this.ordering.order;
    if (kind === 'stored' && first !== undefined && 'column' in first)
      return new StoredHits(this, first.column, wanted, this.check).hits(after);
    return this.sorted(wanted, after)[Symbol.iterator]();
  }

  /** Which matches meet at least one, two, … of the filters of a sort key; all matches come first. */
  atLeast(at = 0): readonly OrdinalSet[] {
    const known = this.levels[at];
    if (known !== undefined) return known;
    const key = this.ordering.order[at];
    const filters = key !== undefined && 'matches' in key ? key.matches : [];
    const levels = filters.length > FEW_FILTERS ? this.counted(filters) : this.combined(filters);
    this.levels[at] = levels;
    return levels;
  }

  private combined(filters: readonly IndexFilter[]): readonly OrdinalSet[] {
    const { segment, set } = this.matches;
    const evaluation = new Evaluation(segment, this.schema, this.check);
    const levels: OrdinalSet[] = [set];
    for (const filter of filters) {
      const own = intersection(evaluation.set(filter), set);
      if (own.count === 0) continue;
      for (let level = levels.length; level > 0; level -= 1) {
        const more = level === 1 ? own : intersection(levels[level - 1] ?? set, own);
        const before = levels[level];
        if (before === undefined) {
          if (more.count > 0) levels.push(more);
        } else levels[level] = union(segment.docs, [before, more]);
      }
    }
    return levels;
  }

  /** The same for many filters: counted per document. */
  private counted(filters: readonly IndexFilter[]): readonly OrdinalSet[] {
    const { segment, set } = this.matches;
    const evaluation = new Evaluation(segment, this.schema, this.check);
    const counts = new Uint16Array(segment.docs);
    let most = 0;
    for (const filter of filters)
      for (const [span, container] of intersection(evaluation.set(filter), set).containers.entries()) {
        this.check();
        const decoded = decode(container, span * SPAN, DECODED);
        for (let at = 0; at < decoded; at += 1) {
          const ordinal = DECODED[at] ?? 0;
          const count = (counts[ordinal] ?? 0) + 1;
          counts[ordinal] = count;
          if (count > most) most = count;
        }
      }
    const levels: OrdinalSet[] = [set];
    const ordinals = new Uint32Array(segment.docs);
    for (let level = 1; level <= most; level += 1) {
      this.check();
      let count = 0;
      for (let ordinal = 0; ordinal < counts.length; ordinal += 1)
        if ((counts[ordinal] ?? 0) >= level) ordinals[count++] = ordinal;
      levels.push(setOf(segment.docs, ordinals, count));
    }
    return levels;
  }

  /** The matches that meet exactly so many of the filters. */
  level(level: number): OrdinalSet | undefined {
    const [own, more] = [this.atLeast()[level], this.atLeast()[level + 1]];
    return own === undefined || more === undefined ? own : difference(own, more);
  }

  keysOf(ordinal: number): readonly Key[] {
    return this.ordering.order.map((key, at) => {
      if ('matches' in key) return this.levelOf(ordinal, at);
      if ('ofRow' in key) return key.ofRow(this.matches.segment.rowOf(ordinal)) ?? NaN;
      const value = this.matches.segment.column(key.column).get(ordinal);
      return 'by' in key && !Number.isNaN(value) ? key.by(value) : value;
    });
  }

  /** Hits of a set in the default order, after a cursor. The default order is the last key. */
  *byDefault(set: OrdinalSet, after: After | null): Generator<Hit, undefined> {
    const walk = new Walk(set, after === null ? 0 : this.firstAfter(after));
    const visit = everyFew(this.check);
    for (let ordinal = walk.next(); ordinal >= 0; ordinal = walk.next()) {
      visit();
      yield this.hit(ordinal);
    }
  }

  /** The first ordinal after a cursor by the default order. */
  firstAfter(after: After): number {
    return firstWhere(this.matches.segment.docs, (at) => this.isAfterByDefault(at, after));
  }

  private isAfterByDefault(ordinal: number, after: After): boolean {
    const { segment } = this.matches;
    const { defaultOrder } = this.schema;
    const key = this.ordering.order.length - 1;
    const compared =
      defaultOrder === undefined
        ? 0
        : this.ordering.compareValues(
            key,
            segment.column(defaultOrder.column).get(ordinal),
            after.keys[key] ?? NaN,
          );
    return compared > 0 || (compared === 0 && compareTexts(segment.idOf(ordinal), after.id) > 0);
  }

  private levelOf(ordinal: number, key: number): number {
    const levels = this.atLeast(key);
    let level = levels.length - 1;
    while (level > 0 && levels[level]?.has(ordinal) !== true) level -= 1;
    return level;
  }

  private *byRelevance(after: After | null): Generator<Hit, undefined> {
    const from = after === null ? Infinity : Number(after.keys[0] ?? 0);
    for (let level = Math.min(from, this.atLeast().length - 1); level >= 0; level -= 1) {
      const set = this.level(level);
      this.check();
      if (set !== undefined) yield* this.byDefault(set, level === from ? after : null);
    }
  }

  /** Any other order: all matches are compared. */
  private sorted(wanted: number, after: After | null): readonly Hit[] {
    const first = new FirstItems<Hit>(wanted, this.ordering.compare);
    const isSlow = this.ordering.order.some((key) => 'ofRow' in key);
    const visit = everyFew(this.check, isSlow ? CHECKED / 4 : CHECKED);
    for (const [span, container] of this.matches.set.containers.entries()) {
      // The comparisons use the shared array too.
      const decoded = DECODED.slice(0, decode(container, span * SPAN, DECODED));
      for (const ordinal of decoded) {
        visit();
        const hit = this.hit(ordinal);
        if (after === null || this.ordering.isAfter(hit, after)) first.add(hit);
      }
    }
    return first.sorted();
  }
}

/** With more filters, they are counted per document. */
const FEW_FILTERS = 6;

/**
 * Hits in the stored order of a column, or in the default one: visits its positions and leaves out what does not match,
 * or, with few matches, sorts their positions.
 */
class StoredHits {
  /** Undefined for the default order: each ordinal is its own position. */
  private readonly order: StoredOrder | undefined;
  private readonly isStoredDescending: boolean;
  private readonly few: Uint32Array | undefined;
  private readonly low: number;
  private readonly length: number;
  /** The first position of a document without a value. */
  private readonly present: number;
  private readonly visit: () => void;

  constructor(
    private readonly ranked: Ranked,
    private readonly column: string,
    wanted: number,
    check: () => void,
  ) {
    this.visit = everyFew(check);
    const { count, interval, segment } = ranked.matches;
    const { defaultOrder } = ranked.schema;
    this.order = segment.order(column);
    this.isStoredDescending = this.order === undefined && defaultOrder?.descending === true;
    const own = interval?.column === column ? interval : undefined;
    const isFew = own === undefined && count * count <= wanted * segment.docs;
    this.few = isFew ? this.placesOf(ranked.matches.set) : undefined;
    this.low = own?.low ?? 0;
    this.length = this.few?.length ?? (own?.high ?? segment.docs) - this.low;
    const numbers = segment.column(column);
    const present =
      this.order?.present ?? firstWhere(segment.docs, (ordinal) => Number.isNaN(numbers.get(ordinal)));
    this.present = firstWhere(this.length, (at) => this.placeAt(at) >= present);
  }

  hits(after: After | null): Generator<Hit, undefined> {
    return this.ranked.ordering.isDescending(0) === this.isStoredDescending
      ? this.forwards(after)
      : this.backwards(after);
  }

  private *forwards(after: After | null): Generator<Hit, undefined> {
    yield* this.between(this.firstAfter(0, this.length, after), this.length);
  }

  /** By equal values, backwards; the documents of one value and those without any forwards. */
  private *backwards(after: After | null): Generator<Hit, undefined> {
    const value = Number(after?.keys[0] ?? NaN);
    const isMissing = after !== null && Number.isNaN(value);
    let end = this.present;
    if (isMissing) end = 0;
    else if (after !== null) end = firstWhere(this.present, (at) => this.isBefore(value, this.valueAt(at)));
    if (after !== null && end > 0) {
      const start = this.startOf(value, end);
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
      isMissing ? this.firstAfter(this.present, this.length, after) : this.present,
      this.length,
    );
  }

  /** Whether a value comes before another one in the stored order. */
  private isBefore(a: number, b: number): boolean {
    return this.isStoredDescending ? a > b : a < b;
  }

  /** The first position of a value, before `end`. */
  private startOf(value: number, end: number): number {
    return firstWhere(end, (at) => !this.isBefore(this.valueAt(at), value));
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
    if (at === 0 || this.isBefore(this.valueAt(at - 1), value)) return at;
    return this.startOf(value, at);
  }

  private isMatch(at: number): boolean {
    this.visit();
    return this.few !== undefined || this.ranked.matches.has(this.ordinalAt(at));
  }

  private placeAt(at: number): number {
    return this.few === undefined ? this.low + at : (this.few[at] ?? 0);
  }

  private ordinalAt(at: number): number {
    const place = this.placeAt(at);
    return this.order === undefined ? place : (this.order.ordinals[place] ?? 0);
  }

  private valueAt(at: number): number {
    return this.ranked.matches.segment.column(this.column).get(this.ordinalAt(at));
  }

  private placesOf(set: OrdinalSet): Uint32Array {
    const places = new Uint32Array(set.count);
    let count = 0;
    for (const [span, container] of set.containers.entries()) {
      const decoded = decode(container, span * SPAN, DECODED);
      for (let at = 0; at < decoded; at += 1) {
        const ordinal = DECODED[at] ?? 0;
        places[count++] = this.order === undefined ? ordinal : (this.order.places[ordinal] ?? 0);
      }
    }
    return places.sort();
  }
}
