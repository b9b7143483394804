import { bytesOf, compareTexts } from './bytes';
import { decode, SPAN } from './containers';
import { NumberSet, Walk, type OrdinalSet } from './sets';
import { FirstItems, merged } from './sorting';
import { columnOf, compareIds, Group, Hit, isDescending, Ordering, Ranked } from './hits';
import { DECODED, everyFew, firstWhere, type Matches } from './matches';
import { type After, type Key, type IndexOrder, type IndexQuery } from './query';
import { type Schema } from './segment';

/** Comparing the groups of one candidate takes as long as visiting so many hits. */
const VISITS = 20;

/** Beyond so many hits with the cursor's keys before it, they are not visited again. */
const FAR = 1_000;

interface Visiting {
  /** The hits begin after the cursor. */
  readonly isFromCursor?: boolean;
  readonly isCandidate?: (hit: Hit, number: number) => boolean;
}

/** The keys of groups with at most so many members are found again at each of them. */
const FEW_MEMBERS = 8;

/**
 * Finds groups in order. The hits are visited in the order of the groups, and a group is taken at the hit that has its
 * sort keys: it is one of its members. Groups with equal keys are collected and sorted by the ids of their first
 * members.
 */
export class GroupFinder {
  private readonly ordering: Ordering;
  private readonly ranked: readonly Ranked[];
  private readonly inside: readonly Ranked[];
  private readonly within: Ordering;
  private readonly column: string;
  private readonly last: readonly boolean[];
  /** Whether the first member of a group is the one that has the group's keys, so that nothing is left to sort. */
  private readonly isOrderWithin: boolean;
  private readonly done = new NumberSet();
  /** The keys of larger groups that were met before the hit that has these. */
  private readonly later = new Map<number, readonly Key[]>();
  private readonly visit: () => void;

  constructor(
    matches: readonly Matches[],
    schema: Schema,
    query: IndexQuery,
    group: NonNullable<IndexQuery['group']>,
    private readonly check: () => void,
  ) {
    this.visit = everyFew(check);
    this.column = group.column;
    this.last = group.last ?? [];
    this.ordering = new Ordering(query.order);
    this.within = new Ordering(group.within);
    this.ranked = matches.map((one) => new Ranked(one, this.ordering, schema, check));
    this.inside = matches.map((one) => new Ranked(one, this.within, schema, check));
    this.isOrderWithin = !this.last.includes(true) && isSameOrder(query.order, group.within);
  }

  /** At least the first `wanted` groups after a cursor, in order, if there are so many. */
  groups(wanted: number, after: After | null): readonly Group[] {
    const found: Group[] = [];
    const kind = this.ranked[0]?.kind;
    const groups =
      kind === 'default' || kind === 'stored'
        ? this.ordered(wanted, after)
        : kind === 'relevance' && !this.last.includes(true)
          ? this.byRelevance(wanted, after)
          : this.firstOf(
              this.ranked.map(({ matches }) => matches.set),
              wanted,
              after,
            );
    for (const group of groups) {
      found.push(group);
      if (found.length === wanted) break;
    }
    return found;
  }

  /**
   * The hits from those with the cursor's keys on, of which some may come before it; or from it on if these are many.
   */
  private ordered(wanted: number, after: After | null): Generator<Group, undefined> {
    const isFromCursor = this.isOrderWithin || this.isFarIntoEqual(after);
    const from = after === null || isFromCursor ? after : beforeEqual(after);
    const hits = merged(
      this.ranked.map((one) => one.hits(wanted, from)),
      this.ordering.compare,
    );
    return this.inOrder(hits, wanted, after, { isFromCursor });
  }

  private isFarIntoEqual(after: After | null): boolean {
    if (after === null || this.ranked[0]?.kind !== 'default') return false;
    const equal = beforeEqual(after);
    const before = this.ranked.reduce((sum, one) => sum + one.firstAfter(after) - one.firstAfter(equal), 0);
    return before > FAR;
  }

