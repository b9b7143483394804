import { type Filter, type Found, type SnapshotBatch } from '../../../kernel/read-store';
import { foundOf, VERSION } from './bodies';
import { type GenerationFile } from './generation-file';
import { and, countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { raw, type Sql, sql } from './sql';
import { type SqlRow, type StoreFile } from './store-file';

/** Documents of a batch: looked up together, and few enough to be garbage before it is worth while to keep them. */
const BATCH = 100;

/** All that match, by id, as of the moment it began; `generation` is open for this alone. */
export function* snapshot(
  generation: GenerationFile,
  filter: Filter,
  samplesOf?: string,
): Generator<SnapshotBatch> {
  const { file, layout } = generation;
  file.execute('BEGIN');
  const checkpoint = generation.checkpoint();
  const hits = hitsOf(generation, filter);
  const total = hits === undefined ? 0 : countOf(generation, hits);
  if (hits !== undefined && samplesOf !== undefined)
    for (const samples of samplesIn(generation, hits, samplesOf))
      yield { found: [], samples, total, checkpoint };
  yield { found: [], total, checkpoint };
  if (hits === undefined) return;
  const rows =
    hits.match === undefined && hits.values === undefined
      ? sql`FROM keys k WHERE true${and(hits.where)}`
      : matchingRows(hits, layout);
  const query = sql`${withRanges(hits)} SELECT k.id, ${raw(VERSION)}, k.row ${rows} ORDER BY k.id`;
  for (const found of documents(file, query)) yield { found, total, checkpoint };
}

/** The first row of each value, noted in one pass: to sort all rows by the value would take three times as long. */
function* samplesIn(
  { file, layout }: GenerationFile,
  hits: Hits,
  field: string,
): Generator<readonly Found[]> {
  const value = raw(`k.${column(layout.field(field, 'column').name)}`);
  file.execute('CREATE TEMP TABLE samples (value TEXT PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID');
  const noted = sql`INSERT OR IGNORE INTO samples ${withRanges(hits)}
    SELECT ${value}, k.row ${matchingRows(hits, layout)} AND ${value} IS NOT NULL`;
  file.run(noted.text, ...noted.values);
  yield* documents(
    file,
    sql`SELECT k.id, ${raw(VERSION)}, k.row FROM samples CROSS JOIN keys k USING (row) ORDER BY k.row`,
  );
}

/** The documents of a query for id, version and row number, in batches. */
function* documents(file: StoreFile, query: Sql): Generator<readonly Found[]> {
  let batch: SqlRow[] = [];
  for (const key of file.each(query.text, ...query.values)) {
    batch.push(key);
    if (batch.length < BATCH) continue;
    yield withBodies(file, batch);
    batch = [];
  }
  if (batch.length > 0) yield withBodies(file, batch);
}

/** The documents of some rows of id, version and row number. */
function withBodies(file: StoreFile, keys: readonly SqlRow[]): readonly Found[] {
  const bodies = file.all(
    'SELECT b.row, b.body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value',
    JSON.stringify(keys.map(([, , row]) => row)),
  );
  const byRow = new Map(bodies.map(([row, body]) => [row, body]));
  return keys.flatMap((key) => foundOf(key, String(byRow.get(key[2]))));
}
