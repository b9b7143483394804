import { setImmediate as turn } from 'node:timers/promises';
import { importNetwork } from '../../src/operations/import-network';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { type Client, CLIENTS, FEEDS, NETWORK, TOKENS, VISIBLE } from './network';
import { clientOf, outcome, product } from './posted';

const { german, swedish, shared, italian } = FEEDS;
const OWNERS = ['nord', 'casa'] as const;
const NAMES = Object.keys(FEEDS) as readonly (keyof typeof FEEDS)[];

let app: TestApp;
const { post, search } = clientOf(() => app);
const remove = (fid: number, keys: string) =>
  app.delete(`/1.0/products;fid=${fid}${keys}`, { token: TOKENS.nord });

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  for (const by of OWNERS) {
    for (const name of VISIBLE[by]) await post(FEEDS[name], [product(`of ${name}`)], { by });
  }
});
afterAll(() => app.close());

const ofFeed = (name: string) => ({ keys: `;spId=of+${name}`, id: `of ${name}` });

describe('a product can be read and written only by callers of its feed (Document 1, Authentication 5; decisions P22)', () => {
  const pairs = CLIENTS.flatMap((client) => NAMES.map((name) => [client, name] as const));
  const isOwner = (client: Client) => client === 'nord' || client === 'casa';

  it.each(pairs)('%s, feed %s', async (client, name) => {
    const fid = FEEDS[name];
    const token = TOKENS[client];
    const isVisible = VISIBLE[client].includes(name);
    const isOwn = isOwner(client) && isVisible;
    const refusal = isOwner(client) ? '400 PF_392' : '400 PF_300';

    for (const format of ['', '.json']) {
      const read = await app.get(`/1.0/products${format};fid=${fid}`, { token });
      expect(outcome(read)).toBe(isVisible ? '200' : '400 PF_392');
      expect(read.body.includes(`of ${name}`)).toBe(isVisible);
    }
    const asXml = await app.get(`/1.0/products.xml;fid=${fid}`, { token });
    expect(asXml.body.includes(`of ${name}`)).toBe(isVisible);
    const download = await app.get(`/1.0/productsUnlimited;fid=${fid}`, { token });
    expect(outcome(download)).toBe(isVisible ? '200' : '400 PF_392');
    expect(download.body.includes(`of ${name}`)).toBe(isVisible);
    if (isOwn) return;
    const body = JSON.stringify({ products: [product(`of ${name}`, { name: 'Stolen' }), product('more')] });
    for (const mode of ['', ';mode=replace']) {
      expect(outcome(await app.post(`/1.0/products;fid=${fid}${mode}`, { token, body }))).toBe(refusal);
    }
    for (const which of [ofFeed(name).keys, ';deleteAll=true']) {
      expect(outcome(await app.delete(`/1.0/products;fid=${fid}${which}`, { token }))).toBe(refusal);
    }
    const [owner] = OWNERS.filter((by) => VISIBLE[by].includes(name));
    const { products, ids } = await search(`;fid=${fid}`, owner);
    expect([ids, products[0]?.name]).toEqual([[ofFeed(name).id], `Product of ${name}`]);
  });

  it.each(CLIENTS.filter((client) => client !== 'lonely'))(
    '%s finds no other product with any key',
    async (client) => {
      const fids = VISIBLE[client].map((name) => FEEDS[name]).join(',');
      const { products } = await search(`;fid=${fids}`, client);
      const all = NAMES.map((name) => ofFeed(name).id.replace(' ', '%20')).join(',');
      const { ids } = await search(`;fid=${fids};spId=${all}`, client);
      expect(ids.toSorted()).toEqual(VISIBLE[client].map((name) => `of ${name}`).toSorted());
      expect(products).toHaveLength(VISIBLE[client].length);
    },
  );

  it('an offer of another caller is not found by its id', async () => {
    const tdId = (await search(`;fid=${german}`, 'nord')).products[0]?.offers[0]?.id ?? '';
    expect((await search(`;fid=${german};tdId=${tdId}`, 'nord')).totalHits).toBe(1);
    expect((await search(`;fid=${italian};tdId=${tdId}`, 'casa')).totalHits).toBe(0);
  });
});

describe('a tracker link (decisions P12, P26)', () => {
  const linkOf = async (fid: number, by: Client) =>
    (await search(`;fid=${fid}`, by)).products[0]?.offers[0]?.productUrl.replace(/product.*/, '');

  it.each([
    ['the site of the token', german, 'preisblick', 'a(1101)p(101)'],
    [
      'the site of the token, for a program of several that is connected to it',
      shared,
      'preisblick',
      'a(1101)p(101)',
    ],
    [
      'without a site, the one of lowest id that is connected to the program',
      german,
      'deals',
      'a(1202)p(101)',
    ],
    ['without a site, another one for another program', swedish, 'deals', 'a(1201)p(102)'],
    ['of several programs, the first that the caller is connected to', shared, 'deals', 'a(1201)p(102)'],
    ['without a site, whichever of the sites is connected', shared, 'preisblickAll', 'a(1102)p(102)'],
    ['of another advertiser', italian, 'preisblick', 'a(1101)p(201)'],
  ] as const)('carries %s', async (_, fid, by, expected) => {
    expect(await linkOf(fid, by)).toBe(`https://pdt.affilog.example/click?${expected}`);
  });

  it('names its program, with its logo and the currency of the first program (decisions P26)', async () => {
    const [mine] = (await search(`;fid=${shared};currency=SEK`, 'preisblick')).products;
    expect(mine).toMatchObject({
      programLogo: 'https://nord.example/de.png',
      offers: [{ programName: 'Nordlicht DE' }],
    });
    const [theirs] = (await search(`;fid=${shared}`, 'deals')).products;
    expect(theirs).toMatchObject({ offers: [{ programName: 'Nordlicht SE' }] });
    expect((await search(`;fid=${shared};currency=EUR`, 'preisblick')).ids).toEqual([]);
  });

  it('is percent-encoded in every part, parentheses too', async () => {
    const url = "https://shop.example/ä(1)?a='b'&c=%20*!";
    await post(german, [product('(x) y/z', { productUrl: url })]);
    const { products } = await search(`;fid=${german};spId=(x)%20y%2Fz`, 'preisblick');
    const link = products[0]?.offers[0]?.productUrl ?? '';
    expect(link).toContain(
      `product(${german}-%28x%29%20y%2Fz)ttid(19)url(https%3A%2F%2Fshop.example%2F%C3%A4%281%29`,
    );
    expect(link.match(/[()]/g)).toHaveLength(10);
    expect(decodeURIComponent(/url\((.*)\)$/.exec(link)?.[1] ?? '')).toBe(url);
    await remove(german, ';spId=(x)%20y%2Fz');
  });
});

