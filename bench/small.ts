import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { listVouchers } from '../projections/vouchers';
import { searchProducts } from '../projections/product-search';
import { audiencesIn } from '../src/domain/vouchers/voucher';
import { type Engines, openEngines } from '../src/engines/open';
import { type SameAnswer } from './bare/fastify.process';
import { BareLog } from './bare/log';
import { type Bench, compareLatencies, type Figure, quantile, timed } from './harness';
import { LightClient, requestText } from './light-client';
import { CLAIM_TOKENS, CONVERSION_TOKENS, PUBLISHER_TOKEN, VOUCHER_TOKENS } from './network';
import { writeBody } from './products';
import { Server } from './server';
import { postedTransaction } from './transactions';
import { createVouchers } from './voucher-create';

/** At most: more would change nothing but how long they take to prepare. */
const MOST = { products: 5_000, vouchers: 500 } as const;
/** Rounds of each side, which alternate; requests of a round and of a warm-up, on one connection. */
const ROUNDS = 5;
const A_ROUND = 200;
const WARM_UP = 1_000;
const CONNECTIONS = 8;
/** Vouchers of a list. */
const LISTED = 10;
/** What is aimed at: the median on one connection (ms), and requests a second on eight. */
const AIMS = { p50: 0.5, rate: 4_000 } as const;

/** A kind of small request. */
interface Small {
  /** The text of a request, different for each number where it writes. */
  readonly request: (number: number) => string;
  /** What the same takes without HTTP, in this process. */
  readonly bare: (number: number) => unknown;
  readonly isRead: boolean;
}

/**
 * One product by its id, ten vouchers, the report of a transaction, a claim: on one connection and on
 * eight, which are kept alive.
 *
 * Ours: from the request to the complete answer, over HTTP. Bare: Fastify alone, which answers the same bytes, with the
 * same client; then the same without HTTP in this process: the query as a call of the read store in this thread, or the
 * append of one event, durable.
 */
export async function* small(bench: Bench): AsyncGenerator<Figure> {
  const dataDir = join(bench.folder, 'small');
  const server = await Server.start(dataDir, 'api,projector');
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const log = new BareLog(join(bench.folder, 'small-bare.sqlite'));
  try {
    const kinds = await prepared(bench, server, engines, log);
    const share = Math.min(1, bench.count / MOST.products);
    for (const [name, kind] of Object.entries(kinds)) yield* measured(name, kind, server, share);
  } finally {
    log.close();
    await engines.close();
    await server.stop();
  }
}

async function prepared(
  bench: Bench,
  server: Server,
  { store }: Engines,
  log: BareLog,
): Promise<Readonly<Record<string, Small>>> {
  const products = Math.min(bench.count, MOST.products);
  const body = join(bench.folder, 'small.json');
  await writeBody(body, 'json', products);
  await server.shows(await server.post(1, 'json', body));
  await createVouchers(server, 0, Math.min(bench.count, MOST.vouchers));
  const idOf = (number: number): string => `p${1 + (number % products)}`;
  const audiences = [audiencesIn([{ siteId: 21, programId: 11 }])];
  const append = (data: object): void => {
    const id = randomUUID();
    log.append(`small-${id}`, [[id, 'Posted', JSON.stringify(data), '{}']]);
  };
  return {
    'a product': {
      isRead: true,
      request: (number) =>
        requestText('GET', `/1.0/products.json;fid=1;spId=${idOf(number)}?token=${PUBLISHER_TOKEN}`),
      bare: async (number) => {
        const window = { offset: 0, size: 100 };
        const criteria = { feedIds: [1], visibleOnly: true, spId: [idOf(number)], window };
        const { groups } = await searchProducts(store, criteria);
        for await (const batch of groups) if (batch.length === 1) return;
        throw new Error(`${idOf(number)} was not found`);
      },
    },
    'ten vouchers': {
      isRead: true,
      request: () =>
        requestText('GET', `/1.0/vouchers.json;pageSize=${LISTED}?token=${VOUCHER_TOKENS.publisher}`),
      bare: async () => {
        const now = Date.now();
        const page = { offset: 0, size: LISTED };
        const criteria = { among: {}, audiences, publishedAt: now, minEndDate: now, ...page };
        const { groups } = await listVouchers(store, criteria);
        for await (const batch of groups) if (batch.length > 0) return;
        throw new Error('no vouchers were found');
      },
    },
    'a report': {
      isRead: false,
      request: (number) =>
        requestText(
          'POST',
          `/1.0/conversions/transactions?token=${CONVERSION_TOKENS.advertiser}`,
          postedTransaction(`S-${number}`, number),
        ),
      bare: (number) => append(postedTransaction(`S-${number}`, number)),
    },
    'a claim': {
      isRead: false,
      request: (number) =>
        requestText('POST', `/1.0/claims?token=${CLAIM_TOKENS.publisher}`, { claims: [claimOf(number)] }),
      bare: (number) => append(claimOf(number)),
    },
  };
}

