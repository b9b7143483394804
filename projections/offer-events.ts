import { type ParsedEvent } from '../src/kernel/decider';
import { FEED, type FeedClosing, type FeedEvent } from '../src/domain/products/feed';
import { offerId } from '../src/domain/products/offer';

/** Events of one product of a feed. */
export type OfferEvent = Exclude<FeedEvent, FeedClosing>;

export const OFFER_EVENTS = [
  'ProductListed',
  'ProductRevised',
  'ProductRepriced',
  'ProductDelisted',
] as const satisfies readonly OfferEvent['type'][];

export const FEED_STREAMS = [`${FEED}-`] as const;

export function feedIdOf({ stream }: ParsedEvent<FeedEvent>): number {
  return Number(stream.slice(FEED.length + 1));
}

export function offerOf(event: ParsedEvent<OfferEvent>): string {
  return offerId(feedIdOf(event), event.data.sourceProductId);
}
