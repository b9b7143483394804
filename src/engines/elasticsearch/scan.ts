import { type Position } from '../../kernel/event';
import { type Filter, type Found, type SnapshotBatch } from '../../kernel/read-store';
import { ID, type Kept, type Layout } from './layout';
import { queryOf } from './query';
import { type Paged, type Snapshot } from './snapshot';

/** Documents of the first page, most of a page, and characters that a page shall have. */
const PAGE = { first: 200, most: 2_000, characters: 4_000_000 } as const;

/** All that match, by id, as of the snapshot, after an empty batch. */
export async function* scan(
  snapshot: Snapshot,
  filter: Filter,
  layout: Layout,
  checkpoint: Position,
): AsyncGenerator<SnapshotBatch> {
  const query = queryOf(filter, layout);
  const total = await snapshot.count(query);
  yield { found: [], total, checkpoint };
  const request: Paged = { query, sort: { [ID]: 'asc' }, size: PAGE.first };
  const pages = snapshot.pages<Kept>(request, (hits) => {
    const characters = hits.reduce((sum, { _source }) => sum + (_source?.body.length ?? 0), 0);
    return Math.min(PAGE.most, Math.max(1, Math.floor((PAGE.characters * hits.length) / (characters + 1))));
  });
  for await (const hits of pages)
    yield { found: hits.flatMap(({ _source }) => foundOf(_source)), total, checkpoint };
}

/** A document as it was kept. */
export function foundOf(kept: Kept | undefined): Found[] {
  return kept === undefined ? [] : [{ id: kept.id, version: kept.version, body: kept.body }];
}
