import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { type Bench, type Figure, quantile } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { Server } from './server';
import { createVouchers } from './voucher-create';

/** Rounds of each side, which alternate, the first one of each pair in turn. */
const ROUNDS = 9;
/** Prometheus usually asks every 15 seconds (ms). */
const SCRAPE_MS = 5_000;
/** Searches are asked for so many at a time. */
const IN_FLIGHT = 8;
const SEARCHES_A_ROUND = 1_000;

const OFF = join(__dirname, 'metrics-off.process.js');

/**
 * What metrics cost: vouchers that are created and products that are searched by a program that counts everything and is scraped,
 * against the same program that counts nothing. By the processor time of the server, which other load on the machine hardly changes.
 */
export async function* metrics(bench: Bench): AsyncGenerator<Figure> {
  const body = await bench.body('json');
  const sides = {
    on: await Server.start(join(bench.folder, 'metrics-on'), 'api,projector', { METRICS_PORT: '0' }),
    off: await Server.start(join(bench.folder, 'metrics-off'), 'api,projector', {
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require ${OFF}`,
    }),
  };
  const both = [sides.on, sides.off] as const;
  const [, scraped] = /metrics are at (\S+)/.exec(sides.on.shown) ?? [];
  if (scraped === undefined) throw new Error('the server has not printed where its metrics are');
  const scraping = setInterval(() => {
    fetch(scraped).then(
      async (answer) => answer.text(),
      () => undefined,
    );
  }, SCRAPE_MS);
  try {
    for (const server of both) await server.shows(await server.post(1, 'json', body));
    const vouchers = Math.max(64, Math.ceil(bench.count / 50));
    yield await compared('metrics voucher-create', vouchers, 'vouchers/s', both, (server, round) =>
      createVouchers(server, round, vouchers),
    );
    yield await compared('metrics search', SEARCHES_A_ROUND, 'searches/s', both, searchMany);
  } finally {
    clearInterval(scraping);
    for (const server of both) await server.stop();
  }
}

async function compared(
  figure: string,
  count: number,
  unit: string,
  [on, off]: readonly [Server, Server],
  work: (server: Server, round: number) => Promise<unknown>,
): Promise<Figure> {
  const times = { on: [] as number[], off: [] as number[] };
  for (let round = -1; round < ROUNDS; round += 1) {
    const turns = [
      ['on', on],
      ['off', off],
    ] as const;
    for (const [side, server] of round % 2 === 0 ? turns : turns.toReversed()) {
      // Connections that the server has closed meanwhile are noticed now.
      await turn();
      const before = server.processorSeconds();
      await work(server, round);
      // The first round warms up.
      if (round >= 0) times[side].push(server.processorSeconds() - before);
    }
  }
  const [measured = NaN, limit = NaN] = [times.on, times.off].map(
    (seconds) => count / quantile(seconds, 0.5),
  );
  return { figure, measured, limit, ratio: measured / limit, goal: 0.98, unit };
}

async function searchMany(server: Server): Promise<void> {
  let left = SEARCHES_A_ROUND;
  const ask = async (): Promise<void> => {
    for (; left > 0; left -= 1)
      await server.get(
        `/1.0/products.json;fid=1;page=${1 + (left % 50)};pageSize=10?token=${PUBLISHER_TOKEN}`,
      );
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
}
