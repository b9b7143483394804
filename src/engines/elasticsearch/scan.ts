import { type Position } from '../../kernel/event';
import { type Found, type Filter } from '../../kernel/query';
import { type SnapshotBatch } from '../../kernel/read-store';
import { groupPages } from './count-groups';
import { foundOf, ID, type Layout } from './layout';
import { queryOf } from './query';
import { nextPageSize, type SnapshotPage, type Snapshot } from './snapshot';

/** All matching documents of a snapshot by id: first samples per value of a field, then an empty batch, then the documents. */
export async function* scan(
  snapshot: Snapshot,
  filter: Filter,
  layout: Layout,
  checkpoint: Position,
  samplesOf?: string,
): AsyncGenerator<SnapshotBatch> {
  const query = queryOf(filter, layout);
  const total = await snapshot.count(query);
  if (samplesOf !== undefined)
    for await (const groups of groupPages(
      (request) => snapshot.search(request),
      { filter, groupBy: samplesOf },
      layout,
    ))
      yield { found: [], samples: groups.map(({ one }) => one), total, checkpoint };
  yield { found: [], total, checkpoint };
  const request: SnapshotPage = { query, sort: { [ID]: 'asc' }, size: nextPageSize([]) };
  const pages = snapshot.pages<Found>(request, (hits) =>
    nextPageSize(hits.map(({ _source }) => _source?.body ?? '')),
  );
  for await (const hits of pages)
    yield { found: hits.flatMap(({ _source }) => foundOf(_source)), total, checkpoint };
}
