import { FEED_LIST, type FeedList } from '../../src/services/products/feed.queries';
import { TestApp } from '../support/app';
import { answerIn } from '../support/openapi';
import { type Client, FEEDS, NETWORK, TOKENS, VISIBLE } from './network';
import { clientOf, outcome, product } from './posted';
import { el, parse } from './xml-elements';

const { german, swedish, shared, secret, invisible } = FEEDS;
const START = Date.parse('2026-04-17T15:57:00.470Z');

let app: TestApp;
let now = START;
const { post } = clientOf(() => app);
const feedsFor = async (by: Client, keys = ''): Promise<FeedList['feeds']> => {
  const response = await app.get(`/1.0/productFeeds${keys}`, { token: TOKENS[by] });
  expect(response.statusCode).toBe(200);
  return answerIn(FEED_LIST, response.json()).feeds;
};

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
  await post(german, [
    product('a', { categories: [{ name: 'Over-Ear' }] }),
    product('b', { categories: [{ name: 'Cables' }, { name: 'Plugs' }] }),
  ]);
  await app.settled();
});
afterAll(() => app.close());

const germany = {
  feedId: german,
  name: 'Germany',
  active: true,
  sendToNewPF: true,
  visible: true,
  currencyISOCode: 'EUR',
  languageISOCode: 'de',
  secret: false,
  numberOfUnmappedCategories: 2,
  numberOfProducts: 2,
  lastModifiedTime: '2026-04-17T15:57:00.470+0000',
  programs: [{ programId: 101, name: 'Nordlicht DE' }],
};

describe('the feed list (Document 1, Feed list)', () => {
  it.each(['preisblick', 'preisblickAll', 'deals', 'lonely'] as const)(
    'lists the feeds connected to the token of %s (decisions P22, P26)',
    async (client) => {
      const ids = (await feedsFor(client)).map(({ feedId }) => feedId);
      expect(ids).toEqual(VISIBLE[client].map((name) => FEEDS[name]).toSorted());
    },
  );

  it('has the fields that Document 1 lists (Document 1, Feed)', async () => {
    const feeds = await feedsFor('preisblick');
    expect(feeds[0]).toEqual(germany);
    expect(feeds.find(({ feedId }) => feedId === secret)?.secret).toBe(true);
    expect(feeds.find(({ feedId }) => feedId === shared)).toMatchObject({
      currencyISOCode: 'SEK',
      programs: [
        { programId: 102, name: 'Nordlicht SE' },
        { programId: 101, name: 'Nordlicht DE' },
      ],
    });
  });

  it('has one feed by its id, in the same shape (decisions P22)', async () => {
    expect(await feedsFor('preisblick', `/${german}`)).toEqual([germany]);
    expect(await feedsFor('preisblick', `/${german}.json`)).toEqual([germany]);
  });

  it.each([swedish, invisible, 999])('feed %s is not connected: PF_392 (decisions P22)', async (feedId) => {
    const response = await app.get(`/1.0/productFeeds/${feedId}`, { token: TOKENS.preisblick });
    expect(outcome(response)).toBe('400 PF_392');
  });

  it('refuses a feed id that is not a number: PF_260', async () => {
    expect(outcome(await app.get('/1.0/productFeeds/abc', { token: TOKENS.deals }))).toBe('400 PF_260');
  });

  it.each([
    [';programId=101', [german, secret, shared]],
    [';programId=102', [swedish, shared]],
    [';programId=102,101', [german, swedish, secret, shared]],
    [';programId=103', []],
    [`/${german}.json;programId=101,102`, [german]],
    [`/${german};programId=102`, []],
  ])('%s', async (keys, expected) => {
    expect((await feedsFor('deals', keys)).map(({ feedId }) => feedId)).toEqual(expected);
  });

  it('refuses a programId that is not a number: PF_260', async () => {
    const response = await app.get('/1.0/productFeeds;programId=a', { token: TOKENS.deals });
    expect(outcome(response)).toBe('400 PF_260');
  });

  it('has no time of change for a feed never loaded (decisions X29)', async () => {
    const [empty] = await feedsFor('deals', `/${swedish}`);
    expect(empty).toMatchObject({
      numberOfProducts: 0,
      numberOfUnmappedCategories: 0,
      lastModifiedTime: null,
    });
    const { body } = await app.get(`/1.0/productFeeds/${swedish}.xml`, { token: TOKENS.deals });
    expect(body).toContain('<ns2:lastModifiedTime/>');
  });

  it('has current counts: loads, deletions and mappings change them', async () => {
    const shown = async () => {
      await app.settled();
      const [feed] = await feedsFor('deals', `/${german}`);
      return [feed?.numberOfProducts, feed?.numberOfUnmappedCategories, feed?.lastModifiedTime];
    };
    now = START + 1000;
    await post(german, [product('c', { categories: [{ name: 'Stands' }] })]);
    expect(await shown()).toEqual([3, 3, '2026-04-17T15:57:01.470+0000']);
    now = START + 2000;
    await app.import({ mappings: [{ feedId: german, name: 'Stands', categoryId: '12' }] });
    expect(await shown()).toEqual([3, 2, '2026-04-17T15:57:02.470+0000']);
    now = START + 3000;
    await app.delete(`/1.0/products;fid=${german};spId=c`, { token: TOKENS.nord });
    expect(await shown()).toEqual([2, 2, '2026-04-17T15:57:03.470+0000']);
    now = START + 4000;
    await app.import({
      categories: [{ id: '3', parentId: null, names: { en: 'Cables' } }],
    });
    await post(german, [product('b', { categories: [{ name: 'x', tdCategoryName: 'Cables' }] })]);
    expect(await shown()).toEqual([2, 0, '2026-04-17T15:57:04.470+0000']);
  });

  it('is available in XML as deployed clients read it: feeds in the root, their fields in the common namespace (decisions P22b)', async () => {
    const response = await app.get(`/1.0/productFeeds/${secret}.xml`, { token: TOKENS.deals });
    const [listed] = await feedsFor('deals', `/${secret}`);
    const { programs, lastModifiedTime, ...fields } = listed!;
    expect(await parse(response.body)).toEqual(
      el(
        'result',
        { version: '3.0' },
        el(
          'feed',
          {},
          ...Object.entries(fields).map(([name, value]) => el(`common ${name}`, {}, String(value))),
          el('common lastModifiedTime', {}, lastModifiedTime ?? ''),
          el(
            'common programs',
            {},
            ...programs.map(({ programId, name }) =>
              el(
                'common program',
                {},
                el('common programId', {}, `${programId}`),
                el('common name', {}, name),
              ),
            ),
          ),
        ),
      ),
    );
  });

  it('supports jsonp (Document 1, Conventions 5)', async () => {
    const { body } = await app.get(`/1.0/productFeeds?jsonp=f`, { token: TOKENS.lonely });
    expect(body).toBe('/**/f({"feeds":[]}, undefined, undefined);');
  });

  it('is for publishers only (decisions A4)', async () => {
    expect(outcome(await app.get('/1.0/productFeeds', { token: TOKENS.nord }))).toBe('400 PF_300');
    expect(outcome(await app.get(`/1.0/productFeeds/${german}`, { token: TOKENS.nord }))).toBe('400 PF_300');
  });
});
