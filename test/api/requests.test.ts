import { PROJECTIONS } from '../../projections';
import { nameOf } from '../../src/projector/generations';
import { listNotes, type Notes, writeNote } from '../../src/projector/notes';
import { TestApp } from '../support/app';
import { lastUses } from '../../src/network/token-uses';
import { FollowedDirectory } from '../../src/network/follower';
import { START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { type ReadStore } from '../../src/kernel/read-store';
import { appendFacts } from '../../src/network/decider';
import { tokenHash } from '../../src/network/organisations';
import { pauseReadModels, resumeReadModels } from '../../src/operations/projections';
import { issueToken } from '../../src/operations/tokens';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { smallNetwork, tokenNamed } from '../support/small-network';
import { eventsOf } from '../support/temporary-log';
import { connectedBy, FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, JSON_UTF8, outcome, product, XML_UTF8 } from './posted';

describe('requests', () => {
  const token = TOKENS.nord;
  const OWN = `/1.0/products;fid=${FEEDS.german}`;

  let app: TestApp;
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
  });
  afterAll(() => app.close());

  describe('the format of an answer (Document 1, Conventions 4; decisions A1)', () => {
    it.each([
      ['/1.0/products', {}, 'json'],
      ['/1.0/products.json', { accept: 'application/xml' }, 'json'],
      ['/1.0/products.xml', { accept: 'application/json' }, 'xml'],
      ['/1.0/products', { accept: 'application/xml' }, 'xml'],
      ['/1.0/products', { accept: 'text/html, */*;q=0.1' }, 'json'],
      ['/1.0/products.xml', { accept: 'text/html' }, 'xml'],
    ])('to GET %s with %j is %s', async (path, headers: Record<string, string>, format) => {
      const answer = await app.get(`${path};fid=${FEEDS.german}`, { token, headers });
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([
        200,
        `application/${format}; charset=utf-8`,
      ]);
    });
  });

  describe('reading one’s own writes (decisions A7)', () => {
    it('a small post is visible to the next request of any client', async () => {
      for (const id of ['a', 'b', 'c']) {
        await post(FEEDS.german, [product(id)]);
        expect((await search(`;fid=${FEEDS.german};spId=${id}`, 'preisblick')).ids).toEqual([id]);
      }
      await app.delete(`${OWN};spId=a`, { token });
      expect((await search(`;fid=${FEEDS.german};spId=a`, 'preisblick')).ids).toEqual([]);
    });

    it('waits for X-Min-Position', async () => {
      const written = await post(FEEDS.german, [product('d')]);
      const headers = { 'x-min-position': String(written.headers['x-log-position']) };
      const answer = await app.get(`${OWN};spId=d`, { token, headers });
      expect([answer.statusCode, answer.body.includes('Product d')]).toEqual([200, true]);
    });

    it('is 503 with Retry-After for a position that is not reached within two seconds', async () => {
      const answer = await app.get(OWN, { token, headers: { 'x-min-position': '9'.repeat(19) } });
      expect([outcome(answer), answer.headers['retry-after']]).toEqual(['503 503', '1']);
      // Nor is it to be projected ahead (ADR 72).
      const awaited = [...(await listNotes(app.engines.store, 'awaited')).values()];
      expect(awaited.filter(({ position }) => position.startsWith('9'))).toEqual([]);
    });

    it('waits for the connections, names and mappings of the network as for read models', async () => {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      const log: EventLog = Object.create(app.engines.log);
      let isLate = false;
      log.subscribe = async function* (options) {
        for await (const batch of app.engines.log.subscribe(options)) {
          if (isLate) await released;
          yield batch;
        }
      };
      const ended = new AbortController();
      const follower = new FollowedDirectory(SYSTEM_CLOCK, log, ended.signal);
      await follower.ready;
      isLate = true;
      const other = await app.again({ follower });
      try {
        await app.import({ ...NETWORK, connections: connectedBy(1301) });
        const headers = { 'x-min-position': await app.engines.log.head() };
        const listed = () => other.inject({ url: `${OWN};spId=d?token=${TOKENS.lonely}`, headers });
        expect(outcome(await listed())).toBe('503 503');
        release();
        expect((await listed()).body).toContain('Product d');
      } finally {
        release();
        ended.abort();
        await other.close();
      }
    });

    const products = { path: OWN, token };
    const vouchers = { path: '/1.0/vouchers', token: OTHER_TOKENS.vouchers };
    const operators = { path: '/ops/1.0/claims', token: OTHER_TOKENS.operator };

    it.each([
      { isBehind: 'products', waiting: [products, operators], answered: [vouchers] },
      { isBehind: 'vouchers', waiting: [vouchers, operators], answered: [products] },
    ])(
      'waits for the read models that answers are made of, and not for others such as $isBehind (decisions X154)',
      async ({ isBehind, waiting, answered }) => {
        const { engines } = app;
        await pauseReadModels(engines, [isBehind], SYSTEM_CLOCK);
        try {
          await post(FEEDS.german, [product('paused')]);
          const headers = { 'x-min-position': await engines.log.head() };
          for (const { path, ...caller } of waiting)
            expect(outcome(await app.get(path, { ...caller, headers }))).toBe('503 503');
          for (const { path, ...caller } of answered)
            expect(outcome(await app.get(path, { ...caller, headers }))).toBe('200');
        } finally {
          await resumeReadModels(engines, [isBehind]);
          await app.settled();
        }
      },
    );

    it('posts of products wait for the read models that take loads only (decisions X154)', async () => {
      const { store } = app.engines;
      const behind: ReadStore = Object.create(store);
      behind.checkpoint = async (target) =>
        target.collection === 'vouchers' ? START : await store.checkpoint(target);
      // The test would end before this wait does.
      const other = await app.again({ store: behind, visibleWithin: 600_000 });
      try {
        const payload = { products: [product('beside')] };
        const answer = await other.inject({ method: 'POST', url: `${OWN}?token=${token}`, payload });
        expect([
          outcome(answer),
          (await search(`;fid=${FEEDS.german};spId=beside`, 'preisblick')).ids,
        ]).toEqual(['200', ['beside']]);
      } finally {
        await other.close();
      }
    });

    it('a small post is answered once its feed is projected ahead of a load (decisions X155)', async () => {
      const { store, log } = app.engines;
      const behind: ReadStore = Object.create(store);
      let isBehind = true;
      behind.checkpoint = async (target) => (isBehind ? START : await store.checkpoint(target));
      const other = await app.again({ store: behind, visibleWithin: 600_000 });
      try {
        const payload = { products: [product('ahead')] };
        const posting = other.inject({ method: 'POST', url: `${OWN}?token=${token}`, payload });
        // The application's own projector has done its part, and looks at notes no more. One of an
        // earlier post may be left.
        await app.settled();
        let awaited: Notes['awaited'] | undefined;
        while (awaited?.position !== (await log.head())) {
          await SYSTEM_CLOCK.pause(20);
          awaited = (await listNotes(store, 'awaited')).get(`feed-${FEEDS.german}`);
        }
        const live = await store.generations(...PROJECTIONS.map(({ collection }) => collection.name));
        const note = { to: awaited.position, generations: live.map(nameOf) };
        await writeNote(store, 'ahead', `feed-${FEEDS.german}`, note);
        expect(outcome(await posting)).toBe('200');
        const headers = { 'x-min-position': awaited.position };
        const read = (url: string) => other.inject({ url, headers });
        expect(outcome(await read(`${OWN}?token=${token}`))).toBe('200');
        expect(outcome(await read(`/1.0/productFeeds?token=${TOKENS.preisblick}`))).toBe('503 503');
      } finally {
        isBehind = false;
        await other.close();
      }
    });

    it('takes positions with and without zeros in front, as they are answered and shown (decisions X146)', async () => {
      const head = await app.engines.log.head();
      const own = async (position: string) =>
        outcome(await app.get(OWN, { token, headers: { 'x-min-position': position } }));
      expect(await own(String(Number(head)))).toBe('200');
      expect(await own(`000${Number(head)}`)).toBe('200');
      expect(await own(String(Number(head) + 1_000))).toBe('503 503');
    });

    it('refuses a malformed position', async () => {
      for (const position of ['now', '-1', '1'.repeat(20)])
        expect(outcome(await app.get(OWN, { token, headers: { 'x-min-position': position } }))).toBe(
          '400 PF_430',
        );
    });
  });

  describe('posts while the read models are behind (decisions X8)', () => {
    let behind: TestApp;
    const posted = (count: number) =>
      behind.post(OWN, {
        token,
        body: JSON.stringify({
          products: Array.from({ length: count }, (_, at) => product(`${count}-${at}`)),
        }),
      });
    beforeEach(async () => {
      behind = await TestApp.start({ network: NETWORK, paused: true });
    });
    afterEach(() => behind.close());

    it('of more than 1,000 changes are answered when they are stored, with their position', async () => {
      const answered: string[] = [];
      const small = posted(1000).then(() => answered.push('small'));
      const large = await posted(1001);
      answered.push('large');
      expect([outcome(large), large.headers['x-log-position']]).toEqual([
        '200',
        await behind.engines.log.head(),
      ]);
      await behind.project();
      await small;
      expect(answered).toEqual(['large', 'small']);
    });

    it('of fewer are answered at most two seconds later, with their position', async () => {
      const began = performance.now();
      const answer = await posted(1);
      expect(performance.now() - began).toBeGreaterThan(1_900);
      expect([outcome(answer), answer.headers['x-log-position']]).toEqual([
        '200',
        await behind.engines.log.head(),
      ]);
    });

    it('without changes are answered immediately', async () => {
      const began = performance.now();
      expect(outcome(await behind.delete(`${OWN};spId=nobody`, { token }))).toBe('200');
      expect(performance.now() - began).toBeLessThan(1_900);
    });
  });

  describe('requests from other origins (Document 1, Conventions 7)', () => {
    const origin = 'https://shop.example';

    it.each(['GET', 'POST', 'DELETE'])('may be %s, according to the preflight', async (method) => {
      const answer = await app.request('OPTIONS', `${OWN};spId=a?token=${token}`, {
        headers: {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'content-type',
        },
      });
      expect(answer.statusCode).toBe(204);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-methods']).toContain(method);
      expect(answer.headers['access-control-allow-headers']).toContain('content-type');
    });

    it('may read every answer and its headers', async () => {
      const headers = { origin };
      const answers = [
        await app.get(OWN, { token, headers }),
        await app.post(OWN, { token, headers, body: '{"products":[]}' }),
        await app.post(OWN, { token, headers, body: '{' }),
        await app.delete(`${OWN};spId=a`, { token, headers }),
        await app.get('/1.0/products', { headers }),
        await app.request('PUT', OWN, { headers }),
      ];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 400, 200, 400, 405]);
      for (const answer of answers) {
        expect(answer.headers['access-control-allow-origin']).toBe('*');
        expect(answer.headers['access-control-expose-headers']).toContain('X-Log-Position');
      }
    });
  });

  describe('JSONP of a write (Document 1, Conventions 5)', () => {
    it('calls the function with the error list, or with the failure', async () => {
      const posted = await app.post(`${OWN}?jsonp=done`, {
        token,
        body: JSON.stringify({ products: [product('j')] }),
      });
      expect(posted.body).toBe('/**/done({"errors":[]}, undefined, undefined);');
      const body = JSON.stringify({ products: [product('k', { price: '' })] });
      const refused = await app.post(`${OWN}?jsonp=done`, { token, headers: JSON_UTF8, body });
      expect([refused.statusCode, refused.body]).toEqual([
        200,
        '/**/done(undefined, 400, "products[0]: price must be set");',
      ]);
      const removed = await app.delete(`${OWN};spId=j?jsonp=done`, { token });
      expect(removed.body).toBe('/**/done({"errors":[]}, undefined, undefined);');
    });

    it('is refused for XML before anything is stored (decisions P27)', async () => {
      const answer = await app.post(`${OWN}?jsonp=done`, { token, headers: XML_UTF8, body: '<products/>' });
      expect(answer.body).toContain('<code>PF_430</code>');
    });
  });

  it('answers forbid content sniffing', async () => {
    for (const response of [await app.get(OWN, { token }), await app.get(OWN), await app.get('/none')]) {
      expect(response.headers['x-content-type-options']).toBe('nosniff');
    }
  });
});

