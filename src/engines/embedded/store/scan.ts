import { type Filter, type Found, type SnapshotBatch } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { and, countOf, hitsOf, matchingRows, withRanges } from './hits';
import { foundOf, VERSION } from './search';
import { raw, sql } from './sql';

/** A batch is handed out when it has so many documents, or so many characters. */
const BATCH = { documents: 500, characters: 1_000_000 } as const;

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
  let batch: Found[] = [];
  let characters = 0;
  for (const [id, version, row] of file.each(query.text, ...query.values)) {
    const [body] = file.first('SELECT body FROM bodies WHERE row = ?', row ?? null) ?? [];
    const found = foundOf([id ?? null, version ?? null, body ?? null]);
    batch.push(found);
    characters += found.body.length;
    if (batch.length < BATCH.documents && characters < BATCH.characters) continue;
    yield { found: batch, total, checkpoint };
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield { found: batch, total, checkpoint };
}
