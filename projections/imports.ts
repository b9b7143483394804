import { type ReadStore } from '../src/kernel/read-store';
import { FEED, type FeedEvent } from '../src/products/feed';
import { type ReportedImport } from '../src/products/import-report';
import { REFUSALS, type RefusalEvent } from '../src/products/refusals';
import { type Projection, type ParsedEvent } from '../src/projector/projection';

type ImportEvent = Extract<FeedEvent, { readonly type: 'FeedImported' }> | RefusalEvent;

/** A load, and whose: found by its feed, as deep in a feed's stream as its event may lie. */
interface StoredImport {
  readonly feedId: number;
  readonly reported: ReportedImport;
}

/** One document per load, done or refused (`docs/decisions.md#p30`). */
export const imports: Projection<StoredImport, ImportEvent> = {
  collection: {
    name: 'imports',
    version: 1,
    fields: { feedId: 'number', time: 'number' },
    partition: 'feedId',
    sorts: ['time'],
  },
  streams: [`${FEED}-`, `${REFUSALS}-`],
  handles: ['FeedImported', 'FeedImportRefused'],
  replaces: ['FeedImported', 'FeedImportRefused'],
  idOf: ({ data }) => data.importId,
  fold: (_, event) => ({ feedId: feedIdOf(event), reported: reportedOf(event) }),
  describe: (document) => ({
    fields: { feedId: document.feedId, time: Date.parse(document.reported.time) },
    document,
  }),
};

function feedIdOf({ stream }: ParsedEvent<ImportEvent>): number {
  return Number(stream.slice(stream.indexOf('-') + 1));
}

const NOTHING = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0 } as const;

function reportedOf({ type, data }: ImportEvent): ReportedImport {
  const { importId, at: time, mode, durationMs, faults } = data;
  const common = { importId, time, mode, durationMs };
  if (type === 'FeedImportRefused') return { ...common, status: 'refused', ...NOTHING, faults: [...faults] };
  const { new: listed, revised, repriced, unchanged, removed, refused, moreFaults } = data;
  const counts = { new: listed, revised, repriced, unchanged, removed, refused };
  const more = moreFaults === undefined ? {} : { moreFaults };
  return { ...common, status: 'done', ...counts, faults: [...faults], ...more };
}

/** Loads of a report. */
const LAST = 50;

/** The last loads of a feed, the newest first. */
export async function lastImports(store: ReadStore, feedId: number): Promise<readonly ReportedImport[]> {
  const { found } = await store.search(
    { collection: imports.collection.name },
    {
      filter: { field: 'feedId', in: [feedId] },
      order: [{ field: 'time', descending: true }],
      offset: 0,
      size: LAST,
    },
  );
  const loads = found.map(({ body, version }) => ({ version, ...(JSON.parse(body) as StoredImport) }));
  // Of those that ended in one millisecond, the log knows the order.
  return loads.sort((a, b) => (a.version < b.version ? 1 : -1)).map(({ reported }) => reported);
}
