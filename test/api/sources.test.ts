import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { eventsOf } from '../../src/kernel/decider';
import { TestApp, type Response } from '../support/app';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { product } from './posted';
import { NOW } from './voucher-network';

const HOUR_MS = 3_600_000;
const { german, italian } = FEEDS;

/** A shop that exports a file: `answer` sends it, or whatever a test wants. */
let shop: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const requests: IncomingMessage[] = [];

let app: TestApp;
let now = NOW;

beforeAll(async () => {
  shop = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await once(shop.listen(0, '127.0.0.1'), 'listening');
  app = await TestApp.start({
    network: NETWORK,
    now: () => new Date(now),
    settings: { NOTIFY_ALLOW: '127.0.0.0/8', MAX_BODY: '1MB', BODY_SPACE: '1MB' },
  });
});

afterAll(async () => {
  await app.close();
  shop.closeAllConnections();
  shop.close();
});

const token = TOKENS.nord;
const never = new AbortController().signal;

const url = () => `http://127.0.0.1:${(shop.address() as AddressInfo).port}/feed?key=secret`;

/** Fetches what is due. */
async function fetched(): Promise<void> {
  await app.fetcher.fetchDue(never);
  await app.settled();
}

/** The shop sends a file of these products. */
function sends(ids: string, headers: Readonly<Record<string, string>> = {}, gzip = false): void {
  const text = JSON.stringify({
    products: ids.split('').map((id) => ({ ...product(id), categories: [{ name: 'Over-Ear' }] })),
  });
  answer = (request, response) => {
    const isKnown = headers['etag'] !== undefined && request.headers['if-none-match'] === headers['etag'];
    response.writeHead(isKnown ? 304 : 200, headers);
    response.end(isKnown ? undefined : gzip ? gzipSync(text) : text);
  };
}

async function set(
  posted: object,
  asked: { readonly token?: string; readonly path?: string } = {},
): Promise<Response> {
  const { path = '/1.0/products/sources', ...request } = { token, ...asked };
  return await app.post(path, { ...request, body: JSON.stringify(posted) });
}

interface Listed {
  readonly state: string;
  readonly fetched?: string;
  readonly next?: string;
  readonly [other: string]: unknown;
}

async function listed(): Promise<Listed | undefined> {
  const response = await app.get(`/1.0/products/sources;fid=${german}`, { token });
  return response.json<readonly Listed[]>()[0];
}

/** Ids of the products of the feed. */
async function products(): Promise<string> {
  const found = await app.get(`/1.0/products;fid=${german};pageSize=100`, { token });
  const all = found.json<{
    products: readonly { readonly offers: readonly { readonly sourceProductId: string }[] }[];
  }>();
  return all.products
    .flatMap(({ offers }) => offers.map((one) => one.sourceProductId))
    .sort()
    .join('');
}

interface Load {
  readonly status: string;
  readonly fetched?: boolean;
  readonly new: number;
  readonly removed: number;
  readonly faults: readonly { readonly message: string }[];
}

async function loads(): Promise<readonly Load[]> {
  const response = await app.get(`/1.0/products/imports;fid=${german}`, { token });
  return response.json<{ readonly imports: readonly Load[] }>().imports;
}

async function types(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { type } of eventsOf(app.engines.log, `feedsource-${german}`)) found.push(type);
  return found;
}

