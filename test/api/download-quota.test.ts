import { setImmediate as turn } from 'node:timers/promises';
import { request } from 'undici';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { TestApp } from '../support/app';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { pauseCall, pauseRendering } from '../support/pause-call';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';

/** Only the log is on a server: products are read from SQLite. */
describe('a download while EventStoreDB is down (decisions P18)', () => {
  let server: EsdbServer;
  let app: TestApp;
  const { post } = clientOf(() => app);
  beforeAll(async () => {
    server = await startEsdbServer();
    app = await TestApp.start({
      network: NETWORK,
      engines: { log: 'sqlite', store: 'sqlite' },
      settings: { EVENT_LOG: server.url },
    });
  });
  afterAll(async () => {
    await app.close();
    await server.stop();
  });

  const download = () => app.get(`/1.0/productsUnlimited;fid=${FEEDS.german}`, { token: TOKENS.preisblick });

  it('is answered, and counted when it is back', async () => {
    await post(FEEDS.german, [product('a')]);
    await app.settled();
    await server.kill();
    const answer = await download();
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('Product a');
    await server.start();
    expect((await download()).statusCode).toBe(200);
    const events = [];
    for await (const batch of app.engines.log.readStream(`download-${FEEDS.german}-11`))
      events.push(...batch);
    expect(events.map(({ type }) => type)).toEqual(['FeedDownloaded', 'FeedDownloaded']);
  });
});

