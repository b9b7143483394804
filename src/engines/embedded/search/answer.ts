import { GroupFinder } from './groups';
import { merged, mergedFrom } from './sorting';
import { Group, type Hit, Ordering, Ranked } from './hits';
import { DECODED, everyFew, type Matches, matchesOf, type Searched } from './matches';
import { type IndexAnswer, type IndexQuery } from './query';
import { type Schema, type StoredGroups } from './segment';
import { addToBitmap, NumberSet, type OrdinalSet } from './sets';
import { decode, SPAN, WORDS } from './containers';
import { bytesOf, compareBytes } from './bytes';

/** Answers a query from all segments. */
export function answer(
  searched: readonly Searched[],
  schema: Schema,
  query: IndexQuery,
  check: () => void,
): IndexAnswer {
  const all = searched.map((one) => matchesOf(one, schema, query.filter, check));
  const { group, offset, size, after } = query;
  // One more, to find out whether there is a next page.
  const wanted = size + (after === undefined ? 0 : 1);
  const total =
    group === undefined
      ? all.reduce((sum, { count }) => sum + count, 0)
      : countGroups(all, group.column, check);
  const found =
    total <= offset || size === 0
      ? []
      : group === undefined
        ? documents(all, schema, query, wanted, check)
        : new GroupFinder(all, schema, query, group, check)
            .groups(offset + wanted, after ?? null)
            .slice(offset);
  const page = found.slice(0, size);
  const last = after === undefined || found.length < wanted ? undefined : page.at(-1);
  return {
    total,
    rows: page.map(({ members }) => members.slice(0, group?.members ?? 1).map(rowOf)),
    ...(last === undefined ? {} : { next: { keys: last.keys, id: last.first.id } }),
  };
}

/** The number of distinct groups of all matches. */
function countGroups(all: readonly Matches[], column: string, check: () => void): number {
  const marks = new NumberSet();
  let alone = 0;
  const found = all.filter(({ count }) => count > 0);
  for (const matches of found) {
    const groups = matches.segment.groupsOf(column);
    const { docs } = matches.segment;
    if (groups.present !== undefined && matches.count * 2 > docs) {
      // By what does not match, which is less: the groups that are lost with it.
      const left = found.length === 1 ? undefined : groups.present.slice();
      const gone: Gone = { docs: 0, groups: 0, alone: 0, left };
      if (matches.count < docs) {
        const matching = bitmapFor(matches.set);
        for (let first = 0; first < docs; first += SPAN) {
          check();
          countGone(gone, groups, matching, first, Math.min(first + SPAN, docs));
        }
      }
      if (left === undefined) {
        const several = groups.docsOfSeveral - gone.docs;
        return matches.count - several + groups.ofSeveral - gone.groups;
      }
      alone += docs - groups.members.length - gone.alone;
      marks.addBitmap(left);
      continue;
    }
    const { numbers, greatest } = groups;
    for (const [span, container] of matches.set.containers.entries()) {
      check();
      const decoded = decode(container, span * SPAN, DECODED);
      alone += marks.addAll(numbers, greatest, DECODED, decoded);
    }
  }
  return alone + marks.count();
}

/** For one set at a time: making an array takes as long as filling it. */
let bitmap = new Int32Array(0);

function bitmapFor(set: OrdinalSet): Int32Array {
  const length = set.containers.length * WORDS;
  if (bitmap.length < length) bitmap = new Int32Array(length);
  else bitmap.fill(0, 0, length);
  addToBitmap(set, bitmap);
  return bitmap;
}

/** What of one segment does not match: documents, and groups of which no document does. */
interface Gone {
  docs: number;
  groups: number;
  /** With the number 0. */
  alone: number;
  /** A bitmap of numbers, of which theirs are removed. Undefined: only documents that are not alone are looked at. */
  readonly left: Int32Array | undefined;
}

/**
 * Counts the documents, from one ordinal to before another one, that do not match, and the groups of which no other one
 * matches: each at its first document. Most have another one that matches, which is found by one bit.
 */
