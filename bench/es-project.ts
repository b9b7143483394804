import { PROJECTIONS } from '../projections';
import { openElasticsearch } from '../src/engines/elasticsearch/open-store';
import { BareBulk } from './bare/es-bulk';
import { ownStore } from './es-server';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { openLoaded, projected } from './read-models';

/**
 * Projects all products of the log into live read models in Elasticsearch.
 *
 * Ours: the runner of the server's projector thread, here in this process, from its start until all read models have
 * reached the end of the log: read, parse, fold, describe, write. Bare: writes the resulting documents (already in
 * memory) by `_bulk` into identical indices, 1,000 per request, one request after the other.
 */
export async function esProject(bench: Bench): Promise<readonly Figure[]> {
  const { server, prefix, url } = ownStore();
  const loaded = await openLoaded(bench, 'es-project');
  const { log } = loaded.engines;
  const store = openElasticsearch(url);
  const bare = new BareBulk(server);
  try {
    await projected({ log, store });
    const copies = await Promise.all(
      PROJECTIONS.map(({ collection: { name } }) => bare.copy(`${prefix}.${name}.live`)),
    );
    const figure = await compareRates(
      { figure: 'es-project', goal: 0.8, count: bench.count },
      () => projected({ log, store }),
      async (round) => {
        let ms = 0;
        for (const [at, copy] of copies.entries()) {
          const index = `${prefix}-bare-${round}-${at}`;
          await bare.create(index, copy);
          ms += await timed(() => bare.write(index, copy));
        }
        return ms;
      },
    );
    return [figure];
  } finally {
    await bare.remove(prefix);
    await Promise.all([bare.close(), store.close(), loaded.engines.close()]);
  }
}
