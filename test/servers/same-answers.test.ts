import { generateProducts } from '../../bench/generate';
import { TestApp } from '../support/app';
import { type TestedEngines } from '../support/engines';
import { REAL_PRODUCTS, type RealFeed, realFeeds } from '../support/real-products';
import { appWithClaims, randomClaimListings } from '../api/claim-listings';
import { CLAIM_NETWORK, CLAIM_TOKENS, type ClaimClient } from '../api/claim-network';
import { TOKENS } from '../api/network';
import { randomSearches, SEARCHES, SEED } from '../api/searches';
import { appWith, twoFeeds } from '../api/two-feeds';
import { appWithVouchers, randomListings } from '../api/voucher-listings';
import { NOW, VOUCHER_NETWORK, VOUCHER_TOKENS } from '../api/voucher-network';

const ENGINES = [
  { log: 'sqlite', store: 'sqlite' },
  { log: 'eventstoredb', store: 'elasticsearch' },
] as const satisfies readonly TestedEngines[];
const FORMATS = ['json', 'xml'] as const;

function generatedFeeds(): readonly [RealFeed, RealFeed] {
  process.stderr.write(`over generated products, since there is no ${REAL_PRODUCTS}\n`);
  return [
    { currency: 'EUR', language: 'en', products: [...generateProducts({ count: 800 })] },
    { currency: 'SEK', language: 'sv', products: [...generateProducts({ count: 800, seed: 2 })] },
  ];
}

/** Requests all targets from both, alternating between JSON and XML. */
async function expectAlike(
  apps: readonly TestApp[],
  asked: readonly { readonly path: string; readonly keys: string; readonly token: string }[],
): Promise<void> {
  for (const [at, { path, keys, token }] of asked.entries()) {
    const target = `${path}.${FORMATS[at % 2] ?? ''}${keys}`;
    const [here, there] = await Promise.all(apps.map((app) => app.get(target, { token })));
    expect([target, there?.statusCode, there?.body]).toEqual([target, 200, here?.body]);
  }
}

describe(`A SQLite, and an EventStoreDB with an Elasticsearch, with the same data (SEARCH_SEED=${SEED})`, () => {
  const apps: TestApp[] = [];
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });

  test(`answer ${SEARCHES} random searches with identical bytes (decisions P3 to P8)`, async () => {
    const feeds = twoFeeds(realFeeds() ?? generatedFeeds());
    for (const engines of ENGINES) apps.push(await appWith(feeds, { engines }));
    const searches = randomSearches(feeds.searched);
    await expectAlike(
      apps,
      searches.map(({ keys, by }) => ({ path: '/1.0/products', keys, token: TOKENS[by] })),
    );
  });

  test(`answer ${SEARCHES} random listings with identical bytes (decisions V3 to V12)`, async () => {
    // Vouchers posted in parallel get their ids in any order, so the second application has the first one's events.
    const { app } = await appWithVouchers(SEED, { engines: ENGINES[0] });
    apps.push(app);
    const now = (): Date => new Date(NOW);
    const copyOf = app.engines.log;
    apps.push(await TestApp.start({ network: VOUCHER_NETWORK, now, engines: ENGINES[1], copyOf }));
    await apps[1]?.settled();
    const listings = randomListings(SEARCHES, SEED);
    await expectAlike(
      apps,
      listings.map(({ target, client }) => ({
        path: '/1.0/vouchers',
        keys: target,
        token: VOUCHER_TOKENS[client],
      })),
    );
  });

  test(`answer ${SEARCHES} random lists of claims with identical bytes (decisions C8)`, async () => {
    const { app } = await appWithClaims(SEED, { engines: ENGINES[0] });
    apps.push(app);
    const now = (): Date => new Date(NOW);
    const copyOf = app.engines.log;
    apps.push(await TestApp.start({ network: CLAIM_NETWORK, now, engines: ENGINES[1], copyOf }));
    await apps[1]?.settled();
    const clients = Object.keys(CLAIM_TOKENS) as readonly ClaimClient[];
    const listings = randomClaimListings(SEARCHES, SEED, clients);
    const asked = listings.map(({ target, client }) => ({ keys: target, token: CLAIM_TOKENS[client] }));
    for (const [at, { keys, token }] of asked.entries()) {
      const target = `/1.0/claims${keys}`;
      const headers = { accept: FORMATS[at % 2] === 'xml' ? 'application/xml' : 'application/json' };
      const [here, there] = await Promise.all(apps.map((one) => one.get(target, { token, headers })));
      expect([target, there?.statusCode, there?.body]).toEqual([target, 200, here?.body]);
    }
  });
});
