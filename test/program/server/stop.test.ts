import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type ClientRequest, get, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from '@photostructure/sqlite';
import { generateProducts } from '../../../bench/generate';
import { layoutFolder } from '../../../src/engines/embedded/store/registry';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { Exporter } from '../../../src/services/products/download/exporter';
import { makeLoader } from '../../../src/services/products/load/loader';
import { stopServing } from '../../../src/app/api';
import { RenderedFeeds } from '../../../src/services/products/download/rendered-feeds';
import { FEEDS, NETWORK, TOKENS } from '../../api/network';
import { clientOf, product } from '../../api/posted';
import { TestApp } from '../../support/app';
import { signalAt } from '../../support/killed';
import { ADVERTISER, ownServer, PUBLISHER } from '../../support/server';
import { growthOf, headOf, readFeed } from './feed-log';

const PRODUCTS = [...generateProducts({ count: 10_000, categories: [{ id: '1' }] })];

const BODY = JSON.stringify({ products: PRODUCTS });

/** Starts a post of `length` bytes; resolves when the server has accepted the request and waits for the body. */
async function begin(url: string, length: number): Promise<{ sent: ClientRequest; answer: Promise<Answer> }> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': length,
    expect: '100-continue',
  };
  const sent = request(`${url}/1.0/products;fid=22?token=${ADVERTISER}`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  const answer = once(sent, 'response').then(async ([response]) => answerOf(response as IncomingMessage));
  sent.flushHeaders();
  await once(sent, 'continue');
  return { sent, answer };
}

interface Answer {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

async function answerOf(response: IncomingMessage): Promise<Answer> {
  return {
    status: response.statusCode,
    retryAfter: response.headers['retry-after'],
    body: await text(response),
  };
}

async function post(url: string, body: string): Promise<Answer> {
  const { sent, answer } = await begin(url, Buffer.byteLength(body));
  sent.end(body);
  return answer;
}

const DONE: Answer = { status: 200, retryAfter: undefined, body: '{"errors":[]}' };
const ABORTED = {
  status: 500,
  retryAfter: '5',
  body: expect.stringMatching(
    /^\{"errors":\[\{"code":"5","message":"Service not responding \(request [\w-]{36}\)"\}\]\}$/,
  ) as string,
};

describe('a stop while a feed loads (decisions A12)', () => {
  const own = ownServer({ each: true });

  /** Stops the server, which must not give up waiting for anything: it would say so. */
  async function restart(): Promise<void> {
    expect([await own.server.end(), own.server.stderr]).toEqual([
      0,
      expect.not.stringContaining('without waiting'),
    ]);
    await own.start();
  }

  async function expectComplete(): Promise<void> {
    expect(await post(own.server.url, BODY)).toEqual(DONE);
    const { prices, duplicates } = await readFeed(own.folder);
    expect(duplicates).toEqual([]);
    expect(prices).toEqual(
      new Map(PRODUCTS.map(({ sourceProductId, price }) => [sourceProductId, Math.round(price * 100)])),
    );
  }

  it('aborts it while its body is received; the same post completes it', async () => {
    const { sent, answer } = await begin(own.server.url, Buffer.byteLength(BODY));
    await new Promise((written) => sent.write(BODY.slice(0, BODY.length / 2), written));
    await restart();
    expect(await answer).toEqual(ABORTED);
    expect((await readFeed(own.folder)).prices.size).toBe(0);
    await expectComplete();
  });

  it('aborts it while it is being stored; the same post completes it', async () => {
    await own.server.end();
    await own.start(signalAt('committed ProductListed', { signal: 'SIGTERM' }));
    const ended = own.server.ended;
    expect(await post(own.server.url, BODY)).toEqual(ABORTED);
    expect([await ended, own.server.stderr]).toEqual([0, expect.not.stringContaining('without waiting')]);
    await own.start();
    expect((await readFeed(own.folder)).prices.size).toBeGreaterThan(0);
    await expectComplete();
  });
});

describe('a stop while requests are being answered (ARCHITECTURE, Outside interface)', () => {
  const own = ownServer();

  /** Blocks the projector's writes until the returned function is called. */
  function blockProjector(): () => void {
    const directory = layoutFolder(join(own.folder, 'read'));
    const [file = ''] = readdirSync(directory).filter((name) => /^products-.*sqlite$/.test(name));
    const database = new DatabaseSync(join(directory, file));
    database.exec('BEGIN IMMEDIATE');
    return () => database.close();
  }

  it('completes a small post and a search that were accepted before, and exits with 0', async () => {
    const unblock = blockProjector();
    const hasGrown = await growthOf(own.folder);
    const posted = post(own.server.url, JSON.stringify({ products: PRODUCTS.slice(0, 2) }));
    await hasGrown(0);
    // Both wait for the projector now.
    const headers = { 'x-min-position': await headOf(own.folder) };
    const searched = fetch(`${own.server.url}/1.0/products;fid=22?token=${PUBLISHER}`, { headers });
    await fetch(`${own.server.url}/health/live`);
    const ended = own.server.end();
    await untilRefusing(own.server.url);
    unblock();

    expect(await posted).toEqual(DONE);
    const found = await searched;
    expect([found.status, await found.json()]).toMatchObject([200, { productHeader: { totalHits: 2 } }]);
    expect([await ended, own.server.stderr]).toEqual([0, expect.not.stringContaining('without waiting')]);
  });
});

describe('a stop while a download is being sent', () => {
  /** More than the operating system buffers for a client that does not read. */
  const products = Array.from({ length: 100 }, (_, at) =>
    product(`p${at}`, { description: 'x'.repeat(120_000) }),
  );
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
    for (let at = 0; at < products.length; at += 50)
      await clientOf(() => app).post(FEEDS.german, products.slice(at, at + 50));
    await app.settled();
  });
  afterAll(() => app.close());

  /** Starts a download and stops the server meanwhile. */
  async function stopped(downloadsEnd: number): Promise<{ download: IncomingMessage; ended: Promise<void> }> {
    const { engines, follower, folder } = app;
    const loader = makeLoader(SYSTEM_CLOCK, engines.log, follower, folder);
    const exporter = new Exporter(SYSTEM_CLOCK, engines.store, follower);
    const feeds = new RenderedFeeds(SYSTEM_CLOCK, exporter, join(folder, 'spool'), 1024 ** 3);
    const http = await app.again({ loader, downloads: feeds });
    await http.listen(0, '127.0.0.1');
    const url = await http.getUrl();
    const started = get(`${url}/1.0/productsUnlimited;fid=${FEEDS.german}?token=${TOKENS.nord}`);
    const [download] = (await once(started, 'response')) as [IncomingMessage];
    const ended = stopServing({ app: http, loader, exporter, downloads: feeds }, downloadsEnd);
    await untilRefusing(url);
    return { download, ended };
  }

  it('completes it for a client that keeps reading', async () => {
    const { download, ended } = await stopped(60_000);
    expect(JSON.parse(await text(download))).toMatchObject({ productHeader: { totalHits: products.length } });
    await ended;
  });

  it('aborts it after the time limit', async () => {
    const { download, ended } = await stopped(20);
    await ended;
    await expect(text(download)).rejects.toThrow('aborted');
  });
});

/** Resolves when a server accepts no more connections. */
async function untilRefusing(url: string): Promise<void> {
  const isAccepted = async (): Promise<boolean> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const accepted = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return accepted;
  };
  while (await isAccepted());
}