  private *inOrder(
    hits: Iterator<Hit, unknown>,
    wanted: number,
    after: After | null,
    { isFromCursor = false, isCandidate }: Visiting,
  ): Generator<Group, undefined> {
    let equal = new FirstItems<Group>(wanted, byFirst);
    // A group with the cursor's keys may have its hits with these before it, and its first member after it.
    let isAtCursor = after !== null && isFromCursor && !this.isOrderWithin;
    let keysOfEqual = isAtCursor ? after?.keys : undefined;
    for (let next = hits.next(); next.done !== true; next = hits.next()) {
      const hit = next.value;
      if (keysOfEqual !== undefined && this.ordering.compareKeys(keysOfEqual, hit.keys) !== 0) {
        if (isAtCursor) this.addByOthers(equal, keysOfEqual, after);
        yield* equal.sorted();
        equal = new FirstItems<Group>(wanted, byFirst);
        isAtCursor = false;
        keysOfEqual = undefined;
      }
      // Hits with equal keys are in the order of their ids: none that is left is the first member
      // of one of the first groups.
      if (keysOfEqual !== undefined && equal.last !== undefined && compareIds(hit, equal.last.first) > 0) {
        this.addByOthers(equal, keysOfEqual, after);
        yield* equal.sorted();
        return;
      }
      const number = this.numberOf(hit);
      if (number > 0 && this.done.has(number)) continue;
      if (isCandidate?.(hit, number) === false) continue;
      const keys = this.later.get(number);
      if (keys !== undefined && this.ordering.compareKeys(keys, hit.keys) > 0) continue;
      const group = this.groupOf(hit, number);
      const compared = this.isBestOf(group, hit) ? 0 : this.ordering.compareKeys(group.keys, hit.keys);
      if (compared > 0) {
        if (group.members.length > FEW_MEMBERS) this.later.set(number, group.keys);
        continue;
      }
      this.later.delete(number);
      if (number > 0) this.done.add(number);
      // It was before the cursor.
      if (compared < 0) continue;
      if (this.isOrderWithin) {
        if (group.first.searched === hit.searched && group.first.ordinal === hit.ordinal) yield group;
        continue;
      }
      keysOfEqual ??= hit.keys;
      if (after === null || this.isAfter(group, after)) equal.add(group);
    }
    if (isAtCursor && keysOfEqual !== undefined) this.addByOthers(equal, keysOfEqual, after);
    yield* equal.sorted();
  }

  /** Adds groups with these keys whose first member has other keys itself: those before the last one that is needed. */
  private addByOthers(equal: FirstItems<Group>, keys: readonly Key[], after: After | null): void {
    const last = equal.last && bytesOf(equal.last.first.id);
    const first =
      after !== null && this.ordering.compareKeys(after.keys, keys) === 0 ? bytesOf(after.id) : undefined;
    for (const one of this.ranked) {
      const { matches } = one;
      if (matches.count === 0) continue;
      const { segment, set } = matches;
      const { numbers } = segment.groupsOf(this.column);
      const start = first === undefined ? 0 : segment.ids.positionAfter(first);
      const end = last === undefined ? segment.docs : segment.ids.positionAfter(last);
      for (const [span, container] of set.containers.entries()) {
        this.check();
        // What is compared uses the shared array too.
        const ordinals = DECODED.slice(0, decode(container, span * SPAN, DECODED));
        for (const ordinal of ordinals) {
          const number = numbers[ordinal] ?? 0;
          if (number === 0 || this.done.has(number)) continue;
          const rank = segment.ranks.get(ordinal);
          if (rank < start || rank >= end) continue;
          const group = this.groupOf(new Hit(one, ordinal, keys), number);
          if (this.ordering.compareKeys(group.keys, keys) !== 0) continue;
          this.done.add(number);
          if (after === null || this.isAfter(group, after)) equal.add(group);
        }
      }
    }
  }

  private isAfter({ keys, first }: Group, after: After): boolean {
    const compared = this.ordering.compareKeys(keys, after.keys);
    return compared > 0 || (compared === 0 && compareTexts(first.id, after.id) > 0);
  }

  /**
   * Level by level: a group is at the level of its best member, and there by its other keys, which may be those of any
   * member. Marks the groups of a level, then visits all hits by these keys; or compares the groups if they are few.
   */
  private *byRelevance(wanted: number, after: After | null): Generator<Group, undefined> {
    const from = after === null ? Infinity : Number(after.keys[0] ?? 0);
    const highest = Math.max(...this.ranked.map((one) => one.atLeast().length - 1));
    const total = this.ranked.reduce((sum, { matches }) => sum + matches.count, 0);
    for (let level = highest; level >= 0; level -= 1) {
      const sets = this.ranked.map((one) => one.level(level));
      const count = sets.reduce((sum, set) => sum + (set?.count ?? 0), 0);
      // If they are spread evenly among all hits.
      const isFew = count * count * VISITS <= wanted * total;
      this.check();
      if (level > from) this.finish(sets);
      else if (isFew) yield* this.firstOf(sets, wanted, after);
      else yield* this.walk(sets, wanted, level, level === from ? after : null);
    }
  }

  /** Leaves out the groups of these hits from now on. */
  private finish(sets: readonly (OrdinalSet | undefined)[]): void {
    for (const hit of this.eachOf(sets)) {
      const number = this.numberOf(hit);
      if (number > 0) this.done.add(number);
    }
  }

  /** The first groups of these hits, by comparing all. The hits are at the best level of groups that are not done. */
  private *firstOf(
    sets: readonly (OrdinalSet | undefined)[],
    wanted: number,
    after: After | null,
  ): Generator<Group, undefined> {
    const first = new FirstItems<Group>(
      wanted,
      (a, b) => this.ordering.compareKeys(a.keys, b.keys) || byFirst(a, b),
    );
    for (const hit of this.eachOf(sets)) {
      const number = this.numberOf(hit);
      if (number > 0 && !this.done.add(number)) continue;
      const group = this.groupOf(hit, number);
      if (after === null || this.isAfter(group, after)) first.add(group);
    }
    yield* first.sorted();
  }