function countGone(
  gone: Gone,
  { next, numbers, several }: Pick<StoredGroups, 'next' | 'numbers' | 'several'>,
  matching: Int32Array,
  from: number,
  to: number,
): void {
  const { left } = gone;
  let docs = 0;
  let groups = 0;
  let alone = 0;
  for (let index = from >>> 5; index << 5 < to; index += 1) {
    let word = ~(matching[index] ?? 0);
    if (left === undefined) word &= several[index] ?? 0;
    // Bits beyond the last document.
    if (to - (index << 5) < 32) word &= (1 << (to & 31)) - 1;
    while (word !== 0) {
      const lowest = word & -word;
      word ^= lowest;
      docs += 1;
      const ordinal = (index << 5) + 31 - Math.clz32(lowest);
      let other = next[ordinal] ?? 0;
      // Seldom mispredicted.
      if ((((matching[other >>> 5] ?? 0) >>> (other & 31)) & 1) === 1) continue;
      while (other > ordinal && (((matching[other >>> 5] ?? 0) >>> (other & 31)) & 1) === 0)
        other = next[other] ?? 0;
      if (other !== ordinal) continue;
      const number = numbers[ordinal] ?? 0;
      if (number === 0) alone += 1;
      else {
        groups += 1;
        if (left !== undefined) left[number >>> 5] = (left[number >>> 5] ?? 0) & ~(1 << (number & 31));
      }
    }
  }
  gone.docs += docs;
  gone.groups += groups;
  gone.alone += alone;
}

/** So many single documents from the offset on, as groups of one. */
function documents(
  all: readonly Matches[],
  schema: Schema,
  { order, offset, after }: IndexQuery,
  wanted: number,
  check: () => void,
): readonly Group[] {
  const ordering = new Ordering(order);
  const hits = mergedFrom(
    offset,
    all.map((matches) => new Ranked(matches, ordering, schema, check).hits(offset + wanted, after ?? null)),
    (a, b) => ordering.compareKeys(a.keys, b.keys),
    ordering.compare,
  );
  const found: Group[] = [];
  for (const hit of hits) {
    found.push(new Group(hit, [hit], () => hit.keys));
    if (found.length === wanted) break;
  }
  return found;
}

function rowOf({ searched, ordinal }: Hit): number {
  return searched.segment.rowOf(ordinal);
}

/** Some matching documents. The arrays are reused by the next ones. */
export interface Walked {
  readonly count: number;
  readonly rows: Float64Array;
  /** Per column; NaN is missing. */
  readonly values: readonly Float64Array[];
}

/** The matches of one segment, a container at a time. */
export function* walked(
  matches: Matches,
  columns: readonly string[],
  check: () => void,
): Generator<Walked, undefined> {
  const { segment, set } = matches;
  const length = Math.min(SPAN, segment.docs);
  const rows = new Float64Array(length);
  const values = columns.map(() => new Float64Array(length));
  const numbers = columns.map((column) => segment.column(column));
  for (const [span, container] of set.containers.entries()) {
    check();
    const count = decode(container, span * SPAN, DECODED);
    if (count === 0) continue;
    for (let at = 0; at < count; at += 1) rows[at] = segment.rows.get(DECODED[at] ?? 0);
    for (const [index, column] of numbers.entries()) {
      const own = values[index] ?? rows;
      for (let at = 0; at < count; at += 1) own[at] = column.get(DECODED[at] ?? 0);
    }
    yield { count, rows, values };
  }
}

interface Identified {
  readonly id: Uint8Array;
  readonly row: number;
}

/** The rows of the matches of all segments by id. */
export function* rowsById(
  all: readonly Matches[],
  after: string | undefined,
  check: () => void,
): Generator<number, undefined> {
  const from = after === undefined ? undefined : bytesOf(after);
  const inOrder = merged(
    all.filter(({ count }) => count > 0).map((matches) => identified(matches, from, check)),
    (a, b) => compareBytes(a.id, b.id),
  );
  for (const { row } of inOrder) yield row;
}

/** Marks the positions of the matches among the sorted ids, then reads these ids in order. */
function* identified(
  matches: Matches,
  after: Uint8Array | undefined,
  check: () => void,
): Generator<Identified, undefined> {
  const { segment, set } = matches;
  const marked = new Int32Array(Math.ceil(segment.docs / 32));
  for (const [span, container] of set.containers.entries()) {
    check();
    const count = decode(container, span * SPAN, DECODED);
    for (let at = 0; at < count; at += 1) {
      const rank = segment.ranks.get(DECODED[at] ?? 0);
      marked[rank >>> 5] = (marked[rank >>> 5] ?? 0) | (1 << (rank & 31));
    }
  }
  const ids = segment.ids.all();
  const start = after === undefined ? 0 : segment.ids.positionAfter(after);
  const visit = everyFew(check);
  for (let rank = start; rank < segment.docs; rank += 1) {
    visit();
    const word = marked[rank >>> 5] ?? 0;
    if (word === 0) {
      rank |= 31;
      continue;
    }
    if ((word & (1 << (rank & 31))) === 0) continue;
    ids.goTo(rank);
    const id = ids.token.slice();
    yield { id, row: segment.rows.get(ids.entry().few?.[0] ?? 0) };
  }
}
