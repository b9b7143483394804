import { NO_STREAM, numberOf, type Position } from '../src/kernel/event';
import { type FieldType, type ReadStore } from '../src/kernel/read-store';
import { type FeedClosing, type FeedEvent } from '../src/domain/products/feed';
import { FEED_CHANGES, type FeedChangeEvent } from '../src/domain/products/feed-changes';
import { type Projection } from '../src/projector/projection';
import { FEED_STREAMS, feedIdOf, OFFER_EVENTS, offerIdOf } from './products';
import { allOf, type Filter, filtersOn } from '../src/kernel/query';

/** A version of a feed: each load, deletion or mapping that changes something publishes one. */
export interface FeedVersion {
  /** Position of the event that published it, unique within the feed. */
  readonly position: Position;
  readonly at: string;
}

/** The state of a feed, folded from its stream. */
export interface StoredFeed {
  /** The last event about a product. */
  readonly content: Position;
  /** Products have changed since the last load or deletion ended. */
  readonly isOpen: boolean;
  /** The last versions that loads and deletions have published, oldest first (`docs/decisions.md#x62`). */
  readonly published: readonly FeedVersion[];
}

/** Versions that are retained, for read models that are behind. */
export const MOST_VERSIONS = 20;

/** One document per feed with at least one load. */
export const feeds: Projection<StoredFeed, FeedEvent> = {
  collection: { name: 'feeds', version: 1, fields: {} },
  streams: FEED_STREAMS,
  takesLoads: true,
  handles: [...OFFER_EVENTS, 'FeedImported', 'ProductsDeleted'],
  idOf: (event) => String(feedIdOf(event)),
  fold(feed, { type, data, position }) {
    if (type !== 'FeedImported' && type !== 'ProductsDeleted')
      return { content: position, isOpen: true, published: feed?.published ?? [] };
    if (feed?.isOpen !== true) return feed;
    const published = [...feed.published, { position, at: data.at }].slice(-MOST_VERSIONS);
    return { content: feed.content, isOpen: false, published };
  },
  describe: (document) => ({ fields: {}, document }),
};

const TARGET = { collection: feeds.collection.name };

/** The states of these feeds; a feed without any load is absent. */
export async function storedFeeds(
  store: ReadStore,
  feedIds: readonly number[],
): Promise<ReadonlyMap<number, StoredFeed>> {
  const found = await store.get(TARGET, feedIds.map(String));
  return new Map(found.map(({ id, body }) => [Number(id), JSON.parse(body) as StoredFeed]));
}

type Delisted = Extract<FeedEvent, { readonly type: 'ProductDelisted' }>;

/** A product that was removed from a feed, and may have been listed again since. */
interface Delisting {
  readonly feedId: number;
  readonly sourceProductId: string;
  /** Position of the last removal, as a number. */
  readonly position: number;
}

const FIELDS = { feedId: 'number', position: 'number' } as const satisfies Readonly<
  Record<string, FieldType>
>;

/** Every product ever removed, with its last removal: what copies of a feed must remove (`docs/decisions.md#p28`). */
export const delistings: Projection<Delisting, Delisted> = {
  collection: { name: 'delistings', version: 1, fields: FIELDS, partition: 'feedId', sorts: ['position'] },
  streams: FEED_STREAMS,
  takesLoads: true,
  handles: ['ProductDelisted'],
  replaces: ['ProductDelisted'],
  idOf: offerIdOf,
  fold: (_, event) => ({
    feedId: feedIdOf(event),
    sourceProductId: event.data.sourceProductId,
    position: numberOf(event.position),
  }),
  describe: (document) => ({ document, fields: { feedId: document.feedId, position: document.position } }),
};

const DELISTED = { collection: delistings.collection.name };

export async function countDelistedAfter(
  store: ReadStore,
  feedId: number,
  position: Position,
): Promise<number> {
  return await store.count(DELISTED, after(feedId, position));
}

/** The products that were removed from a feed after a position, mostly none; some may have been listed again. */
export async function* delistedAfter(
  store: ReadStore,
  feedId: number,
  position: Position,
): AsyncGenerator<readonly { readonly id: string; readonly sourceProductId: string }[]> {
  if ((await countDelistedAfter(store, feedId, position)) === 0) return;
  for await (const found of store.scan(DELISTED, after(feedId, position)))
    yield found.map(({ id, body }) => ({
      id,
      sourceProductId: (JSON.parse(body) as Delisting).sourceProductId,
    }));
}

const { among, between } = filtersOn<keyof typeof FIELDS>();

function after(feedId: number, position: Position): Filter {
  return allOf(among('feedId', [feedId]), between('position', { min: numberOf(position) + 1 }));
}

/** What is to be recorded for subscribers of a feed, by an automation (`docs/decisions.md#n20`). */
export interface StoredFeedChanges {
  /** Revision of the last load or deletion that has ended in the stream of the feed. */
  readonly last: number;
  /** The last one behind changes of products: its revision, its position as a number, and its time. */
  readonly ended?: { readonly revision: number; readonly position: number; readonly at: string };
  /** Everything up to this revision is recorded. */
  readonly recorded: number;
}

type Recording = FeedClosing | Extract<FeedChangeEvent, { readonly type: 'FeedChangesRecorded' }>;

/** One document per feed. `due`: the position of its last load, unless that is recorded. */
export const feedChanges: Projection<StoredFeedChanges, Recording> = {
  collection: { name: 'feed-changes', version: 1, fields: { due: 'number' }, sorts: ['due'] },
  streams: [...FEED_STREAMS, `${FEED_CHANGES}-`],
  takesLoads: true,
  acrossStreams: true,
  handles: ['FeedImported', 'ProductsDeleted', 'FeedChangesRecorded'],
  idOf: ({ stream }) => stream.slice(stream.indexOf('-') + 1),
  fold(stored, event) {
    const { last = NO_STREAM, ended, recorded = NO_STREAM } = stored ?? {};
    const kept = ended === undefined ? {} : { ended };
    if (event.type === 'FeedChangesRecorded') return { last, ...kept, recorded: event.data.upTo };
    const { revision, position, data } = event;
    // Nothing is between two ends.
    if (revision === last + 1) return { last: revision, ...kept, recorded };
    return { last: revision, ended: { revision, position: numberOf(position), at: data.at }, recorded };
  },
  describe: (document) => {
    const { ended, recorded } = document;
    return {
      document,
      fields: ended !== undefined && ended.revision > recorded ? { due: ended.position } : {},
    };
  },
};

const UNRECORDED = { collection: feedChanges.collection.name };

/** Feeds with a load that has ended after a position and is not recorded. */
export function unrecordedSince(position: number): Filter {
  return allOf(filtersOn<'due'>().between('due', { min: position + 1 }));
}

/** When the oldest load has ended that is not recorded, though there are subscriptions since `position` (epoch ms). */
export async function oldestUnrecorded(store: ReadStore, position: number): Promise<number | undefined> {
  const wanted = { filter: unrecordedSince(position), order: [{ field: 'due' }], offset: 0, size: 1 };
  const { found } = await store.search(UNRECORDED, wanted);
  const [first] = found.map(({ body }) => JSON.parse(body) as StoredFeedChanges);
  return first?.ended && Date.parse(first.ended.at);
}
