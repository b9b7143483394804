import { join } from 'node:path';
import { type PostedProduct } from '../src/demo/products';
import { products } from '../projections/products';
import { openEngines } from '../src/engines/open';
import { BareSearch } from './bare/search';
import { BareTables } from './bare/tables';
import { type Bench, compareLatencies, type Figure, timed } from './harness';
import { FEEDS, PUBLISHER_TOKEN } from './network';
import { sampleOf } from './products';
import { documentsOf } from './read-models';
import { KINDS } from './search-kinds';
import { Server } from './server';

/** The feed searched. */
const FEED = 1;
/** Measured searches of each kind (fewer with few products or slow searches), after a warm-up. */
const COUNTED = 100;
const WARM_UP = 5;
/** Time limit (ms) for the searches of a kind, with at least one measured. */
const MOST_MS = 5_000;
/** Limit in seconds from the answer to a load of 100,000 products until searches find them all. */
const FOUND_IN = 20;

/**
 * Measures how soon after its answer all products of a load are found. Then ten kinds of search in this feed: on an
 * idle server, and while the same products are loaded into other feeds, one after the other, and projected.
 *
 * Ours: from the request to the complete JSON answer, over HTTP.
 * Bare: the same search as SQL in tables with FTS5, in this process: the number of matches and the rows of the page
 * with stored bodies, without parsing or rendering.
 */
export async function* search(bench: Bench): AsyncGenerator<Figure> {
  const dataDir = join(bench.folder, 'search');
  const path = await bench.body('json');
  const sample = [...sampleOf(bench.count, WARM_UP + Math.min(COUNTED, Math.ceil(bench.count / 100)))];
  const server = await Server.start(dataDir, 'api,projector');
  try {
    yield await untilFound(server, await server.post(FEED, 'json', path), bench.count);
    const bare = await bareOf(dataDir, join(bench.folder, 'search-bare.sqlite'));
    yield* searched(server, bare, sample, 'idle');
    let ends = false;
    const load = async (): Promise<void> => {
      for (let feed = FEED + 1; !ends; feed = feed === FEEDS ? FEED + 1 : feed + 1)
        await server.post(feed, 'json', path);
    };
    const loading = load();
    // Awaited below, where failures are raised.
    loading.catch(() => undefined);
    try {
      yield* searched(server, bare, sample, 'loading');
    } finally {
      ends = true;
      await loading;
    }
    bare.close();
  } finally {
    await server.stop();
  }
}

/** Time from the answer until searches find all products of the feed. */
async function untilFound(server: Server, position: string, count: number): Promise<Figure> {
  const measured = (await timed(() => server.shows(position))) / 1000;
  const answer = await server.get(`/1.0/products.json;fid=${FEED};pageSize=1?token=${PUBLISHER_TOKEN}`);
  const total = hitsOf(answer);
  if (total !== count) throw new Error(`found ${total} products, posted ${count}`);
  return { figure: 'found', measured, limit: FOUND_IN, ratio: FOUND_IN / measured, goal: 1, unit: 's' };
}

/** The products of the feed in tables of SQLite alone. */
async function bareOf(dataDir: string, file: string): Promise<BareSearch> {
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  try {
    const tables = new BareTables(file, products.collection);
    tables.fill(await documentsOf(engines, products));
    tables.close();
  } finally {
    await engines.close();
  }
  return new BareSearch(file);
}

const EVERYWHERE = [0, Number.MAX_SAFE_INTEGER] as const;

function hitsOf(answer: string): number {
  return (JSON.parse(answer) as { productHeader: { totalHits: number } }).productHeader.totalHits;
}

async function* searched(
  server: Server,
  bare: BareSearch,
  sample: readonly PostedProduct[],
  state: string,
): AsyncGenerator<Figure> {
  for (const [kind, ask] of Object.entries(KINDS)) {
    const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
    let searches = 0;
    const end = performance.now() + MOST_MS;
    for (const product of sample) {
      if (times.ours.length > 0 && performance.now() > end) break;
      const { keys, bare: query } = ask(product, FEED, EVERYWHERE);
      const path = `/1.0/products.json;fid=${FEED};${keys}?token=${PUBLISHER_TOKEN}`;
      let answer = '';
      const ours = await timed(async () => (answer = await server.get(path)));
      let total = 0;
      const theirs = await timed(() => (total = bare.run(query)));
      const totalHits = hitsOf(answer);
      if (totalHits !== total) throw new Error(`${keys}: ${totalHits} hits, expected ${total} as in SQLite`);
      searches += 1;
      if (searches <= WARM_UP) continue;
      times.ours.push(ours);
      times.bare.push(theirs);
    }
    yield* compareLatencies(`search ${kind}, ${state}`, times.ours, times.bare);
  }
}
