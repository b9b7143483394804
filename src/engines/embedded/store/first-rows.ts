import { type Order, type Search, type Cursor } from '../../../kernel/query';
import { and, type Hits } from './hits';
import { column, type Layout, sortIndex } from './layout';
import { comingAfter, type SortKey } from './ordering';
import { join, raw, type Sql, sql } from './sql';

/** What steps take, in proportion: a row read from an index; looked up and sorted; asked of the index of tokens. */
const COST = { step: 1, row: 0.7, probe: 60 } as const;

/** How much further is looked than it would take if the documents that match were evenly spread. */
const MARGIN = 1.5;

/**
 * Where so much matches that the first ones are soon found: rows read in the order of the first sort field by its
 * index, partition by partition, instead of all that match. If tokens have to match too, each row has to be
 * asked for, so only so many are that it is worth while: they may turn out not to hold a full page. Undefined
 * where this is not faster.
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
  const probed = hits.match !== undefined;
  const wanted = probed ? Math.ceil((MARGIN * (offset + size) * hits.documents) / total) : offset + size;
  const lists = partition === undefined ? 1 : hits.partitionCount;
  if (wanted * (lists * COST.step + (probed ? COST.probe : 0)) > total * COST.row) return undefined;

  const inList = partition === undefined ? raw('true') : raw(`k.${column(partition)} = p.value`);
  const list = sql`FROM keys k INDEXED BY ${raw(sortIndex(field))} WHERE ${inList}${and(hits.where)}`;
  const inOrder = orderedBy(keys);
  const first =
    after === undefined || after === null
      ? firstOf(list, keys, wanted)
      : firstAfter(after, list, keys, wanted);
  const rows =
    partition === undefined
      ? sql`FROM keys k WHERE k.row IN (${first})`
      : sql`FROM json_each(${hits.values ?? ''}) p CROSS JOIN keys k ON k.row IN (${first})`;
  if (hits.match === undefined) return rows;
  return sql`FROM (SELECT k.row AS row ${rows} ORDER BY ${inOrder}k.id LIMIT ${wanted}) f
    CROSS JOIN tokens t CROSS JOIN keys k ON k.row = f.row
    WHERE t.tokens MATCH ${hits.match} AND t.rowid = f.row`;
}

function orderedBy(keys: readonly SortKey[]): Sql {
  return join(
    keys.map(({ expression, direction }) => sql`${expression} ${raw(direction)}, `),
    '',
  );
}

/** The first rows of a list, in the order of the index if that has it. */
function firstOf(list: Sql, keys: readonly SortKey[], wanted: number): Sql {
  const [first] = keys;
  return keys.length === 1 && first?.direction.startsWith('DESC') === true
    ? lastOf(list, first.expression, wanted)
    : sql`SELECT k.row ${list} ORDER BY ${orderedBy(keys)}k.id LIMIT ${wanted}`;
}

/**
 * The first rows that come after a standing: of the same value those that come after by what else they are ordered by,
 * then those of a value beyond, then those without one. The index leads to where each list begins.
 */
function firstAfter(after: Cursor, list: Sql, keys: readonly SortKey[], wanted: number): Sql {
  const [first, ...others] = keys;
  const [value = null, ...values] = after.keys;
  if (first === undefined) return firstOf(list, keys, wanted);
  const { expression, direction } = first;
  const beyond = raw(direction.startsWith('ASC') ? '>' : '<');
  const rest = comingAfter({ keys: values, id: after.id }, others, raw('k.id'));
  const parts = [firstOf(sql`${list} AND ${expression} IS ${value} AND ${rest}`, others, wanted)];
  if (value !== null) {
    parts.push(firstOf(sql`${list} AND ${expression} ${beyond} ${value}`, keys, wanted));
    parts.push(firstOf(sql`${list} AND ${expression} IS NULL`, others, wanted));
  }
  return join(
    parts.map((part) => sql`SELECT row FROM (${part})`),
    ' UNION ALL ',
  );
}

/**
 * The rows with the greatest values, and among equal ones those of the first ids: backwards the index has the ids
 * in the wrong order, and a whole feed may bear one value. So the greatest ones whatever their ids, those of the
 * first ids that have the least value among them, and the first ones without a value: these hold the ones wanted.
 */
function lastOf(list: Sql, field: Sql, wanted: number): Sql {
  const greatest = sql`${list} AND ${field} IS NOT NULL ORDER BY ${field} DESC LIMIT ${wanted}`;
  const least = sql`(SELECT min(value) FROM (SELECT ${field} AS value ${greatest}))`;
  const parts = [
    sql`SELECT k.row ${greatest}`,
    sql`SELECT k.row ${list} AND ${field} = ${least} ORDER BY k.id LIMIT ${wanted}`,
    sql`SELECT k.row ${list} AND ${field} IS NULL ORDER BY k.id LIMIT ${wanted}`,
  ];
  return join(
    parts.map((part) => sql`SELECT row FROM (${part})`),
    ' UNION ALL ',
  );
}

/** The first field of an order by fields alone, if it is indexed. */
function indexedOrder(order: readonly Order[], sorts: readonly string[]): string | undefined {
  const [first] = order;
  if (first === undefined || !('field' in first) || !sorts.includes(first.field)) return undefined;
  return order.every((key) => 'field' in key) ? first.field : undefined;
}
