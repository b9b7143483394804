import { join } from 'node:path';
import { Readable } from 'node:stream';
import { layoutFolder } from '../src/engines/embedded/store/registry';
import { scanAndWrite, type SERIALISATIONS } from './bare/scan';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { liveProducts } from './live-products';
import { FEED, withFeed } from './one-feed';
import { bodyOf } from './products';

/**
 * Ours: a publisher downloads the whole feed over HTTP, from the request to the last byte.
 * Bare: reads all rows of the same file, parses and serialises them as simply as possible in this process, without
 * joining or sending anything.
 */
function bulk(format: keyof typeof SERIALISATIONS): (bench: Bench) => Promise<readonly Figure[]> {
  return (bench) =>
    withFeed(bench, `bulk-${format}`, async (server, dataDir) => {
      const file = await liveProducts(layoutFolder(join(dataDir, 'read')));
      const path = `/1.0/productsUnlimited.${format};fid=${FEED}?token=${PUBLISHER_TOKEN}`;
      const growth = server.memoryGrowth();
      const figure = await compareRates(
        { figure: `bulk-${format}`, goal: 0.4, count: bench.count },
        () => timed(() => server.take(path)),
        () => timed(() => scanAndWrite(file, format)),
      );
      // At least 1, since the ratio divides by it.
      const measured = Math.max(1, growth());
      const memory = { figure: `bulk-${format} memory`, measured, limit: 100, ratio: 100 / measured };
      return [figure, { ...memory, goal: 1, unit: 'MB' }];
    });
}

export const bulkJson = bulk('json');
export const bulkXml = bulk('xml');
export const bulkCsv = bulk('csv');

/** Time of a download of changes to 1 % of the products, as a share of a download of the whole feed. */
export async function since(bench: Bench): Promise<readonly Figure[]> {
  return withFeed(bench, 'since', async (server) => {
    const path = `/1.0/productsUnlimited.json;fid=${FEED}`;
    const token = `?token=${PUBLISHER_TOKEN}`;
    const next = await server.take(`${path}${token}`);
    const whole = await timed(() => server.take(`${path}${token}`));
    const changed = Math.ceil(bench.count / 100);
    const body = [...bodyOf('json', changed)].join('').replaceAll(/"price":\d+/g, '"price":1');
    await server.shows(await server.post(FEED, 'json', Readable.from([body])));
    const part = await timed(() => server.take(`${path};since=${next}${token}`));
    const measured = part / whole;
    return [{ figure: 'since', measured, limit: 0.05, ratio: 0.05 / measured, goal: 1, unit: 'share' }];
  });
}
