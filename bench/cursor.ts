import { type Bench, type Figure, quantile, timed } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { FEED, withFeed } from './one-feed';
import { type Server } from './server';

const PAGE = 100;

/** Orders to page through a feed in. */
const ORDERS = {
  'newest first': '',
  'oldest first': ';orderBy=modificationDateAsc',
  'by price': ';orderBy=priceAsc',
} as const;

/**
 * Pages through a whole feed by cursor, 100 products per page. Compares the median time of a page in the last tenth
 * with that in the first: later pages should take no longer.
 */
export async function cursor(bench: Bench): Promise<readonly Figure[]> {
  return withFeed(bench, 'cursor', async (server) => {
    const figures: Figure[] = [];
    for (const [order, keys] of Object.entries(ORDERS)) {
      const times = await pagesOf(server, keys, bench.count);
      const tenth = Math.ceil(times.length / 10);
      const measured = quantile(times.slice(-tenth), 0.5);
      const limit = quantile(times.slice(0, tenth), 0.5);
      figures.push({
        figure: `cursor ${order}`,
        measured,
        limit,
        ratio: limit / measured,
        goal: 0.8,
        unit: 'ms',
      });
    }
    return figures;
  });
}

/** Time of each page (ms); fails unless they contain all products. */
async function pagesOf(server: Server, keys: string, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined = '*'; next !== undefined;) {
    const path = `/1.0/products.json;fid=${FEED};pageSize=${PAGE};cursor=${next}${keys}?token=${PUBLISHER_TOKEN}`;
    let answer = '';
    times.push(await timed(async () => (answer = await server.get(path))));
    const page = JSON.parse(answer) as Page;
    for (const { offers } of page.products) for (const { id } of offers) seen.add(id);
    next = page.productHeader.nextCursor;
  }
  if (seen.size !== count) throw new Error(`the pages contain ${seen.size} of ${count} products`);
  return times;
}

interface Page {
  readonly productHeader: { readonly nextCursor?: string };
  readonly products: readonly { readonly offers: readonly { readonly id: string }[] }[];
}
