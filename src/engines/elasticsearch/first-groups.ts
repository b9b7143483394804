import { type estypes } from '@elastic/elasticsearch';
import { type GroupOrder, type GroupSearch } from '../../kernel/query';
import { ID, type IndexLayout, property } from './layout';
import { type Query, queryOf, type Snapshot } from './query';
import { compareSortValues, type Rank, Score, type SortValue } from './ranks';
import {
  isMatches,
  isSortable,
  isSortableKey,
  missingValue,
  type Sortable,
  sortKey,
  sortOf,
  sortValueOf,
} from './search';

/** A group, with its sort keys and the id of its first member. */
export interface RankedGroup extends Rank {
  readonly name: string;
}

interface PlacedGroup extends RankedGroup {
  /** The keys, then the id. */
  readonly place: readonly SortValue[];
}

/** Whether the server can sort by each key of a search for groups, which `FirstGroups` needs. */
export function canFind({ within, order }: GroupSearch): boolean {
  return isSortable(within) && order.every(isSortableKey);
}

/** Documents per request of a walk. */
const BATCH = { least: 100, most: 2_000 } as const;
/** Groups per request. */
const GROUPS = 1_000;
/** Maximum groups that a walk leaves out. */
const LEFT_OUT = 10_000;
/** Greater than any `_shard_doc`, by which the server breaks ties in a snapshot. */
const END = '9223372036854775807';

/** A filter for documents, and how many there are. */
interface CountedGroups {
  readonly filter: Query;
  readonly count: number;
}

/** How the server sorts documents. */
interface Sorting {
  readonly sort: estypes.SortCombinations[];
  readonly score: Pick<Score, 'of'>;
}

/**
 * Finds the first groups of a search without reading all matching documents.
 *
 * It walks through the documents in the order of the first key. When it meets a group for the first time, it asks the
 * server for the keys and the first member of the group, for many groups at once. Since the key of a group is the value
 * of one of its members, all groups up to the position of the walk are known. Groups whose first keys are equal are
 * found by a walk in the order of the next key, and those whose keys are all equal by a walk in the order of ids, which
 * meets their first members.
 *
 * Such a walk meets many other groups if few have these keys. Then the documents with one of the keys are read instead:
 * the shorter way reads about the square root of (wanted groups × matching documents).
 */
export class FirstGroups {
  private readonly known = new Map<string, PlacedGroup>();
  /** Groups that were met more than once: walks leave them out, since they may have many members. */
  private readonly repeated = new Set<string>();
  private readonly filter: readonly Query[];
  private readonly group: string;
  /** The keys of the order, then the id. */
  private readonly keys: readonly GroupKey[];
  private readonly heads: Sorting;

  /** `total`: the number of matching documents. */
  constructor(
    private readonly snapshot: Snapshot,
    { filter, groupBy, within, order }: GroupSearch,
    layout: IndexLayout,
    private readonly total: number,
  ) {
    this.filter = queryOf(filter, layout).bool.filter;
    this.group = property(layout.field(groupBy, 'column').name);
    const members = within.filter(isSortableKey);
    this.heads = { sort: sortOf(members, layout), score: new Score(members.filter(isMatches), layout) };
    this.keys = [
      ...order.flatMap((key) => (isSortableKey(key) ? [keyOf(key, layout, members[0])] : [])),
      ID_KEY,
    ];
  }

  /** Groups, among them the first `count` after a cursor. */
  async find(count: number, after?: Rank): Promise<Iterable<RankedGroup>> {
    await this.findAmong([], count, after && [...after.keys, after.id.toString()]);
    return this.known.values();
  }