function claimOf(number: number) {
  return {
    affiliateSiteId: '21',
    programId: '11',
    timeStampEvent: '2026-01-05',
    eventId: '111',
    orderNumber: `S-${number}`,
    orderValue: '129.90',
    trackingUrl: `https://clk.example/click?p=11&a=21&epi=${number}`,
    productName: 'Wall lamp',
  };
}

async function* measured(
  kind: string,
  { request, bare, isRead }: Small,
  server: Server,
  share: number,
): AsyncGenerator<Figure> {
  let number = 0;
  const next = (): string => request((number += 1));
  const ours = await clientsOf(server.origin);
  const fastify = await BareFastify.answering(await answerOf(ours, next()));
  const others = await clientsOf(fastify.origin);
  const asked = (): string => requestText('GET', '/0');
  const size = Math.max(CONNECTIONS, Math.ceil(A_ROUND * share));
  try {
    await answerTimes(ours, Math.ceil(WARM_UP * share), next);
    await answerTimes(others, Math.ceil(WARM_UP * share), asked);
    const times: { ours: number[]; fastify: number[]; bare: number[] } = { ours: [], fastify: [], bare: [] };
    const rates: { ours: number[]; fastify: number[] } = { ours: [], fastify: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      times.ours.push(...(await answerTimes(ours.slice(0, 1), size, next)));
      times.fastify.push(...(await answerTimes(others.slice(0, 1), size, asked)));
      for (let at = 0; at < size; at += 1) times.bare.push(await timed(() => bare(at)));
      rates.ours.push(await rateOf(ours, CONNECTIONS * size, next));
      rates.fastify.push(await rateOf(others, CONNECTIONS * size, asked));
    }
    yield* compareLatencies(`small ${kind}, 1 connection`, times.ours, times.fastify);
    yield* compareLatencies(
      `small ${kind}, 1 connection, ${isRead ? 'query' : 'append'}`,
      times.ours,
      times.bare,
    ).slice(0, 1);
    const p50 = quantile(times.ours, 0.5);
    const rate = quantile(rates.ours, 0.5);
    const limit = quantile(rates.fastify, 0.5);
    const unit = 'requests/s';
    const figure = `small ${kind}, ${CONNECTIONS} connections`;
    yield { figure, measured: rate, limit, ratio: rate / limit, goal: null, unit };
    yield {
      ...{ figure: `small ${kind}`, measured: p50, limit: AIMS.p50 },
      ...{ ratio: AIMS.p50 / p50, goal: isRead ? 1 : null, unit: 'ms' },
    };
    yield {
      ...{ figure: `small ${kind}, many`, measured: rate, limit: AIMS.rate },
      ...{ ratio: rate / AIMS.rate, goal: isRead ? 1 : null, unit },
    };
  } finally {
    for (const client of [...ours, ...others]) client.close();
    await fastify.stop();
  }
}

async function clientsOf(origin: string): Promise<readonly LightClient[]> {
  return await Promise.all(Array.from({ length: CONNECTIONS }, () => LightClient.open(origin)));
}

/** The times of so many requests (ms), each client with one at a time. */
async function answerTimes(
  clients: readonly LightClient[],
  count: number,
  next: () => string,
): Promise<readonly number[]> {
  const times: number[] = [];
  let left = count;
  const askMany = async (client: LightClient): Promise<void> => {
    for (left -= 1; left >= 0; left -= 1) {
      const request = next();
      const began = performance.now();
      await client.ask(request);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(clients.map(askMany));
  return times;
}

/** Requests a second. */
async function rateOf(clients: readonly LightClient[], count: number, next: () => string): Promise<number> {
  return (count / (await timed(() => answerTimes(clients, count, next)))) * 1000;
}

/** Headers that Fastify or Node.js writes itself. */
const OWN = ['date', 'connection', 'keep-alive', 'content-length'];

async function answerOf([client]: readonly LightClient[], request: string): Promise<SameAnswer> {
  const [head = '', ...body] = String(await client?.ask(request)).split('\r\n\r\n');
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const)
    .filter(([name]) => !OWN.includes(name.toLowerCase()));
  return { headers: Object.fromEntries(headers), body: body.join('\r\n\r\n') };
}

/** Fastify alone, in a process of its own. */
class BareFastify {
  private constructor(
    private readonly child: ReturnType<typeof fork>,
    readonly origin: string,
  ) {}

  static async answering(...answers: readonly SameAnswer[]): Promise<BareFastify> {
    const child = fork(join(__dirname, 'bare/fastify.process.js'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.send(answers);
    const [origin] = (await once(child, 'message')) as [string];
    return new BareFastify(child, origin);
  }

  async stop(): Promise<void> {
    this.child.disconnect();
    await once(this.child, 'exit');
  }
}
