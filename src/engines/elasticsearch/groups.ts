import { type estypes } from '@elastic/elasticsearch';
import {
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupOrder,
  type GroupResults,
  GROUPS_CHARACTERS,
  type GroupSearch,
} from '../../kernel/query';
import { type IndexContext } from './connection';
import { foundOf, type IndexLayout, property } from './layout';
import { nextPageSize, queryOf, Snapshot } from './query';
import {
  compareRanks,
  compareValues,
  type FilterQuery,
  PageCollector,
  type Rank,
  type RankedHit,
  Ranks,
  Score,
  type SortValue,
} from './ranks';
import { canFind, FirstGroups, type RankedGroup, groupIn } from './first-groups';
import { isLarge, isMatches, isSortable, sortOf } from './search';

/** Up to this many documents, reading the sort keys of all is faster than finding the first groups. */
const FEW = 500;

/**
 * One page of groups in order, each with its first members, and the number of all groups, from one snapshot.
 *
 * The server cannot order groups by the best value of several keys. For an order that it does not support at all, we
 * read the sort keys of all matching documents.
 */
export async function searchGroups(
  context: IndexContext,
  wanted: GroupSearch,
  bodyLimit?: number,
): Promise<GroupResults> {
  const snapshot = await Snapshot.open(context);
  try {
    return await resultsOf({ snapshot, wanted, layout: context.layout }, bodyLimit);
  } finally {
    await snapshot.close();
  }
}

interface GroupSearchParts {
  readonly snapshot: Snapshot;
  readonly wanted: GroupSearch;
  readonly layout: IndexLayout;
}

async function resultsOf(searched: GroupSearchParts, bodyLimit?: number): Promise<GroupResults> {
  const { snapshot, wanted, layout } = searched;
  const documents = await snapshot.count(queryOf(wanted.filter, layout));
  const groups = new PageCollector<RankedGroup>(wanted, compareRanks(wanted.order), (group) => group);
  const readsAll = documents <= FEW || !canFind(wanted);
  const total = await (readsAll ? addAll(searched, groups) : addFirst(searched, groups, documents));
  const { page, next } = groups.end();
  const paged = { total, ...(next === undefined ? {} : { next }) };
  const names = page.map(({ name }) => name);
  if (await isLargePage(searched, names, documents, bodyLimit)) {
    const members = await membersOf<undefined>(searched, names, 'keys');
    return { ...paged, groups: [], rest: members.map((group) => group.map(({ id }) => id)) };
  }
  const members = await membersOf<Found>(searched, names, 'whole');
  return { ...paged, groups: members.map((group) => group.flatMap(({ source }) => foundOf(source))) };
}

/** Adds the groups up to the end of the page. Returns the number of all groups. */
async function addFirst(
  { snapshot, wanted, layout }: GroupSearchParts,
  groups: PageCollector<RankedGroup>,
  documents: number,
): Promise<number> {
  const { offset, size } = wanted;
  const first = new FirstGroups(snapshot, wanted, layout, documents);
  const isEmpty = size === 0 || offset >= documents;
  const counting = numberOfGroups(snapshot, wanted, layout, documents);
  const finding = isEmpty ? [] : first.find(groups.limit, groups.after);
  // Both have ended when the snapshot is closed, also if one of them fails.
  await Promise.allSettled([counting, finding]);
  for (const group of await finding) groups.add(group);
  return await counting;
}

/** Adds all groups, from the sort keys of all matching documents. Returns their number. */
async function addAll(
  { snapshot, wanted, layout }: GroupSearchParts,
  groups: PageCollector<RankedGroup>,
): Promise<number> {
  const { groupBy, within, order, filter } = wanted;
  const ranks = new Ranks([...within, ...order], layout, layout.field(groupBy, 'column').name);
  const inGroup = compareRanks(within);
  const all = new Map<string, { readonly best: SortValue[]; first: Rank }>();
  for await (const ranked of ranks.keys(snapshot, queryOf(filter, layout))) {
    const keys = ranked.keys.slice(within.length);
    const current = all.get(ranked.group);
    if (current === undefined) {
      all.set(ranked.group, { best: keys, first: ranked });
      continue;
    }
    for (const [at, key] of order.entries()) current.best[at] = better(key, current.best[at], keys[at]);
    if (inGroup(ranked, current.first) < 0) current.first = ranked;
  }
  for (const [name, { best, first }] of all) groups.add({ name, keys: best, id: first.id });
  return all.size;
}