  private *walk(
    sets: readonly (OrdinalSet | undefined)[],
    wanted: number,
    level: number,
    after: After | null,
  ): Generator<Group, undefined> {
    const marked = new NumberSet();
    const alone = new Map<unknown, OrdinalSet>();
    for (const [at, set] of sets.entries()) {
      const one = this.ranked[at];
      if (set === undefined || one === undefined) continue;
      alone.set(one.matches.searched, set);
      const { numbers, greatest } = one.matches.segment.groupsOf(this.column);
      for (const [span, container] of set.containers.entries()) {
        this.check();
        marked.addAll(numbers, greatest, DECODED, decode(container, span * SPAN, DECODED));
      }
    }
    // The level of a hit is that of its group here.
    const from = after === null ? null : beforeEqual(after);
    const hits = this.ranked.map((one) => atLevel(one.byDefault(one.matches.set, from), level));
    const isCandidate = (hit: Hit, number: number) =>
      number > 0 ? marked.has(number) : alone.get(hit.searched)?.has(hit.ordinal) === true;
    yield* this.inOrder(merged(hits, this.ordering.compare), wanted, after, { isCandidate });
    // Those that are left were before the cursor.
    this.finish(sets);
  }

  private *eachOf(sets: readonly (OrdinalSet | undefined)[]): Generator<Hit, undefined> {
    for (const [at, set] of sets.entries()) {
      const one = this.ranked[at];
      if (set === undefined || one === undefined) continue;
      const walk = new Walk(set);
      for (let ordinal = walk.next(); ordinal >= 0; ordinal = walk.next()) {
        this.visit();
        yield new Hit(one, ordinal, []);
      }
    }
  }

  /** The number of a hit's group plus one; 0 if it is alone. */
  private numberOf({ searched, ordinal }: Hit): number {
    return searched.segment.groupsOf(this.column).numbers[ordinal] ?? 0;
  }

  private groupOf(hit: Hit, number: number): Group {
    const ordinals = number === 0 ? [] : this.membersOf(hit, number);
    if (number === 0) {
      const at = this.ranked.findIndex(({ matches }) => matches.searched === hit.searched);
      ordinals.push([at, hit.ordinal]);
    }
    const members = ordinals
      .flatMap(([at, ordinal]) => {
        this.visit();
        return this.inside[at]?.hit(ordinal) ?? [];
      })
      .sort((a, b) => {
        this.visit();
        return this.within.compare(a, b);
      });
    return new Group(members[0] ?? hit, members, () =>
      this.keysOf(ordinals.flatMap(([at, ordinal]) => [this.ranked[at]?.keysOf(ordinal) ?? []])),
    );
  }

  /** Whether a hit is known to have the sort keys of its group without reading any: by the places of its members. */
  private isBestOf({ members }: Group, { ranked, ordinal, searched }: Hit): boolean {
    const place = this.last.includes(true) ? undefined : ranked.placeOf(ordinal);
    if (place === undefined) return false;
    return members.every((one) => one.searched === searched && (ranked.placeOf(one.ordinal) ?? -1) >= place);
  }

  /** Per key, the first or the last value of all members. */
  private keysOf(members: readonly (readonly Key[])[]): readonly Key[] {
    return this.ordering.order.map((_, key) => {
      const sign = this.last[key] === true ? -1 : 1;
      let best: Key = NaN;
      for (const keys of members) {
        const value = keys[key] ?? NaN;
        if (Number.isNaN(value)) continue;
        if (Number.isNaN(best) || sign * this.ordering.compareValues(key, value, best) < 0) best = value;
      }
      return best;
    });
  }

  /** The matching documents of the group of a hit: places among the segments, and ordinals. */
  private membersOf(hit: Hit, number: number): [at: number, ordinal: number][] {
    const found: [number, number][] = [];
    for (const [at, { matches }] of this.ranked.entries()) {
      if (matches.count === 0) continue;
      const { numbers, members, next } = matches.segment.groupsOf(this.column);
      let first = hit.ordinal;
      if (matches.searched !== hit.searched) {
        const start = firstWhere(members.length, (index) => (numbers[members[index] ?? 0] ?? 0) >= number);
        first = members[start] ?? 0;
        if (start === members.length || numbers[first] !== number) continue;
      }
      let ordinal = first;
      do {
        this.visit();
        if (matches.has(ordinal)) found.push([at, ordinal]);
        ordinal = next[ordinal] ?? first;
      } while (ordinal !== first);
    }
    return found;
  }
}

/** Before everything with the cursor's keys. */
function beforeEqual({ keys }: After): After {
  return { keys, id: '' };
}

/** Whether both are by the same columns. */
function isSameOrder(a: readonly IndexOrder[], b: readonly IndexOrder[]): boolean {
  return (
    a.length === b.length &&
    a.every((key, at) => {
      const other = b[at];
      const column = columnOf(key);
      if (other === undefined || column === undefined || columnOf(other) !== column) return false;
      return isDescending(key) === isDescending(other);
    })
  );
}

function byFirst(a: Group, b: Group): number {
  return compareIds(a.first, b.first);
}

function* atLevel(hits: Iterable<Hit>, level: number): Generator<Hit, undefined> {
  for (const hit of hits) yield new Hit(hit.ranked, hit.ordinal, [level, ...hit.keys.slice(1)]);
}