describe('the quota of downloads (decisions P18)', () => {
  const { german, shared } = FEEDS;
  const DAY = 24 * 3_600_000;

  let now = Date.parse('2026-05-01T12:00:00Z');
  let app: TestApp;
  const { post } = clientOf(() => app);

  const url = (keys = '', fid: number = german) => `/1.0/productsUnlimited${keys};fid=${fid}`;
  const get = (keys = '', token: string = TOKENS.preisblick, headers = {}) =>
    app.get(url(keys), { token, headers });
  const outcomes = async (keys: readonly string[]) => {
    const found: number[] = [];
    for (const one of keys) found.push((await get(one)).statusCode);
    return found;
  };

  const countedDownloads = async () => {
    let count = 0;
    for await (const batch of app.engines.log.readStream(`download-${german}-11`)) count += batch.length;
    return count;
  };

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    // A new version of the feed for each test.
    now += DAY;
    await post(german, [product('a', { price: now % 1_000_000 }), product('b')]);
  });

  it('starts after a grace period of five days (Document 1, Limits: Grace period)', async () => {
    expect(await outcomes(['', '', '', '', ''])).toEqual(Array(5).fill(200));
    now += 6 * DAY;
  });

  it('is three downloads of a version in 24 hours, in any format (Document 1, Limits: Bulk download repeats)', async () => {
    const answers = await outcomes(['', '.xml', '.csv', '', '.xml']);
    expect(answers).toEqual([200, 200, 200, 429, 429]);
    const refused = await get();
    expect(refused.headers['retry-after']).toBe(String(24 * 3600));
    expect(refused.json()).toMatchObject({
      errors: [
        { code: '429', message: expect.stringMatching(/feed has not been updated recently/) as string },
      ],
    });
    expect((await get('.xml')).body).toContain('<e><code>429</code>');
    await post(german, [product('c')]);
    expect(await outcomes([''])).toEqual([200]);
  });

  it('counts separately for each organisation and feed, with any token', async () => {
    expect(await outcomes(['', '', '', ''])).toEqual([200, 200, 200, 429]);
    expect(outcome(await get('', TOKENS.preisblickAll))).toBe('429 429');
    expect((await get('', TOKENS.deals)).statusCode).toBe(200);
    expect((await app.get(url('', shared), { token: TOKENS.preisblick })).statusCode).toBe(200);
  });

  it('does not count 304, HEAD and refused requests', async () => {
    const { etag } = (await get()).headers;
    for (let time = 0; time < 5; time += 1) {
      const unchanged = await get('', TOKENS.preisblick, { 'if-none-match': String(etag) });
      expect(unchanged.statusCode).toBe(304);
      await app.http.inject({ method: 'HEAD', url: `${url()}?token=${TOKENS.preisblick}` });
      await get(';page=0');
    }
    expect(await outcomes(['', '', ''])).toEqual([200, 200, 429]);
  });

  it('counts anew for a version that a mapping or the category tree publishes, if it affects products (decisions X62)', async () => {
    const mappings = (...names: readonly string[]) => ({
      ...NETWORK,
      mappings: names.map((name) => ({ feedId: german, name, categoryId: '12' })),
    });
    const publishes = async (network: object): Promise<boolean> => {
      expect((await get()).statusCode).toBe(429);
      now += 1000;
      await app.import(network, { prune: true });
      await app.settled();
      return (await outcomes(['', '', ''])).every((status) => status === 200);
    };
    await post(german, [product('named', { categories: [{ name: 'Gadgets', tdCategoryName: 'Lamps' }] })]);
    expect(await outcomes(['', '', ''])).toEqual([200, 200, 200]);
    expect(await publishes(mappings('Nobody'))).toBe(false);
    expect(await publishes(mappings('Nobody', 'Gadgets'))).toBe(true);
    const without = (gone: string) => ({
      ...mappings('Nobody', 'Gadgets'),
      categories: NETWORK.categories.filter(({ id }) => id !== gone),
    });
    expect(await publishes(without('22'))).toBe(false);
    expect(await publishes(without('21'))).toBe(true);
    await app.import(NETWORK, { prune: true });
  });

  it('counts downloads that are aborted', async () => {
    await app.http.listen(0, '127.0.0.1');
    const base = await app.http.getUrl();
    const before = await countedDownloads();
    for (const format of ['.json', '.xml', '.csv']) {
      const held = pauseRendering(app.exporter, 1);
      const client = new AbortController();
      const sent = request(`${base}${url(format)}?token=${TOKENS.preisblick}`, {
        signal: client.signal,
      }).then(({ body }) => body.text());
      await held.reached;
      client.abort();
      await expect(sent).rejects.toThrow(/abort/);
      held.release();
      while (app.exporter.size > 0) await turn();
    }
    // Counted is what has begun, though its client has gone.
    while ((await countedDownloads()) < before + 3) await turn();
    expect(await outcomes([''])).toEqual([429]);
  });

  it('does not count downloads that cannot begin', async () => {
    for (const format of ['.json', '.xml', '.csv', ';page=1;pageSize=1', '']) {
      const held = pauseCall(app.exporter, 'render', 1);
      const sent = get(format);
      await held.reached;
      held.release(new EngineUnavailable('a read model is behind'));
      expect((await sent).statusCode).toBe(500);
      held.release();
    }
    expect(await outcomes(['', '', '', ''])).toEqual([200, 200, 200, 429]);
  });

  it('counts the pages of a version as one download', async () => {
    const pages = [';page=1;pageSize=1', ';page=2;pageSize=1', ';page=3;pageSize=1'];
    expect(await outcomes([...pages, ...pages, ...pages])).toEqual(Array(9).fill(200));
    expect(await outcomes([pages[0]!, ''])).toEqual([429, 429]);
  });

  it('is exact with a hundred concurrent requests to two processes, and after a restart', async () => {
    const other = await app.again();
    const target = `${url()}?token=${TOKENS.preisblick}`;
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? app.http : other).inject(target)),
    );
    const statuses = answers.map(({ statusCode }) => statusCode).sort();
    expect(statuses).toEqual([200, 200, 200, ...Array<number>(97).fill(429)]);
    await other.close();
    const later = await app.again();
    expect((await later.inject(target)).statusCode).toBe(429);
    now += DAY;
    expect((await later.inject(target)).statusCode).toBe(200);
    await later.close();
  });
});
