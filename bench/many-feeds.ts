import { join } from 'node:path';
import { Readable } from 'node:stream';
import { searchProducts } from '../projections/product-search';
import { openEngines } from '../src/engines/open';
import { Catalogue } from './catalogue';
import { criteriaOf } from './catalogue-searches';
import { fill } from './filled';
import { type Bench, type Figure, quantile, timed } from './harness';
import { networkFile } from './network';
import { bodyOf } from './products';
import { Server } from './server';

/** Products of a feed, and of a post. */
const FEED = 20;
/** With 100,000 as the count: 100, 1,000 and 10,000 feeds. */
const TIMES = { few: 1, 'ten times': 10, 'a hundred times': 100 } as const;
const PRODUCTS_PER_FEED = 1_000;
/** Posts that are measured, after as many that are not. */
const POSTS = 40;
/** A post may take so much of the time that one takes with the fewest feeds. */
const SLOWDOWN = 2;

/**
 * Many small feeds: a post of 20 products into one of them until searches show it, and searches of all feeds for a
 * common word, the first one after a start and others. Bare: twice the time of a post with the fewest feeds; for
 * searches, their time per feed.
 */
export async function* manyFeeds(bench: Bench): AsyncGenerator<Figure> {
  let fewest: Times | undefined;
  for (const [name, factor] of Object.entries(TIMES)) {
    const feeds = Math.ceil(bench.count / PRODUCTS_PER_FEED) * factor;
    const times = await timesOf(join(bench.folder, `many-feeds-${feeds}`), feeds);
    fewest ??= times;
    const atMost = (figure: string, measured: number, limit: number, goal: number | null): Figure => ({
      figure: `many-feeds ${figure}, ${name}`,
      measured,
      limit,
      ratio: limit / measured,
      goal,
      unit: 'ms',
    });
    yield atMost('post', times.post, SLOWDOWN * fewest.post, 1);
    yield atMost('first search of all', times.first, factor * fewest.first, null);
    yield atMost('search of all', times.later, factor * fewest.later, null);
  }
}

/** Medians in ms. */
interface Times {
  readonly post: number;
  /** Of a search of all feeds: the first one, and later ones. */
  readonly first: number;
  readonly later: number;
}

async function timesOf(dataDir: string, feeds: number): Promise<Times> {
  const catalogue = new Catalogue(Array.from({ length: feeds }, () => FEED));
  await fill(dataDir, catalogue, networkFile(feeds, 0));
  const posts: number[] = [];
  const server = await Server.start(dataDir, 'api,projector');
  try {
    for (let post = 0; post < 2 * POSTS; post += 1) {
      const feed = 1 + ((post * 7_919) % feeds);
      const body = [...bodyOf('json', FEED, post + 1)].join('');
      posts.push(
        await timed(async () => server.shows(await server.post(feed, 'json', Readable.from([body])))),
      );
    }
  } finally {
    await server.stop();
  }
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  try {
    const criteria = {
      ...criteriaOf({ words: [[1]] }, catalogue),
      // No category is mapped.
      visibleOnly: false,
      feedIds: Array.from({ length: feeds }, (_, at) => at + 1),
    };
    const search = (): Promise<number> =>
      timed(async () => {
        const { total } = await searchProducts(engines.store, criteria);
        if (total === 0) throw new Error('expected products with a common word');
      });
    const first = await search();
    const later = [await search(), await search(), await search()];
    return { post: quantile(posts.slice(POSTS), 0.5), first, later: quantile(later, 0.5) };
  } finally {
    await engines.close();
  }
}
