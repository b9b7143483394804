import { type FeedImport } from '../../../src/domain/products/feed';
import { type StoredOffer } from '../../../src/domain/products/offer';
import { KnownFeed, type Posted } from '../../support/feed-model';
import { type Command, type Happened, type Sent, textOf } from '../clients';
import { FEEDS } from '../workloads/network-file';
import { deleteProducts, loadFeed, restoreFeed } from '../workloads/products';
import { require } from './broken';
import { Categories } from './categories';
import { type Check, historyOf, type Observed, once, streamOf } from './check';

/** What is listed of a product; undefined: nothing. */
type State = Omit<Posted, 'id'> | undefined;

/** A change of a product, by an event of the feed. */
interface Change {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  readonly time: number;
  readonly before: State;
  readonly after: State;
  /** How many loads and deletions had ended before. */
  readonly ended: number;
}

/** A feed as its events make it, by the documents alone. */
class FeedHistory {
  readonly feed = new KnownFeed();
  readonly changes: Change[] = [];
  /** What has ended each load and deletion, by its id. */
  readonly ended = new Map<string, Happened>();

  constructor(
    private readonly world: Observed,
    private readonly feedId: number,
  ) {
    for (const event of streamOf(world, `feed-${feedId}`))
      if (event.type === 'FeedImported') this.imported(event, event.data);
      else if (event.type === 'ProductsDeleted') this.end(event, String(event.data.importId));
      else this.change(event);
  }

  /** Every event of a product changes it, as somebody had asked. */
  private change({ type, data, time }: Happened): void {
    if (!('sourceProductId' in data)) return;
    const { sourceProductId: id, at } = data;
    const before = this.feed.listed.get(id);
    if (type === 'ProductDelisted') this.feed.take({ kind: 'delete', ids: [id] }, 0);
    else if ('price' in data) {
      const brand = 'product' in data ? data.product.brand : before?.brand;
      const posted = [{ id, price: data.price / 100, brand }];
      this.feed.take({ kind: 'post', mode: '', xml: false, posted }, Date.parse(at));
    }
    const after = this.feed.listed.get(id);
    require(before !== after, () => `feed ${this.feedId}: ${type} of ${id} changes nothing`);
    require(this.wasAsked(id, after, time), () =>
      `feed ${this.feedId}: nobody has asked for ${type} of ${id} at ${after?.price ?? 0}`);
    this.changes.push({ id, at, time, before, after, ended: this.ended.size });
  }

  private wasAsked(id: string, after: State, time: number): boolean {
    const isRestored = after === undefined && this.asked(restoreFeed, time, -Infinity).length > 0;
    return isRestored || this.wasPosted(id, after, time, -Infinity);
  }

  /** By a load or deletion that was sent before a time, and was under way at another one. */
  private wasPosted(id: string, after: State, before: number, until: number): boolean {
    const isPosted = this.asked(loadFeed, before, until).some(({ what: { mode, posted } }) =>
      after === undefined
        ? mode !== '' && posted.every((one) => one.id !== id)
        : posted.some((one) => one.id === id && one.price === after.price && one.brand === after.brand),
    );
    const deletions = after === undefined ? this.asked(deleteProducts, before, until) : [];
    return isPosted || deletions.some(({ what: { ids } }) => ids === 'all' || ids.includes(id));
  }

  /** Commands for the feed that were sent before a time, and were answered at another one, later, or never. */
  private asked<What extends { readonly feed: { readonly id: number } }, Result>(
    command: Command<What, Result>,
    before: number,
    until: number,
  ): readonly Sent<What, Result>[] {
    return this.world.clients
      .of(command)
      .filter(({ what, sentAt }) => what.feed.id === this.feedId && sentAt <= before)
      .filter(({ answer, answeredAt }) => answer.is !== 'done' || answeredAt >= until);
  }

  /** When a load ends, the feed is as it was posted; when a load is undone, as it was before that one. */
  private imported(event: Happened, { importId, restores, at, durationMs, faults }: FeedImport): void {
    const { time } = event;
    if (restores === undefined) {
      const [load] = this.world.clients.of(loadFeed).filter(({ what }) => what.loads.includes(importId));
      require(load !== undefined && load.what.feed.id === this.feedId && load.sentAt <= time, () =>
        `feed ${this.feedId}: nobody has posted load ${importId}`);
      const before = JSON.stringify(this.feed.offers());
      const { mode, posted } = load.what;
      const refused = this.feed.take({ kind: 'post', mode, xml: false, posted }, Date.parse(at));
      require(JSON.stringify(this.feed.offers()) === before, () =>
        `${textOf(load)} has ended, but the feed was ${before}`);
      const found = faults.map(({ code, sourceProductId }) => `${code} ${sourceProductId ?? ''}`);
      require(found.join() === refused.join(), () =>
        `${textOf(load)}: ${found.join()} in place of ${refused.join()}`);
    } else this.restored(restores, new Date(Date.parse(at) - durationMs).toISOString());
    this.end(event, importId);
  }

