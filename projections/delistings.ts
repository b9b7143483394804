import { numberOf, type Position } from '../src/kernel/event';
import { allOf, type Filter, filtersOn } from '../src/kernel/query';
import { type FieldType, type ReadStore } from '../src/kernel/read-store';
import { type FeedEvent } from '../src/domain/products/feed';
import { type Projection } from '../src/projector/projection';
import { FEED_STREAMS, feedIdOf, offerOf } from './products';

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
  handles: ['ProductDelisted'],
  replaces: ['ProductDelisted'],
  idOf: offerOf,
  fold: (_, event) => ({
    feedId: feedIdOf(event),
    sourceProductId: event.data.sourceProductId,
    position: numberOf(event.position),
  }),
  describe: (document) => ({ document, fields: { feedId: document.feedId, position: document.position } }),
};

const TARGET = { collection: delistings.collection.name };

export async function countDelistedAfter(
  store: ReadStore,
  feedId: number,
  position: Position,
): Promise<number> {
  return await store.count(TARGET, after(feedId, position));
}

/** The products that were removed from a feed after a position, mostly none; some may have been listed again. */
export async function* delistedAfter(
  store: ReadStore,
  feedId: number,
  position: Position,
): AsyncGenerator<readonly { readonly id: string; readonly sourceProductId: string }[]> {
  if ((await countDelistedAfter(store, feedId, position)) === 0) return;
  for await (const found of store.scan(TARGET, after(feedId, position)))
    yield found.map(({ id, body }) => ({
      id,
      sourceProductId: (JSON.parse(body) as Delisting).sourceProductId,
    }));
}

const { among, between } = filtersOn<keyof typeof FIELDS>();

function after(feedId: number, position: Position): Filter {
  return allOf(among('feedId', [feedId]), between('position', { min: numberOf(position) + 1 }));
}
