import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { type Bench, type Figure } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { writeBody } from './products';
import { type Settings } from './program';
import { Server } from './server';
import { createVouchers } from './voucher-create';

/** Rounds of each side, which alternate, the first one of each pair in turn. */
const ROUNDS = 9;
/** At most. More products would change nothing but how long it takes until they are found. */
const MOST = { products: 5_000, vouchers: 512, searches: 500 } as const;
/** Searches are asked for so many at a time. */
const IN_FLIGHT = 8;
/** Of a search. */
const PAGE_SIZE = 10;
const MOST_PAGES = 50;
/** Prometheus usually asks every 15 seconds (ms). */
const SCRAPE_MS = 5_000;

const OFF = join(__dirname, 'metrics-off.process.js');

/** What metrics cost: a program that counts everything and is scraped, against the same program that counts nothing. */
export async function* metrics(bench: Bench): AsyncGenerator<Figure> {
  const off = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require ${OFF}` };
  let scraping: NodeJS.Timeout | undefined;
  const scrape = ({ shown }: Server): void => {
    const [, url] = /metrics are at (\S+)/.exec(shown) ?? [];
    if (url === undefined) throw new Error('the server has not printed where its metrics are');
    scraping = setInterval(() => {
      fetch(url).then(
        async (answer) => answer.text(),
        () => undefined,
      );
    }, SCRAPE_MS);
  };
  try {
    yield* compared(bench, 'metrics', 0.98, { METRICS_PORT: '0' }, off, scrape);
  } finally {
    clearInterval(scraping);
  }
}

/** What traces cost: a program that sends them to a collector, against the same program without. */
export async function* traces(bench: Bench): AsyncGenerator<Figure> {
  const collector = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  try {
    yield* compared(bench, 'traces', null, { TRACES: `http://127.0.0.1:${port}` }, {});
  } finally {
    collector.close();
    collector.closeAllConnections();
  }
}

/**
 * Vouchers that are created and products that are searched, with the settings of both sides. By the processor time of
 * the server, all threads together, which other load on the machine hardly changes.
 */
async function* compared(
  bench: Bench,
  name: string,
  goal: number | null,
  on: Settings,
  off: Settings,
  started: (server: Server) => void = () => undefined,
): AsyncGenerator<Figure> {
  const products = Math.min(bench.count, MOST.products);
  const body = join(bench.folder, `${name}.json`);
  await writeBody(body, 'json', products);
  const servers: Server[] = [];
  try {
    for (const [side, settings] of Object.entries({ on, off }))
      servers.push(await Server.start(join(bench.folder, `${name}-${side}`), 'api,projector', settings));
    const [first, second] = servers as [Server, Server];
    started(first);
    for (const server of servers) await server.shows(await server.post(1, 'json', body));
    const pages = Math.max(1, Math.min(MOST_PAGES, Math.floor(products / PAGE_SIZE)));
    const rate = async (
      kind: string,
      unit: string,
      count: number,
      work: (server: Server, round: number) => Promise<unknown>,
    ): Promise<Figure> => {
      const times = await processorTimes(first, second, work);
      const [measured, limit] = times.map((seconds) => (ROUNDS * count) / seconds) as [number, number];
      return { figure: `${name} ${kind}`, measured, limit, ratio: measured / limit, goal, unit };
    };
    const vouchers = Math.min(bench.count, MOST.vouchers);
    yield await rate('voucher-create', 'vouchers/s', vouchers, (server, round) =>
      createVouchers(server, round, vouchers),
    );
    const searches = Math.min(bench.count, MOST.searches);
    yield await rate('search', 'searches/s', searches, (server) => searchMany(server, searches, pages));
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** The processor time of each server for all rounds (s). The kernel counts it by hundredths of a second. */
async function processorTimes(
  first: Server,
  second: Server,
  work: (server: Server, round: number) => Promise<unknown>,
): Promise<readonly [number, number]> {
  const used = new Map([first, second].map((server) => [server, 0]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const server of round % 2 === 0 ? [first, second] : [second, first]) {
      // Connections that the server has closed meanwhile are noticed now.
      await turn();
      const before = server.processorSeconds();
      await work(server, round);
      // The first round warms up.
      if (round >= 0) used.set(server, (used.get(server) ?? 0) + server.processorSeconds() - before);
    }
  }
  return [used.get(first) ?? NaN, used.get(second) ?? NaN];
}

async function searchMany(server: Server, count: number, pages: number): Promise<void> {
  let left = count;
  const ask = async (): Promise<void> => {
    for (left -= 1; left >= 0; left -= 1) {
      const page = 1 + (left % pages);
      const keys = `fid=1;page=${page};pageSize=${PAGE_SIZE}`;
      await server.get(`/1.0/products.json;${keys}?token=${PUBLISHER_TOKEN}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
}
