import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { ADVERTISER, NETWORK, type Server } from './server';

/** Another token of the publisher, and tokens for vouchers. */
export const OTHER_PUBLISHER = 'c'.repeat(40);
const VOUCHERS = { advertiser: 'd'.repeat(40), publisher: 'e'.repeat(40) } as const;

/** The network of these attacks: feeds 22 and 23. */
export const HEAVY_NETWORK = {
  ...NETWORK,
  tokens: [
    ...NETWORK.tokens,
    { token: OTHER_PUBLISHER, organisationId: 11, system: 'PRODUCTS' },
    { token: VOUCHERS.advertiser, organisationId: 1, system: 'VOUCHERS' },
    { token: VOUCHERS.publisher, organisationId: 11, system: 'VOUCHERS', siteId: 1101 },
  ],
};

/** The limit (ms) for a health check: far more than a busy machine needs, far less than an attack lasts. */
export const PATIENCE_MS = 10_000;

/** A product that is visible to publishers. */
export function heavyProduct(n: number, changes: object = {}): object {
  return {
    sourceProductId: `p${n}`,
    name: `Product ${n}`,
    description: 'As good as any.',
    productUrl: `https://shop.example/p${n}`,
    price: 10 + n,
    productImage: { url: 'https://img.example/1.jpg' },
    categories: [{ id: '1' }],
    ...changes,
  };
}

async function postJson(server: Server, path: string, token: string, body: object): Promise<string> {
  const answer = await fetch(`${server.url}${path}?token=${token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.headers.get('x-log-position') ?? '';
}

/** Posts products to feed 22 and waits until searches find them. */
export async function fill(server: Server, products: readonly object[], atOnce: number): Promise<void> {
  let position = '';
  for (let from = 0; from < products.length; from += atOnce)
    position = await postJson(server, '/1.0/products;fid=22', ADVERTISER, {
      products: products.slice(from, from + atOnce),
    });
  for (let status = 503; status === 503;) {
    const headers = { 'x-min-position': position };
    const path = `/1.0/products;fid=22;spId=p0?token=${ADVERTISER}`;
    ({ status } = await fetch(`${server.url}${path}`, { headers }));
  }
}

/** Posts vouchers with this text in every field that accepts a long one. */
export async function fillVouchers(server: Server, count: number, text: string): Promise<void> {
  const voucher = {
    title: 'Free delivery',
    programId: 101,
    voucherTypeId: 4,
    shortDescription: 'Nothing to pay',
    description: text,
    publisherInformation: text,
    startDate: Date.now() - 86_400_000,
    endDate: Date.now() + 30 * 86_400_000,
  };
  for (let from = 0; from < count; from += 50) {
    const vouchers = Array<object>(Math.min(50, count - from)).fill(voucher);
    await postJson(server, '/1.0/vouchers/bulk', VOUCHERS.advertiser, vouchers);
  }
}

/** Status, size and time of an answer; its body is counted, not stored. */
export interface ReadSummary {
  readonly status: number;
  readonly bytes: number;
  /** How often the body contains the text `counted`. */
  readonly count: number;
  readonly end: string;
  readonly ms: number;
}

/** Reads an answer to its end, or until it breaks off. */
export async function readToEnd(server: Server, path: string, counted = '\n'): Promise<ReadSummary> {
  const began = performance.now();
  const request = get(`${server.url}${path}`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let [bytes, count, end] = [0, 0, ''];
  for await (const chunk of response) {
    const text = (chunk as Buffer).toString('latin1');
    bytes += text.length;
    // A match may span two chunks.
    const window = end.slice(1 - counted.length) + text;
    count += window.split(counted).length - 1;
    end = window.slice(-100);
  }
  const status = response.statusCode ?? 0;
  return { status, bytes, count, end, ms: Math.round(performance.now() - began) };
}

export const search = (server: Server, keys: string, token: string, counted?: string): Promise<ReadSummary> =>
  readToEnd(server, `/1.0/products${keys}?token=${token}`, counted);

export const vouchers = (server: Server, format: string, counted: string): Promise<ReadSummary> =>
  readToEnd(server, `/1.0/vouchers.${format}?token=${VOUCHERS.publisher}`, counted);

/** Sends requests and closes each connection as soon as the request is written. */
export async function abandon(server: Server, path: string, count: number): Promise<void> {
  const { port } = new URL(server.url);
  const one = async (): Promise<void> => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    const written = new Promise((resolve) =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, resolve),
    );
    await written;
    socket.end();
    socket.destroySoon();
  };
  await Promise.all(Array.from({ length: count }, one));
}

/** Polls the health checks while `work` runs; `live` and `ready` are the slowest answers (ms). */
export async function whileHealthChecked<Result>(
  server: Server,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly live: number; readonly ready: number }> {
  const longest = { live: 0, ready: 0 };
  let isOver = false;
  const watch = async (which: 'live' | 'ready'): Promise<void> => {
    while (!isOver) {
      const { status, ms } = await readToEnd(server, `/health/${which}`);
      if (status !== 200) throw new Error(`/health/${which}: ${status}`);
      longest[which] = Math.max(longest[which], ms);
    }
  };
  const watching = Promise.all([watch('live'), watch('ready')]);
  try {
    return { result: await work(), ...longest };
  } finally {
    isOver = true;
    await watching;
  }
}