describe('publishers see a product once it is mapped (Document 1, What the service does 5; decisions P13)', () => {
  it.each([
    ['by an existing id', { id: '12' }, true],
    ['by an existing id, whatever its name', { id: '12', name: 'Nowhere' }, true],
    ['not by an unknown id with a name', { id: '999', name: 'Nowhere' }, false],
    ['by a unique tdCategoryName', { name: 'x', tdCategoryName: 'Speakers' }, true],
    ['by a unique tdCategoryName in another language', { name: 'x', tdCategoryName: 'Cuffie' }, true],
    ['not by a tdCategoryName of two', { name: 'x', tdCategoryName: 'Leuchten' }, false],
    ['not by an unknown tdCategoryName', { name: 'x', tdCategoryName: 'speakers' }, false],
    ['by a name that the feed maps', { name: 'Over-Ear' }, true],
    ['by a name that the feed maps, beside an unknown id', { id: '999', name: 'Over-Ear' }, true],
    ['not by a name that another feed maps', { name: 'Lampade' }, false],
    ['not by a name alone', { name: 'Headphones' }, false],
  ])('%s', async (_, category, isSeen) => {
    await post(german, [product('mapped', { categories: [category] })]);
    expect((await search(`;fid=${german};spId=mapped`, 'preisblick')).totalHits).toBe(isSeen ? 1 : 0);
    expect((await search(`;fid=${german};spId=mapped`, 'nord')).totalHits).toBe(1);
    await remove(german, ';spId=mapped');
  });

  it('as soon as an operator maps its category, or adds it', async () => {
    await post(german, [product('m1', { categories: [{ name: 'New shelf' }] })]);
    await post(german, [product('m2', { categories: [{ id: '77', name: 'Later' }] })]);
    const seen = async () => (await search(`;fid=${german};spId=m1,m2`, 'preisblick')).ids.toSorted();
    expect(await seen()).toEqual([]);
    await app.import({ mappings: [{ feedId: german, name: 'New shelf', categoryId: '12' }] });
    await app.settled();
    expect(await seen()).toEqual(['m1']);
    await app.import({ categories: [{ id: '77', parentId: '2', names: { en: 'Later' } }] });
    await app.settled();
    expect(await seen()).toEqual(['m1', 'm2']);
    const found = await search(`;fid=${german};tdCategoryId=2;spId=m1,m2`, 'preisblick');
    expect(found.products).toMatchObject([{ categories: [{ id: '77', tdCategoryName: 'Later' }] }]);
    await remove(german, ';spId=m1,m2');
  });

  it('by one of its categories', async () => {
    await post(german, [product('two', { categories: [{ name: 'Nowhere' }, { id: '21' }] })]);
    const { products } = await search(`;fid=${german};spId=two`, 'preisblick');
    expect(products).toMatchObject([
      { categories: [{ name: 'Nowhere' }, { id: '21', tdCategoryName: 'Lamps' }] },
    ]);
    await remove(german, ';spId=two');
  });
});

describe('a change of the network (decisions P22, P26)', () => {
  it('affects the next request: a site connected, a feed hidden', async () => {
    expect(outcome(await app.get(`/1.0/products;fid=${italian}`, { token: TOKENS.deals }))).toBe(
      '400 PF_392',
    );
    await app.import({ connections: [{ siteId: 1203, programId: 201 }] });
    expect((await search(`;fid=${italian}`, 'deals')).products[0]?.offers[0]?.productUrl).toContain(
      'a(1203)p(201)',
    );
    await app.import({
      feeds: [{ id: italian, programIds: [201], name: 'Italia', language: 'it', visible: false }],
    });
    expect(outcome(await app.get(`/1.0/products;fid=${italian}`, { token: TOKENS.deals }))).toBe(
      '400 PF_392',
    );
    expect((await search(`;fid=${italian}`, 'casa')).totalHits).toBe(1);
  });

  it('by another process is followed: a site connected', async () => {
    const find = async () => outcome(await app.get(`/1.0/products;fid=${german}`, { token: TOKENS.lonely }));
    expect(await find()).toBe('400 PF_392');
    const connections = [{ siteId: 1301, programId: 101 }];
    await importNetwork(SYSTEM_CLOCK, app.engines.log, { connections }, { at: new Date().toISOString() });
    // A request that is refused from memory lets nothing else happen.
    while ((await find()) !== '200') await turn();
  });
});
