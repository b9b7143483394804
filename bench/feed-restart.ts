import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openEngines } from '../src/engines/open';
import { APPEND_LIMITS } from '../src/kernel/event-log';
import { type NewEvent, NO_STREAM } from '../src/kernel/event';
import { type Bench, type Figure, quantile, timed } from './harness';
import { bodyOf } from './products';
import { Server } from './server';

/** With 100,000 products as the count: ten million events. */
const TIMES = 100;
const [LARGE, OTHER] = [1, 2] as const;
/** Products of a small post: more than a post waits to see projected, since no projector runs here. */
const SMALL = 1_100;
/** Limits: milliseconds of the first post after a restart, events per second folded without the file. */
const GOALS = { post: 2000, fold: 100_000 } as const;

/**
 * A feed with a long history, a hundred times as many events as products. Measures the first small post after a
 * restart, and how fast its fingerprints are folded when their file is lost, while another feed receives posts.
 */
export async function feedRestart(bench: Bench): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, 'feed-restart');
  await (await Server.start(dataDir, 'api')).stop();
  const events = bench.count * TIMES;
  await appendHistory(dataDir, bench.count, events);

  const others: number[] = [];
  const folded = await restarted(dataDir, async (server) => {
    let ends = false;
    const postOthers = async (): Promise<void> => {
      while (!ends) others.push(await timed(() => postSmall(server, OTHER)));
    };
    const [ms] = await Promise.all([
      timed(() => postSmall(server, LARGE)).finally(() => (ends = true)),
      postOthers(),
    ]);
    return ms;
  });
  const posted = await restarted(dataDir, (server) => timed(() => postSmall(server, LARGE)));
  await rm(dataDir, { recursive: true });
  const rate = (events / folded) * 1000;
  const other = quantile(others, 0.99);
  return [
    {
      figure: 'feed-restart',
      measured: posted,
      limit: GOALS.post,
      ratio: GOALS.post / posted,
      goal: 1,
      unit: 'ms',
    },
    {
      figure: 'feed-restart fold',
      measured: rate,
      limit: GOALS.fold,
      ratio: rate / GOALS.fold,
      goal: 1,
      unit: 'events/s',
    },
    {
      figure: 'feed-restart other feed p99',
      measured: other,
      limit: GOALS.post,
      ratio: GOALS.post / other,
      goal: null,
      unit: 'ms',
    },
  ];
}

async function restarted(dataDir: string, work: (server: Server) => Promise<number>): Promise<number> {
  const server = await Server.start(dataDir, 'api');
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

async function postSmall(server: Server, feed: number): Promise<void> {
  await server.post(feed, 'json', Readable.from(bodyOf('json', SMALL)));
}

/** Lists products in the large feed and changes their prices in rotation, up to a number of events. */
async function appendHistory(dataDir: string, products: number, events: number): Promise<void> {
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false, readers: 0 };
  const engines = await openEngines(settings);
  for (let at = 0; at < events; at += APPEND_LIMITS.events) {
    const length = Math.min(APPEND_LIMITS.events, events - at);
    const batch = Array.from({ length }, (_, place) => eventAt(at + place, products));
    await engines.log.append(`feed-${LARGE}`, NO_STREAM + at, batch);
  }
  await engines.close();
}

const AT = '2026-01-01T00:00:00.000Z';
/** Minimal, since it is never returned. */
const PRODUCT = '{"name":"n","description":"d","productUrl":"https://s.example/","categories":[]}';
const META = `{"content":"${'0f'.repeat(16)}"}`;

function eventAt(at: number, products: number): NewEvent {
  const head = `{"sourceProductId":"h${at % products}","price":${at},"at":"${AT}"`;
  const id = randomUUID();
  return at < products
    ? { id, type: 'ProductListed', data: `${head},"product":${PRODUCT}}`, meta: META }
    : { id, type: 'ProductRepriced', data: `${head}}`, meta: '{}' };
}
