import { PROJECTIONS } from '../../projections';
import { rebuild } from '../../projections/rebuild';
import { OVER_SERVERS } from '../support/engines';
import { type RealFeed, testRealProducts } from '../support/real-products';
import { clientOf } from './posted';
import { expectAnswers, knownOffers, SEARCHES, SEED } from './searches';
import { appWith, twoFeeds } from './two-feeds';

/** Over servers every third product has to do: `test/servers/same-answers.test.ts` compares answers over all of them. */
function thirdOf(feed: RealFeed): RealFeed {
  return { ...feed, products: feed.products.filter((_, at) => at % 3 === 0) };
}

testRealProducts(
  `${SEARCHES} random searches of real products answer what looking at every product gives, order included, and so they do after a rebuild (decisions P3 to P8; SEARCH_SEED=${SEED})`,
  async (real) => {
    const feeds = twoFeeds(OVER_SERVERS ? [thirdOf(real[0]), thirdOf(real[1])] : real);
    const app = await appWith(feeds);
    const { search } = clientOf(() => app);
    const known = await knownOffers(feeds.posted, feeds.searched.network, search);
    const answered: [...Parameters<typeof search>, string][] = [];
    const noting: typeof search = async (...asked) => {
      const found = await search(...asked);
      answered.push([...asked, JSON.stringify(found)]);
      return found;
    };
    const found = await expectAnswers(noting, known, feeds.searched);
    expect(found).toBeGreaterThan(SEARCHES / 3);

    const { log, store } = app.engines;
    await rebuild(log, store, PROJECTIONS, { owner: 'test', code: 'test' });
    for (const [keys, by, before] of answered)
      expect([keys, JSON.stringify(await search(keys, by))]).toEqual([keys, before]);
    await app.close();
  },
);
