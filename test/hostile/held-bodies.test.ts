import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { HEAVY_NETWORK } from '../support/heavy-reads';
import { report } from '../support/attack-run';
import { ownServer, type Server } from '../support/server';

const MEGABYTE = 1024 ** 2;
const CONNECTIONS = 80;
/** As `BODY_MEMORY` by default, and what a process may grow by beside it: garbage, and the queues of sockets. */
const BUDGET = 256 * MEGABYTE;
const BESIDE = 256 * MEGABYTE;

const HOSTILE = '6'.repeat(40);
const OTHER = '7'.repeat(40);
const NETWORK = {
  ...HEAVY_NETWORK,
  organisations: [...HEAVY_NETWORK.organisations, { id: 2, kind: 'advertiser', name: 'Neighbour' }],
  tokens: [
    ...HEAVY_NETWORK.tokens,
    { token: HOSTILE, organisationId: 1, system: 'CONVERSIONS' },
    { token: OTHER, organisationId: 2, system: 'CONVERSIONS' },
  ],
};

const own = ownServer({ each: true, network: NETWORK });

/** 0 if the server is gone. */
function residentBytes({ pid }: Server): number {
  const file = `/proc/${pid}/status`;
  return existsSync(file) ? 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) : 0;
}

/** A body as it is sent, and whether its length is declared. */
interface Sent {
  readonly target: string;
  readonly type: string;
  readonly start: string;
  /** Repeated until 31 MB are sent; never the end of the body. */
  readonly part: string;
  readonly isChunked?: boolean;
}

/**
 * Sends 31 MB of a body of 32 MB. Resolves with the status of an answer, or 0 once they are sent, with the connection
 * open.
 */
async function hold(sent: Sent, sockets: Socket[]): Promise<string> {
  const { target, type, start, part, isChunked = false } = sent;
  const socket = connect(Number(new URL(own.server.url).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  let received = '';
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (data) => {
      received += data.toString();
      resolve();
    });
    socket.on('close', () => resolve());
  });
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${32 * MEGABYTE}`;
  socket.write(
    `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}; charset=utf-8\r\n${length}\r\n\r\n`,
  );
  const piece = part.repeat(Math.ceil(MEGABYTE / part.length));
  const write = async (text: string): Promise<void> => {
    const framed = isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text;
    if (socket.write(framed)) return;
    await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered]);
  };
  await write(start);
  for (let megabytes = 0; megabytes < 31 && received === '' && !socket.destroyed; megabytes += 1)
    await write(piece);
  // What was sent last may be refused: what is held is counted until then.
  await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 2_000))]);
  return `${/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 'held'}${/\r\nretry-after:/i.test(received) ? ' retry' : ''}`;
}

const JSON_TYPE = 'application/json';
const bulk = `/1.0/conversions/transactions/bulk?token=${HOSTILE}`;
const transaction = `{"programId":101,"eventId":1011,"siteId":1101,"orderNumber":"A-1","reportInfo":"${'f1=lamp'.repeat(500)}"},`;
const inXml = `<transaction><programId>101</programId><reportInfo>${'f1=lamp'.repeat(500)}</reportInfo></transaction>`;
const product = `{"sourceProductId":"p","name":"${'A lamp. '.repeat(400)}"},`;

it.each<[string, Sent]>([
  ['a list of transactions', { target: bulk, type: JSON_TYPE, start: '[', part: transaction }],
  [
    'a list without a length',
    { target: bulk, type: JSON_TYPE, start: '[', part: transaction, isChunked: true },
  ],
  ['a list in XML', { target: bulk, type: 'application/xml', start: '<transactions>', part: inXml }],
  [
    'a list of empty objects',
    { target: bulk, type: JSON_TYPE, start: '[', part: `{"programId":[${'{},'.repeat(50_000)}{}]},` },
  ],
  [
    'a list of attributes',
    {
      target: bulk,
      type: 'application/xml',
      start: '<transactions>',
      part: `<transaction>${'<a b=""/>'.repeat(20_000)}</transaction>`,
    },
  ],
  [
    'products',
    {
      target: `/1.0/products;fid=22?token=${'a'.repeat(40)}`,
      type: JSON_TYPE,
      start: '{"products":[',
      part: product,
    },
  ],
])(
  `${CONNECTIONS} connections that hold 31 MB of %s stay within the memory for bodies, and leave some to another token (decisions X100)`,
  async (name, sent) => {
    const post = async (token: string): Promise<number> => {
      const body = JSON.stringify(Array(1_000).fill({ programId: 1, orderNumber: 'x'.repeat(1_000) }));
      const answer = await fetch(`${own.server.url}/1.0/conversions/transactions/bulk?token=${token}`, {
        method: 'POST',
        headers: { 'content-type': JSON_TYPE },
        body,
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await post(OTHER)).toBe(200);
    const before = residentBytes(own.server);
    const sockets: Socket[] = [];
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, residentBytes(own.server) - before)), 50);
    const outcomes = await Promise.all(Array.from({ length: CONNECTIONS }, () => hold(sent, sockets)));
    const statuses = await Promise.all([post(OTHER), post(OTHER), post(OTHER)]);
    clearInterval(watch);
    const counts: Record<string, number> = {};
    for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
    report(`${name}: ${JSON.stringify(counts)}, grown by ${Math.round(most / MEGABYTE)} MB`);
    for (const socket of sockets) socket.destroy();
    expect(statuses).toEqual([200, 200, 200]);
    expect(Object.keys(counts).filter((outcome) => !['held', '503 retry', '413'].includes(outcome))).toEqual(
      [],
    );
    expect(most).toBeLessThan(BUDGET + BESIDE);
  },
);
