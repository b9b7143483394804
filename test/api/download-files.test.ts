import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { request } from 'undici';
import { generateProducts } from '../../bench/generate';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { BLOCK } from '../../src/services/products/download/exporter';
import { RenderedFeeds } from '../../src/services/products/download/rendered-feeds';
import { TestApp } from '../support/app';
import { pauseRendering } from '../support/pause-call';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome } from './posted';

const { german, shared } = FEEDS;
/** One token has at most half of it. */
const MOST = 22 * 1024 * 1024;
const COUNT = 5_500;

let app: TestApp;
let url: string;
const { post } = clientOf(() => app);
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, settings: { DOWNLOAD_SPACE: String(MOST) } });
  await app.http.listen(0, '127.0.0.1');
  url = await app.http.getUrl();
  const products = [...generateProducts({ count: COUNT, categories: [{ id: '1' }] })];
  await post(german, products);
  await post(shared, products.slice(0, 100));
  await app.settled();
});
afterAll(() => app.close());

const targetOf = (keys = '') =>
  `${url}/1.0/productsUnlimited;fid=${german}${keys}?token=${TOKENS.preisblick}`;

interface Sent {
  readonly productHeader: { readonly totalHits: number };
  readonly products: readonly { readonly name: string }[];
}

/** Waits until nothing of any download is held. */
async function freed(): Promise<void> {
  while (app.exporter.size > 0 || app.feeds.bytes > 0) await turn();
}

