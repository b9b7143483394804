import { type Position } from '../../kernel/event';
import { type Filter } from '../../kernel/query';
import { type SnapshotBatch } from '../../kernel/read-store';
import { groupPages } from './count-groups';
import { foundOf, ID, type Kept, type Layout } from './layout';
import { nextPageSize } from './page-size';
import { queryOf } from './query';
import { type Paged, type Snapshot } from './snapshot';

/** All that match, by id, as of the snapshot, after an empty batch; before that, samples of each value of a field. */
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
  const request: Paged = { query, sort: { [ID]: 'asc' }, size: nextPageSize([]) };
  const pages = snapshot.pages<Kept>(request, (hits) =>
    nextPageSize(hits.map(({ _source }) => _source?.body ?? '')),
  );
  for await (const hits of pages)
    yield { found: hits.flatMap(({ _source }) => foundOf(_source)), total, checkpoint };
}
