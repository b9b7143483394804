import { feedChanges, type StoredFeedChanges, unrecordedSince } from '../../projections/feeds';
import { products, toOffer } from '../../projections/products';
import { oldestSubscription } from '../../projections/subscriptions';
import { FEED, type FeedClosing, parseChange, type ProductChange } from '../domain/products/feed';
import {
  audienceOf,
  type ChangedProduct,
  FEED_CHANGES,
  type FeedChangeEvent,
  type RecordedLoad,
} from '../domain/products/feed-changes';
import { type Offer, offerId } from '../domain/products/offer';
import { BACK_IN_STOCK, PRICE_FELL } from '../domain/products/topic';
import { isUsable } from '../domain/subscriptions/delivery-requests';
import {
  SUBSCRIPTION,
  type SubscriptionContent,
  type SubscriptionEvent,
} from '../domain/subscriptions/subscription';
import {
  appendIdempotently,
  eventAt,
  eventsOf,
  toDomainEvent,
  toFolded,
  toNewEvent,
} from '../kernel/decider';
import {
  type NewEvent,
  NO_STREAM,
  type Position,
  type RecordedEvent,
  START,
  streamOf,
} from '../kernel/event';
import { APPEND_LIMITS, type EventLog, RevisionConflict } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { shortened } from '../kernel/text';
import { defined } from '../kernel/values';
import { type Directory } from '../network/directory';
import { PositionWait } from '../projector/wait';
import { type Clock } from '../runtime/clock';
import { batchesOf, KeyedMutex } from '../runtime/concurrency';
import { type ActionParts, type Automation } from './automation-runner';

/** Products that a load records of each kind of change: of prices that fell, those that fell most. */
export const MOST_RECORDED = 1_000;
/** Candidates for them: some products cannot be seen by any subscriber. */
const MOST_CANDIDATES = 2 * MOST_RECORDED;

/** Longest text of a message, in characters: events and messages are small. */
const MOST_CHARACTERS = 2_000;

/** Events of a feed that are read at a time, and how many make a long load: these are read one after the other. */
const READ_AT_ONCE = 1_000;
const LONG = 10_000;
const SHORT_AT_ONCE = 8;

/** How long the read model of products may take to include a load (ms). */
const REACH_MS = 5_000;

/**
 * Records what loads have changed, for subscribers (`docs/decisions.md#n20`): once a load has ended, its events are
 * read from the stream of its feed, as far as somebody may be notified of them. Everything is in the log, so whoever
 * continues after a crash records the rest. `trackerUrl`: what tracker links begin with.
 */
export function feedChangesOver(clock: Clock, store: ReadStore, trackerUrl?: string): Automation {
  const wait = new PositionWait(clock, store, [products]);
  const subscribers = new Subscribers();
  const reading = new KeyedMutex<number>();
  return {
    name: 'changes of feeds with subscribers',
    projection: feedChanges,
    orderBy: 'due',
    due: async () => {
      const oldest = await oldestSubscription(store, 'products');
      return oldest === undefined ? [] : [unrecordedSince(oldest)];
    },
    act: async ({ id, version, body }, parts) => {
      const { ended } = JSON.parse(body) as StoredFeedChanges;
      const done = await recordedIn(parts.log, id);
      // The read model does not show it yet.
      if (ended === undefined || done.upTo >= ended.revision) return {};
      // A long load takes a while: nobody is notified of what searches do not show yet.
      if (!(await wait.until(version, REACH_MS))) return {};
      const interest = await subscribers.interestIn(Number(id), parts);
      const recording = { ...parts, trackerUrl };
      const recorder = new Recorder(store, Number(id), ended.revision, interest, done, recording);
      const isLong = ended.revision - done.upTo > LONG;
      const turn = isLong ? -1 : Number(id) % SHORT_AT_ONCE;
      try {
        return await reading.runExclusive(turn, () => recorder.record());
      } catch (error) {
        // Another process has recorded it.
        if (error instanceof RevisionConflict) return {};
        throw error;
      }
    },
  };
}

/** What is recorded of a feed: up to which revision of its stream, and what of the load behind it, by `keyOf`. */
interface RecordedSoFar {
  readonly revision: number;
  readonly upTo: number;
  readonly begun: ReadonlySet<string>;
}