/** The least or the greatest of two values; an absent value never wins. */
function better({ by }: GroupOrder, a: SortValue, b: SortValue): SortValue {
  if (a === undefined || b === undefined) return a ?? b;
  return compareValues(a, b) <= 0 === (by === 'least') ? a : b;
}

/** Groups with several members per answer, well below the server's `search.max_buckets`. */
const REPEATED = 10_000;

interface Repeated {
  readonly repeated: estypes.AggregationsMultiBucketAggregateBase<estypes.AggregationsStringTermsBucketKeys>;
}

/**
 * The number of groups: that of the matching documents, less all but one of each group with several. The server returns
 * only such groups; if there are too many for one answer, those of one part of all groups after the other.
 */
async function numberOfGroups(
  snapshot: Snapshot,
  { filter, groupBy }: GroupSearch,
  layout: IndexLayout,
  documents: number,
): Promise<number> {
  const field = property(layout.field(groupBy, 'column').name);
  for (let parts = 1; ;) {
    let others = 0;
    let isComplete = true;
    for (let part = 0; part < parts && isComplete; part += 1) {
      const { aggregations } = await snapshot.search<unknown, Repeated>({
        query: queryOf(filter, layout),
        size: 0,
        track_total_hits: false,
        aggs: {
          repeated: {
            terms: {
              field,
              size: REPEATED,
              shard_size: REPEATED,
              min_doc_count: 2,
              shard_min_doc_count: 2,
              ...(parts === 1 ? {} : { include: { partition: part, num_partitions: parts } }),
            },
          },
        },
        filter_path: ['pit_id', 'aggregations.repeated.buckets.doc_count'],
      });
      const buckets = aggregations?.repeated.buckets ?? [];
      if (!Array.isArray(buckets)) throw new Error('the answer of an aggregation has no buckets');
      others += buckets.reduce((sum, { doc_count: count }) => sum + count - 1, 0);
      isComplete = buckets.length < REPEATED;
    }
    if (isComplete) return documents - others;
    parts *= 2;
  }
}

/** Documents per request: sort keys only, or whole documents. */
const MEMBERS = { keys: 2_000, whole: 500 } as const;

interface Member<Source> {
  readonly id: string;
  readonly source: Source;
}

/** Whether the members of the groups of a page might exceed the body limit. */
async function isLargePage(
  { snapshot, wanted, layout }: GroupSearchParts,
  names: string[],
  documents: number,
  bodyLimit: number | undefined,
): Promise<boolean> {
  const most = Math.min(names.length * wanted.members, documents);
  if (!isLarge({ size: most }, bodyLimit)) return false;
  return isLarge({ size: Math.min(most, await snapshot.count(inGroups(wanted, layout, names))) }, bodyLimit);
}

/** The first members of groups, in order. */
async function membersOf<Source extends Found | undefined>(
  searched: GroupSearchParts,
  names: string[],
  what: keyof typeof MEMBERS,
): Promise<Member<Source>[][]> {
  const { snapshot, wanted, layout } = searched;
  const found = new Map<string, Member<Source>[]>(names.map((name) => [name, []]));
  if (!isSortable(wanted.within)) return await rankedMembers<Source>(searched, found, what);
  const group = property(layout.field(wanted.groupBy, 'column').name);
  const sort = sortOf(wanted.within, layout);
  const score = new Score(wanted.within.filter(isMatches), layout);
  const size = MEMBERS[what];
  const open = new Set(wanted.members === 0 ? [] : names);
  for (let after: estypes.SortResults | undefined; open.size > 0;) {
    const { hits } = (
      await snapshot.search<Source>({
        ...(what === 'keys' ? { _source: false, stored_fields: '_none_' } : {}),
        query: score.of(inGroups(wanted, layout, [...open])),
        sort,
        size,
        track_total_hits: false,
        docvalue_fields: [group],
        ...(after === undefined ? {} : { search_after: after }),
      })
    ).hits;
    for (const hit of hits) {
      const name = groupIn(hit, group);
      const list = found.get(name);
      if (list === undefined || list.length === wanted.members) continue;
      list.push({ id: String(hit.sort?.[sort.length - 1]), source: hit._source as Source });
      if (list.length === wanted.members) open.delete(name);
    }
    if (hits.length < size) break;
    after = hits.at(-1)?.sort;
  }
  return [...found.values()];
}

