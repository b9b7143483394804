import { join } from 'node:path';
import { products } from '../projections/products';
import { layoutFolder } from '../src/engines/embedded/store/registry';
import { openEngines } from '../src/engines/open';
import { type Write } from '../src/kernel/read-store';
import { directoryAt } from '../src/network/directory';
import { type Catalogue } from './catalogue';
import { timed } from './harness';
import { memoryGrowth } from './process-memory';
import { Server } from './server';

const BATCH = 1_000;

/** A read model of products that was filled directly, without events. */
interface Filled {
  /** ms of writing all products, and of what follows. */
  readonly writing: number;
  readonly finishing: number;
  /** Growth of the peak of this process's memory in MB, without what any writing takes, of the first tenth. */
  readonly memory: number;
  readonly file: string;
}

/** Makes a new data folder with a network, and fills the read model of products. */
export async function fill(dataDir: string, catalogue: Catalogue, network: string): Promise<Filled> {
  await (await Server.start(dataDir, 'api', {}, network)).stop();
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:' };
  const engines = await openEngines({ ...settings, threads: true, readers: 0 });
  const { log, store } = engines;
  try {
    const version = await log.head();
    const directory = await directoryAt(log, version);
    const generation = await store.create(products.collection);
    const target = { collection: generation.collection, generation: generation.number };
    let growth: (() => number) | undefined;
    let written = Promise.resolve();
    const writing = await timed(async () => {
      for (let first = 0; first < catalogue.size; first += BATCH) {
        const numbers = Array.from(
          { length: Math.min(BATCH, catalogue.size - first) },
          (_, at) => first + at,
        );
        const writes = numbers.map((at): Write => ({ version, put: catalogue.documentOf(at, directory) }));
        await written;
        if (first * 10 >= catalogue.size) growth ??= memoryGrowth(process.pid);
        written = store.write(target, writes, version);
        // Awaited before the next one.
        written.catch(() => undefined);
      }
      await written;
    });
    const finishing = await timed(() => store.finish(generation));
    await store.swap(generation);
    const file = join(
      layoutFolder(join(dataDir, 'read')),
      `${products.collection.name}-g${generation.number}.sqlite`,
    );
    return { writing, finishing, memory: growth?.() ?? 0, file };
  } finally {
    await engines.close();
  }
}
