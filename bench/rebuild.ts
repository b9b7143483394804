import { type ParsedEvent } from '../src/kernel/decider';
import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { type Directory, directoryAt } from '../src/network/directory';
import { type OfferEvent, products } from '../projections/products';
import { type StoredOffer } from '../src/domain/products/offer';
import { iterate } from '../src/engines/embedded/connection';
import { rebuildProjections } from '../src/operations/rebuild';
import { BareTables } from './bare/tables';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { openLoaded, type Wanted, wantedOf } from './read-models';

/** Documents per transaction on both sides. */
const BATCH = 5000;

/**
 * Rebuilds the read model of products from the log.
 *
 * Ours: `affilog rebuild products` in this process: project, index, compare with the live generation document by
 * document, swap. Bare: reads events from the log's file, `JSON.parse`, the projection's fold and description; then
 * inserts the resulting rows (the tokens are already in memory) and builds FTS5 and the other indexes. Nothing is
 * compared.
 */
export async function rebuild(bench: Bench): Promise<readonly Figure[]> {
  const loaded = await openLoaded(bench, 'rebuild', true);
  const { engines, dataDir } = loaded;
  try {
    const wanted = await wantedOf(loaded, products);
    const directory = await directoryAt(engines.log, await engines.log.head());
    // The first one can only be compared with an empty generation.
    await rebuildProjections(engines, products.collection.name, { force: true });
    const figure = await compareRates(
      { figure: 'rebuild', goal: 0.6, count: bench.count },
      () => timed(() => rebuildProjections(engines, products.collection.name)),
      (round) => {
        const tables = new BareTables(join(bench.folder, `rebuild-${round}.sqlite`), wanted.spec);
        return timed(() => {
          loadBare(tables, wanted, foldBare(join(dataDir, 'log.sqlite'), directory));
        }).finally(() => tables.close());
      },
    );
    return [figure];
  } finally {
    await engines.close();
  }
}

/** The bodies of all offers, in the order in which they were listed. */
function foldBare(file: string, directory: Directory): string[] {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  const offers = new Map<string, StoredOffer>();
  const rows = iterate<[string, string, string, string]>(
    database,
    database.prepare(
      `SELECT format('%019d', e.position), a.stream, e.type, e.data FROM appends a
       CROSS JOIN events e ON e.position > a.position - a.events AND e.position <= a.position
       WHERE a.stream GLOB 'feed-*' AND e.type GLOB 'Product*' ORDER BY a.position, e.position`,
    ),
  );
  for (const [position, stream, type, data] of rows) {
    const event = { position, stream, type, data: JSON.parse(data) as object } as ParsedEvent<OfferEvent>;
    const id = products.idOf(event);
    const offer = products.fold(offers.get(id), event);
    if (offer !== undefined) offers.set(id, offer);
  }
  database.close();
  return [...offers].map(([id, offer]) => JSON.stringify(products.describe(offer, id, directory).document));
}

function loadBare(
  tables: BareTables,
  { rows: { keys, tokens } }: Wanted,
  documents: readonly string[],
): void {
  if (documents.length !== keys.length)
    throw new Error(`${documents.length} documents, expected ${keys.length}`);
  const bodies = documents.map((document, at) => [keys[at]?.[0] ?? 0, document] as const);
  for (let from = 0; from < keys.length; from += BATCH)
    tables.insert({ keys: keys.slice(from, from + BATCH), bodies: bodies.slice(from, from + BATCH) });
  for (let from = 0; from < tokens.length; from += BATCH)
    tables.insert({ tokens: tokens.slice(from, from + BATCH) });
  tables.createIndexes();
}
