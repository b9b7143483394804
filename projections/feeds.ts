import { type Position } from '../src/kernel/event';
import { type ReadStore } from '../src/kernel/read-store';
import { type FeedEvent } from '../src/domain/products/feed';
import { type Projection } from '../src/projector/projection';
import { FEED_STREAMS, feedIdOf, OFFER_EVENTS } from './products';

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
