import { type Cursor, type Results, type Search } from '../../../kernel/query';
import { bodiesOf, foundOf, VERSION } from './documents';
import { firstRows } from './first-rows';
import { type GenerationFile } from './generation-file';
import { countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { asSelected, isAfter, joinsOf, selected, sorted, type SortKey, sortKeys, tablesOf } from './ordering';
import { isLong } from './selection';
import { raw, type Sql, sql } from './sql';
import { type SqlRow, type SqlValue } from './store-file';

/** The cursor of a result. */
export function cursorOf(id: SqlValue | undefined, keys: readonly SqlValue[]): Cursor {
  return { keys: keys.map(keyOf), id: String(id) };
}

function keyOf(value: SqlValue): Cursor['keys'][number] {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  return value === null ? null : Number(value);
}

/** One page in order, and the number of all matching documents, from one snapshot. */
export function search(generation: GenerationFile, wanted: Search, bodyLimit?: number): Results {
  // One more than requested, to find out whether there is a next page.
  const { after } = wanted;
  const size = after === undefined ? wanted.size : wanted.size + 1;
  const { file } = generation;
  return file.reading(() => {
    const { total, rows } = rowsOf(generation, { ...wanted, size });
    const onPage = rows.slice(0, wanted.size);
    const bodies = bodiesOf(
      file,
      onPage.map(([, , , row]) => row),
      bodyLimit,
    );
    const rest = onPage.slice(bodies.length).map(([id]) => String(id));
    const last = after === undefined || rows.length < size ? undefined : onPage.at(-1);
    const [id, , , , ...keys] = last ?? [];
    return {
      total,
      found: bodies.flatMap((body, at) => foundOf(onPage[at], body)),
      ...(rest.length === 0 ? {} : { rest }),
      ...(last === undefined ? {} : { next: cursorOf(id, keys) }),
    };
  });
}

/** Rows of id, version, total, row number and sort keys. */
interface Rows {
  readonly total: number;
  readonly rows: readonly SqlRow[];
}

function rowsOf(generation: GenerationFile, wanted: Search): Rows {
  const hits = hitsOf(generation, wanted.filter);
  if (hits === undefined) return { total: 0, rows: [] };
  const keys = sortKeys(wanted.order, generation.layout, hits, 'o');
  const all = matchingRows(hits, generation.layout, joinsOf(keys));
  if (isLong(hits.match) && (wanted.after ?? null) === null) {
    // Counting on the way is faster than evaluating the long list twice.
    const rows = page(generation, wanted, hits, keys, all, sql`count(*) OVER ()`);
    if (rows[0] !== undefined) return { total: Number(rows[0][2]), rows };
  }
  const total = countOf(generation, hits);
  const expected = Math.min(wanted.size, total - wanted.offset);
  if (expected <= 0) return { total, rows: [] };
  for (const from of [firstRows(wanted, keys, total, hits, generation.layout), all]) {
    if (from === undefined) continue;
    const rows = page(generation, wanted, hits, keys, from, sql`${total}`);
    if (rows.length === expected || from === all) return { total, rows };
  }
  return { total, rows: [] };
}

function page(
  { file }: GenerationFile,
  { size, offset, after }: Search,
  hits: Hits,
  keys: readonly SortKey[],
  rows: Sql,
  total: Sql,
): readonly SqlRow[] {
  const candidates = sql`SELECT ${selected(keys, 'o')}k.row AS row, k.id AS id, k.version AS version, ${total} AS total
    ${rows}`;
  const source =
    after === undefined || after === null
      ? candidates
      : sql`SELECT * FROM (${candidates})
    WHERE ${isAfter(after, asSelected(keys, 'o'), raw('id'))}`;
  const query = sql`${withRanges(hits)}${tablesOf(keys)},
    page AS MATERIALIZED (${source} ORDER BY ${sorted(keys, 'o')}id LIMIT ${size} OFFSET ${offset})
    SELECT id, ${raw(VERSION)}, total, row${raw(keys.map((_, at) => `, o${at}`).join(''))}
    FROM page ORDER BY ${sorted(keys, 'o')}id`;
  return file.all(query.text, ...query.values);
}
