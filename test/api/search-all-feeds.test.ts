import { TestApp } from '../support/app';
import { CLIENTS, type Client, FEEDS, NETWORK, TOKENS, VISIBLE } from './network';
import { clientOf, outcome, product } from './posted';

/** A product of each feed, with the name of the feed as its id. */
async function startWith(settings: Readonly<Record<string, string>>): Promise<TestApp> {
  const app = await TestApp.start({ network: NETWORK, settings });
  const { post } = clientOf(() => app);
  for (const [name, fid] of Object.entries(FEEDS))
    await post(fid, [product(name)], { by: name === 'italian' ? 'casa' : 'nord' });
  await app.settled();
  return app;
}

let app: TestApp;
const { search } = clientOf(() => app);

const paths = ['products', 'products.xml', 'products.csv', 'products;fid='];

describe('a search without fid', () => {
  afterEach(() => app.close());

  it('is refused by default: PF_200 (Document 1, Search products; decisions X13)', async () => {
    app = await startWith({});
    for (const path of ['products', 'products;q=x', 'products;fid=', 'products;format=csv']) {
      const answer = await app.get(`/1.0/${path}`, { token: TOKENS.preisblick });
      expect([path, outcome(answer)]).toEqual([path, '400 PF_200']);
      expect(answer.body).toContain('fid is missing');
    }
  });

  it('covers all feeds of the caller with SEARCH_ALL_FEEDS=true, and no other (decisions X13)', async () => {
    app = await startWith({ SEARCH_ALL_FEEDS: 'true' });
    const idsFor = async (client: Client, keys = ''): Promise<readonly string[]> =>
      (await search(keys, client)).ids.toSorted();
    for (const client of CLIENTS)
      expect([client, await idsFor(client)]).toEqual([client, VISIBLE[client].toSorted()]);
    expect(await idsFor('preisblick', ';currency=SEK')).toEqual(['shared']);
    expect(await idsFor('preisblick', ';language=it')).toEqual(['italian']);
    expect(await idsFor('preisblick', ';groupOffersByProduct=true')).toEqual(VISIBLE.preisblick.toSorted());
    expect(await idsFor('preisblick', `;fid=${FEEDS.german}`)).toEqual(['german']);
    for (const path of paths) {
      const { statusCode, body } = await app.get(`/1.0/${path}`, { token: TOKENS.preisblick });
      expect([path, statusCode]).toEqual([path, 200]);
      for (const name of VISIBLE.preisblick) expect(body).toContain(`Product ${name}`);
    }
    const foreign = await app.get(`/1.0/products;fid=${FEEDS.swedish}`, { token: TOKENS.preisblick });
    expect(outcome(foreign)).toBe('400 PF_392');
    const download = await app.get('/1.0/productsUnlimited', { token: TOKENS.preisblick });
    expect(outcome(download)).toBe('400 PF_200');
  });

  it('is paged by cursor like any other (decisions P28, X13)', async () => {
    app = await startWith({ SEARCH_ALL_FEEDS: 'true' });
    const found: string[] = [];
    for (let cursor = '*'; cursor !== '';) {
      const answer = await app.get(`/1.0/products;pageSize=3;cursor=${encodeURIComponent(cursor)}`, {
        token: TOKENS.nord,
      });
      const { productHeader, products } = answer.json<{
        productHeader: { nextCursor?: string };
        products: readonly { offers: readonly { sourceProductId: string }[] }[];
      }>();
      found.push(...products.flatMap(({ offers }) => offers.map(({ sourceProductId }) => sourceProductId)));
      cursor = productHeader.nextCursor ?? '';
    }
    expect(found.toSorted()).toEqual(VISIBLE.nord.toSorted());
  });
});