describe('the file of a download', () => {
  it('is removed after it has been sent', async () => {
    const { body } = await request(targetOf());
    const { products, productHeader } = (await body.json()) as Sent;
    expect([products.length, productHeader.totalHits]).toEqual([COUNT, COUNT]);
    await freed();
  });

  it.each(['', ';compress=gz', ';page=1;pageSize=5000'])(
    '%s is removed when the client disconnects',
    async (keys) => {
      const { body } = await request(targetOf(keys));
      const parts = body[Symbol.asyncIterator]();
      await parts.next();
      await parts.return?.();
      if (keys.includes('page')) while (app.exporter.size > 0) await turn();
      else await freed();
    },
  );

  it('is shared by all clients, each at its own pace', async () => {
    const slow = await request(targetOf(';pretty=true'));
    const parts = slow.body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const first = await parts.next();
    // It is rendered at full speed: while a client still reads, no transaction is held for it.
    while (app.exporter.size > 0) await turn();
    const [one, other] = await Promise.all([
      request(targetOf(';pretty=true')),
      request(targetOf(';pretty=true')),
    ]);
    const texts = await Promise.all([one.body.text(), other.body.text()]);
    expect(texts[0]).toBe(texts[1]);
    expect(app.feeds.bytes).toBeGreaterThan(0);
    expect(app.feeds.bytes).toBeLessThanOrEqual(Buffer.byteLength(texts[0]));
    let rest = String(first.value);
    for (let next = await parts.next(); next.done !== true; next = await parts.next())
      rest += String(next.value);
    expect(rest.length).toBe(texts[0].length);
    await freed();
  });

  it('has one version: a load that ends meanwhile does not mix in', async () => {
    const before = await (await request(targetOf())).body.text();
    await freed();
    const held = pauseRendering(app.exporter, 3);
    const sent = request(targetOf()).then(({ body }) => body.text());
    await held.reached;
    await post(german, [...generateProducts({ count: 300, seed: 9, categories: [{ id: '1' }] })]);
    await app.settled();
    held.release();
    expect((await sent) === before).toBe(true);
    await freed();
    const after = (await (await request(targetOf())).body.json()) as Sent;
    expect(after.products).not.toEqual((JSON.parse(before) as Sent).products);
    await freed();
  });

  it('is limited: a file that outgrows the space is broken off (decisions X52)', async () => {
    // Of pages the file stays for the next one.
    const kept = await Promise.all(
      [';pretty=true', ''].map((keys) =>
        app.get(`/1.0/productsUnlimited;fid=${german};page=1${keys}`, { token: TOKENS.preisblick }),
      ),
    );
    expect(kept.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    while (app.exporter.size > 0) await turn();
    expect(app.feeds.bytes).toBeLessThanOrEqual(MOST / 2 + 2 * 1024 * 1024);
    const holding = await request(targetOf(';pretty=true;priceHistory=true'));
    const more = await request(targetOf(';priceHistory=true;pretty=true;sourceproducturl=true'));
    const ends = await Promise.allSettled([holding.body.text(), more.body.text()]);
    expect(ends.some(({ status }) => status === 'rejected')).toBe(true);
    const small = await app.get(`/1.0/productsUnlimited;fid=${shared}`, { token: TOKENS.preisblick });
    expect(outcome(small)).toBe('200');
    await app.feeds.close();
  });

  it('is limited: a download without room is answered 500 with Retry-After (decisions X52, A12)', async () => {
    const { body } = await app.get(`/1.0/productsUnlimited;fid=${german}`, { token: TOKENS.preisblick });
    // A token has at most half of it.
    const space = 2 * Buffer.byteLength(body) + 100_000;
    const feeds = new RenderedFeeds(
      SYSTEM_CLOCK,
      app.exporter,
      await mkdtemp(join(tmpdir(), 'affilog-')),
      space,
    );
    const tight = await app.again({ downloads: feeds });
    await tight.listen(0, '127.0.0.1');
    const target = `${await tight.getUrl()}/1.0/productsUnlimited;fid=`;
    const slow = await request(`${target}${german}?token=${TOKENS.preisblick}`);
    const parts = slow.body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    await parts.next();
    while (app.exporter.size > 0) await turn();
    const refused = await request(`${target}${shared}?token=${TOKENS.preisblick}`);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([500, '5']);
    expect(await refused.body.json()).toMatchObject({ errors: [{ code: '5' }] });
    for (let next = await parts.next(); next.done !== true;) next = await parts.next();
    while (feeds.bytes > 0) await turn();
    const taken = await request(`${target}${shared}?token=${TOKENS.preisblick}`);
    expect([taken.statusCode, (await taken.body.text()).length > 0]).toEqual([200, true]);
    await tight.close();
    await feeds.close();
  });

  it('leaves space for the files of other tokens, also if those for pages stay (decisions X52)', async () => {
    const { body } = await app.get(`/1.0/productsUnlimited;fid=${german}`, { token: TOKENS.preisblick });
    await freed();
    const size = Buffer.byteLength(body);
    const feeds = new RenderedFeeds(
      SYSTEM_CLOCK,
      app.exporter,
      await mkdtemp(join(tmpdir(), 'affilog-')),
      3.5 * size,
    );
    const fair = await app.again({ downloads: feeds });
    await fair.listen(0, '127.0.0.1');
    const base = `${await fair.getUrl()}/1.0/productsUnlimited;fid=${german}`;
    const whole = async (keys: string, token: string): Promise<number> => {
      const answer = await request(`${base}${keys}?token=${token}`);
      return (await answer.body.text()).length;
    };
    const slow = await request(`${base}?token=${TOKENS.preisblick}`);
    const parts = slow.body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    await parts.next();
    while (app.exporter.size > 0) await turn();
    // A second file of this token would be more than it leaves free.
    await expect(whole(';sourceproducturl=true', TOKENS.preisblick)).rejects.toThrow();
    expect(await whole('', TOKENS.deals)).toBeGreaterThan(size / 2);
    for (let next = await parts.next(); next.done !== true;) next = await parts.next();
    while (feeds.bytes > 0) await turn();
    // What nobody reads is removed first, of the token's own files.
    await whole(';page=1', TOKENS.deals);
    await whole(';page=1', TOKENS.preisblick);
    while (app.exporter.size > 0) await turn();
    const both = feeds.bytes;
    await whole(';page=1;pageSize=50;sourceproducturl=true', TOKENS.preisblick);
    while (app.exporter.size > 0) await turn();
    const again = await request(`${base};page=2?token=${TOKENS.deals}`);
    expect([again.statusCode, app.exporter.size]).toEqual([200, 0]);
    await again.body.dump();
    expect([both, feeds.bytes].map((bytes) => Math.round(bytes / size))).toEqual([2, 2]);
    await fair.close();
    await feeds.close();
  });

  describe('with little space (decisions X52)', () => {
    let size: number;
    beforeAll(async () => {
      const { body } = await app.get(`/1.0/productsUnlimited;fid=${german}`, { token: TOKENS.preisblick });
      await freed();
      size = Buffer.byteLength(body);
    });

    /** A server whose downloads have so much space, as a multiple of the large feed. */
    async function withSpace(factor: number) {
      const space = Math.floor(factor * size);
      const feeds = new RenderedFeeds(
        SYSTEM_CLOCK,
        app.exporter,
        await mkdtemp(join(tmpdir(), 'affilog-')),
        space,
      );
      const server = await app.again({ downloads: feeds });
      await server.listen(0, '127.0.0.1');
      const base = await server.getUrl();
      const begin = (keys: string, token: string) =>
        request(`${base}/1.0/productsUnlimited;fid=${keys}?token=${token}`);
      return {
        feeds,
        space,
        begin,
        whole: async (keys: string, token: string) => {
          const { statusCode, body } = await begin(keys, token);
          const text = await body.text();
          expect([statusCode, text.slice(0, 17)]).toEqual([200, '{"productHeader":']);
          return text;
        },
        close: async () => {
          await server.close();
          await feeds.close();
        },
      };
    }

    /** Reads the first part only, and waits until all of the file is there. */
    async function slowly({ body }: Awaited<ReturnType<typeof request>>): Promise<() => Promise<string>> {
      const parts = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      const first = await parts.next();
      while (app.exporter.size > 0) await turn();
      return async () => {
        let text = String(first.value);
        for (let next = await parts.next(); next.done !== true; next = await parts.next())
          text += String(next.value);
        return text;
      };
    }

    it('a feed of more than half of it is sent until another token needs the space', async () => {
      const { feeds, begin, whole, close } = await withSpace(1.2);
      const { length } = await whole(String(german), TOKENS.preisblick);
      expect(length).toBeGreaterThan(size * 0.9);
      while (feeds.bytes > 0) await turn();
      const rest = await slowly(await begin(String(german), TOKENS.preisblick));
      // The only one of its token.
      expect((await begin(String(shared), TOKENS.preisblick)).statusCode).toBe(500);
      const other = await slowly(await begin(String(german), TOKENS.deals));
      await expect(rest()).rejects.toThrow();
      // One at a time: it is known how much this one needs.
      expect((await begin(String(german), TOKENS.preisblick)).statusCode).toBe(500);
      expect((await whole(String(shared), TOKENS.nord)).length).toBeGreaterThan(0);
      await expect(other()).rejects.toThrow();
      expect((await whole(String(german), TOKENS.preisblick)).length).toBe(length);
      await close();
    });

    it('a feed that never fits is refused, with the setting and what it needs', async () => {
      const { space, begin, whole, close } = await withSpace(0.7);
      await expect(whole(String(german), TOKENS.preisblick)).rejects.toThrow();
      const { statusCode, headers, body } = await begin(String(german), TOKENS.preisblick);
      expect([statusCode, headers['retry-after']]).toEqual([400, undefined]);
      const { errors } = (await body.json()) as { errors: { code: string; message: string }[] };
      expect(errors).toEqual([
        { code: 'PF_430', message: expect.stringContaining(`the ${space} that`) as string },
      ]);
      const needed = Number(/DOWNLOAD_SPACE of (\d+) or more/.exec(errors[0]?.message ?? '')?.[1]);
      expect(Math.abs(needed / size - 1)).toBeLessThan(0.1);
      expect((await whole(String(shared), TOKENS.preisblick)).length).toBeGreaterThan(0);
      await close();
    });

    it('a few bytes of it are enough for small feeds', async () => {
      const { whole, close } = await withSpace(0.1);
      expect((await whole(String(shared), TOKENS.preisblick)).length).toBeGreaterThan(0);
      await close();
    });

    it('files for next pages are not removed for a download that does not fit even so', async () => {
      const { begin, whole, close } = await withSpace(2 + (1.5 * BLOCK) / size);
      const { length } = await whole(`${shared};page=1`, TOKENS.deals);
      const rest = await slowly(await begin(String(german), TOKENS.preisblick));
      expect((await begin(String(shared), TOKENS.preisblick)).statusCode).toBe(500);
      const next = await begin(`${shared};page=1`, TOKENS.deals);
      expect([next.statusCode, app.exporter.size]).toEqual([200, 0]);
      expect((await next.body.text()).length).toBe(length);
      expect((await rest()).length).toBeGreaterThan(size / 2);
      await close();
    });

    it('a file counts for a token that is still sent it', async () => {
      const { feeds, begin, whole, close } = await withSpace(3.8);
      // Two tokens of a publisher get the same bytes.
      const first = await begin(String(german), TOKENS.preisblick);
      await first.body[Symbol.asyncIterator]().next();
      const rest = await slowly(await begin(String(german), TOKENS.preisblickAll));
      expect(Math.round(feeds.bytes / size)).toBe(1);
      first.body.once('error', () => undefined).destroy();
      // As soon as the server knows that the first client has gone.
      const again = () => whole(`${german};priceHistory=true`, TOKENS.preisblick).catch(() => '');
      while ((await again()).length < size / 2) await turn();
      await expect(whole(`${german};pretty=true`, TOKENS.preisblickAll)).rejects.toThrow();
      expect((await rest()).length).toBeGreaterThan(size / 2);
      await close();
    });
  });
});
