import fc from 'fast-check';
import { type KnownOffer } from '../support/oracle-search';
import { type RealFeed } from '../support/real-products';
import { TestApp, type TestAppOptions } from '../support/app';
import { FEEDS, NETWORK } from './network';
import { clientOf } from './posted';
import { type Searched } from './searches';

const DAYS = [1, 2, 3].map((day) => Date.UTC(2026, 2, day));
/** The names of categories that are mapped: the most used ones. */
const MAPPED = 12;

/** Two feeds in a network where the most used categories are mapped, and what to search them for. */
export interface TwoFeeds {
  readonly network: object;
  readonly posted: readonly Omit<KnownOffer, 'id' | 'categories'>[];
  readonly searched: Searched;
}

export function twoFeeds([first, second]: readonly [RealFeed, RealFeed]): TwoFeeds {
  const feeds = [
    { ...first, id: FEEDS.german },
    { ...second, id: FEEDS.swedish },
  ];
  const posted = feeds.flatMap(({ id: feedId, products }) =>
    products.map((product, at) => ({ feedId, product, modified: DAYS[at % DAYS.length]! })),
  );
  const products = posted.map(({ product }) => product);
  const network = {
    ...NETWORK,
    feeds: NETWORK.feeds.map((feed) => ({
      ...feed,
      ...languageOf(feeds.find(({ id }) => id === feed.id)),
    })),
    mappings: mostUsed(products.flatMap(({ categories }) => categories.map(({ name = '' }) => name))).flatMap(
      (name, at) =>
        feeds.map(({ id }) => ({
          feedId: id,
          name,
          categoryId: NETWORK.categories[at % NETWORK.categories.length]!.id,
        })),
    ),
  };
  const known = feeds.map(({ id, currency, language }) => ({ id, currency, language }));
  return {
    network,
    posted,
    searched: {
      products,
      network: { ...network, feeds: known },
      days: DAYS,
      words: fc.constantFrom('LAPTOP', 'wireless hp', '*', 'Cable', 'for iPhone'),
      prices: [...mostUsed(products.map(({ price }) => price)), 0, 24.995, 1000],
    },
  };
}

/** An application with the feeds in it, posted on three days. */
export async function appWith(
  { network, posted }: TwoFeeds,
  options: Pick<TestAppOptions, 'engines'> = {},
): Promise<TestApp> {
  let now = new Date(DAYS[0]!);
  const app = await TestApp.start({ network, now: () => now, ...options });
  const { post } = clientOf(() => app);
  for (const day of DAYS) {
    now = new Date(day);
    for (const id of [FEEDS.german, FEEDS.swedish]) {
      const some = posted.filter(({ feedId, modified }) => feedId === id && modified === day);
      const products = some.map(({ product }) => product);
      expect((await post(id, products)).body).toBe('{"errors":[]}');
    }
    await app.settled();
  }
  return app;
}

function languageOf(feed: { readonly language: string } | undefined): { readonly language?: string } {
  return feed === undefined ? {} : { language: feed.language };
}

function mostUsed<Value>(values: readonly Value[]): Value[] {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAPPED)
    .map(([value]) => value);
}
