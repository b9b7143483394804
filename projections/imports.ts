import { numberOf, type Position, positionOf, START } from '../src/kernel/event';
import {
  allOf,
  type Cursor,
  filtersOn,
  type Found,
  oneAnswer,
  type Order,
  type QueryOptions,
  type Search,
} from '../src/kernel/query';
import { type FieldType, type ReadStore, requireVersion } from '../src/kernel/read-store';
import { defined } from '../src/kernel/values';
import { eachOf, searchInParts } from '../src/projector/search-in-parts';
import { FEED, type FeedClosing, type RefusalEvent, REFUSALS } from '../src/domain/products/feed';
import { type ReportedImport } from '../src/domain/products/import-report';
import { type Projection } from '../src/projector/projection';

type ImportEvent = FeedClosing | RefusalEvent;

interface StoredImport {
  readonly feedId: number;
  /** Position of its event, as a number. */
  readonly position: number;
  /** Absent from a deletion of products. */
  readonly reported?: ReportedImport;
  /** Revision of the event in the stream of the feed, of what has ended there: a load or a deletion. */
  readonly ended?: number;
}

const FIELDS = {
  feedId: 'number',
  /** Of a load. */
  time: 'number',
  position: 'number',
  ended: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

const HANDLED = [
  'FeedImported',
  'ProductsDeleted',
  'FeedImportRefused',
] as const satisfies readonly ImportEvent['type'][];

/** One document per load, done or refused (`docs/decisions.md#p30`), and per deletion of products. */
export const imports: Projection<StoredImport, ImportEvent> = {
  collection: { name: 'imports', version: 4, fields: FIELDS, partition: 'feedId', sorts: ['time'] },
  streams: [`${FEED}-`, `${REFUSALS}-`],
  takesLoads: true,
  handles: HANDLED,
  replaces: HANDLED,
  // Deletions of early versions have no id.
  idOf: ({ data, stream, revision }) => data.importId ?? `${stream} ${revision}`,
  fold: (_, event) => ({
    feedId: Number(event.stream.slice(event.stream.indexOf('-') + 1)),
    position: numberOf(event.position),
    ...(event.type === 'ProductsDeleted' ? {} : { reported: reportedOf(event) }),
    ...(event.type === 'FeedImportRefused' ? {} : { ended: event.revision }),
  }),
  describe: (document) => {
    const { feedId, position, reported, ended } = document;
    const time = reported && Date.parse(reported.time);
    return { document, fields: defined({ feedId, time, position, ended }) };
  },
};

const NOTHING = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0 } as const;

function reportedOf({
  type,
  data,
}: Exclude<ImportEvent, { readonly type: 'ProductsDeleted' }>): ReportedImport {
  const { importId, at: time, mode, durationMs, faults } = data;
  const common = { importId, time, mode, durationMs, ...(data.fetched && { fetched: true }) };
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

const ENDED = { field: 'ended' } as const satisfies Order;

const { among, between } = filtersOn<keyof typeof FIELDS>();

/** Deletions have no time. */
const LOADS = between('time', { min: Number.MIN_SAFE_INTEGER });

const LAST = 50;

/** Loads and deletions that are read at once for a history. */
const AT_ONCE = 500;

/**
 * Revisions of the events that end loads and deletions in the stream of a feed, in order, in batches. Raises
 * `NoGeneration`.
 */
export async function* endedLoads(store: ReadStore, feedId: number): AsyncGenerator<readonly number[]> {
  await requireVersion(store, imports.collection);
  const filter = allOf(among('feedId', [feedId]), between('ended', { min: 0 }));
  const read = ({ body }: Found): number => (JSON.parse(body) as StoredImport).ended ?? 0;
  const query = oneAnswer();
  for (let after: Cursor | null | undefined = null; after !== undefined;) {
    const wanted: Search = { filter, order: [ENDED], offset: 0, size: AT_ONCE, after };
    const page = await searchInParts({ store, target: TARGET, read }, wanted, query);
    for await (const batch of page.groups) yield batch.flat();
    after = page.next;
  }
}

/** The event in the stream of a feed that ends a load or a deletion. */
interface EndOfLoad {
  readonly revision: number;
  /** It is a load that undoes another one. */
  readonly isUndoing: boolean;
}

/** Finds what ended next after a revision in the stream of a feed; undefined if nothing has. Raises `NoGeneration`. */
export async function endsOfLoads(
  store: ReadStore,
  feedId: number,
): Promise<(revision: number) => Promise<EndOfLoad | undefined>> {
  await requireVersion(store, imports.collection);
  return async (revision) => {
    const filter = allOf(among('feedId', [feedId]), between('ended', { min: revision + 1 }));
    const { found } = await store.search(TARGET, { filter, order: [ENDED], offset: 0, size: 1 });
    const [next] = found.map(({ body }) => JSON.parse(body) as StoredImport);
    if (next?.ended === undefined) return undefined;
    return { revision: next.ended, isUndoing: next.reported?.restores !== undefined };
  };
}

/** The last loads of a feed, the newest first, in batches that are read on demand: each may have a thousand faults. */
export async function lastImports(
  store: ReadStore,
  feedId: number,
  query: QueryOptions = {},
): Promise<AsyncIterable<Iterable<ReportedImport>>> {
  const filter = allOf(among('feedId', [feedId]), LOADS);
  const wanted = { filter, order: [NEWEST, LATEST], offset: 0, size: LAST };
  const read = ({ body }: Found) =>
    JSON.parse(body) as StoredImport & Required<Pick<StoredImport, 'reported'>>;
  return eachOf(
    await searchInParts({ store, target: TARGET, read }, wanted, query),
    ({ reported }) => reported,
  );
}

/** Position of the last load of a feed that ended before a time (epoch ms), `START` if none did. */
export async function lastImportBefore(store: ReadStore, feedId: number, time: number): Promise<Position> {
  const filter = allOf(among('feedId', [feedId]), between('time', { max: time - 1 }));
  const { found } = await store.search(TARGET, { filter, order: [NEWEST], offset: 0, size: 1 });
  const [last] = found.map(({ body }) => JSON.parse(body) as StoredImport);
  return last === undefined ? START : positionOf(last.position);
}
