import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, type Figure, timed } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { FEED, withFeed } from './one-feed';
import { CATEGORIES } from './products';

/** Seconds until the last of them shows, of 100,000 products. */
const LIMIT = 30;

/**
 * Every category of the feed mapped to another platform category at once, by a file: the seconds, of the command and after
 * it, until all products are found in that. What they were mapped to before, none is found in then.
 */
export async function fanOut(bench: Bench): Promise<readonly Figure[]> {
  return withFeed(bench, 'fan-out', async (server, dataDir) => {
    const [target, other] = ['1', '2'];
    const file = join(dataDir, 'mappings.csv');
    const lines = CATEGORIES.map(({ name }) => `${FEED},${name},${target}`);
    await writeFile(file, ['feedId,name,categoryId', ...lines, ''].join('\n'));
    const found = async (category: string): Promise<number> => {
      const keys = `fid=${FEED};tdCategoryId=${category};pageSize=1`;
      const answer = await server.get(`/1.0/products.json;${keys}?token=${PUBLISHER_TOKEN}`);
      return (JSON.parse(answer) as { productHeader: { totalHits: number } }).productHeader.totalHits;
    };
    const ms = await timed(async () => {
      await server.affilog('mappings', 'import', file);
      while ((await found(target)) < bench.count);
    });
    if ((await found(other)) > 0) throw new Error('products are found in a category that they are not in');
    const measured = ms / 1000;
    return [{ figure: 'fan-out', measured, limit: LIMIT, ratio: LIMIT / measured, goal: 1, unit: 's' }];
  });
}
