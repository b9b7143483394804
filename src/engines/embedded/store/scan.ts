import { type Filter, type Found, type SnapshotBatch } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { and, countOf, hitsOf, matchingRows, withRanges } from './hits';
import { foundOf, VERSION } from './search';
import { raw, sql } from './sql';
import { type SqlRow, type StoreFile } from './store-file';

/** Documents of a batch: looked up together, and few enough to be garbage before it is worth while to keep them. */
const BATCH = 100;

/** All that match, by id, as of the moment it began; `generation` is open for this alone. */
export function* snapshot(generation: GenerationFile, filter: Filter): Generator<SnapshotBatch> {
  const { file, layout } = generation;
  file.execute('BEGIN');
  const checkpoint = generation.checkpoint();
  const hits = hitsOf(generation, filter);
  const total = hits === undefined ? 0 : countOf(generation, hits);
  yield { found: [], total, checkpoint };
  if (hits === undefined) return;
  const rows =
    hits.match === undefined && hits.values === undefined
      ? sql`FROM keys k WHERE true${and(hits.where)}`
      : matchingRows(hits, layout);
  const query = sql`${withRanges(hits)} SELECT k.id, ${raw(VERSION)}, k.row ${rows} ORDER BY k.id`;
  let batch: SqlRow[] = [];
  for (const key of file.each(query.text, ...query.values)) {
    batch.push(key);
    if (batch.length < BATCH) continue;
    yield { found: withBodies(file, batch), total, checkpoint };
    batch = [];
  }
  if (batch.length > 0) yield { found: withBodies(file, batch), total, checkpoint };
}

/** The documents of some rows of id, version and row number. */
function withBodies(file: StoreFile, keys: readonly SqlRow[]): readonly Found[] {
  const bodies = file.all(
    'SELECT b.row, b.body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value',
    JSON.stringify(keys.map(([, , row]) => row)),
  );
  const byRow = new Map(bodies.map(([row, body]) => [row, body]));
  return keys.map(([id = null, version = null, row]) => foundOf([id, version, byRow.get(row) ?? null]));
}
