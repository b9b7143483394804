import { numberOf, type Position, positionOf, START } from '../src/kernel/event';
import { allOf, filtersOn, type Found, type Order, type QueryOptions } from '../src/kernel/query';
import { type FieldType, type ReadStore } from '../src/kernel/read-store';
import { defined } from '../src/kernel/without';
import { eachOf, searchInParts } from '../src/projector/search-in-parts';
import { FEED, type FeedEvent } from '../src/domain/products/feed';
import { type RefusalEvent, REFUSALS } from '../src/domain/products/feed-refusals';
import { type ReportedImport } from '../src/domain/products/import-report';
import { type Projection } from '../src/projector/projection';

type ImportEvent = Extract<FeedEvent, { readonly type: 'FeedImported' }> | RefusalEvent;

interface StoredImport {
  readonly feedId: number;
  /** Position of its event, as a number. */
  readonly position: number;
  readonly reported: ReportedImport;
}

const FIELDS = { feedId: 'number', time: 'number', position: 'number' } as const satisfies Readonly<
  Record<string, FieldType>
>;

/** One document per load, done or refused (`docs/decisions.md#p30`). */
export const imports: Projection<StoredImport, ImportEvent> = {
  collection: { name: 'imports', version: 3, fields: FIELDS, partition: 'feedId', sorts: ['time'] },
  streams: [`${FEED}-`, `${REFUSALS}-`],
  handles: ['FeedImported', 'FeedImportRefused'],
  replaces: ['FeedImported', 'FeedImportRefused'],
  idOf: ({ data }) => data.importId,
  fold: (_, event) => ({
    feedId: Number(event.stream.slice(event.stream.indexOf('-') + 1)),
    position: numberOf(event.position),
    reported: reportedOf(event),
  }),
  describe: (document) => {
    const { feedId, position, reported } = document;
    return { document, fields: { feedId, time: Date.parse(reported.time), position } };
  },
};

const NOTHING = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0 } as const;

function reportedOf({ type, data }: ImportEvent): ReportedImport {
  const { importId, at: time, mode, durationMs, faults } = data;
  const common = { importId, time, mode, durationMs };
  if (type === 'FeedImportRefused') return { ...common, status: 'refused', ...NOTHING, faults: [...faults] };
  const { new: listed, revised, repriced, unchanged, removed, refused } = data;
  const counts = { new: listed, revised, repriced, unchanged, removed, refused };
  const { unmapped, largeRemoval, restores, moreFaults } = data;
  const ignoredFields = data.ignoredFields && [...data.ignoredFields];
  const optional = defined({ unmapped, largeRemoval, restores, moreFaults, ignoredFields });
  return { ...common, status: 'done', ...counts, faults: [...faults], ...optional };
}

const TARGET = { collection: imports.collection.name };
const NEWEST = { field: 'time', descending: true } as const satisfies Order;
/** Loads that ended in the same millisecond are in the order of the log. */
const LATEST = { field: 'position', descending: true } as const satisfies Order;

const { among, between } = filtersOn<keyof typeof FIELDS>();

const LAST = 50;

/** The last loads of a feed, the newest first, in batches that are read on demand: each may have a thousand faults. */
export async function lastImports(
  store: ReadStore,
  feedId: number,
  query: QueryOptions = {},
): Promise<AsyncIterable<Iterable<ReportedImport>>> {
  const wanted = { filter: allOf(among('feedId', [feedId])), order: [NEWEST, LATEST], offset: 0, size: LAST };
  const read = ({ body }: Found): ReportedImport => (JSON.parse(body) as StoredImport).reported;
  return eachOf(await searchInParts({ store, target: TARGET, read }, wanted, query), (reported) => reported);
}

/** Position of the last load of a feed that ended before a time (epoch ms), `START` if none did. */
export async function lastImportBefore(store: ReadStore, feedId: number, time: number): Promise<Position> {
  const filter = allOf(among('feedId', [feedId]), between('time', { max: time - 1 }));
  const { found } = await store.search(TARGET, { filter, order: [NEWEST], offset: 0, size: 1 });
  const [last] = found.map(({ body }) => JSON.parse(body) as StoredImport);
  return last === undefined ? START : positionOf(last.position);
}