  /**
   * Finds the first `count` groups that have these first keys, after a place. Returns how many there are, if less than
   * `count`.
   */
  private async findAmong(
    first: readonly SortValue[],
    count: number,
    after?: readonly SortValue[],
    rare?: CountedGroups,
  ): Promise<number> {
    const level = first.length;
    const key = this.keys[level];
    if (key === undefined) return 0;
    let found = 0;
    const holders = await this.rarest(first, rare);
    const readsAll = holders !== undefined && holders.count ** 2 <= count * this.total;
    if (!readsAll && after !== undefined && level < this.keys.length - 1) {
      found = await this.findAmong([...first, after[level]], count, after, holders);
      if (found >= count) return found;
    }
    const isWanted = ({ place }: PlacedGroup): boolean =>
      first.every((value, at) => place[at] === value) &&
      (after === undefined ||
        (readsAll ? isAfter(this.keys, place, after) : key.compare(place[level], after[level]) > 0));
    if (readsAll) {
      const walk = this.walk({ sort: [], score: NO_SCORE }, BATCH.most, holders.filter);
      while ((await walk.next()).done !== true);
      return [...this.known.values()].filter(isWanted).length;
    }
    const start = after === undefined ? undefined : [key.toServer(after[level]), END];
    const size = Math.ceil((count - found) * 1.5);
    for await (const sorted of this.walk(key.inOrder, size, undefined, start)) {
      const position = key.fromServer(sorted[0]);
      const passed = [...this.known.values()]
        .filter((group) => isWanted(group) && key.compare(group.place[level], position) <= 0)
        .sort((a, b) => key.compare(a.place[level], b.place[level]));
      const last = passed[count - found - 1];
      if (last === undefined) continue;
      const value = last.place[level];
      // More groups with the key of the last one may follow, unless it is an id.
      if (level === this.keys.length - 1 || key.compare(value, position) < 0) return count;
      found += passed.findIndex(({ place }) => place[level] === value);
      return found + (await this.findAmong([...first, value], count - found, undefined, holders));
    }
    return found + [...this.known.values()].filter(isWanted).length;
  }

  /** Of the documents that have the last one of these keys, and `rare`, those that are fewer. */
  private async rarest(
    first: readonly SortValue[],
    rare?: CountedGroups,
  ): Promise<CountedGroups | undefined> {
    const key = this.keys[first.length - 1];
    if (key === undefined) return rare;
    const filter = key.having(first.at(-1));
    const count = await this.snapshot.count({ bool: { filter: [...this.filter, filter] } });
    return rare === undefined || count < rare.count ? { filter, count } : rare;
  }

  /** Makes the groups of documents known, batch by batch; yields the sort values of the last document of a batch. */
  private async *walk(
    { sort, score }: Sorting,
    first: number,
    only?: Query,
    start?: estypes.SortResults,
  ): AsyncGenerator<estypes.SortResults> {
    let after = start;
    for (let size = Math.min(BATCH.most, Math.max(BATCH.least, first)); ; size = BATCH.most) {
      const without: Query = {
        bool: { must_not: { terms: { [this.group]: [...this.repeated].slice(0, LEFT_OUT) } } },
      };
      const filter = [...this.filter, ...(only === undefined ? [] : [only]), without];
      const { hits } = (
        await this.snapshot.search({
          ...KEYS_ONLY,
          query: score.of({ bool: { filter } }),
          sort: [...sort, { _shard_doc: 'asc' }],
          size,
          docvalue_fields: [this.group],
          ...(after === undefined ? {} : { search_after: after }),
        })
      ).hits;
      await this.learn(hits.map((hit) => groupIn(hit, this.group)));
      after = hits.at(-1)?.sort;
      if (hits.length < size || after === undefined) return;
      yield after;
    }
  }

