import fc from 'fast-check';
import { TestApp } from '../support/app';
import { testRealProducts } from '../support/real-products';
import { FEEDS, NETWORK } from './network';
import { clientOf } from './posted';
import { expectAnswers, knownOffers, SEARCHES, SEED } from './searches';

const DAYS = [1, 2, 3].map((day) => Date.UTC(2026, 2, day));
/** The names of categories that are mapped: the most used ones. */
const MAPPED = 12;

testRealProducts(
  `${SEARCHES} random searches of real products answer what looking at every product gives, order included (decisions P3 to P8; SEARCH_SEED=${SEED})`,
  async ([first, second]) => {
    const feeds = [
      { ...first, id: FEEDS.german },
      { ...second, id: FEEDS.swedish },
    ];
    const posted = feeds.flatMap(({ id: feedId, products }) =>
      products.map((product, at) => ({ feedId, product, modified: DAYS[at % DAYS.length]! })),
    );
    const products = posted.map(({ product }) => product);
    const defined = {
      ...NETWORK,
      feeds: NETWORK.feeds.map((feed) => ({
        ...feed,
        ...languageOf(feeds.find(({ id }) => id === feed.id)),
      })),
      mappings: mostUsed(
        products.flatMap(({ categories }) => categories.map(({ name = '' }) => name)),
      ).flatMap((name, at) =>
        feeds.map(({ id }) => ({
          feedId: id,
          name,
          categoryId: NETWORK.categories[at % NETWORK.categories.length]!.id,
        })),
      ),
    };
    const network = {
      ...defined,
      feeds: feeds.map(({ id, currency, language }) => ({ id, currency, language })),
    };
    let now = new Date(DAYS[0]!);
    const app = await TestApp.start({ network: defined, now: () => now });
    const { post, search } = clientOf(() => app);
    for (const day of DAYS) {
      now = new Date(day);
      for (const { id } of feeds) {
        const some = posted.filter(({ feedId, modified }) => feedId === id && modified === day);
        expect(
          (
            await post(
              id,
              some.map(({ product }) => product),
            )
          ).body,
        ).toBe('{"errors":[]}');
      }
    }
    await app.settled();
    const found = await expectAnswers(search, await knownOffers(posted, network, search), {
      products,
      network,
      days: DAYS,
      words: fc.constantFrom('LAPTOP', 'wireless hp', '*', 'Cable', 'for iPhone'),
      prices: [...mostUsed(products.map(({ price }) => price)), 0, 24.995, 1000],
    });
    await app.close();
    expect(found).toBeGreaterThan(SEARCHES / 3);
  },
);

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
