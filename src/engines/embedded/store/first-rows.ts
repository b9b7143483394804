import { type Cursor, type Order, type Search } from '../../../kernel/query';
import { and, type Hits } from './hits';
import { column, type Layout, sortIndex } from './layout';
import { isAfter, type SortKey } from './ordering';
import { join, raw, type Sql, sql } from './sql';

/** Relative costs: reading a row from an index; looking a row up and sorting it; probing the token index for a row. */
const COST = { step: 1, row: 0.7, probe: 60 } as const;

/** How much further to read than needed if the matching documents were evenly distributed. */
const MARGIN = 1.5;

/**
 * If many documents match, reads rows in the order of the first sort field from its index, partition by partition,
 * instead of reading all matching rows. If tokens must match too, each row has to be probed, so the number of rows is
 * limited: they may not contain a full page. Undefined if this is not faster.
 */
export function firstRows(
  { order, offset, size, after }: Search,
  keys: readonly SortKey[],
  total: number,
  hits: Hits,
  { partition, sorts }: Layout,
): Sql | undefined {
  const field = indexedOrder(order, sorts);
  if (field === undefined || (partition !== undefined && hits.values === undefined)) return undefined;
  const isProbed = hits.match !== undefined;
  const count = isProbed ? Math.ceil((MARGIN * (offset + size) * hits.documents) / total) : offset + size;
  const lists = partition === undefined ? 1 : hits.partitionCount;
  if (count * (lists * COST.step + (isProbed ? COST.probe : 0)) > total * COST.row) return undefined;

  const inList = partition === undefined ? raw('true') : raw(`k.${column(partition)} = p.value`);
  const list = sql`FROM keys k INDEXED BY ${raw(sortIndex(field))} WHERE ${inList}${and(hits.where)}`;
  const inOrder = orderedBy(keys);
  const first =
    after === undefined || after === null ? firstOf(list, keys, count) : firstAfter(after, list, keys, count);
  const rows =
    partition === undefined
      ? sql`FROM keys k WHERE k.row IN (${first})`
      : sql`FROM json_each(${hits.values ?? ''}) p CROSS JOIN keys k ON k.row IN (${first})`;
  if (hits.match === undefined) return rows;
  return sql`FROM (SELECT k.row AS row ${rows} ORDER BY ${inOrder}k.id LIMIT ${count}) f
    CROSS JOIN tokens t CROSS JOIN keys k ON k.row = f.row
    WHERE t.tokens MATCH ${hits.match} AND t.rowid = f.row`;
}

function orderedBy(keys: readonly SortKey[]): Sql {
  return join(
    keys.map(({ expression, direction }) => sql`${expression} ${raw(direction)}, `),
    '',
  );
}

/** The first rows of a list, in the order of the index where possible. */
function firstOf(list: Sql, keys: readonly SortKey[], count: number): Sql {
  const [first] = keys;
  return keys.length === 1 && first?.direction.startsWith('DESC') === true
    ? lastOf(list, first.expression, count)
    : sql`SELECT k.row ${list} ORDER BY ${orderedBy(keys)}k.id LIMIT ${count}`;
}

/**
 * The first rows after a cursor: those with the same value that come after it by the other keys, then those with a
 * value beyond, then those without a value. The index finds the start of each list.
 */
function firstAfter(after: Cursor, list: Sql, keys: readonly SortKey[], count: number): Sql {
  const [first, ...others] = keys;
  const [value = null, ...values] = after.keys;
  if (first === undefined) return firstOf(list, keys, count);
  const { expression, direction } = first;
  const beyond = raw(direction.startsWith('ASC') ? '>' : '<');
  const rest = isAfter({ keys: values, id: after.id }, others, raw('k.id'));
  const parts = [firstOf(sql`${list} AND ${expression} IS ${value} AND ${rest}`, others, count)];
  if (value !== null) {
    parts.push(firstOf(sql`${list} AND ${expression} ${beyond} ${value}`, keys, count));
    parts.push(firstOf(sql`${list} AND ${expression} IS NULL`, others, count));
  }
  return join(
    parts.map((part) => sql`SELECT row FROM (${part})`),
    ' UNION ALL ',
  );
}

/**
 * The rows with the greatest values, ties by ascending id. Read backwards, the index has the ids in the wrong order,
 * and a whole feed may have the same value. So this unites the greatest rows whatever their ids, the first ids of the
 * least value among them, and the first rows without a value: these include the rows wanted.
 */
function lastOf(list: Sql, field: Sql, count: number): Sql {
  const greatest = sql`${list} AND ${field} IS NOT NULL ORDER BY ${field} DESC LIMIT ${count}`;
  const least = sql`(SELECT min(value) FROM (SELECT ${field} AS value ${greatest}))`;
  const parts = [
    sql`SELECT k.row ${greatest}`,
    sql`SELECT k.row ${list} AND ${field} = ${least} ORDER BY k.id LIMIT ${count}`,
    sql`SELECT k.row ${list} AND ${field} IS NULL ORDER BY k.id LIMIT ${count}`,
  ];
  return join(
    parts.map((part) => sql`SELECT row FROM (${part})`),
    ' UNION ALL ',
  );
}

/** The first field of an order, if it is indexed and the order has only fields. */
function indexedOrder(order: readonly Order[], sorts: readonly string[]): string | undefined {
  const [first] = order;
  if (first === undefined || !('field' in first) || !sorts.includes(first.field)) return undefined;
  return order.every((key) => 'field' in key) ? first.field : undefined;
}
