import { type Found, type Search } from '../../../kernel/read-store';
import { firstRows } from './first-rows';
import { type GenerationFile } from './generation-file';
import { countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { selected, sorted, type SortKey, sortKeys } from './ordering';
import { isLong } from './selection';
import { raw, type Sql, sql } from './sql';
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
  return generation.file.reading(() => {
    const hits = hitsOf(generation, wanted.filter);
    if (hits === undefined) return { total: 0, found: [] };
    const keys = sortKeys(wanted.order, generation.layout, hits);
    const all = matchingRows(hits, generation.layout);
    if (isLong(hits.match)) {
      // To count on the way is faster than to go through the list twice.
      const { total, found } = page(generation, wanted, hits, keys, all, sql`count(*) OVER ()`);
      if (total !== undefined) return { total, found };
    }
    const total = countOf(generation, hits);
    const expected = Math.min(wanted.size, total - wanted.offset);
    if (expected <= 0) return { total, found: [] };
    for (const rows of [firstRows(wanted, keys, total, hits, generation.layout), all]) {
      if (rows === undefined) continue;
      const { found } = page(generation, wanted, hits, keys, rows, sql`${total}`);
      if (found.length === expected) return { total, found };
    }
    return { total, found: [] };
  });
}

/** A page of these rows; the total is there unless the page is empty. */
function page(
  { file }: GenerationFile,
  { size, offset }: Search,
  hits: Hits,
  keys: readonly SortKey[],
  rows: Sql,
  total: Sql,
): { total: number | undefined; found: readonly Found[] } {
  const query = sql`${withRanges(hits)},
    page AS MATERIALIZED (
      SELECT ${selected(keys, 'o')}k.row AS row, k.id AS id, k.version AS version, ${total} AS total ${rows}
      ORDER BY ${sorted(keys, 'o')}k.id LIMIT ${size} OFFSET ${offset})
    SELECT id, ${raw(VERSION)}, body, total
    FROM page CROSS JOIN bodies USING (row) ORDER BY ${sorted(keys, 'o')}id`;
  const found = file.all(query.text, ...query.values);
  return { total: found[0] === undefined ? undefined : Number(found[0][3]), found: found.map(foundOf) };
}
