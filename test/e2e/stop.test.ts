import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { generateProducts } from '../../src/demo/generate';
import { ADVERTISER, folderWithNetwork, removeFolder, Server } from '../support/server';
import { growthOf, readFeed } from './feed-log';

const PRODUCTS = [...generateProducts({ count: 10_000, categories: [{ id: '1' }] })];

const BODY = JSON.stringify({ products: PRODUCTS });

/** Begins a post of `length` bytes; resolves when the server has taken the request and waits for the body. */
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
const BROKEN_OFF: Answer = {
  status: 500,
  retryAfter: '5',
  body: '{"errors":[{"code":"5","message":"Service not responding"}]}',
};

describe('a stop while a feed loads (decisions A12)', () => {
  let folder: string;
  let server: Server;
  beforeEach(async () => {
    folder = await folderWithNetwork();
    server = await Server.start(folder);
  });
  afterEach(async () => {
    await server.end('SIGKILL');
    await removeFolder(folder);
  });

  /** Stops the server, and starts it again: it has ended well within ten seconds. */
  async function restart(): Promise<void> {
    const asked = performance.now();
    expect(await server.end()).toBe(0);
    expect(performance.now() - asked).toBeLessThan(8_000);
    server = await Server.start(folder);
  }

  async function expectComplete(): Promise<void> {
    expect(await post(server.url, BODY)).toEqual(DONE);
    const { prices, doubled } = await readFeed(folder);
    expect(doubled).toEqual([]);
    expect(prices).toEqual(
      new Map(PRODUCTS.map(({ sourceProductId, price }) => [sourceProductId, Math.round(price * 100)])),
    );
  }

  it('breaks it off while its body is coming; the same post completes it', async () => {
    const { sent, answer } = await begin(server.url, Buffer.byteLength(BODY));
    await new Promise((taken) => sent.write(BODY.slice(0, BODY.length / 2), taken));
    await restart();
    expect(await answer).toEqual(BROKEN_OFF);
    expect((await readFeed(folder)).prices.size).toBe(0);
    await expectComplete();
  });

  it('breaks it off while it is being stored; the same post completes it', async () => {
    const hasGrown = await growthOf(folder);
    const answer = post(server.url, BODY);
    await hasGrown(0);
    await restart();
    expect(await answer).toEqual(BROKEN_OFF);
    expect((await readFeed(folder)).prices.size).toBeGreaterThan(0);
    await expectComplete();
  });
});