describe('the source of a feed (decisions P40)', () => {
  it.each([
    ['another feed', { feedId: italian }, 'PF_392'],
    ['no feed', { feedId: undefined }, 'PF_240'],
    ['no URL', { url: 'shop.example' }, 'PF_391'],
    ['a private address', { url: 'http://10.0.0.1/feed' }, 'PF_391'],
    ['a user and password', { url: 'https://me:secret@shop.example/feed' }, 'PF_391'],
    ['a port of a database', { url: 'https://shop.example:5432/feed' }, 'PF_391'],
    ['another scheme', { url: 'ftp://shop.example/feed' }, 'PF_391'],
    ['too often', { every: '14m' }, 'PF_430'],
    ['an unknown format', { format: 'docx' }, 'PF_430'],
    ['an unknown field', { colour: 'red' }, 'PF_430'],
    ['a mapping of columns to no field', { map: 'name:Titel,colour:Farbe' }, 'PF_430'],
    ['an unknown encoding', { charset: 'klingon' }, 'PF_430'],
    ['an encoding that JSON does not have', { format: 'json', charset: 'latin1' }, 'PF_430'],
    ['a mapping of columns that JSON does not have', { format: 'json', map: 'name:Titel' }, 'PF_430'],
  ])('is refused with %s', async (_, change, code) => {
    const response = await set({ feedId: german, url: url(), every: '6h', ...change });
    expect([
      response.statusCode,
      response.json<{ errors: readonly { code: string }[] }>().errors[0]?.code,
    ]).toEqual([400, code]);
    expect(response.body).not.toContain('secret');
    expect(await types()).toEqual([]);
  });

  it('is of its advertiser alone', async () => {
    expect(
      (await set({ feedId: german, url: url(), every: '6h' }, { token: TOKENS.preisblick })).statusCode,
    ).toBe(400);
    expect((await set({ feedId: german, url: url(), every: '6h' }, { token: TOKENS.casa })).statusCode).toBe(
      400,
    );
    expect((await app.post(`/1.0/products/sources/fetch;fid=${german}`, { token })).json()).toMatchObject({
      errors: [{ code: 'PF_430', message: 'the feed has no source: set one first' }],
    });
  });

  it('is fetched at once, and replaces the feed', async () => {
    sends('abcd', { etag: '"1"' });
    expect((await set({ feedId: german, url: url(), every: '6h' })).statusCode).toBe(204);
    expect(await listed()).toEqual({
      ...{ feedId: german, url: url(), every: '6h', state: 'new', since: new Date(NOW).toISOString() },
    });
    await fetched();
    expect(await products()).toBe('abcd');
    expect((await loads())[0]).toMatchObject({ status: 'done', fetched: true, mode: 'replace', new: 4 });
    expect(await listed()).toMatchObject({
      ...{
        state: 'ok',
        fetched: new Date(now).toISOString(),
        next: new Date(now + 6 * HOUR_MS).toISOString(),
      },
    });
    expect(requests).toHaveLength(1);
  });

  it('is left alone until it is due; a file that is unchanged is no load, and no event', async () => {
    const head = await app.engines.log.head();
    now += 6 * HOUR_MS - 1;
    await fetched();
    expect(requests).toHaveLength(1);
    now += 1;
    await fetched();
    expect(requests.at(-1)?.headers['if-none-match']).toBe('"1"');
    expect(requests).toHaveLength(2);
    expect((await listed())?.fetched).toBe(new Date(now).toISOString());
    // A server without validators sends the same bytes.
    sends('abcd');
    now += 6 * HOUR_MS;
    await fetched();
    expect(requests).toHaveLength(3);
    expect(await app.engines.log.head()).toBe(head);
    expect((await loads()).length).toBe(1);
  });

  it('replaces the feed by another file, compressed', async () => {
    sends('bcde', {}, true);
    now += 6 * HOUR_MS;
    await fetched();
    expect(await products()).toBe('bcde');
    expect((await loads())[0]).toMatchObject({ fetched: true, new: 1, removed: 1 });
    expect(await types()).toEqual(['SourceSet', 'SourceFetched']);
  });

  it('leaves the products when a fetch breaks off, backs off, and says so', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100000' });
      response.write('{"products":[');
      response.write(JSON.stringify(product('z')), () => response.destroy());
    };
    now += 6 * HOUR_MS;
    await fetched();
    const failing = await listed();
    expect(failing).toMatchObject({
      ...{ state: 'failing', failures: 1, reason: 'the connection was closed before the file was complete' },
    });
    const retry = Date.parse(failing?.next ?? '') - now;
    expect([retry > 4 * 60_000, retry < 6 * 60_000]).toEqual([true, true]);
    // A file that is none is refused as a whole, as a post is.
    answer = (_, response) => response.end('<html>');
    now += 6 * 60_000;
    await fetched();
    expect(await listed()).toMatchObject({ state: 'failing', failures: 2 });
    expect((await loads())[0]).toMatchObject({ status: 'refused', fetched: true });
    expect(await products()).toBe('bcde');
    answer = (_, response) => response.writeHead(503, { 'retry-after': '7200' }).end();
    now += 24 * HOUR_MS;
    await fetched();
    expect(await listed()).toMatchObject({ failures: 3, next: new Date(now + 2 * HOUR_MS).toISOString() });
    answer = (_, response) => response.end(Buffer.alloc(2 * 1024 * 1024, ' '));
    now += 2 * HOUR_MS;
    await fetched();
    expect(await listed()).toMatchObject({
      ...{ failures: 4, reason: 'the file has more than 1048576 bytes, which are the most that are read' },
    });
    expect((await types()).slice(2)).toEqual(['SourceFailed']);
    sends('bcde');
    now += 24 * HOUR_MS;
    await fetched();
    expect(await listed()).toMatchObject({ state: 'ok' });
    expect((await types()).slice(2)).toEqual(['SourceFailed', 'SourceFetched']);
  });

  it('does not shrink by more than half unless somebody accepts it', async () => {
    sends('e', { etag: '"small"' });
    now += 6 * HOUR_MS;
    await fetched();
    expect(await listed()).toMatchObject({ state: 'held', listed: 4, removed: 3 });
    expect(await products()).toBe('bcde');
    expect((await loads())[0]).toMatchObject({
      ...{ status: 'refused', fetched: true },
      faults: [{ message: expect.stringContaining('does not have 3 of 4 products') as string }],
    });
    now += 6 * HOUR_MS;
    await fetched();
    expect((await types()).slice(4)).toEqual(['SourceHeld']);
    const accept = `/1.0/products/sources/accept;fid=${german}`;
    expect((await app.post(accept, { token: TOKENS.casa })).statusCode).toBe(400);
    expect((await app.post(accept, { token })).statusCode).toBe(204);
    await fetched();
    expect([await products(), (await listed())?.state]).toEqual(['e', 'ok']);
    expect((await app.post(accept, { token })).json()).toMatchObject({ errors: [{ code: 'PF_430' }] });
  });

  it('drops what is held when the next file is good', async () => {
    sends('efghijkl');
    now += 6 * HOUR_MS;
    await fetched();
    sends('');
    now += 6 * HOUR_MS;
    await fetched();
    expect(await listed()).toMatchObject({ state: 'held', listed: 8, removed: 8 });
    sends('efghijklm');
    now += 6 * HOUR_MS;
    await fetched();
    expect([await products(), (await listed())?.state]).toEqual(['efghijklm', 'ok']);
  });

  it('is fetched when somebody asks, by whoever has the lease; operators may for any feed', async () => {
    const before = (await loads()).length;
    const operator = OTHER_TOKENS.operator;
    expect((await app.post(`/ops/1.0/sources/fetch;fid=${german}`, { token: operator })).statusCode).toBe(
      204,
    );
    await fetched();
    expect((await loads()).length).toBe(before + 1);
    const all = (await app.get('/ops/1.0/sources', { token: operator })).json<readonly Listed[]>();
    expect(all).toEqual([await listed()]);
    expect((await app.post(`/ops/1.0/sources/fetch;fid=${italian}`, { token: operator })).statusCode).toBe(
      404,
    );
    const accept = await app.post(`/ops/1.0/sources/accept;fid=${german};reason=test`, { token: operator });
    expect(accept.statusCode).toBe(409);
    const posted = { feedId: italian, url: url(), every: '1d', format: 'json' };
    const path = '/ops/1.0/sources;reason=test';
    expect((await set(posted, { token: operator, path })).statusCode).toBe(204);
    expect((await app.delete(`/ops/1.0/sources;fid=${italian}`, { token: operator })).statusCode).toBe(204);
    expect((await app.get('/ops/1.0/sources', { token: operator })).json<readonly Listed[]>()).toHaveLength(
      1,
    );
  });

  it('is started by the process that has the lease, and by no other', async () => {
    app.fetcher.start();
    const asked = requests.length;
    await app.post(`/1.0/products/sources/fetch;fid=${german}`, { token });
    while ((await listed())?.next === undefined) await new Promise(setImmediate);
    await app.fetcher.stop();
    expect(requests).toHaveLength(asked + 1);
  });

  it('is a CSV file as well', async () => {
    const line = (id: string) =>
      `${id},Lamp,A lamp,https://shop.example/${id},9.50,https://shop.example/i.png,Over-Ear`;
    const head = 'sourceProductId,name,description,productUrl,price,imageUrl,MerchantCategoryName';
    answer = (_, response) => response.end([head, ...'efghijklmn'.split('').map(line), ''].join('\n'));
    await set({ feedId: german, url: url(), every: '6h', format: 'csv' });
    await fetched();
    expect([(await listed())?.reason, await products()]).toEqual([undefined, 'efghijklmn']);
  });

  it('is a CSV file with names of its own, which it maps (decisions P35)', async () => {
    const line = (id: string) =>
      `${id};Lampe;Eine Lampe;https://shop.example/${id};9.50;https://shop.example/i.png;Over-Ear`;
    const head = 'sourceProductId;Titel;Text;productUrl;Preis;imageUrl;MerchantCategoryName';
    const text = [head, ...'efghijklmno'.split('').map(line), ''].join('\n').replaceAll('Lampe;', 'Läufer;');
    // Its server says UTF-8 of everything.
    answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).end(Buffer.from(text, 'latin1'));
    const posted = { feedId: german, url: url(), every: '6h', map: 'name:Titel,description:Text' };
    await set(posted);
    await fetched();
    expect(await listed()).toMatchObject({
      state: 'failing',
      map: posted.map,
      reason: expect.stringContaining('price') as string,
    });
    const mapped = { ...posted, map: `${posted.map},price:Preis` };
    await set(mapped);
    await fetched();
    expect((await listed())?.['reason']).toContain('it is not UTF-8: in line 2, byte 4');
    const whole = { ...mapped, charset: 'windows-1252' };
    await set(whole);
    await fetched();
    expect([await listed(), await products()]).toMatchObject([
      { state: 'ok', map: whole.map, charset: 'windows-1252' },
      'efghijklmno',
    ]);
  });

  it('is a Google Merchant feed, in XML or in TSV that is called so', async () => {
    const facts = (id: string) => ({
      ...{ id, title: 'Lamp', description: 'A, b, c, d, e, f, g', link: `https://shop.example/${id}` },
      ...{ price: '9.50', image_link: 'https://shop.example/i.png', product_type: 'Over-Ear' },
    });
    const item = (id: string) =>
      `<item>${Object.entries(facts(id))
        .map(([name, value]) => `<g:${name}>${value}</g:${name}>`)
        .join('')}</item>`;
    const rss = `<rss xmlns:g="u"><channel>${'efghijklmn'.split('').map(item).join('')}</channel></rss>`;
    answer = (_, response) => response.writeHead(200, { 'content-type': 'application/rss+xml' }).end(rss);
    await set({ feedId: german, url: url(), every: '6h' });
    await fetched();
    expect([(await listed())?.reason, await products()]).toEqual([undefined, 'efghijklmn']);
    // By its header alone it would have commas.
    const head = `a,b,c,d,e,f,g,h\t${Object.keys(facts('')).join('\t')}`;
    const lines = 'efghijklm'.split('').map((id) => `x\t${Object.values(facts(id)).join('\t')}`);
    const file = [head, ...lines, ''].join('\n');
    const called: readonly Readonly<Record<string, string>>[] = [
      { 'content-type': 'text/tab-separated-values' },
      { 'content-disposition': 'attachment; filename="feed.tsv"', 'content-type': 'text/plain' },
    ];
    for (const headers of called) {
      answer = (_, response) => response.writeHead(200, headers).end(file);
      await app.post(`/1.0/products/sources/fetch;fid=${german}`, { token });
      await fetched();
      expect([(await listed())?.reason, await products()]).toEqual([undefined, 'efghijklm']);
    }
    sends('efghijklmn');
    await app.post(`/1.0/products/sources/fetch;fid=${german}`, { token });
    await fetched();
  });

  it('is no longer fetched once it is removed while it is', async () => {
    const hung = new Promise<void>((resolve) => (answer = () => resolve()));
    await app.post(`/1.0/products/sources/fetch;fid=${german}`, { token });
    const fetching = app.fetcher.fetchDue(never);
    await hung;
    expect((await app.delete(`/1.0/products/sources;fid=${german}`, { token })).statusCode).toBe(204);
    await app.fetcher.fetchDue(never);
    await fetching;
    expect(await products()).toBe('efghijklmn');
  });

  it('is gone when it is removed; the products are not', async () => {
    expect((await app.delete(`/1.0/products/sources;fid=${german}`, { token })).statusCode).toBe(204);
    expect((await app.delete(`/1.0/products/sources;fid=${german}`, { token })).statusCode).toBe(204);
    const asked = requests.length;
    now += 24 * HOUR_MS;
    await fetched();
    expect([requests.length, await listed(), await products()]).toEqual([asked, undefined, 'efghijklmn']);
  });

  it('counts within BODY_SPACE as a posted file (decisions X100)', async () => {
    await set({ feedId: german, url: url(), every: '6h' });
    const { space } = app.bodyBudgets;
    answer = (_, response) => response.end(`{"products":[${' '.repeat(space.most)}]}`);
    await fetched();
    expect(await listed()).toMatchObject({
      ...{ state: 'failing', failures: 1 },
      reason: expect.stringMatching(/^the body needs about \d+ bytes of space, .*\(BODY_SPACE\)/) as string,
    });
    const count = (await loads()).length;
    // Without room it is no failure of the source, and fetched again later.
    sends('ab');
    space.takeFree('posts', space.total);
    await app.post(`/1.0/products/sources/fetch;fid=${german}`, { token });
    await fetched();
    space.give('posts', space.total);
    expect([await listed(), (await loads()).length]).toEqual([
      expect.objectContaining({ state: 'failing', failures: 1 }),
      count,
    ]);
    // What failed fetches have used is free again.
    expect([space.usedBy('sources of feeds'), await products()]).toEqual([0, 'efghijklmn']);
    await app.delete(`/1.0/products/sources;fid=${german}`, { token });
  });

  it('has its events in the history of its feed (decisions X109)', async () => {
    const answered = await app.get(`/ops/1.0/history/feed/${german}`, { token: OTHER_TOKENS.operator });
    interface Entry {
      readonly event: string;
      readonly by: string;
      readonly changes: object;
      readonly state: { readonly source?: object };
    }
    const entries = answered.json<readonly Entry[]>().filter(({ event }) => event.startsWith('Source'));
    expect(entries.map(({ event }) => event)).toEqual(await types());
    const asked = ['SourceSet', 'SourceRemoved', 'SourceFetchRequested', 'SourceShrinkAccepted'];
    for (const { event, by } of entries)
      expect([event, by]).toEqual([event, asked.includes(event) ? 'advertiser 1 or operator' : 'system']);
    const first = { url: url(), every: '6h', state: 'new', fetch: 'asked for' };
    expect(entries[0]?.state.source).toEqual(first);
    expect(entries[1]?.changes).toMatchObject({
      'source.state': { before: 'new', after: 'ok' },
      'source.importId': { after: expect.any(String) as string },
    });
    const held = entries.find(({ event }) => event === 'SourceHeld');
    expect(held?.changes).toMatchObject({ 'source.held': { after: { listed: 4, removed: 3 } } });
    expect(entries.at(-1)?.state.source).toBeUndefined();
  });
});
