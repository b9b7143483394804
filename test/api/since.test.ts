import { BEHIND } from '../../src/services/products/download/joined-facts';
import { type Response, TestApp } from '../support/app';
import { connectedBy, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, type FoundProduct, outcome, product } from './posted';
import { parse } from './xml-elements';

describe('what has changed since (decisions P28, X51)', () => {
  const feeds = Array.from({ length: 20 }, (_, at) => {
    return { id: 30_001 + at, programIds: [101], name: `Feed ${at}`, language: 'de' };
  });
  const WITH_FEEDS = { ...NETWORK, feeds: [...NETWORK.feeds, ...feeds] };

  let now = Date.parse('2026-05-01T12:00:00Z');
  let app: TestApp;
  /** Of the test. */
  let feed = 30_000;
  const { post } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: WITH_FEEDS, now: () => new Date(now) });
  });
  beforeEach(async () => {
    feed += 1;
    now += 10 * BEHIND;
    await app.import(WITH_FEEDS, { prune: true });
  });
  afterAll(() => app.close());

  const get = (keys = '', token: string = TOKENS.preisblick) =>
    app.get(`/1.0/productsUnlimited;fid=${feed}${keys}`, { token });

  interface Changes {
    readonly productHeader: { readonly totalHits: number };
    readonly products: readonly FoundProduct[];
    readonly removed?: readonly string[];
  }

  const idOf = ({ offers }: FoundProduct) => offers[0]!.sourceProductId;
  const nextOf = ({ headers }: Response) => String(headers['x-next-since']);
  const changesOf = (answer: Response) => {
    const { products, removed } = answer.json<Changes>();
    return { sent: products.map(idOf).sort(), removed: removed?.toSorted() };
  };

  it('is the products that changed and exist, and the ids of removed ones', async () => {
    await post(
      feed,
      ['a', 'b', 'c', 'd'].map((id) => product(id)),
    );
    const first = await get();
    expect(first.json<Changes>().removed).toBeUndefined();
    expect(nextOf(first)).toMatch(/^\d{19}-[\da-f]{12}$/);
    await post(feed, [product('a'), product('b', { price: 3 }), product('e')]);
    await app.delete(`/1.0/products;fid=${feed};spId=c`, { token: TOKENS.nord });
    await post(feed, [product('d', { categories: [{ name: 'mapped to nothing' }] })]);
    const second = await get(`;since=${nextOf(first)}`);
    expect(changesOf(second)).toEqual({ sent: ['b', 'e'], removed: ['c', 'd'] });
    expect(second.json<Changes>().productHeader.totalHits).toBe(3);
    expect(changesOf(await get(`;since=${nextOf(second)}`))).toEqual({ sent: [], removed: [] });
    // Without the zeros in front (decisions X146).
    expect(changesOf(await get(`;since=${nextOf(first).replace(/^0+/, '')}`))).toEqual(changesOf(second));
    const { children } = await parse((await get(`;since=${nextOf(first)};format=xml`)).body);
    expect(children.map(({ name }) => name)).toEqual(['productHeader', 'products', 'removed']);
    expect(children[2]!.children.map(({ name, text }) => [name, text]).sort()).toEqual([
      ['sourceProductId', 'c'],
      ['sourceProductId', 'd'],
    ]);
  });

  it('can be requested by date', async () => {
    await post(feed, [product('a'), product('b')]);
    now += 86_400_000;
    await post(feed, [product('b', { price: 3 })]);
    for (const since of [new Date(now).toISOString(), String(now), new Date(now).toISOString().slice(0, 10)])
      expect(changesOf(await get(`;since=${since}`))).toEqual({ sent: ['b'], removed: [] });
    now += BEHIND;
    // A copy of that time may have been behind by a minute (decisions X51).
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['b']);
    expect(changesOf(await get(`;since=${now + 1}`))).toEqual({ sent: [], removed: [] });
    expect(changesOf(await get(';since=0')).sent).toEqual(['a', 'b']);
  });

  it('is everything after a change of joined data', async () => {
    await post(feed, [product('a'), product('b')]);
    const next = nextOf(await get());
    await app.delete(`/1.0/products;fid=${feed};spId=b`, { token: TOKENS.nord });
    await post(feed, [product('hidden', { categories: [{ name: 'mapped to nothing' }] })]);
    const programs = WITH_FEEDS.programs.map((one) =>
      'id' in one && one.id === 101 ? { ...one, logoUrl: 'https://nord.example/new.png' } : one,
    );
    now += 1000;
    await app.import({ ...WITH_FEEDS, programs });
    const everything = { sent: ['a'], removed: ['b', 'hidden'] };
    expect(changesOf(await get(`;since=${next}`))).toEqual(everything);
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['a']);
  });

  it('is everything after a change of the caller’s site (decisions P28)', async () => {
    await post(feed, [product('a'), product('b')]);
    const token = TOKENS.preisblickAll;
    const next = nextOf(await get('', token));
    await app.import({ ...WITH_FEEDS, connections: connectedBy(1102) }, { prune: true });
    const answer = await get(`;since=${next}`, token);
    expect(changesOf(answer)).toEqual({ sent: ['a', 'b'], removed: [] });
    expect(answer.body).toContain('a(1102)p(101)');
  });

  it.each(['a site of the caller was removed', 'a token was issued'] as const)(
    'is everything by date after %s (decisions X51)',
    async (what) => {
      const connected = { ...WITH_FEEDS, connections: connectedBy(1101, 1102) };
      const isOther = (one: object) => !('siteId' in one && one.siteId === 1101);
      const token = { organisationId: 11, system: 'PRODUCTS', siteId: 1102, token: 'a'.repeat(40) };
      const changed = {
        'a site of the caller was removed': {
          sites: WITH_FEEDS.sites.slice(1),
          connections: connected.connections.filter(isOther),
          tokens: WITH_FEEDS.tokens.filter(isOther),
        },
        'a token was issued': { tokens: [...WITH_FEEDS.tokens, token] },
      }[what];
      await app.import(connected, { prune: true });
      await post(feed, [product('a')]);
      now += 10 * BEHIND;
      const since = `;since=${now}`;
      expect(changesOf(await get(since, TOKENS.preisblickAll))).toEqual({ sent: [], removed: [] });
      await app.import({ ...connected, ...changed }, { prune: true });
      expect(changesOf(await get(since, TOKENS.preisblickAll))).toEqual({ sent: ['a'], removed: [] });
    },
  );

  it('is everything for a position of another log (decisions X51)', async () => {
    await post(feed, [product('a'), product('b')]);
    await app.delete(`/1.0/products;fid=${feed};spId=b`, { token: TOKENS.nord });
    const [, facts = ''] = nextOf(await get()).split('-');
    const there = `${'9'.repeat(19)}-${facts}`;
    expect(changesOf(await get(`;since=${there}`))).toEqual({ sent: ['a'], removed: ['b'] });
  });

  it('is exact for any number of changes (decisions X51)', async () => {
    const ids = Array.from({ length: 1_500 }, (_, at) => `p${String(at).padStart(4, '0')}`);
    await post(feed, [product('untouched'), ...ids.map((id) => product(id))]);
    await app.settled();
    const next = nextOf(await get());
    await post(
      feed,
      ids.map((id) => product(id, { price: 3 })),
    );
    await post(feed, [product('untouched'), product(ids[0]!)], { keys: ';mode=replace' });
    await app.settled();
    expect(changesOf(await get(`;since=${next}`))).toEqual({ sent: [ids[0]], removed: ids.slice(1) });
  });

  it('is the products of renamed categories, and everything after changes of more than 1,000 categories (decisions X51)', async () => {
    await post(feed, [product('renamed', { categories: [{ id: '21' }] }), product('untouched')]);
    const first = nextOf(await get());
    now += 2 * BEHIND;
    const added = Array.from({ length: 1_000 }, (_, at) => {
      return { id: String(5_000 + at), parentId: null, names: { en: `Added ${at}` } };
    });
    const categories = WITH_FEEDS.categories.map((one) =>
      one.id === '21' ? { ...one, names: { en: 'Luminaires' } } : one,
    );
    await app.import({ ...WITH_FEEDS, categories: [...categories, ...added.slice(1)] });
    await app.settled();
    expect(changesOf(await get(`;since=${first}`))).toEqual({ sent: ['renamed'], removed: [] });
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['renamed']);
    await app.import({ ...WITH_FEEDS, categories: [...categories, ...added] });
    await app.settled();
    expect(changesOf(await get(`;since=${first}`)).sent).toEqual(['renamed', 'untouched']);
  });

  it('is empty by date after a mapping that a copy of that date includes, until the next load (decisions P18, X51)', async () => {
    await post(feed, [product('mapped', { categories: [{ name: 'Gadgets' }] }), product('a')]);
    now += 10 * BEHIND;
    const mappings = [...WITH_FEEDS.mappings, { feedId: feed, name: 'Gadgets', categoryId: '12' }];
    await app.import({ ...WITH_FEEDS, mappings });
    await app.settled();
    expect(changesOf(await get(`;since=${now}`))).toEqual({ sent: ['mapped'], removed: [] });
    now += 2 * BEHIND;
    expect(changesOf(await get(`;since=${now}`))).toEqual({ sent: [], removed: [] });
    await post(feed, [product('a', { price: 3 })]);
    expect(changesOf(await get(`;since=${now}`)).sent).toContain('a');
  });

  it('has line breaks with pretty=true, and the same data', async () => {
    await post(feed, [product('a'), product('b')]);
    const next = nextOf(await get());
    await app.delete(`/1.0/products;fid=${feed};spId=b`, { token: TOKENS.nord });
    const pretty = await get(`;since=${next};pretty=true`);
    expect(pretty.body).toContain('],\n  "removed": [\n    "b"\n  ]\n}');
    expect(pretty.json()).toEqual((await get(`;since=${next}`)).json());
    const xml = await get(`;since=${next};pretty=true;format=xml`);
    expect(xml.body).toContain('\n  <removed>\n    <sourceProductId>b</sourceProductId>\n  </removed>\n');
    expect(await parse(xml.body)).toEqual(await parse((await get(`;since=${next};format=xml`)).body));
  });

  it('does not count as a download if empty (decisions P18)', async () => {
    await post(feed, [product('a')]);
    const next = nextOf(await get());
    now += 6 * 86_400_000;
    for (let time = 0; time < 8; time += 1) expect(outcome(await get(`;since=${next}`))).toBe('200');
    expect([outcome(await get()), outcome(await get()), outcome(await get()), outcome(await get())]).toEqual([
      ...['200', '200', '200'],
      '429 429',
    ]);
  });

  it('is refused in CSV, by pages, and for malformed dates', async () => {
    for (const keys of [
      ';since=0;format=csv',
      ';since=0;page=1',
      ';since=0;pageSize=5',
      ';since=yesterday',
      ';since=2026-05-01T12:00',
      ';since=0000000000000000001-xyz',
    ])
      expect([keys, outcome(await get(keys))]).toEqual([keys, '400 PF_430']);
  });
});

describe('Paging by cursor (decisions P28, X53)', () => {
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
