import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { request } from 'undici';
import { generateProducts } from '../../bench/generate';
import { TestApp } from '../support/app';
import { toXml } from '../support/products';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, JSON_UTF8, product, XML_UTF8 } from './posted';

const { german, swedish } = FEEDS;

const MAX_BODY = 2 * 1024 * 1024;

let app: TestApp;
let url: string;
const { search } = clientOf(() => app);
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, settings: { MAX_BODY: String(MAX_BODY) } });
  await app.http.listen(0, '127.0.0.1');
  url = await app.http.getUrl();
});
afterAll(() => app.close());

const products = [...generateProducts({ count: 1000, categories: [{ id: '1' }] })];
const asJson = Buffer.from(JSON.stringify({ products }));
const asXml = Buffer.from(toXml(products));

/** A body in pieces, each sent in a turn of its own; its length is not told. */
async function* pieces(body: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += size) {
    yield body.subarray(at, at + size);
    await turn();
  }
}

async function post(fid: number, body: Readable | Buffer, headers: Record<string, string> = JSON_UTF8) {
  const target = `${url}/1.0/products.json;fid=${fid};mode=replace?token=${TOKENS.nord}`;
  const answer = await request(target, { method: 'POST', headers, body });
  return { status: answer.statusCode, text: await answer.body.text(), headers: answer.headers };
}
const hits = async (fid: number) => (await search(`;fid=${fid};pageSize=1`)).totalHits;

describe('a body that arrives in chunks', () => {
  it.each([
    ['JSON', asJson, JSON_UTF8, 997],
    ['XML', asXml, XML_UTF8, 1009],
    ['JSON, again', asJson, JSON_UTF8, 100_000],
  ])('of %s is stored as a whole', async (_, body, headers, size) => {
    const answer = await post(german, Readable.from(pieces(body, size)), headers);
    expect([answer.status, answer.text]).toEqual([200, '{"errors":[]}']);
    await app.settled();
    expect(await hits(german)).toBe(products.length);
  });

  it('stores nothing if it breaks off', async () => {
    const broken = Readable.from(
      (async function* () {
        yield asJson.subarray(0, 300_000);
        await turn();
        throw new Error('the client is gone');
      })(),
    );
    await expect(post(swedish, broken)).rejects.toThrow();
    expect(await hits(swedish)).toBe(0);
  });

  it('is refused as soon as it is too large, and stores nothing: 413 (decisions P2)', async () => {
    let end = (): void => undefined;
    const answered = new Promise<void>((resolve) => (end = resolve));
    const tooLarge = Readable.from(
      (async function* () {
        yield* pieces(Buffer.alloc(MAX_BODY + 1, ' '), 65_536);
        await answered;
      })(),
    );
    const answer = await post(swedish, tooLarge);
    end();
    expect([answer.status, answer.text]).toEqual([413, expect.stringContaining('"code":"413"')]);
    expect(await hits(swedish)).toBe(0);
  });
});

describe('loads of one feed at a time (decisions P1; Document 1, Replace a feed)', () => {
  it('are serialised: the feed has the products of one of them', async () => {
    const bodies = ['x', 'y', 'z'].map((prefix) =>
      Array.from({ length: 300 }, (_, at) => product(`${prefix}${at}`)),
    );
    const answers = await Promise.all(
      bodies.map((some) =>
        post(swedish, Readable.from(pieces(Buffer.from(JSON.stringify({ products: some })), 4096))),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await app.settled();
    const { totalHits, ids } = await search(`;fid=${swedish};pageSize=1000`);
    expect([totalHits, new Set(ids.map((id) => id[0])).size]).toEqual([300, 1]);
  });

  it('do not block searches: each is answered during a load', async () => {
    const loading = post(german, Readable.from(pieces(asXml, 5000)), XML_UTF8);
    let answered = 0;
    const done = loading.then(() => true);
    while (!(await Promise.race([done, turn(false)]))) {
      expect(await hits(swedish)).toBe(300);
      answered += 1;
    }
    expect((await loading).status).toBe(200);
    expect(answered).toBeGreaterThan(1);
  });
});
