import { type Directory } from '../src/network/directory';
import { type Position } from '../src/kernel/event';
import { type Found, type QueryOptions } from '../src/kernel/query';
import { type ReadStore, requireVersion } from '../src/kernel/read-store';
import { mapInSlices } from '../src/runtime/concurrency';
import { FEED_STREAMS, feedIdOf, OFFER_EVENTS, type OfferEvent, offerIdOf } from './products';
import { type Projection } from '../src/projector/projection';

/**
 * A price in minor units, when it became valid (epoch ms), the position of its event, and its currency: empty if it is
 * unknown, absent until `describe` has found that of an event which does not record it.
 */
export type PriceEntry = readonly [price: number, since: number, position: Position, currency?: string];

interface PriceHistory {
  readonly feedId: number;
  readonly prices: readonly PriceEntry[];
  /**
   * Revisions of all its events in the stream of its feed: the index by which a product's history is read
   * (`docs/adr/0049-a-product-knows-its-events.md`).
   */
  readonly events: readonly number[];
}

/**
 * Every price since a product's first listing (`docs/decisions.md#p10`). It survives delisting; a product listed again
 * continues its history, with a new entry only if the price or its currency differs.
 */
export const priceHistory: Projection<PriceHistory, OfferEvent> = {
  collection: { name: 'price-history', version: 4, fields: {} },
  streams: FEED_STREAMS,
  takesLoads: true,
  handles: OFFER_EVENTS,
  idOf: offerIdOf,
  fold(history, event) {
    const { feedId = feedIdOf(event), prices = [] } = history ?? {};
    const events = [...(history?.events ?? []), event.revision];
    if (event.type === 'ProductDelisted') return history && { feedId, prices, events };
    const { price, at, currency } = event.data;
    const entry: PriceEntry =
      currency === undefined
        ? [price, Date.parse(at), event.position]
        : [price, Date.parse(at), event.position, currency];
    return { feedId, prices: isSame(prices.at(-1), entry) ? prices : [...prices, entry], events };
  },
  describe: (document, _, directory) => ({ fields: {}, document: withCurrencies(document, directory) }),
};

/** Fills in the currencies that events do not record, and leaves out what is then no new entry. */
function withCurrencies(document: PriceHistory, { currencies }: Directory): PriceHistory {
  const { feedId, events } = document;
  if (document.prices.every(([, , , currency]) => currency !== undefined)) return document;
  const prices: PriceEntry[] = [];
  for (const [price, since, position, currency] of document.prices) {
    const known = currency ?? currencies.ofFeed(feedId, position) ?? '';
    const entry: PriceEntry = [price, since, position, known];
    if (!isSame(prices.at(-1), entry)) prices.push(entry);
  }
  return { feedId, prices, events };
}

/** False while the currency of one of them is to be found; an unknown one is any. */
function isSame(last: PriceEntry | undefined, next: PriceEntry): boolean {
  if (last?.[0] !== next[0]) return false;
  const [before, after] = [last[3], next[3]];
  if (before === undefined || after === undefined) return false;
  return before === after || before === '' || after === '';
}

/** The prices of these offers, newest first; an offer without any is not in it. */
export async function pricesOf(
  store: ReadStore,
  offerIds: readonly string[],
  query: QueryOptions = {},
): Promise<ReadonlyMap<string, readonly PriceEntry[]>> {
  const found = await store.get({ collection: priceHistory.collection.name }, offerIds, query);
  const read = ({ id, body }: Found) => [id, (JSON.parse(body) as PriceHistory).prices.toReversed()] as const;
  return new Map(await mapInSlices(found, read, query.signal));
}

/**
 * Revisions of the events of an offer in the stream of its feed, in order; undefined if it was never listed. Raises
 * `NoGeneration`.
 */
export async function eventsOfOffer(
  store: ReadStore,
  offerId: string,
): Promise<readonly number[] | undefined> {
  await requireVersion(store, priceHistory.collection);
  const [found] = await store.get({ collection: priceHistory.collection.name }, [offerId]);
  return found && (JSON.parse(found.body) as PriceHistory).events;
}