  private restored(restores: string, began: string): void {
    const target = [...this.ended.keys()].indexOf(restores);
    const asked = this.world.clients.of(restoreFeed).some(({ what }) => what.loadId === restores);
    require(target >= 0 && asked, () => `feed ${this.feedId}: nobody has restored ${restores}`);
    const own = this.changes.filter(({ ended }) => ended === target);
    const since = this.changes.filter(({ ended }) => ended > target);
    for (const { id, before } of own.filter((one, at) => own.findIndex(({ id }) => id === one.id) === at)) {
      const now = this.feed.listed.get(id);
      const isRestored = now?.price === before?.price && now?.brand === before?.brand;
      // What began at the same time may be another load, which is under way.
      const isOfAnother = ({ ended, at, after, time }: Change): boolean =>
        ended < this.ended.size || at !== began || this.wasPosted(id, after, time, time);
      require(isRestored || since.some((one) => one.id === id && isOfAnother(one)), () =>
        `feed ${this.feedId}: ${id} is not as before load ${restores}, which was undone`);
    }
  }

  private end(event: Happened, id: string): void {
    require(!this.ended.has(id), () => `feed ${this.feedId}: ${id} has ended twice`);
    this.ended.set(id, event);
  }
}

const historiesOf = once((world) => FEEDS.map(({ id }) => [id, new FeedHistory(world, id)] as const));

const loaded: Check = {
  promise:
    'A load or deletion that was acknowledged has ended once, with what was posted, and nothing is there that nobody has posted (X62, X89).',
  verify: (world) => {
    const { clients } = world;
    const histories = new Map(historiesOf(world));
    for (const one of [
      ...clients.done(loadFeed),
      ...clients.done(deleteProducts),
      ...clients.done(restoreFeed),
    ]) {
      const { loadId } = one.result;
      if (loadId === undefined) continue;
      const ended = histories.get(one.what.feed.id)?.ended.get(loadId);
      require(ended !== undefined && ended.time <= one.answeredAt, () =>
        `${textOf(one)} was acknowledged, but is not there`);
    }
    for (const one of clients.done(deleteProducts)) {
      const { what, result } = one;
      const changes = histories.get(what.feed.id)?.changes ?? [];
      const { removed } = result.counts;
      const order = [...(histories.get(what.feed.id)?.ended.keys() ?? [])].indexOf(result.loadId ?? '');
      const own = changes.filter(({ ended, after }) => ended === order && after === undefined);
      require(result.loadId === undefined ? removed === 0 : own.length >= removed, () =>
        `${textOf(one)}: ${own.length} products were removed, not ${removed}`);
    }
  },
};

const readModels: Check = {
  promise:
    'Products, their prices and categories in the read models are what was posted and mapped (P1, P10, P13).',
  verify: (world) => {
    const [store, categories] = [world.stores.at(-1), new Categories()];
    for (const event of historyOf(world)) categories.take(event);
    const prices = store?.documentsOf('price-history');
    for (const [feedId, { feed }] of historiesOf(world)) {
      const found: [string, object][] = [...(store?.documentsOf('products') ?? [])].flatMap(
        ([id, { body }]): [string, object][] => {
          const offer = JSON.parse(body) as StoredOffer;
          const { sourceProductId, product, mapped, modified } = offer;
          if (offer.feedId !== feedId) return [];
          const { brand = '' } = product;
          const expected = categories.of(feedId, sourceProductId, brand);
          require(mapped.join() === expected, () =>
            `${sourceProductId} of feed ${feedId} is mapped to ${mapped.join()}, not ${expected}`);
          const stored = JSON.parse(prices?.get(id)?.body ?? '{"prices":[]}') as StoredPrices;
          const history = stored.prices.map(([price, since, , currency]) => [price / 100, currency, since]);
          return [
            [sourceProductId, { price: offer.price / 100, brand, modified, history: history.reverse() }],
          ];
        },
      );
      const text = (offers: object): string =>
        JSON.stringify(Object.entries(offers).sort(([a], [b]) => (a < b ? -1 : 1)));
      const [has, should] = [text(Object.fromEntries(found)), text(feed.offers())];
      require(has === should, () => `feed ${feedId} is ${has}, not ${should}`);
    }
  },
};

interface StoredPrices {
  readonly prices: readonly (readonly [price: number, since: number, position: string, currency: string])[];
}

/** After these the source of a feed is to be fetched. */
const ASKED: ReadonlySet<string> = new Set(['SourceSet', 'SourceFetchRequested', 'SourceShrinkAccepted']);

const fetched: Check = {
  promise:
    'The source of a feed is fetched when it was set, asked for or accepted, and what was fetched is loaded as a whole (P40).',
  left: (world) => {
    const last = new Map(historyOf(world).map(({ stream, type }) => [stream, type]));
    const asked = FEEDS.find(({ id }) => ASKED.has(last.get(`feedsource-${id}`) ?? ''));
    return asked && `the source of feed ${asked.id} is not fetched`;
  },
  verify: (world) => {
    for (const [feedId, { ended }] of historiesOf(world))
      for (const { type, data, time } of streamOf(world, `feedsource-${feedId}`))
        if (type === 'SourceFetched' && data.importId !== undefined)
          require((ended.get(data.importId)?.time ?? Infinity) <= time, () =>
            `the source of feed ${feedId} is fetched, but its load ${data.importId ?? ''} has not ended`);
  },
};

export const PRODUCTS = [loaded, fetched, readModels] as const;
