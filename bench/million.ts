import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ReportedImport } from '../src/domain/products/import-report';
import { type Bench, type Figure, quantile, timed } from './harness';
import { ADVERTISER_TOKEN, PUBLISHER_TOKEN } from './network';
import { type DownloadFormat, digestOf } from './downloaded';
import { bodyOf } from './products';
import { Server } from './server';

/** With 100,000 products as the count: a million. */
const TIMES = 10;
/** The feed that is replaced, and the one that is searched meanwhile. */
const [LARGE, SEARCHED] = [1, 2] as const;
/** Searches on an idle server. */
const IDLE = 200;

/**
 * Limits: minimum products per second until durable, maximum MB of the process, maximum slowdown of searches (p99);
 * minimum products per second of a download, maximum MB that the process grows by it, maximum ms until its first byte.
 */
const GOALS = {
  rate: 10_000,
  memory: 1000,
  slowdown: 3,
  download: 20_000,
  growth: 100,
  firstByte: 1000,
} as const;

/**
 * Replaces a feed of ten times the count, twice with the same products. Measures the time until they are durable and
 * until all are found, the memory of the process, and searches in another feed meanwhile. Then downloads the feed in
 * every format; all must have the same products. Bodies are generated while they are sent, downloads are streamed.
 */
export async function* million(bench: Bench): AsyncGenerator<Figure> {
  const count = bench.count * TIMES;
  const server = await Server.start(join(bench.folder, 'million'), 'api,projector');
  const replaced = async (): Promise<{ readonly ms: number; readonly position: string }> => {
    let position = '';
    const body = Readable.from(bodyOf('json', count));
    const ms = await timed(async () => (position = await server.post(LARGE, 'json', body, ';mode=replace')));
    return { ms, position };
  };
  try {
    await server.shows(await server.post(SEARCHED, 'json', await bench.body('json')));
    const idle: number[] = [];
    while (idle.length < IDLE) idle.push(await searchTime(server));

    const meanwhile: number[] = [];
    let ends = false;
    const searchOn = async (): Promise<void> => {
      while (!ends) meanwhile.push(await searchTime(server));
    };
    const [{ ms, position }] = await Promise.all([replaced().finally(() => (ends = true)), searchOn()]);
    yield atLeast('million', (count / ms) * 1000, GOALS.rate);
    yield atMost(
      'million search p99',
      quantile(meanwhile, 0.99),
      GOALS.slowdown * quantile(idle, 0.99),
      'ms',
    );
    const untilFound = ms + (await timed(() => server.shows(position)));
    yield { ...atLeast('million until found', (count / untilFound) * 1000, GOALS.rate), goal: null };
    await requireLast(server, { new: count });

    const again = await replaced();
    await server.shows(again.position);
    await requireLast(server, { unchanged: count });
    yield atLeast('million unchanged', (count / again.ms) * 1000, GOALS.rate);
    yield atMost('million memory', server.peakMemory(), GOALS.memory, 'MB');
    yield* downloads(server, count);
  } finally {
    await server.stop();
  }
}

/** Downloads the large feed in each format: speed and memory growth; fails unless all have the same products. */
async function* downloads(server: Server, count: number): AsyncGenerator<Figure> {
  const digests = new Set<string>();
  for (const format of ['json', 'xml', 'csv'] as const satisfies readonly DownloadFormat[]) {
    const path = `/1.0/productsUnlimited.${format};fid=${LARGE}?token=${PUBLISHER_TOKEN}`;
    yield atMost(
      `million ${format} first byte`,
      await timed(() => firstByte(server, path)),
      GOALS.firstByte,
      'ms',
    );
    const growth = server.memoryGrowth();
    const ms = await timed(() => server.take(path));
    yield atLeast(`million ${format}`, (count / ms) * 1000, GOALS.download);
    yield atMost(`million ${format} memory`, Math.max(1, growth()), GOALS.growth, 'MB');
    const { products, digest } = await digestOf(format, await server.stream(path));
    if (products !== count) throw new Error(`the download in ${format} has ${products} products`);
    digests.add(digest);
  }
  if (digests.size > 1) throw new Error('the downloads differ');
  const path = `/1.0/productsUnlimited.csv;fid=${LARGE};csvFlattenFields=true?token=${PUBLISHER_TOKEN}`;
  yield atMost(
    'million flattened csv first byte',
    await timed(() => firstByte(server, path)),
    GOALS.firstByte,
    'ms',
  );
}

/** Starts a download and aborts it at the first byte. */
async function firstByte(server: Server, path: string): Promise<void> {
  for await (const _ of await server.stream(path)) return;
}

async function searchTime(server: Server): Promise<number> {
  const path = `/1.0/products.json;fid=${SEARCHED};brand=Gruflo;pageSize=20?token=${PUBLISHER_TOKEN}`;
  return await timed(() => server.get(path));
}

/** Fails unless the last load of the large feed has these results. */
async function requireLast(server: Server, expected: Partial<ReportedImport>): Promise<void> {
  const answer = await server.get(`/1.0/products/imports.json;fid=${LARGE}?token=${ADVERTISER_TOKEN}`);
  const [last] = (JSON.parse(answer) as { imports: readonly ReportedImport[] }).imports;
  const wanted = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0, ...expected };
  for (const [name, value] of Object.entries(wanted)) {
    const found = last?.[name as keyof ReportedImport];
    if (found !== value)
      throw new Error(`the load has ${name} ${JSON.stringify(found)}, expected ${JSON.stringify(value)}`);
  }
}

function atLeast(figure: string, measured: number, limit: number): Figure {
  return { figure, measured, limit, ratio: measured / limit, goal: 1, unit: 'products/s' };
}

function atMost(figure: string, measured: number, limit: number, unit: string): Figure {
  return { figure, measured, limit, ratio: limit / measured, goal: 1, unit };
}
