import { BEHIND } from '../../src/services/products/download/joined-facts';
import { type Response, TestApp } from '../support/app';
import { connectedBy, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, type FoundProduct, outcome, product } from './posted';
import { parse } from './xml-elements';

const { german } = FEEDS;

let now = Date.parse('2026-05-01T12:00:00Z');
let app: TestApp;
const { post } = clientOf(() => app);
beforeEach(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
});
afterEach(() => app.close());

const get = (keys = '', token: string = TOKENS.preisblick) =>
  app.get(`/1.0/productsUnlimited;fid=${german}${keys}`, { token });

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

describe('what has changed since (decisions P28, X51)', () => {
  it('is the products that changed and exist, and the ids of removed ones', async () => {
    await post(
      german,
      ['a', 'b', 'c', 'd'].map((id) => product(id)),
    );
    const first = await get();
    expect(first.json<Changes>().removed).toBeUndefined();
    expect(nextOf(first)).toMatch(/^\d{19}-[\da-f]{12}$/);
    await post(german, [product('a'), product('b', { price: 3 }), product('e')]);
    await app.delete(`/1.0/products;fid=${german};spId=c`, { token: TOKENS.nord });
    await post(german, [product('d', { categories: [{ name: 'mapped to nothing' }] })]);
    const second = await get(`;since=${nextOf(first)}`);
    expect(changesOf(second)).toEqual({ sent: ['b', 'e'], removed: ['c', 'd'] });
    expect(second.json<Changes>().productHeader.totalHits).toBe(3);
    expect(changesOf(await get(`;since=${nextOf(second)}`))).toEqual({ sent: [], removed: [] });
    const { children } = await parse((await get(`;since=${nextOf(first)};format=xml`)).body);
    expect(children.map(({ name }) => name)).toEqual(['productHeader', 'products', 'removed']);
    expect(children[2]!.children.map(({ name, text }) => [name, text]).sort()).toEqual([
      ['sourceProductId', 'c'],
      ['sourceProductId', 'd'],
    ]);
  });

  it('can be requested by date', async () => {
    await post(german, [product('a'), product('b')]);
    now += 86_400_000;
    await post(german, [product('b', { price: 3 })]);
    for (const since of [new Date(now).toISOString(), String(now), new Date(now).toISOString().slice(0, 10)])
      expect(changesOf(await get(`;since=${since}`))).toEqual({ sent: ['b'], removed: [] });
    now += BEHIND;
    // A copy of that time may have been behind by a minute (decisions X51).
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['b']);
    expect(changesOf(await get(`;since=${now + 1}`))).toEqual({ sent: [], removed: [] });
    expect(changesOf(await get(';since=0')).sent).toEqual(['a', 'b']);
  });

  it('is everything after a change of joined data', async () => {
    await post(german, [product('a'), product('b')]);
    const next = nextOf(await get());
    await app.delete(`/1.0/products;fid=${german};spId=b`, { token: TOKENS.nord });
    await post(german, [product('hidden', { categories: [{ name: 'mapped to nothing' }] })]);
    const programs = NETWORK.programs.map((one) =>
      'id' in one && one.id === 101 ? { ...one, logoUrl: 'https://nord.example/new.png' } : one,
    );
    now += 1000;
    await app.import({ ...NETWORK, programs });
    const everything = { sent: ['a'], removed: ['b', 'hidden'] };
    expect(changesOf(await get(`;since=${next}`))).toEqual(everything);
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['a']);
  });

  it('is everything after a change of the caller’s site (decisions P28)', async () => {
    await post(german, [product('a'), product('b')]);
    const token = TOKENS.preisblickAll;
    const next = nextOf(await get('', token));
    await app.import({ ...NETWORK, connections: connectedBy(1102) }, { prune: true });
    const answer = await get(`;since=${next}`, token);
    expect(changesOf(answer)).toEqual({ sent: ['a', 'b'], removed: [] });
    expect(answer.body).toContain('a(1102)p(101)');
  });

  it.each(['a site of the caller was removed', 'a token was issued'] as const)(
    'is everything by date after %s (decisions X51)',
    async (what) => {
      const connected = { ...NETWORK, connections: connectedBy(1101, 1102) };
      const isOther = (one: object) => !('siteId' in one && one.siteId === 1101);
      const token = { organisationId: 11, system: 'PRODUCTS', siteId: 1102, token: 'a'.repeat(40) };
      const changed = {
        'a site of the caller was removed': {
          sites: NETWORK.sites.slice(1),
          connections: connected.connections.filter(isOther),
          tokens: NETWORK.tokens.filter(isOther),
        },
        'a token was issued': { tokens: [...NETWORK.tokens, token] },
      }[what];
      await app.import(connected, { prune: true });
      await post(german, [product('a')]);
      now += 10 * BEHIND;
      const since = `;since=${now}`;
      expect(changesOf(await get(since, TOKENS.preisblickAll))).toEqual({ sent: [], removed: [] });
      await app.import({ ...connected, ...changed }, { prune: true });
      expect(changesOf(await get(since, TOKENS.preisblickAll))).toEqual({ sent: ['a'], removed: [] });
    },
  );

  it('is everything for a position of another log (decisions X51)', async () => {
    await post(german, [product('a'), product('b')]);
    await app.delete(`/1.0/products;fid=${german};spId=b`, { token: TOKENS.nord });
    const [, facts = ''] = nextOf(await get()).split('-');
    const there = `${'9'.repeat(19)}-${facts}`;
    expect(changesOf(await get(`;since=${there}`))).toEqual({ sent: ['a'], removed: ['b'] });
  });

  it('is exact for any number of changes (decisions X51)', async () => {
    const ids = Array.from({ length: 1_500 }, (_, at) => `p${String(at).padStart(4, '0')}`);
    await post(german, [product('untouched'), ...ids.map((id) => product(id))]);
    await app.settled();
    const next = nextOf(await get());
    await post(
      german,
      ids.map((id) => product(id, { price: 3 })),
    );
    await post(german, [product('untouched'), product(ids[0]!)], { keys: ';mode=replace' });
    await app.settled();
    expect(changesOf(await get(`;since=${next}`))).toEqual({ sent: [ids[0]], removed: ids.slice(1) });
  });

  it('is the products of renamed categories, and everything after changes of more than 1,000 categories (decisions X51)', async () => {
    await post(german, [product('renamed', { categories: [{ id: '21' }] }), product('untouched')]);
    const first = nextOf(await get());
    now += 2 * BEHIND;
    const added = Array.from({ length: 1_000 }, (_, at) => {
      return { id: String(5_000 + at), parentId: null, names: { en: `Added ${at}` } };
    });
    const categories = NETWORK.categories.map((one) =>
      one.id === '21' ? { ...one, names: { en: 'Luminaires' } } : one,
    );
    await app.import({ ...NETWORK, categories: [...categories, ...added.slice(1)] });
    await app.settled();
    expect(changesOf(await get(`;since=${first}`))).toEqual({ sent: ['renamed'], removed: [] });
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['renamed']);
    await app.import({ ...NETWORK, categories: [...categories, ...added] });
    await app.settled();
    expect(changesOf(await get(`;since=${first}`)).sent).toEqual(['renamed', 'untouched']);
  });

  it('is empty by date after a mapping that a copy of that date includes, until the next load (decisions P18, X51)', async () => {
    await post(german, [product('mapped', { categories: [{ name: 'Gadgets' }] }), product('a')]);
    now += 10 * BEHIND;
    const mappings = [...NETWORK.mappings, { feedId: german, name: 'Gadgets', categoryId: '12' }];
    await app.import({ ...NETWORK, mappings });
    await app.settled();
    expect(changesOf(await get(`;since=${now}`))).toEqual({ sent: ['mapped'], removed: [] });
    now += 2 * BEHIND;
    expect(changesOf(await get(`;since=${now}`))).toEqual({ sent: [], removed: [] });
    await post(german, [product('a', { price: 3 })]);
    expect(changesOf(await get(`;since=${now}`)).sent).toContain('a');
  });

  it('has line breaks with pretty=true, and the same data', async () => {
    await post(german, [product('a'), product('b')]);
    const next = nextOf(await get());
    await app.delete(`/1.0/products;fid=${german};spId=b`, { token: TOKENS.nord });
    const pretty = await get(`;since=${next};pretty=true`);
    expect(pretty.body).toContain('],\n  "removed": [\n    "b"\n  ]\n}');
    expect(pretty.json()).toEqual((await get(`;since=${next}`)).json());
    const xml = await get(`;since=${next};pretty=true;format=xml`);
    expect(xml.body).toContain('\n  <removed>\n    <sourceProductId>b</sourceProductId>\n  </removed>\n');
    expect(await parse(xml.body)).toEqual(await parse((await get(`;since=${next};format=xml`)).body));
  });

  it('does not count as a download if empty (decisions P18)', async () => {
    await post(german, [product('a')]);
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