  private async learn(names: readonly string[]): Promise<void> {
    const unknown = new Set<string>();
    for (const name of names)
      if (unknown.has(name) || this.known.has(name)) this.repeated.add(name);
      else unknown.add(name);
    const list = [...unknown];
    for (let from = 0; from < list.length; from += GROUPS) {
      const some = list.slice(from, from + GROUPS);
      const [heads, ...best] = await Promise.all([
        this.firstOf(some, this.heads),
        ...this.keys.map(({ best }) => (best === undefined ? undefined : this.firstOf(some, best))),
      ]);
      for (const name of some) {
        const head = heads.get(name) ?? [];
        const id = String(head[this.heads.sort.length - 1]);
        const keys = this.keys
          .slice(0, -1)
          .map((key, at) => key.fromServer((best[at]?.get(name) ?? head)[0]));
        this.known.set(name, { name, keys, id: Buffer.from(id), place: [...keys, id] });
      }
    }
  }

  /** The sort values of the first document of each group. */
  private async firstOf(
    names: string[],
    { sort, score }: Sorting,
  ): Promise<ReadonlyMap<string, estypes.SortResults>> {
    const filter = [...this.filter, { terms: { [this.group]: names } }];
    const { hits } = (
      await this.snapshot.search({
        ...KEYS_ONLY,
        query: score.of({ bool: { filter } }),
        sort,
        collapse: { field: this.group },
        size: names.length,
      })
    ).hits;
    return new Map(hits.map((hit) => [groupIn(hit, this.group), hit.sort ?? []]));
  }
}

/** Answers without documents. */
const KEYS_ONLY = { _source: false, stored_fields: '_none_', track_total_hits: false } as const;

const NO_SCORE = { of: (query: Query): Query => query };

/** The value of the group in an answer. */
export function groupIn({ fields }: estypes.SearchHit, group: string): string {
  return String((fields?.[group] as readonly unknown[] | undefined)?.[0]);
}

function isAfter(
  keys: readonly GroupKey[],
  place: readonly SortValue[],
  after: readonly SortValue[],
): boolean {
  for (const [at, key] of keys.entries()) {
    const compared = key.compare(place[at], after[at]);
    if (compared !== 0) return compared > 0;
  }
  return false;
}

/** One key of the order of groups. */
interface GroupKey {
  /** Sorts documents by their values in the order of the groups. */
  readonly inOrder: Sorting;
  /** Sorts the members of a group so that the first one has its key; undefined if its first member has it. */
  readonly best: Sorting | undefined;
  readonly compare: (a: SortValue, b: SortValue) => number;
  readonly fromServer: (value: unknown) => SortValue;
  readonly toServer: (value: SortValue) => string | number | null;
  /** The documents with this value. */
  readonly having: (value: SortValue) => Query;
}

/** The id of the first member: the last key. */
const ID_KEY: GroupKey = {
  inOrder: { sort: [{ [ID]: 'asc' }], score: NO_SCORE },
  best: undefined,
  compare: (a, b) => compareSortValues(a, b, false),
  fromServer: String,
  toServer: String,
  having: () => ({ match_all: {} }),
};

/** `head`: the first key in the order of members. */
function keyOf(order: SortableGroups, layout: IndexLayout, head: Sortable | undefined): GroupKey {
  const { by, descending = false } = order;
  const score = isMatches(order) ? new Score([order], layout) : undefined;
  const sorted = (isDescending: boolean): Sorting => ({
    sort: [sortKey(order, isDescending, layout)],
    score: score ?? NO_SCORE,
  });
  const isOfHead =
    'field' in order &&
    head !== undefined &&
    'field' in head &&
    head.field === order.field &&
    (head.descending ?? false) === (by === 'greatest');
  return {
    inOrder: sorted(descending),
    best: isOfHead ? undefined : sorted(by === 'greatest'),
    compare: (a, b) => compareSortValues(a, b, descending),
    fromServer: sortValueOf,
    toServer: (value) => value ?? missingValue(order, descending, layout),
    having: (value) => score?.equalTo(Number(value)) ?? withValue(order, value),
  };
}

type SortableGroups = Sortable & Pick<GroupOrder, 'by'>;

function withValue(order: Sortable, value: SortValue): Query {
  const field = property('field' in order ? order.field : '');
  return value === undefined ? { bool: { must_not: { exists: { field } } } } : { term: { [field]: value } };
}