async function recordedIn(log: EventLog, feedId: string): Promise<RecordedSoFar> {
  let revision = NO_STREAM;
  const begun = new Set<string>();
  const stream = streamOf(FEED_CHANGES, feedId);
  for await (const recorded of eventsOf(log, stream, { backwards: true, batchSize: 100 })) {
    revision = Math.max(revision, recorded.revision);
    const event = toFolded<FeedChangeEvent>(recorded);
    if (event.type === 'FeedChangesRecorded') return { revision, upTo: event.data.upTo, begun };
    begun.add(keyOf(event));
  }
  return { revision, upTo: NO_STREAM, begun };
}

type ProductChanged = Exclude<FeedChangeEvent, { readonly type: 'FeedChangesRecorded' }>;

function keyOf({ type, data }: ProductChanged): string {
  return `${type} ${data.loadId ?? data.loadTime} ${data.sourceProductId}`;
}

/** What subscriptions that may see a feed want to know of it. */
interface Interest {
  /** The position from which somebody has wanted to know anything. */
  readonly since: Position;
  /** The least fall of a price, in per cent; undefined: none. */
  readonly fall: number | undefined;
  readonly stock: boolean;
  /** Also of products that publishers do not see. */
  readonly unmapped: boolean;
}

interface FeedSubscriber {
  readonly organisationId: number;
  readonly since: Position;
  readonly content: SubscriptionContent;
}

/** The subscriptions to products, as of the end of the log. */
class Subscribers {
  private readonly all = new Map<string, FeedSubscriber>();
  private after = START;
  private reading: Promise<void> = Promise.resolve();

  /** Undefined: nobody wants to know anything. */
  async interestIn(
    feedId: number,
    { log, directory }: Pick<ActionParts, 'log' | 'directory'>,
  ): Promise<Interest | undefined> {
    this.reading = this.reading.catch(() => undefined).then(() => this.read(log));
    await this.reading;
    const { advertisers, publishers, sites } = audienceOf(directory.programs, feedId);
    const interested = [...this.all.values()].filter(({ organisationId, content: { siteId, filter } }) => {
      const isParty = advertisers.has(organisationId) || publishers.has(organisationId);
      const isSite = siteId === undefined || sites.has(siteId);
      return isParty && isSite && (filter.feedIds?.includes(feedId) ?? true);
    });
    if (interested.length === 0) return undefined;
    const wants = (id: number) => interested.filter(({ content }) => content.filter.stateIds.includes(id));
    const falls = wants(PRICE_FELL).map(({ content }) => content.filter.minFallPercent ?? 0);
    return {
      since: interested.map(({ since }) => since).reduce((a, b) => (a < b ? a : b)),
      fall: falls.length === 0 ? undefined : Math.min(...falls),
      stock: wants(BACK_IN_STOCK).length > 0,
      unmapped: interested.some(({ organisationId }) => advertisers.has(organisationId)),
    };
  }

  private async read(log: EventLog): Promise<void> {
    for await (const { events, position } of log.readAll({
      after: this.after,
      prefixes: [`${SUBSCRIPTION}-`],
    })) {
      for (const recorded of events) {
        const event = toDomainEvent(recorded) as SubscriptionEvent;
        if (isUsable(event)) this.apply(recorded.stream, recorded.position, event);
      }
      this.after = position;
    }
  }

  private apply(stream: string, since: Position, event: SubscriptionEvent): void {
    if (event.type === 'SubscriptionCreated' && event.data.topic === 'products') {
      const { organisationId, subscription: content } = event.data;
      this.all.set(stream, { organisationId, since, content });
    }
    const known = this.all.get(stream);
    if (known === undefined) return;
    if (event.type === 'SubscriptionReplaced')
      this.all.set(stream, { ...known, content: event.data.subscription });
    else if (event.type === 'SubscriptionDeleted') this.all.delete(stream);
  }
}

interface CandidateChange {
  readonly sourceProductId: string;
  readonly price: number;
  readonly currency: string;
  readonly fellFrom?: number;
}

/** What a load has changed, as its events are read. */
class LoadChanges {
  readonly counts = { new: 0, revised: 0, repriced: 0, removed: 0, fallen: 0, restocked: 0 };
  /** By product: who is posted again after an interruption may change twice. */
  readonly restocked = new Map<string, CandidateChange>();
  private readonly falls = new Map<string, CandidateChange>();

