import { endedLoads, endsOfLoads } from '../../../projections/imports';
import { eventsOfOffer } from '../../../projections/price-history';
import { FEED, type FeedEvent, type RefusalEvent, REFUSALS } from '../../domain/products/feed';
import {
  evolveSource,
  everyText,
  FEED_SOURCE,
  type FeedSourceEvent,
  type FetchedSource,
} from '../../domain/products/feed-source';
import { offerId } from '../../domain/products/offer';
import { formatPrice } from '../../domain/products/product-fields';
import { eventsOnDemand, toFolded } from '../../kernel/decider';
import { type Position, type RecordedEvent, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { defined, without } from '../../kernel/values';
import { type FeedInfoEvent, type MappingEvent } from '../../network/events';
import { inParallel } from '../../runtime/concurrency';
import { NothingThere } from '../command-error';
import {
  advertiserOf,
  type FieldChanges,
  type Folder,
  type HistoryParts,
  integerIn,
  orOperator,
  type Shown,
} from './folder';

/** Events of one product that are read at a time, each by itself. */
const AT_ONCE = 16;

/** Where in the stream of its feed its events are is in the read model of its prices (ADR 49). */
export async function productFolder(
  { log, store, directory }: HistoryParts,
  { feedId: sent, sourceProductId }: { readonly feedId: string; readonly sourceProductId: string },
  signal?: AbortSignal,
): Promise<Folder> {
  const feedId = integerIn('feed', sent);
  const title = `product ${sourceProductId} of feed ${feedId}`;
  const revisions = await eventsOfOffer(store, offerId(feedId, sourceProductId));
  if (revisions === undefined) throw new NothingThere(`${title}: there are no events of it`);
  const endOf = await endsOfLoads(store, feedId);
  const owner = advertiserOf(directory, directory.feed(feedId)?.programIds[0]);
  const makers = new Map<number, string>();
  let state: Shown | undefined;
  return {
    title,
    events: withMakers(eventsAt(log, streamOf(FEED, feedId), revisions, signal)),
    fold: (recorded) => {
      const by = makers.get(recorded.revision) ?? orOperator(owner);
      const { type, data, position } = toFolded<FeedEvent>(recorded);
      if (type === 'ProductDelisted') state = undefined;
      else if (type !== 'FeedImported' && type !== 'ProductsDeleted') {
        const { price, currency = directory.currencies.ofFeed(feedId, position ?? '') } = data;
        const content = type === 'ProductRepriced' ? state : data.product;
        state = { ...content, price: formatPrice(price), ...defined({ currency }) };
      }
      return { by, state };
    },
  };

  /** An event of a product does not say whose it is, but what ends its load does. */
  async function* withMakers(
    events: AsyncIterable<readonly RecordedEvent[]>,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const batch of events) {
      makers.clear();
      await inParallel(batch, AT_ONCE, async ({ revision }) => {
        const end = await endOf(revision);
        if (end !== undefined) makers.set(revision, end.isUndoing ? 'operator' : owner);
      });
      yield batch;
    }
  }
}

async function* eventsAt(
  log: EventLog,
  stream: string,
  revisions: Iterable<number>,
  signal?: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  const all = [...revisions];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    signal?.throwIfAborted();
    const read = await inParallel(all.slice(from, from + AT_ONCE), AT_ONCE, async (revision) => {
      const events: RecordedEvent[] = [];
      for await (const batch of log.readStream(stream, { from: revision, limit: 1 })) events.push(...batch);
      return events.filter((event) => event.revision === revision);
    });
    yield read.flat();
  }
}

type EventOfFeed = FeedEvent | FeedInfoEvent | FeedSourceEvent | MappingEvent | RefusalEvent;

/**
 * Definition, source, loads, deletions, refused posts and mappings; not its products, of which loads have the counts.
 */
