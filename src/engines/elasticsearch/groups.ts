import { type GroupOrder, type GroupResults, type GroupSearch } from '../../kernel/query';
import { type IndexContext } from './connection';
import { foundOf, property } from './layout';
import { queryOf } from './query';
import {
  compareRanks,
  compareValues,
  PageCollector,
  type Rank,
  type Ranked,
  Ranks,
  type SortValue,
} from './ranks';
import { isLarge } from './search';
import { Snapshot } from './snapshot';

/** A group, with what it is ordered by. */
interface Group {
  readonly name: string;
  readonly best: SortValue[];
  first: Rank;
  size: number;
}

/**
 * One page of groups in order, each with its first members, and the number of all groups.
 *
 * The server can neither count groups exactly nor order them by the best value of several keys. So we read the sort keys of
 * all matching documents, then the documents of the groups on the page, from the same snapshot.
 */
export async function searchGroups(
  { connection, alias, layout, retryMs }: IndexContext,
  wanted: GroupSearch,
  bodyLimit?: number,
): Promise<GroupResults> {
  const { filter, groupBy, within, order, members } = wanted;
  const group = layout.field(groupBy, 'column').name;
  const query = queryOf(filter, layout);
  const all = new Ranks([...within, ...order], layout, group);
  const inGroup = compareRanks(within);
  const snapshot = await Snapshot.open(connection, alias, retryMs);
  try {
    const groups = new Map<string, Group>();
    for await (const ranked of all.keys(snapshot, query)) {
      const keys = ranked.keys.slice(within.length);
      const current = groups.get(ranked.group);
      if (current === undefined) {
        groups.set(ranked.group, { name: ranked.group, best: keys, first: ranked, size: 1 });
        continue;
      }
      current.size += 1;
      for (const [at, key] of order.entries()) current.best[at] = better(key, current.best[at], keys[at]);
      if (inGroup(ranked, current.first) < 0) current.first = ranked;
    }
    const rankOf = ({ best, first }: Group): Rank => ({ keys: best, id: first.id });
    const inOrder = new PageCollector(wanted, compareRanks(order), rankOf);
    for (const one of groups.values()) inOrder.add(one);
    const { page, next } = inOrder.end();
    const paged = { total: groups.size, ...(next === undefined ? {} : { next }) };
    if (page.length === 0) return { ...paged, groups: [] };
    query.bool.filter.push({ terms: { [property(group)]: page.map(({ name }) => name) } });
    const ranks = new Ranks(within, layout, group);
    const membersOf = async <Source>(all: AsyncIterable<Ranked<Source>>): Promise<Ranked<Source>[][]> => {
      const found = new Map<string, Ranked<Source>[]>(page.map(({ name }) => [name, []]));
      for await (const ranked of all) found.get(ranked.group)?.push(ranked);
      return [...found.values()].map((list) => list.sort(inGroup).slice(0, members));
    };
    const size = page.reduce((sum, one) => sum + Math.min(one.size, members), 0);
    if (isLarge({ size }, bodyLimit)) {
      const rest = await membersOf(ranks.keys(snapshot, query));
      return { ...paged, groups: [], rest: rest.map((list) => list.map(({ id }) => id.toString())) };
    }
    const whole = await membersOf(ranks.whole(snapshot, query));
    return { ...paged, groups: whole.map((list) => list.flatMap(({ source }) => foundOf(source))) };
  } finally {
    await snapshot.close();
  }
}

/** The least or the greatest of two values; an absent value never wins. */
function better({ by }: GroupOrder, a: SortValue, b: SortValue): SortValue {
  if (a === undefined || b === undefined) return a ?? b;
  return compareValues(a, b) <= 0 === (by === 'least') ? a : b;
}
