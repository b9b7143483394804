import { TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';

const { german, secret } = FEEDS;
const COUNT = 10_300;

let app: TestApp;
const { post } = clientOf(() => app);
const token = TOKENS.nord;

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  const products = Array.from({ length: COUNT }, (_, at) =>
    product(`p${at}`, {
      price: (at * 7) % 100,
      name: at % 3 === 0 ? 'red lamp' : at % 3 === 1 ? 'lamp' : 'red red lamp shade',
      identifiers: { ean: String(4_000_001 + (at % 2_000)) },
    }),
  );
  for (let from = 0; from < COUNT; from += 1_000) await post(secret, products.slice(from, from + 1_000));
  await app.settled();
});
afterAll(() => app.close());

interface Page {
  readonly ids: readonly string[];
  readonly totalHits: number;
  readonly nextCursor?: string;
}

async function page(keys: string): Promise<Page> {
  const answer = await app.get(`/1.0/products;fid=${secret}${keys}`, { token });
  expect(answer.statusCode).toBe(200);
  const { productHeader, products } = answer.json<{
    productHeader: { totalHits: number; nextCursor?: string };
    products: readonly { offers: readonly { id: string }[] }[];
  }>();
  expect(answer.headers['x-next-cursor']).toBe(productHeader.nextCursor);
  return { ...productHeader, ids: products.map(({ offers }) => offers.map(({ id }) => id).join()) };
}

async function pages(keys: string): Promise<readonly Page[]> {
  const all: Page[] = [];
  for (let cursor: string | undefined = '*'; cursor !== undefined;) {
    const next: Page = await page(`${keys};cursor=${cursor}`);
    all.push(next);
    cursor = next.nextCursor;
  }
  return all;
}

describe('Paging by cursor (decisions P28, X53)', () => {
  it.each([
    ['', COUNT],
    [';orderBy=priceAsc', COUNT],
    [';orderBy=priceDesc', COUNT],
    [';q=red,shade', COUNT - Math.floor(COUNT / 3)],
    [';groupOffersByProduct=true;orderBy=priceAsc', 2_000],
    [';groupOffersByProduct=true;q=red', 2_000],
  ])('by cursor the search "%s" is gone through to its end, each of %d found once', async (keys, total) => {
    const all = await pages(`${keys};pageSize=1000`);
    const ids = all.flatMap((one) => one.ids);
    expect(all.map(({ totalHits }) => totalHits)).toEqual(all.map(() => total));
    expect(ids).toHaveLength(total);
    expect(new Set(ids).size).toBe(total);
    // As far as pages by number go, they are the same.
    const numbered = await page(`${keys};pageSize=1000`);
    expect(ids.slice(0, 1000)).toEqual(numbered.ids);
    expect(numbered.nextCursor).toBeUndefined();
  });

  it('has pages of 100 by default, of at most 1000 (decisions P3, P28)', async () => {
    const { ids, nextCursor } = await page(';cursor=*');
    expect(ids).toHaveLength(100);
    expect(
      (await page(`;cursor=${nextCursor ?? ''};pageSize=5000;dateOutputFormat=iso8601`)).ids,
    ).toHaveLength(1000);
  });

  it('returns the cursor in XML and CSV too', async () => {
    const { nextCursor = '' } = await page(';cursor=*');
    const xml = await app.get(`/1.0/products.xml;fid=${secret};cursor=*`, { token });
    expect(xml.body).toContain(
      `<productHeader><totalHits>${COUNT}</totalHits><nextCursor>${nextCursor}</nextCursor></productHeader>`,
    );
    const csv = await app.get(`/1.0/products.csv;fid=${secret};cursor=${nextCursor}`, { token });
    expect(csv.headers['x-next-cursor']).toBe((await page(`;cursor=${nextCursor}`)).nextCursor);
  });

  it.each([
    ['nonsense', ';cursor=nonsense'],
    ['one that is too long', `;cursor=${'x'.repeat(5_000)}`],
    ['one that was made up', `;cursor=${Buffer.from('["a","b"]').toString('base64url')}`],
    ['a page beside it', ';cursor=*;page=2'],
    ['a limit beside it', ';cursor=*;limit=5'],
    ['columns of custom fields beside it', ';cursor=*;csvFlattenFields=true'],
  ])('by cursor refuses %s', async (_, keys) => {
    const answer = await app.get(`/1.0/products;fid=${secret}${keys}`, { token });
    expect(outcome(answer)).toBe('400 PF_430');
    expect(answer.body).toMatch(/"message":"(cursor|page|limit|csvFlattenFields)=/);
  });

  it.each([
    `;fid=${secret};orderBy=priceAsc`,
    `;fid=${secret};q=red`,
    `;fid=${secret};groupOffersByProduct=true`,
    `;fid=${secret},${german}`,
  ])('by cursor refuses one that was made for another search than %s', async (keys) => {
    const { nextCursor = '' } = await page(';cursor=*');
    const answer = await app.get(`/1.0/products${keys};cursor=${nextCursor}`, { token });
    expect(outcome(answer)).toBe('400 PF_430');
    expect(answer.body).toMatch(/"message":"cursor=.*other keys or in another order/);
  });
});
