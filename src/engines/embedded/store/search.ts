import { type Found, type Order, type Search } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { and, countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { column, type Layout, sortIndex } from './layout';
import { selected, sorted, type SortKey, sortKeys } from './ordering';
import { join, raw, type Sql, sql } from './sql';
import { type SqlRow } from './store-file';

/** A version as it is written outside. */
export const VERSION = `format('%019d', version)`;

/** A document from a row of id, version and body. */
export function foundOf([id, version, body]: SqlRow): Found {
  return { id: String(id), version: String(version), body: String(body) };
}

/** One page in order, and the number of all that match, of one moment. */
export function search(
  generation: GenerationFile,
  wanted: Search,
): { total: number; found: readonly Found[] } {
  const { file, layout } = generation;
  return file.reading(() => {
    const hits = hitsOf(generation, wanted.filter);
    if (hits === undefined) return { total: 0, found: [] };
    const total = countOf(generation, hits);
    if (wanted.offset >= total || wanted.size === 0) return { total, found: [] };
    const keys = sortKeys(wanted.order, layout, hits);
    const query = sql`${withRanges(hits)},
      page AS MATERIALIZED (
        SELECT ${selected(keys, 'o')}k.row AS row, k.id AS id, k.version AS version
        ${firstRows(wanted, keys, total, hits, layout) ?? matchingRows(hits, layout)}
        ORDER BY ${sorted(keys, 'o')}k.id LIMIT ${wanted.size} OFFSET ${wanted.offset})
      SELECT id, ${raw(VERSION)}, body FROM page CROSS JOIN bodies USING (row) ORDER BY ${sorted(keys, 'o')}id`;
    return { total, found: file.all(query.text, ...query.values).map(foundOf) };
  });
}

/** So many times more must match than are wanted of the partitions together. */
const PLENTY = 3;

/**
 * Where plenty matches, the page is read from the index of the first sort field: the first ones of each partition
 * are enough, and they are soon found.
 */
function firstRows(
  { order, offset, size }: Search,
  keys: readonly SortKey[],
  total: number,
  hits: Hits,
  { partition, sorts }: Layout,
): Sql | undefined {
  const field = indexedOrder(order, sorts);
  if (field === undefined || hits.match !== undefined) return undefined;
  if (total < PLENTY * (offset + size) * hits.partitionCount) return undefined;
  const index = raw(sortIndex(field));
  if (partition === undefined) return sql`FROM keys k INDEXED BY ${index} WHERE true${and(hits.where)}`;
  if (hits.values === undefined) return undefined;
  const inOrder = join(
    keys.map(({ expression, direction }) => sql`${expression} ${raw(direction)}, `),
    '',
  );
  return sql`FROM json_each(${hits.values}) p CROSS JOIN keys k ON k.row IN (
      SELECT k.row FROM keys k INDEXED BY ${index}
      WHERE k.${raw(column(partition))} = p.value${and(hits.where)}
      ORDER BY ${inOrder}k.id LIMIT ${offset + size})`;
}

/** The first field of an order by fields alone, if it is indexed. */
function indexedOrder(order: readonly Order[], sorts: readonly string[]): string | undefined {
  const [first] = order;
  if (first === undefined || !('field' in first) || !sorts.includes(first.field)) return undefined;
  return order.every((key) => 'field' in key) ? first.field : undefined;
}
