import { FeedRefusals } from '../../../src/domain/products/feed';
import { loadHistory, undoLoad } from '../../../src/operations/undo-load';
import { type LoadCommand, ProductCommands } from '../../../src/services/products/commands';
import { feedLeases, FingerprintCache } from '../../../src/services/products/load/fingerprint-cache';
import { type Restored } from '../../../src/services/products/load/restore';
import { type ProductLoader } from '../../../src/services/products/load/load-feed';
import { Loader, type LoadedFeed, type LoadResult } from '../../../src/services/products/load/loader';
import { type Posted, type Step } from '../../support/feed-model';
import { type Clients, type Command } from '../clients';
import { type ApiParts } from '../host';
import { type Random } from '../random';
import { BRANDS, POSTED_ID, POSTED_NAME } from './categories';
import { type Feed, FEEDS } from './network-file';

/** What loads of a process have in common, by its parts. */
const made = new WeakMap<ApiParts, { readonly loader: Loader }>();

export function shared(parts: ApiParts): { readonly loader: Loader } {
  const known = made.get(parts) ?? { loader: loaderOf(parts) };
  made.set(parts, known);
  return known;
}

function loaderOf({ clock, engines: { log, leases }, follower }: ApiParts): Loader {
  const { directory } = follower;
  const fingerprints = new FingerprintCache(clock, log, undefined, {
    feedLock: feedLeases(clock, leases),
    currencyAt: (feedId) => (position) => directory.currencies.ofFeed(feedId, position),
  });
  return new Loader({
    ...{ clock, log, fingerprints, directory },
    // Bodies are small: nothing is spooled.
    spoolFolder: '/nowhere',
    reached: (position) => follower.reachedInTime(position),
  });
}

type Open = Parameters<Loader['open']>[0];

/** A loader that tells the ids of loads, also of those that are not answered. */
export function noting(loader: Loader, begun: (loadId: string, request: Open) => void): ProductLoader {
  const open = async (request: Open): Promise<string> => {
    const id = await loader.open(request);
    begun(id, request);
    return id;
  };
  return Object.assign(Object.create(loader) as Loader, { open });
}

const commands = (parts: ApiParts) => {
  const { clock, engines, follower, readModels } = parts;
  const { loader } = shared(parts);
  const refusals = new FeedRefusals(clock, engines.log);
  const load = (command: LoadCommand, begun: (loadId: string) => void): Promise<LoadResult> =>
    new ProductCommands(noting(loader, begun), refusals, follower, readModels).load(command);
  /** As an operator does it, in a process of its own. */
  const restore = async (feedId: number, loadId: string): Promise<Restored> => {
    const history = await loadHistory(clock, engines, { feedId, loadId });
    const { signal } = new AbortController();
    return undoLoad(engines, { feedId, loadId }, history, { clock, dataDir: undefined, signal });
  };
  return { load, products: new ProductCommands(loader, refusals, follower, readModels), restore };
};

type Mode = Extract<Step, { readonly kind: 'post' }>['mode'];

export const IDS = ['a', 'b', 'c', 'd', 'e', 'f'] as const;

/** What products of a brand say of their stock; those of others say nothing. */
export const STOCK: Readonly<Record<string, number>> = { X: 0, Y: 3 };

/** No other post has it; as likely higher as lower than that of another one (hundredths). */
const priceOf = (number: number, at: number): number => 10 * ((number * 619) % 1_009) + at + 1;

/** As it is posted: without a brand it lacks its name. */
function productOf({ id, price, brand }: Posted) {
  return {
    sourceProductId: id,
    ...(brand === undefined ? {} : { name: `${brand} ${id}`, brand }),
    // Words that differ by a letter.
    description: `The ${'bd'.includes(id) ? 'produce' : 'product'} ${id}.`,
    productUrl: `https://shop.example/${id}`,
    productImage: { url: 'https://img.example/1.jpg' },
    price,
    ...(STOCK[brand ?? ''] === undefined ? {} : { inStock: STOCK[brand ?? ''] }),
    categories: [
      {
        name: brand ?? 'none',
        ...(id === POSTED_ID.of ? { id: POSTED_ID.id } : {}),
        ...(id === POSTED_NAME.of ? { tdCategoryName: POSTED_NAME.name } : {}),
      },
    ],
    ean: `400000000000${IDS.findIndex((one) => one === id) % 4}`,
  };
}

interface Load {
  readonly feed: Feed;
  readonly mode: Mode;
  readonly posted: readonly Posted[];
  /** The ids that processes have given to it: one for each attempt. */
  readonly loads: string[];
}

export const bodyOf = (posted: readonly Posted[]): Buffer =>
  Buffer.from(JSON.stringify({ products: posted.map(productOf) }));

/** Up to five products, some as they were before. `number`: no other load has it. */
export function drawnProducts(random: Random, clients: Clients, number: number): readonly Posted[] {
  const before = clients.of(loadFeed).flatMap(({ what }) => what.posted);
  return Array.from({ length: random.below(6) }, (_, at): Posted => {
    if (before.length > 0 && random.chance(0.3)) return random.pick(before);
    const brand = random.chance(0.1) ? undefined : random.pick(BRANDS);
    return { id: random.pick(IDS), price: priceOf(number, at) / 100, brand };
  });
}

export const loadFeed: Command<Load, LoadResult> = {
  name: 'load feed',
  weight: 8,
  draw: (random, clients, number) => {
    const posted = drawnProducts(random, clients, number);
    const mode = random.chance(0.3) ? ';mode=replace' : '';
    return { feed: random.pick(FEEDS), mode, posted, loads: [] };
  },
  run: (api, { feed, mode, posted, loads }) => {
    const body = bodyOf(posted);
    const half = Math.floor(body.length / 2);
    const parts = [body.subarray(0, half), body.subarray(half)];
    const chunks = async function* () {
      yield* parts;
    };
    const command = {
      ...{ feedId: feed.id, caller: ownerOf(feed) },
      mode: mode === '' ? ('update' as const) : ('replace' as const),
      format: () => 'json' as const,
      body: { chunks },
    };
    return api.of(commands).load(command, (loadId) => loads.push(loadId));
  },
};

export const deleteProducts: Command<
  { readonly feed: Feed; readonly ids: readonly string[] | 'all' },
  LoadedFeed
> = {
  name: 'delete products',
  weight: 2,
  draw: (random) => ({
    feed: random.pick(FEEDS),
    ids: random.chance(0.2) ? 'all' : IDS.filter(() => random.chance(0.3)).concat('a'),
  }),
  run: (api, { feed, ids }) => api.of(commands).products.delete(feed.id, ownerOf(feed), ids),
};

export const restoreFeed: Command<{ readonly feed: Feed; readonly loadId: string }, Restored> = {
  name: 'restore feed',
  weight: 1.5,
  draw: (random, clients) => {
    const ended = [...clients.done(loadFeed), ...clients.done(deleteProducts)].flatMap(
      ({ what: { feed }, result: { loadId } }) => (loadId === undefined ? [] : { feed, loadId }),
    );
    return ended.length === 0 ? undefined : random.pick(ended);
  },
  run: (api, { feed, loadId }) => api.of(commands).restore(feed.id, loadId),
};

function ownerOf({ organisationId }: Feed) {
  return { organisationId, kind: 'advertiser', system: 'PRODUCTS', tokenHash: '' } as const;
}
