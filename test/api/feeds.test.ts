import { Readable } from 'node:stream';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { FEED_LIST, type FeedList } from '../../src/services/products/feed.queries';
import { TestApp } from '../support/app';
import { answerIn } from '../support/openapi';
import { IMPORT_REPORT, type ReportedImport } from '../../src/domain/products/import-report';
import { faultsBySchema } from '../support/xml-schemas';
import { type Client, FEEDS, NETWORK, TOKENS, VISIBLE } from './network';
import { clientOf, JSON_UTF8, outcome, product } from './posted';
import { el, parse } from './xml-elements';

describe('the feed list (Document 1, Feed list)', () => {
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

describe('the load report (decisions P30)', () => {
  const { german, swedish } = FEEDS;
  const token = TOKENS.nord;
  const MAX_BODY = 512 * 1024;

  let app: TestApp;
  let now = Date.parse('2026-03-01T12:00:00Z');
  const { post } = clientOf(() => app);
  beforeAll(async () => {
    // A clock that goes on each time somebody looks.
    app = await TestApp.start({
      network: NETWORK,
      now: () => new Date((now += 1)),
      settings: { MAX_BODY: String(MAX_BODY) },
    });
  });
  afterAll(() => app.close());

  async function report(feedId: number): Promise<readonly ReportedImport[]> {
    const response = await app.get(`/1.0/products/imports;fid=${feedId}`, { token });
    expect(response.statusCode).toBe(200);
    return answerIn(IMPORT_REPORT, response.json()).imports;
  }

  const none = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0 };

  it('lists each load as soon as it has been answered, newest first (decisions A7)', async () => {
    expect(await report(german)).toEqual([]);
    await post(german, [product('a'), product('b'), product('c', { price: 'x' })]);
    expect(await report(german)).toMatchObject([
      {
        ...none,
        mode: 'update',
        status: 'done',
        new: 2,
        refused: 1,
        faults: [{ code: 'PF_280', sourceProductId: 'c' }],
      },
    ]);
    await post(german, [product('a', { price: 3 }), product('d')], { keys: ';mode=replace' });
    await post(german, [product('a', { price: 3 })]);
    const [last, before, first] = await report(german);
    expect(last).toMatchObject({ ...none, mode: 'update', unchanged: 1, faults: [] });
    expect(before).toMatchObject({ ...none, mode: 'replace', new: 1, repriced: 1, removed: 1 });
    const times = [first, before, last].map((load) => Date.parse(load?.time ?? ''));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set([first, before, last].map((load) => load?.importId)).size).toBe(3);
    expect(last?.durationMs).toBeGreaterThan(0);
  });

  it.each([
    ['that cannot be read', '{"products":[{]}', {}, 'PF_210', /^the body /],
    ['in another charset', '{}', { 'content-type': 'application/json; charset=latin1' }, '415', /charset/],
    ['that is too large (decisions X35)', ' '.repeat(MAX_BODY + 1), {}, '413', /at most 524288 bytes/],
    ['of another type', 'a;b', { 'content-type': 'application/pdf' }, '415', /application\/pdf/],
  ])(
    'has a post refused as a whole, %s, and its answer is as ever',
    async (_, body, headers, code, message) => {
      const answer = await app.post(`/1.0/products;fid=${german};mode=replace`, { token, body, headers });
      expect(outcome(answer)).toMatch(new RegExp(`${code}$`));
      const [last] = await report(german);
      expect(last).toMatchObject({ ...none, mode: 'replace', status: 'refused' });
      expect(last?.faults).toEqual([{ code, message: expect.stringMatching(message) as string }]);
    },
  );

  it('lists a post that broke off (decisions X35)', async () => {
    await app.http.listen(0, '127.0.0.1');
    const body = Readable.from(
      (async function* () {
        yield Buffer.from('{"products":[');
        await turn();
        throw new Error('the client is gone');
      })(),
    );
    const before = await report(german);
    const target = `${await app.http.getUrl()}/1.0/products;fid=${german}?token=${token}`;
    await expect(request(target, { method: 'POST', headers: JSON_UTF8, body })).rejects.toThrow(
      /client is gone/,
    );
    let [last] = before;
    while (last?.importId === before[0]?.importId) {
      // Requests within the process, one after the other, let it read no sockets.
      await pause(5);
      [last] = await report(german);
    }
    expect(last).toMatchObject({ ...none, mode: 'update', status: 'refused' });
    const message = expect.stringMatching(/^the body broke off: /) as string;
    expect(last?.faults).toEqual([{ code: '400', message }]);
  });

  it('lists no deletions, and no posts to feeds of others', async () => {
    const before = await report(german);
    await app.delete(`/1.0/products;fid=${german};spId=a`, { token });
    expect(outcome(await post(german, [product('stranger')], { by: 'casa' }))).toBe('400 PF_392');
    await app.post(`/1.0/products;fid=999999`, { token, body: '{' });
    expect(await report(german)).toEqual(before);
  });

  it('lists the last 50 loads, each with up to 1,000 faults and the count of further ones (decisions P30, X2)', async () => {
    const bad = Array.from({ length: 1010 }, (_, at) => product(`bad-${at}`, { price: 'x' }));
    for (let load = 0; load < 55; load += 1) await post(swedish, [product('a', { price: load })]);
    await post(swedish, bad);
    const loads = await report(swedish);
    expect(loads).toHaveLength(50);
    const [last] = loads;
    expect(last?.faults.map(({ sourceProductId }) => sourceProductId)).toEqual(
      Array.from({ length: 1000 }, (_, at) => `bad-${at}`),
    );
    expect(last?.moreFaults).toBe(10);
    expect(last?.refused).toBe(1010);
  });

  it('is the same in XML, valid by its schema (decisions P24, P30, X35)', async () => {
    const { body } = await app.get(`/1.0/products/imports.xml;fid=${german}`, { token });
    const { name: root, children } = await parse(body);
    expect(root).toBe('imports');
    expect(await faultsBySchema(app, 'Imports_v1_0.xsd', [body])).toEqual([]);
    const loads = await report(german);
    expect(children.map(({ name, attributes }) => [name, attributes])).toEqual(
      loads.map((load) => [
        'import',
        Object.fromEntries(
          Object.entries(load).flatMap(([name, value]) =>
            typeof value === 'object' ? [] : [[name, String(value)]],
          ),
        ),
      ]),
    );
    expect(children[0]?.children).toEqual([el('fault', { code: '400' }, loads[0]?.faults[0]?.message ?? '')]);
  });

  it('is for the advertiser of the feed only, and requires fid (decisions A4, P2)', async () => {
    const target = `/1.0/products/imports;fid=${german}`;
    expect(outcome(await app.get(target, { token: TOKENS.preisblick }))).toBe('400 PF_300');
    expect(outcome(await app.get('/1.0/products/imports', { token }))).toBe('400 PF_200');
    expect(outcome(await app.get('/1.0/products/imports;fid=999999', { token }))).toBe('400 PF_392');
    const script = await app.get(`${target}?jsonp=show`, { token });
    expect(script.body).toMatch(/^\/\*\*\/show\(\{"imports":\[/);
  });
});
