import { type Directory } from '../../directory/directory';
import { type Caller } from '../../directory/organisations';
import { type Position } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Offer, offerId } from '../offer';
import { type Remapping } from '../remapped';
import { changesSince, factsChanged, touchedProducts } from './changes';
import { type FeedSource } from './feed-source';
import { type Since } from './since';

/** What is sent: offers first; then what has gone, where changes are asked for. */
export interface FeedContent {
  offers(): AsyncIterable<readonly Offer[]>;
  /** `sourceProductId` of what a copy must not have any more; to be asked when all offers have been read. */
  removed?(): AsyncIterable<string>;
  /** Nothing has changed. */
  readonly isEmpty: boolean;
}

/** A feed as it is shown to a caller, from one snapshot. */
export interface ShownFeed {
  readonly feedId: number;
  readonly caller: Caller;
  /** The mapped products alone (`docs/decisions.md#p13`). */
  readonly visibleOnly: boolean;
  readonly total: number;
  readonly checkpoint: Position;
  /** Digest of the facts that are joined to its products. */
  readonly facts: string;
  readonly offers: () => AsyncIterable<readonly Offer[]>;
}

interface Sources {
  readonly log: EventLog;
  readonly source: FeedSource;
  readonly directory: Directory;
}

/** Events of a feed, even of a small one, that are looked at to tell what has changed (`docs/decisions.md#x51`). */
const MOST_EVENTS = 10_000;
const READ_AT_ONCE = 500;

/**
 * What has changed since a copy was made (`docs/decisions.md#p28`): everything, if what is joined to every product has
 * changed or so much has happened that to tell it apart would take as long.
 */
export async function contentSince(sources: Sources, feed: ShownFeed, asked: Since): Promise<FeedContent> {
  const { log, source, directory } = sources;
  const { feedId, total, checkpoint, facts, caller } = feed;
  const since = (await isOfAnotherLog(log, checkpoint, asked)) ? { date: 0 } : asked;
  const { events, remapping } = await changesSince(log, directory, feedId, since, checkpoint);
  const isJoinedAnew =
    'facts' in since
      ? since.facts !== facts
      : await factsChanged(log, directory, { feedId, organisationId: caller.organisationId }, since);
  const count = events.last - events.first + 1;
  if (isJoinedAnew || remapping === undefined || count > Math.max(MOST_EVENTS, total / 4)) {
    const gone = async () => (await touchedProducts(log, feedId, events)).gone;
    return { offers: feed.offers, removed: () => notShown(source, feed, gone), isEmpty: false };
  }
  const { touched } = await touchedProducts(log, feedId, events);
  const isRemapped = remapping.changes.length > 0 && (await source.countRemapped(feedId, remapping)) > 0;
  return {
    ...changedContent(source, feed, touched, isRemapped ? remapping : undefined),
    isEmpty: touched.size === 0 && !isRemapped,
  };
}

/** A log that was moved has other positions: one that there is not yet tells nothing. */
async function isOfAnotherLog(log: EventLog, checkpoint: Position, since: Since): Promise<boolean> {
  return 'position' in since && since.position > checkpoint && since.position > (await log.head());
}

/** The products that were touched or mapped anew, as they are now. */
function changedContent(
  source: FeedSource,
  { feedId, visibleOnly }: ShownFeed,
  touched: ReadonlySet<string>,
  remapping: Remapping | undefined,
): Required<Omit<FeedContent, 'isEmpty'>> {
  const looked = new Set(touched);
  const sent = new Set<string>();
  const toSend = (offers: readonly Offer[]): Offer[] => {
    const fresh = offers
      .filter(({ mapped }) => !visibleOnly || mapped.some((category) => category !== null))
      .filter(({ sourceProductId }) => !sent.has(sourceProductId));
    for (const { sourceProductId } of fresh) sent.add(sourceProductId);
    return fresh;
  };
  return {
    async *offers() {
      const ids = [...touched];
      for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
        const some = ids.slice(at, at + READ_AT_ONCE);
        yield toSend(await source.offers(some.map((id) => offerId(feedId, id))));
      }
      if (remapping === undefined) return;
      for await (const offers of source.remapped(feedId, remapping)) {
        for (const { sourceProductId } of offers) looked.add(sourceProductId);
        yield toSend(offers);
      }
    },
    async *removed() {
      for (const id of looked) if (!sent.has(id)) yield id;
    },
  };
}

/** What a copy must not have when everything has been sent anew: what has been delisted, what is not shown. */
async function* notShown(
  source: FeedSource,
  { feedId, visibleOnly }: ShownFeed,
  gone: () => Promise<ReadonlySet<string>>,
): AsyncGenerator<string> {
  yield* await gone();
  if (!visibleOnly) return;
  for await (const { offers } of source.snapshot(feedId, 'hidden'))
    for (const { sourceProductId } of offers) yield sourceProductId;
}
