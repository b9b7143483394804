import { type Position } from '../src/kernel/event';
import { type QueryOptions } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { mapInSlices } from '../src/kernel/slices';
import { FEED_STREAMS, OFFER_EVENTS, type OfferEvent, offerOf } from './offer-events';
import { type Projection } from '../src/projector/projection';

/** A price in minor units, when it became valid (epoch ms), and the position of its event. */
export type PriceEntry = readonly [price: number, since: number, position: Position];

/** One document per offer: all its prices, oldest first. */
interface PriceHistory {
  readonly prices: readonly PriceEntry[];
}

/**
 * Every price since a product's first listing (`docs/decisions.md#p10`). It survives delisting; a product listed again
 * continues its history, with a new entry only if the price differs.
 */
export const priceHistory: Projection<PriceHistory, OfferEvent> = {
  collection: { name: 'price-history', version: 2, fields: {} },
  streams: FEED_STREAMS,
  handles: OFFER_EVENTS,
  idOf: offerOf,
  fold(history, event) {
    if (event.type === 'ProductDelisted') return history;
    const { price, at } = event.data;
    const prices = history?.prices ?? [];
    return prices.at(-1)?.[0] === price
      ? history
      : { prices: [...prices, [price, Date.parse(at), event.position]] };
  },
  describe: (document) => ({ fields: {}, document }),
};

/** The prices of these offers, newest first; an offer without any is not in it. */
export async function pricesOf(
  store: ReadStore,
  offerIds: readonly string[],
  query: QueryOptions = {},
): Promise<ReadonlyMap<string, readonly PriceEntry[]>> {
  const found = await store.get({ collection: priceHistory.collection.name }, offerIds, query);
  return new Map(
    await mapInSlices(
      found,
      ({ id, body }) => [id, (JSON.parse(body) as PriceHistory).prices.toReversed()] as const,
      query.signal,
    ),
  );
}
