import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { generateProducts } from '../src/demo/generate';
import { type PostedProduct } from '../src/demo/posted-product';
import { BareSearch } from './bare/search';
import { type Bench, compareLatencies, type Figure, timed } from './harness';
import { FEEDS, PUBLISHER_TOKEN } from './network';
import { CATEGORIES } from './products';
import { KINDS } from './search-kinds';
import { Server } from './server';

/** The feed searched. */
const FEED = 1;
/** Searches of each kind that count (fewer where there are few products), after some that do not. */
const COUNTED = 100;
const WARM_UP = 5;

/**
 * Searches, ten kinds of them, in a feed of all products: first while nothing else happens, then while the same
 * products are loaded into other feeds, one load after the other, and projected.
 *
 * Ours: from the request to the whole answer in JSON, over HTTP.
 * Bare: the same search as SQL in the same file, in this process: the number of all that match and the rows of the
 * page, bodies as they are stored. Nothing is parsed and nothing rendered.
 */
export async function search(bench: Bench): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, 'search');
  const path = await bench.body('json');
  const sample = [...someProducts(bench.count)];
  const server = await Server.start(dataDir, 'api,projector');
  try {
    await server.shows(await server.post(FEED, 'json', path));
    const bare = new BareSearch(await liveProducts(join(dataDir, 'read')));
    const idle = await searched(server, bare, sample, 'idle');
    let ends = false;
    const load = async (): Promise<void> => {
      for (let feed = FEED + 1; !ends; feed = feed === FEEDS ? FEED + 1 : feed + 1)
        await server.post(feed, 'json', path);
    };
    const [loading] = await Promise.all([
      searched(server, bare, sample, 'loading').finally(() => (ends = true)),
      load(),
    ]);
    bare.close();
    return [...idle, ...loading];
  } finally {
    await server.stop();
  }
}

async function searched(
  server: Server,
  bare: BareSearch,
  sample: readonly PostedProduct[],
  state: string,
): Promise<Figure[]> {
  const range = bare.rangeOf(FEED);
  const figures: Figure[] = [];
  for (const [kind, ask] of Object.entries(KINDS)) {
    const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
    let searches = 0;
    for (const product of sample) {
      const { keys, bare: query } = ask(product, FEED, range);
      const path = `/1.0/products.json;fid=${FEED};${keys}?token=${PUBLISHER_TOKEN}`;
      let answer = '';
      const ours = await timed(async () => (answer = await server.get(path)));
      let total = 0;
      const theirs = await timed(() => (total = bare.run(query)));
      const { totalHits } = (JSON.parse(answer) as { productHeader: { totalHits: number } }).productHeader;
      if (totalHits !== total) throw new Error(`${keys}: ${totalHits} hits, SQLite finds ${total}`);
      searches += 1;
      if (searches <= WARM_UP) continue;
      times.ours.push(ours);
      times.bare.push(theirs);
    }
    figures.push(...compareLatencies(`search ${kind}, ${state}`, times.ours, times.bare));
  }
  return figures;
}

/** The file of the only generation there is. */
async function liveProducts(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => /^products-g\d+\.sqlite$/.test(file));
  if (name === undefined) throw new Error(`there is no read model of products in ${folder}`);
  return join(folder, name);
}

/** As many products as are searched for, from all over the feed. */
function* someProducts(count: number): Generator<PostedProduct> {
  const wanted = WARM_UP + Math.min(COUNTED, Math.ceil(count / 100));
  const step = Math.max(1, Math.floor(count / wanted));
  let at = 0;
  for (const product of generateProducts({ count, categories: CATEGORIES })) {
    if (at % step === 0 && at / step < wanted) yield product;
    at += 1;
  }
}
