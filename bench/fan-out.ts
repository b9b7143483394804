import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, type Figure, timed } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { FEED, withFeed } from './one-feed';
import { CATEGORIES } from './products';

/** Limit in seconds until all of 100,000 products are visible. */
const LIMIT = 30;

/** The successive mappings of all categories of the feed; undefined unmaps them. */
const TURNS = [
  { figure: 'fan-out', category: '1' },
  { figure: 'fan-out to nothing', category: undefined },
  { figure: 'fan-out from nothing', category: '2' },
] as const;

/**
 * Maps every category of the feed to another platform category, then to none, and then to one again, each with a file.
 * Measures the seconds from the start of the command until all products are found in the category, or none in any.
 */
export async function fanOut(bench: Bench): Promise<readonly Figure[]> {
  return withFeed(bench, 'fan-out', async (server, dataDir) => {
    const file = join(dataDir, 'mappings.csv');
    const found = async (category?: string): Promise<number> => {
      const within = category === undefined ? '' : `;tdCategoryId=${category}`;
      const keys = `fid=${FEED};pageSize=1${within}`;
      const answer = await server.get(`/1.0/products.json;${keys}?token=${PUBLISHER_TOKEN}`);
      return (JSON.parse(answer) as { productHeader: { totalHits: number } }).productHeader.totalHits;
    };
    const figures: Figure[] = [];
    for (const { figure, category } of TURNS) {
      const lines = CATEGORIES.map(({ name }) => `${FEED},${name},${category ?? ''}`);
      await writeFile(file, ['feedId,name,categoryId', ...lines, ''].join('\n'));
      const wanted = category === undefined ? 0 : bench.count;
      const ms = await timed(async () => {
        await server.affilog('mappings', 'import', file, '--yes');
        while ((await found(category)) !== wanted);
      });
      for (const other of ['1', '2'])
        if (other !== category && (await found(other)) > 0)
          throw new Error('found products in a category that they are not in');
      const measured = ms / 1000;
      figures.push({ figure, measured, limit: LIMIT, ratio: LIMIT / measured, goal: 1, unit: 's' });
    }
    return figures;
  });
}
