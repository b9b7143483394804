import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { type Bench, type Figure, quantile } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { bodyOf, writeBody } from './products';
import { Server } from './server';

/** With 100,000 products as the count: a million. */
const TIMES = 10;
const [LARGE, SMALL] = [1, 2] as const;
const POST_MS = 500;
const SEARCH = `/1.0/products;fid=${SMALL};pageSize=1?token=${PUBLISHER_TOKEN}`;

/** Most ms until a small post is answered, and until it is found. */
const LIMIT = 2_000;

/**
 * Posts ten times the count of products to a feed, and meanwhile, until all of them are found, one product after the other
 * to another feed: how long each of these takes to be answered, and to be found.
 */
export async function* smallWhileLarge(bench: Bench): AsyncGenerator<Figure> {
  const count = bench.count * TIMES;
  const path = join(bench.folder, 'small-while-large.json');
  await writeBody(path, 'json', count);
  const server = await Server.start(join(bench.folder, 'small-while-large'), 'api,projector');
  try {
    const answered: number[] = [];
    const found: number[] = [];
    let ends = false;
    const postOn = async (): Promise<void> => {
      for (let seed = 1; !ends; seed += 1) {
        const began = performance.now();
        const position = await server.post(SMALL, 'json', Readable.from(bodyOf('json', 1, seed)));
        answered.push(performance.now() - began);
        await server.shows(position, SEARCH);
        found.push(performance.now() - began);
        await pause(POST_MS);
      }
    };
    const loaded = async (): Promise<void> => server.shows(await server.post(LARGE, 'json', path));
    await Promise.all([loaded().finally(() => (ends = true)), postOn()]);
    yield atMost('small-while-large answered', quantile(answered, 1), LIMIT);
    yield atMost('small-while-large found', quantile(found, 1), LIMIT);
  } finally {
    await server.stop();
  }
}

function atMost(figure: string, measured: number, limit: number): Figure {
  return { figure, measured, limit, ratio: limit / measured, goal: 1, unit: 'ms' };
}
