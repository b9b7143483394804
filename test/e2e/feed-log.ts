import { type Engines, openEngines } from '../../src/engines/open';

interface Listed {
  readonly prices: ReadonlyMap<string, number>;
  readonly doubled: readonly string[];
}

/** What the stream of feed 22 says it holds, and every event that says again what was so already. */
export async function readFeed(folder: string): Promise<Listed> {
  const engines = await open(folder);
  const contents = new Map<string, string>();
  const prices = new Map<string, number>();
  const doubled: string[] = [];
  for await (const batch of engines.log.readStream('feed-22')) {
    for (const { type, data } of batch) {
      const {
        sourceProductId: id = '',
        price = 0,
        product,
      } = JSON.parse(data) as {
        sourceProductId?: string;
        price?: number;
        product?: object;
      };
      const content = JSON.stringify([product, price]);
      if (type === 'ProductListed' && contents.has(id)) doubled.push(id);
      if (type === 'ProductRevised' && contents.get(id) === content) doubled.push(id);
      if (type === 'ProductDelisted') {
        contents.delete(id);
        prices.delete(id);
      } else if (type !== 'FeedImported') {
        contents.set(id, content);
        prices.set(id, price);
      }
    }
  }
  await engines.close();
  return { prices, doubled };
}

/**
 * Waits until more events than this have been appended since now, or none have for some milliseconds: all that there was
 * to do is done.
 */
export async function logHasGrown(folder: string, events: number, patience = 1500): Promise<void> {
  const engines = await open(folder);
  const { log } = engines;
  const from = Number(await log.head());
  let [last, since] = [from, Date.now()];
  for (;;) {
    const head = Number(await log.head());
    if (head !== last) [last, since] = [head, Date.now()];
    if (head - from > events || Date.now() - since > patience) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await engines.close();
}

async function open(folder: string): Promise<Engines> {
  return openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
}
