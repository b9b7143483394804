import { countGroups, type Group, GroupSearch } from './groups';
import { merged } from './heap';
import { type Hit, idOf, Ordering, Ranked } from './hits';
import { type Matches, matchesOf, type Searched } from './matches';
import { type Answer, type Query } from './query';
import { type Schema } from './segment';

/** Answers a query from all segments. */
export function answer(
  searched: readonly Searched[],
  schema: Schema,
  query: Query,
  check: () => void,
): Answer {
  const all = searched.map((one) => matchesOf(one, schema, query.filter, check));
  const { group, offset, size, after } = query;
  // One more, to find out whether there is a next page.
  const wanted = offset + size + (after === undefined ? 0 : 1);
  const total =
    group === undefined
      ? all.reduce((sum, { count }) => sum + count, 0)
      : countGroups(all, group.column, check);
  const found =
    total <= offset || size === 0
      ? []
      : group === undefined
        ? documents(all, schema, query, wanted, check)
        : new GroupSearch(all, schema, query, group, check).groups(wanted, after ?? null);
  const page = found.slice(offset, offset + size);
  const last = after === undefined || found.length < wanted ? undefined : page.at(-1);
  return {
    total,
    rows: page.map(({ members }) => members.slice(0, group?.members ?? 1).map(rowOf)),
    ...(last === undefined ? {} : { next: { keys: last.keys, id: idOf(last.first) } }),
  };
}

/** Single documents, as groups of one. */
function documents(
  all: readonly Matches[],
  schema: Schema,
  { order, after }: Query,
  wanted: number,
  check: () => void,
): readonly Group[] {
  const ordering = new Ordering(order);
  const hits = merged(
    all.map((matches) => new Ranked(matches, ordering, schema, check).hits(wanted, after ?? null)),
    ordering.compare,
  );
  const found: Group[] = [];
  for (const hit of hits) {
    found.push({ keys: hit.keys, first: hit, members: [hit] });
    if (found.length === wanted) break;
  }
  return found;
}

function rowOf({ searched, ordinal }: Hit): number {
  return searched.segment.rows.get(ordinal);
}
