import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { type Bench, type Figure, quantile } from './harness';
import { PUBLISHER_TOKEN, VOUCHER_TOKENS } from './network';
import { bodyOf, writeBody } from './products';
import { Server } from './server';
import { postedVoucher } from './voucher-posts';

/** With 100,000 products as the count: a million. */
const TIMES = 10;
const [LARGE, SMALL] = [1, 2] as const;
const POST_MS = 500;
/** What is posted beside the load: `post` returns its position, which `list` shows. */
const SMALL_POSTS = {
  product: {
    post: (server: Server, number: number) =>
      server.post(SMALL, 'json', Readable.from(bodyOf('json', 1, number))),
    list: `/1.0/products;fid=${SMALL};pageSize=1?token=${PUBLISHER_TOKEN}`,
  },
  voucher: {
    post: (server: Server, number: number) =>
      server.postJson(
        `/1.0/vouchers?token=${VOUCHER_TOKENS.advertiser}`,
        postedVoucher(number, `voucher ${number}`),
      ),
    list: `/1.0/vouchers;pageSize=1?token=${VOUCHER_TOKENS.publisher}`,
  },
} as const;

/** Most ms until a small post is answered, and until it is found. */
const LIMIT = 2_000;

/**
 * Posts ten times the count of products to a feed, and meanwhile, until all of them are found, one product after the
 * other to another feed, and vouchers: how long each of these takes to be answered, and to be found.
 */
export async function* smallWhileLarge(bench: Bench): AsyncGenerator<Figure> {
  const count = bench.count * TIMES;
  const path = join(bench.folder, 'small-while-large.json');
  await writeBody(path, 'json', count);
  const server = await Server.start(join(bench.folder, 'small-while-large'), 'api,projector');
  try {
    let isLoading = true;
    const beside = Object.entries(SMALL_POSTS).map(async ([name, { post, list }]) => {
      const answered: number[] = [];
      const found: number[] = [];
      for (let number = 1; isLoading; number += 1) {
        const began = performance.now();
        const position = await post(server, number);
        answered.push(performance.now() - began);
        await server.shows(position, list);
        found.push(performance.now() - began);
        await pause(POST_MS);
      }
      return [
        atMost(`small-while-large ${name} answered`, quantile(answered, 1)),
        atMost(`small-while-large ${name} found`, quantile(found, 1)),
      ];
    });
    const loaded = async (): Promise<void> => server.shows(await server.post(LARGE, 'json', path));
    await loaded().finally(() => (isLoading = false));
    for (const figures of await Promise.all(beside)) yield* figures;
  } finally {
    await server.stop();
  }
}

function atMost(figure: string, measured: number): Figure {
  return { figure, measured, limit: LIMIT, ratio: LIMIT / measured, goal: 1, unit: 'ms' };
}
