import { type Position } from '../../kernel/event';
import { type Filter, type GroupCount, type GroupCounts, type SnapshotBatch } from '../../kernel/read-store';
import { type Grouped, groupsOf, groupsRequest } from './count-groups';
import { foundOf, ID, type Kept, type Layout } from './layout';
import { queryOf } from './query';
import { type Paged, type Snapshot } from './snapshot';

/** Values that samples are asked of at once: each comes with a document. */
const SAMPLES = 1_000;

/** Documents of the first page, most of a page, and characters that a page shall have. */
const PAGE = { first: 200, most: 2_000, characters: 4_000_000 } as const;

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
    for await (const groups of samplesIn(snapshot, { filter, groupBy: samplesOf, size: SAMPLES }, layout))
      yield { found: [], samples: groups.map(({ one }) => one), total, checkpoint };
  yield { found: [], total, checkpoint };
  const request: Paged = { query, sort: { [ID]: 'asc' }, size: PAGE.first };
  const pages = snapshot.pages<Kept>(request, (hits) => {
    const characters = hits.reduce((sum, { _source }) => sum + (_source?.body.length ?? 0), 0);
    return Math.min(PAGE.most, Math.max(1, Math.floor((PAGE.characters * hits.length) / (characters + 1))));
  });
  for await (const hits of pages)
    yield { found: hits.flatMap(({ _source }) => foundOf(_source)), total, checkpoint };
}

async function* samplesIn(
  snapshot: Snapshot,
  wanted: GroupCount,
  layout: Layout,
): AsyncGenerator<GroupCounts['groups']> {
  for (let next: { readonly after?: string } | undefined = {}; next !== undefined;) {
    const answer = groupsOf(
      await snapshot.search<Kept, Grouped>(groupsRequest({ ...wanted, ...next }, layout)),
      wanted,
    );
    yield answer.groups;
    next = answer.next === undefined ? undefined : { after: answer.next };
  }
}