  constructor(private readonly interest: Pick<Interest, 'fall' | 'stock'>) {}

  add(change: ProductChange): void {
    const { counts, interest } = this;
    counts[COUNTED_AS[change.type]] += 1;
    if (change.type === 'ProductDelisted') return;
    const { sourceProductId, price, currency, fellFrom } = change;
    if (fellFrom !== undefined) {
      counts.fallen += 1;
      if (interest.fall !== undefined && fallOf({ price, fellFrom }) >= interest.fall) {
        this.falls.set(sourceProductId, { sourceProductId, price, currency, fellFrom });
        if (this.falls.size >= 2 * MOST_CANDIDATES) this.prune();
      }
    }
    if (!('backInStock' in change)) return;
    counts.restocked += 1;
    if (interest.stock && this.restocked.size < MOST_CANDIDATES)
      this.restocked.set(sourceProductId, { sourceProductId, price, currency });
  }

  /** The largest falls first. */
  fallen(): readonly CandidateChange[] {
    return [...this.falls.values()].sort((a, b) => fallOf(b) - fallOf(a));
  }

  private prune(): void {
    for (const { sourceProductId } of this.fallen().slice(MOST_CANDIDATES))
      this.falls.delete(sourceProductId);
  }
}

const COUNTED_AS = {
  ProductListed: 'new',
  ProductRevised: 'revised',
  ProductRepriced: 'repriced',
  ProductDelisted: 'removed',
} as const;

function fallOf({ price, fellFrom = price }: Pick<CandidateChange, 'price' | 'fellFrom'>): number {
  return ((fellFrom - price) * 100) / fellFrom;
}

/** Nobody is notified of an event that another program has written, and that cannot be used. */
function changeIn(event: RecordedEvent): ProductChange | undefined {
  try {
    return parseChange(event);
  } catch {
    return undefined;
  }
}

/** Records what has changed in a feed up to the end of a load. */
class Recorder {
  private revision: number;
  private position = START;

  constructor(
    private readonly store: ReadStore,
    private readonly feedId: number,
    private readonly upTo: number,
    private readonly interest: Interest | undefined,
    private readonly done: RecordedSoFar,
    private readonly parts: Pick<ActionParts, 'clock' | 'log' | 'at' | 'directory'> & {
      readonly trackerUrl: string | undefined;
    },
  ) {
    this.revision = done.revision;
  }

  /** Raises `RevisionConflict` if another process records the same. */
  async record(): Promise<{ readonly position: Position }> {
    const { interest, upTo } = this;
    const { log, clock } = this.parts;
    const stream = streamOf(FEED, this.feedId);
    const next = this.done.upTo + 1;
    const from =
      interest === undefined ? upTo + 1 : await firstAfter(log, stream, next, upTo, interest.since);
    if (interest === undefined || from > upTo) return await this.append([], { upTo });
    let load = new LoadChanges(interest);
    const range = { from, limit: upTo - from + 1, batchSize: READ_AT_ONCE };
    for await (const batch of log.readStream(stream, range)) {
      for (const event of batch) {
        const change = changeIn(event);
        if (change !== undefined) load.add(change);
        else if (event.type === 'FeedImported' || event.type === 'ProductsDeleted') {
          await this.recordLoad(load, event.revision, toFolded<FeedClosing>(event), interest);
          load = new LoadChanges(interest);
        }
      }
      await clock.yield();
    }
    return { position: this.position };
  }

  private async recordLoad(
    load: LoadChanges,
    upTo: number,
    { type, data }: FeedClosing,
    interest: Interest,
  ): Promise<void> {
    const programId = this.parts.directory.feed(this.feedId)?.programIds[0];
    const ofLoad = { ...defined({ loadId: data.importId, programId }), loadTime: data.at };
    const { at, trackerUrl } = this.parts;
    const told = { at, ...ofLoad, ...defined({ trackerUrl }) };
    const { counts, restocked } = load;
    const events: ProductChanged[] = [];
    for (const [product, fellFrom] of await this.seen(load.fallen(), interest))
      events.push({ type: 'ProductPriceFell', data: { ...told, ...product, fellFrom } });
    for (const [product] of await this.seen([...restocked.values()], interest))
      events.push({ type: 'ProductBackInStock', data: { ...told, ...product } });
    const isChanged = counts.new + counts.revised + counts.repriced + counts.removed > 0;
    const mode = type === 'FeedImported' ? data.mode : 'deletion';
    await this.append(events, { upTo, ...(isChanged ? { load: { ...ofLoad, mode, ...counts } } : {}) });
  }