describe('uses of tokens', () => {
  let app: TestApp;
  let present = new Date('2026-03-01T12:00:00Z');
  beforeAll(async () => {
    app = await TestApp.start({ network: smallNetwork(), now: () => present });
  });
  afterAll(() => app.close());

  const FEEDS = '/1.0/productFeeds.json';

  test('a token is valid until it expires, then it is Open API 2 (decisions X94)', async () => {
    const { log } = app.engines;
    const { directory } = app.follower;
    const expires = '2026-03-02T00:00:00.000Z';
    const holder = { organisationId: 5, system: 'PRODUCTS', siteId: 51 } as const;
    const { token, fact } = issueToken(directory, holder, { at: present.toISOString(), expires });
    await appendFacts(SYSTEM_CLOCK, log, [fact], directory);
    await app.follower.reached(await log.head());
    expect((await app.get(FEEDS, { token })).statusCode).toBe(200);
    present = new Date('2026-03-01T23:59:59.999Z');
    expect((await app.get(FEEDS, { token })).statusCode).toBe(200);
    present = new Date(expires);
    const answer = await app.get(FEEDS, { token });
    expect([answer.statusCode, answer.json()]).toMatchObject([403, { errors: [{ code: '2' }] }]);
  });

  test('the last use of a token is remembered per day, not in the log, also across instances (decisions X94)', async () => {
    const used = tokenNamed('tarifkompass');
    const events = (await eventsOf(app.engines.log)).length;
    for (let request = 0; request < 3; request += 1)
      expect((await app.get(FEEDS, { token: used })).statusCode).toBe(200);
    // A token of another system is not used by a request that is refused.
    expect((await app.get(FEEDS, { token: tokenNamed('desk') })).statusCode).toBe(403);
    await app.tokenUses.flush();
    const hashes = [tokenHash(used), tokenHash(tokenNamed('desk'))];
    expect(await lastUses(app.engines.store, hashes)).toEqual(
      new Map([[tokenHash(used), present.toISOString().slice(0, 10)]]),
    );
    expect(await eventsOf(app.engines.log)).toHaveLength(events);
  });
});