export function feedFolder(
  { log, store, directory }: HistoryParts,
  feedId: number,
  signal?: AbortSignal,
): Folder {
  const ofStream = (category: string) => eventsOnDemand(log, streamOf(category, feedId), { signal });
  const owner = advertiserOf(directory, directory.feed(feedId)?.programIds[0]);
  const mapped = new Map<string, string>();
  const changed: (readonly [name: string, categoryId: string | undefined])[] = [];
  let source: FetchedSource | undefined;
  let state: Shown | undefined;
  /** All mappings as of now, whenever it is called. */
  const mappingsNow = (): (() => Shown) => {
    const { length } = changed;
    return () => {
      const mappings = new Map<string, string>();
      for (const [name, categoryId] of changed.slice(0, length))
        if (categoryId === undefined) mappings.delete(name);
        else mappings.set(name, categoryId);
      return { mappings: Object.fromEntries(mappings) };
    };
  };
  const map = (name: string, categoryId: string | undefined): FieldChanges => {
    const before = mapped.get(name);
    if (categoryId === undefined) mapped.delete(name);
    else mapped.set(name, categoryId);
    changed.push([name, categoryId]);
    state = { ...state, mappings: mapped.size };
    return { [`mappings.${name}`]: { ...(before && { before }), ...(categoryId && { after: categoryId }) } };
  };
  return {
    title: `feed ${feedId}`,
    events: merged(['feedinfo', 'mapping', FEED_SOURCE, REFUSALS].map(ofStream), loadsOf()),
    fold: (recorded) => {
      const event = toFolded<EventOfFeed>(recorded);
      switch (event.type) {
        case 'FeedDefined':
          state = { ...state, ...without(event.data, 'at') };
          break;
        case 'FeedRemoved':
          state = undefined;
          break;
        case 'CategoryMapped':
        case 'CategoryUnmapped': {
          const categoryId = 'categoryId' in event.data ? event.data.categoryId : undefined;
          const also = map(event.data.name, categoryId);
          return { by: 'operator', state, rest: mappingsNow(), also };
        }
        case 'FeedImported':
        case 'ProductsDeleted':
        case 'FeedImportRefused':
          state = { ...state, ...loaded(state?.['products'], event) };
          return {
            by: event.type === 'FeedImported' && event.data.restores !== undefined ? 'operator' : owner,
            state,
            rest: mappingsNow(),
          };
        case 'SourceSet':
        case 'SourceRemoved':
        case 'SourceFetchRequested':
        case 'SourceShrinkAccepted':
        case 'SourceFetched':
        case 'SourceFailed':
        case 'SourceHeld': {
          source = evolveSource(source, event);
          const importId = event.type === 'SourceFetched' ? event.data.importId : undefined;
          const now = source && defined({ ...shown(source), importId });
          state = state && { ...without(state, 'source'), ...defined({ source: now }) };
          const isFound = ['SourceFetched', 'SourceFailed', 'SourceHeld'].includes(event.type);
          return { by: isFound ? 'system' : orOperator(owner), state, rest: mappingsNow() };
        }
        default:
          break;
      }
      return { by: 'operator', state, rest: mappingsNow() };
    },
  };

  async function* loadsOf(): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const revisions of endedLoads(store, feedId))
      yield* eventsAt(log, streamOf(FEED, feedId), revisions, signal);
  }
}

function shown(source: FetchedSource): Shown {
  const { minutes, isAsked } = source;
  const others = without(source, 'minutes', 'since', 'isAsked');
  return { ...others, every: everyText(minutes), ...(isAsked && { fetch: 'asked for' }) };
}

/** The load, and how many products there are then. */
function loaded(
  products: unknown,
  event: Extract<EventOfFeed, { readonly type: 'FeedImported' | 'FeedImportRefused' | 'ProductsDeleted' }>,
): Shown {
  const before = typeof products === 'number' ? products : 0;
  const { importId } = event.data;
  const id = defined({ importId });
  if (event.type === 'ProductsDeleted')
    return {
      products: before - event.data.removed,
      lastLoad: { ...id, mode: 'delete', removed: event.data.removed },
    };
  const { mode, faults } = event.data;
  if (event.type === 'FeedImportRefused') return { lastRefused: { ...id, mode, reason: faults[0]?.message } };
  const load = without(event.data, 'at', 'faults', 'ignoredFields');
  return { products: before + load.new - load.removed, lastLoad: load };
}

/** Events of several streams in the order of the log, one by one. */
async function* merged(
  streams: readonly AsyncIterable<readonly RecordedEvent[]>[],
  last: AsyncIterable<readonly RecordedEvent[]>,
): AsyncGenerator<readonly RecordedEvent[]> {
  const heads = await Promise.all(
    [...streams, last].map(async (stream) => {
      const events = eachEvent(stream);
      return { events, next: await events.next() };
    }),
  );
  for (;;) {
    const left = heads.filter(({ next }) => next.done !== true);
    left.sort((a, b) => (positionOfHead(a.next) < positionOfHead(b.next) ? -1 : 1));
    const [first] = left;
    if (first === undefined || first.next.done === true) return;
    yield [first.next.value];
    first.next = await first.events.next();
  }
}

function positionOfHead({ value }: IteratorResult<RecordedEvent, undefined>): Position {
  return value?.position ?? '';
}

async function* eachEvent(
  batches: AsyncIterable<readonly RecordedEvent[]>,
): AsyncGenerator<RecordedEvent, undefined> {
  for await (const batch of batches) yield* batch;
}