/** The same for an order that the server does not support. */
async function rankedMembers<Source extends Found | undefined>(
  { snapshot, wanted, layout }: GroupSearchParts,
  found: ReadonlyMap<string, Member<Source>[]>,
  what: keyof typeof MEMBERS,
): Promise<Member<Source>[][]> {
  const { within, groupBy, members } = wanted;
  const ranks = new Ranks(within, layout, layout.field(groupBy, 'column').name);
  const lists = new Map<string, RankedHit<unknown>[]>([...found.keys()].map((name) => [name, []]));
  for await (const ranked of ranks[what](snapshot, inGroups(wanted, layout, [...found.keys()])))
    lists.get(ranked.group)?.push(ranked);
  return [...lists.values()].map((list) =>
    list
      .sort(compareRanks(within))
      .slice(0, members)
      .map(({ id, source }) => ({ id: id.toString(), source: source as Source })),
  );
}

function inGroups({ filter, groupBy }: GroupSearch, layout: IndexLayout, names: string[]): FilterQuery {
  const terms = { [property(layout.field(groupBy, 'column').name)]: names };
  return { bool: { filter: [...queryOf(filter, layout).bool.filter, { terms }] } };
}

interface CountedBucket extends estypes.AggregationsCompositeBucket {
  readonly one: estypes.AggregationsTopHitsAggregate;
}

interface Grouped {
  readonly groups: estypes.AggregationsMultiBucketAggregateBase<CountedBucket>;
}

type GroupsRequest = Pick<estypes.SearchRequest, 'query' | 'size' | 'track_total_hits' | 'aggs'>;

/** Searches an index or a snapshot. */
type AskGroups = (
  request: GroupsRequest,
) => Promise<Pick<estypes.SearchResponse<Found, Grouped>, 'aggregations'>>;

/** A group in the server's answer. `key` is the cursor to continue after it. */
interface CountedGroup {
  readonly key: string;
  readonly count: number;
  readonly one: Found;
}

/** One page of groups in ascending order of their values, each with one of its documents. */
export async function countGroups(
  { alias, layout, ask }: IndexContext,
  wanted: GroupCount,
): Promise<GroupCounts> {
  const askGroups: AskGroups = (request) =>
    ask((client, options) =>
      client.search<Found, Grouped>(
        { index: alias, allow_partial_search_results: false, ...request },
        options,
      ),
    );
  const groups: GroupCounts['groups'][number][] = [];
  let characters = 0;
  let next = wanted.after;
  // One more than requested, to find out whether there is a next page.
  for await (const page of groupPages(askGroups, wanted, layout, wanted.size + 1))
    for (const { key, count, one } of page) {
      if (groups.length === wanted.size || characters > GROUPS_CHARACTERS)
        return { groups, ...(next === undefined ? {} : { next }) };
      groups.push({ count, one });
      characters += one.body.length;
      next = key;
    }
  return { groups };
}

/** Groups in ascending order of their values, at most `most`, in pages sized by their documents. */
export async function* groupPages(
  ask: AskGroups,
  { groupBy, filter, after }: Omit<GroupCount, 'size'>,
  layout: IndexLayout,
  most = Infinity,
): AsyncGenerator<readonly CountedGroup[]> {
  const field = property(layout.field(groupBy, 'column').name);
  let left = most;
  let last = after;
  for (let size = nextPageSize([]); left > 0;) {
    const requested = Math.min(size, left);
    const { aggregations } = await ask({
      query: queryOf(filter, layout),
      size: 0,
      track_total_hits: false,
      aggs: {
        groups: {
          composite: {
            size: requested,
            sources: [{ value: { terms: { field } } }],
            ...(last === undefined ? {} : { after: { value: last } }),
          },
          aggs: { one: { top_hits: { size: 1, _source: ['id', 'version', 'body'] } } },
        },
      },
    });
    const buckets = aggregations?.groups.buckets;
    if (!Array.isArray(buckets)) throw new Error('the answer of an aggregation has no buckets');
    const groups = buckets.flatMap(groupOf);
    if (groups.length > 0) yield groups;
    if (buckets.length < requested) return;
    left -= requested;
    last = groups.at(-1)?.key;
    size = nextPageSize(groups.map(({ one }) => one.body));
  }
}

function groupOf({ key, doc_count: count, one }: CountedBucket): readonly CountedGroup[] {
  const stored = one.hits.hits[0]?._source as Found | undefined;
  return foundOf(stored).map((found) => ({ key: String(key['value']), count, one: found }));
}