  /** Of the products, the first ones that somebody who is interested may see, each with the price that it fell from. */
  private async seen(
    changes: readonly CandidateChange[],
    { unmapped }: Interest,
  ): Promise<readonly (readonly [Omit<ChangedProduct, 'loadTime'>, number])[]> {
    const found: (readonly [Omit<ChangedProduct, 'loadTime'>, number])[] = [];
    for (let next = 0; next < changes.length && found.length < MOST_RECORDED; next += READ_AT_ONCE) {
      const batch = changes.slice(next, next + READ_AT_ONCE);
      const ids = batch.map(({ sourceProductId }) => offerId(this.feedId, sourceProductId));
      const offers = new Map(
        (await this.store.get({ collection: products.collection.name }, ids)).map((one) => [
          one.id,
          toOffer(one),
        ]),
      );
      batch.forEach((change, at) => {
        // What was removed since nobody can see.
        const offer = offers.get(ids[at] ?? '');
        const product = offer && productOf(change, offer, this.parts.directory);
        if (product === undefined || !(unmapped || product.categoryIds.length > 0)) return;
        if (found.length < MOST_RECORDED) found.push([product, change.fellFrom ?? 0]);
      });
    }
    return found;
  }

  /** What an interrupted process has appended is not repeated. */
  private async append(
    events: readonly ProductChanged[],
    end: { readonly upTo: number; readonly load?: RecordedLoad },
  ): Promise<{ readonly position: Position }> {
    const { clock, log, at } = this.parts;
    const closing: FeedChangeEvent = { type: 'FeedChangesRecorded', data: { at, ...end } };
    const left = events.filter((event) => !this.done.begun.has(keyOf(event)));
    const packed = [...left, closing].map((event) => toNewEvent(event, clock.uuid()));
    const stream = streamOf(FEED_CHANGES, this.feedId);
    const most = { count: APPEND_LIMITS.events, size: APPEND_LIMITS.bytes };
    for (const chunk of batchesOf(packed, most, sizeOf)) {
      const appended = await appendIdempotently(log, stream, this.revision, chunk);
      [this.revision, this.position] = [appended.revision, appended.position];
    }
    return { position: this.position };
  }
}

function sizeOf({ data, type, meta }: NewEvent): number {
  return Buffer.byteLength(data) + type.length + meta.length;
}

/**
 * The first revision of a stream, from one to another, behind a position of the log; behind the
 * last one if there is none.
 */
async function firstAfter(
  log: EventLog,
  stream: string,
  from: number,
  to: number,
  position: Position,
): Promise<number> {
  let [low, high] = [from, to + 1];
  // Mostly all of them are.
  for (let middle = from; low < high; middle = Math.floor((low + high) / 2)) {
    const event = await eventAt(log, stream, middle);
    if (event !== undefined && event.position > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

function productOf(
  { sourceProductId, price, currency }: CandidateChange,
  { product, mapped }: Offer,
  directory: Directory,
): Omit<ChangedProduct, 'loadTime'> {
  const categoryIds = new Set(mapped.filter((id) => id !== null));
  for (const id of categoryIds) {
    const parent = directory.category(id)?.parentId;
    if (parent !== null && parent !== undefined) categoryIds.add(parent);
  }
  const { brand, productUrl, productImage, identifiers, availability, inStock } = product;
  const texts = { brand, ean: identifiers?.ean, productUrl, imageUrl: productImage.url, availability };
  const short = Object.entries(texts).filter(([, text]) => (text?.length ?? Infinity) <= MOST_CHARACTERS);
  return {
    ...{ sourceProductId, name: shortened(product.name, MOST_CHARACTERS) },
    ...Object.fromEntries(short),
    ...defined({ inStock }),
    ...{ price, ...(currency === '' ? {} : { currency }), categoryIds: [...categoryIds] },
  };
}
