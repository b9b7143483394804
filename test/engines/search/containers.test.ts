import {
  countCommon,
  decodeSet,
  difference,
  emptySet,
  encodeSet,
  everything,
  intersection,
  type OrdinalSet,
  rangeSet,
  setOf,
  union,
  Walk,
} from '../../../src/engines/embedded/search/sets';
import { keepingBitmaps, reusingBitmaps } from '../../../src/engines/embedded/search/containers';
import { randomOf } from './random';

const SIZE = 3 * 65_536 + 1_000;

/** Sets of every kind: sparse, dense, ranges, nothing, everything, and a different kind per container. */
function someSet(random: (below: number) => number): {
  readonly set: OrdinalSet;
  readonly members: Set<number>;
} {
  const members = new Set<number>();
  for (let from = 0; from < SIZE; from += 65_536) {
    const end = Math.min(from + 65_536, SIZE);
    const kind = random(5);
    const one = kind === 1 ? 2_000 : kind === 2 ? 3 : 1;
    if (kind === 4) {
      const first = from + random(end - from);
      const last = first + random(end - first);
      for (let at = first; at < last; at += 1) members.add(at);
    } else if (kind > 0)
      for (let at = from + random(one); at < end; at += 1 + random(2 * one - 1)) members.add(at);
  }
  const sorted = Uint32Array.from(members).sort();
  return { set: setOf(SIZE, sorted), members };
}

/** As text, which Jest compares faster than arrays. */
function listed(set: OrdinalSet, from = 0): string {
  const walk = new Walk(set, from);
  const found: number[] = [];
  for (let at = walk.next(); at >= 0; at = walk.next()) found.push(at);
  return found.join();
}

const sorted = (numbers: Iterable<number>): number[] => [...Uint32Array.from(numbers).sort()];

test('sets are combined, counted, stored and walked like plain sets', () => {
  const random = randomOf(1);
  for (let round = 0; round < 6; round += 1) {
    const [a, b, c] = [someSet(random), someSet(random), someSet(random)] as const;
    const expected: readonly (readonly [OrdinalSet, number[]])[] = [
      [a.set, sorted(a.members)],
      [intersection(a.set, b.set), sorted([...a.members].filter((at) => b.members.has(at)))],
      [difference(a.set, b.set), sorted([...a.members].filter((at) => !b.members.has(at)))],
      [union(SIZE, [a.set, b.set, c.set]), sorted(new Set([...a.members, ...b.members, ...c.members]))],
    ];
    for (const [set, members] of expected) {
      expect(set.count).toBe(members.length);
      expect(listed(set) === members.join()).toBe(true);
      expect(listed(decodeSet(encodeSet(set), SIZE)) === members.join()).toBe(true);
      expect(countCommon(set, c.set)).toBe(members.filter((at) => c.members.has(at)).length);
      const from = random(SIZE);
      expect(listed(set, from) === members.filter((at) => at >= from).join()).toBe(true);
      expect(set.has(from)).toBe(new Set(members).has(from));
    }
  }
});

test('a query has the same answer with the bitmaps of those before it, but for what was to be kept', () => {
  const random = randomOf(2);
  const sets = Array.from({ length: 6 }, () => someSet(random).set);
  const combined = (at: number): OrdinalSet => {
    const [a, b, c] = [0, 1, 2].map((next) => sets[(at + next) % 6]!);
    return difference(union(SIZE, [a!, intersection(b!, c!)]), intersection(everything(SIZE), c!));
  };
  const expected = sets.map((_, at) => listed(combined(at)));
  const kept: OrdinalSet[] = [];
  for (const at of [0, 1, 2, 3, 4, 5, 0, 5]) {
    const found = reusingBitmaps(() => {
      combined(at + 1);
      kept.push(keepingBitmaps(() => combined(at)));
      return listed(combined(at));
    });
    expect(found === expected[at]).toBe(true);
  }
  for (const [at, of] of [0, 1, 2, 3, 4, 5, 0, 5].entries())
    expect(listed(kept[at]!) === expected[of]).toBe(true);
});

test('few of sparse sets are united as sorted arrays, without repeats', () => {
  const sets = [setOf(SIZE, [1, 5, 70_000]), setOf(SIZE, [5, 6]), setOf(SIZE, [])];
  expect(listed(union(SIZE, sets))).toBe('1,5,6,70000');
  expect(listed(union(SIZE, []))).toBe('');
});

test('everything, nothing and ranges need no arrays', () => {
  const all = everything(SIZE);
  expect(all.count).toBe(SIZE);
  expect(encodeSet(all).length).toBe(4 + 4 * 8);
  expect(encodeSet(emptySet(SIZE)).length).toBe(4);
  expect(intersection(all, rangeSet(SIZE, 10, 70_000)).count).toBe(69_990);
  expect(difference(all, rangeSet(SIZE, 10, 70_000)).count).toBe(SIZE - 69_990);
  expect(listed(rangeSet(SIZE, 65_530, 65_540))).toBe([...Array(10).keys()].map((at) => 65_530 + at).join());
});

test('a set whose bytes are cut is refused', () => {
  const bytes = encodeSet(rangeSet(SIZE, 10, 20_000));
  expect(() => decodeSet(bytes.slice(0, 100), SIZE)).toThrow(RangeError);
});
