import { join } from 'node:path';
import { buildGenerations } from '../src/projector/fill';
import { PROJECTIONS } from '../projections';
import { directoryAt } from '../src/network/directory';
import { prepareParked } from '../src/projector/parked';
import { type Projection } from '../src/projector/projection';
import { Runner } from '../src/projector/runner';
import { waitForPosition } from '../src/projector/wait';
import { type Engines, openEngines } from '../src/engines/open';
import { EVERYTHING } from '../src/kernel/query';
import {
  type CollectionSpec,
  type Document,
  type Generation,
  type ReadStore,
  type Target,
  targetOf,
} from '../src/kernel/read-store';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { type Rows, rowsOf } from './bare/tables';
import { type Bench, timed } from './harness';
import { Server } from './server';

/** A data folder with all products in feed 1 of its log, opened in this process. */
export interface Loaded {
  readonly dataDir: string;
  readonly engines: Engines;
}

/** `threads`: open it like the projector and `affilog rebuild`. */
export async function openLoaded(bench: Bench, name: string, threads = false): Promise<Loaded> {
  const dataDir = join(bench.folder, name);
  const server = await Server.start(dataDir, 'api');
  try {
    await server.post(1, 'json', await bench.body('json'));
  } finally {
    await server.stop();
  }
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads, readers: 0 };
  return { dataDir, engines: await openEngines(settings) };
}

/** Replaces the live generation by an empty one. */
async function createLive(store: ReadStore, collection: CollectionSpec): Promise<Generation> {
  const generation = await store.create(collection);
  await store.finish(generation);
  await store.swap(generation);
  return generation;
}

/** The input of the bare side. */
export interface Wanted {
  readonly spec: CollectionSpec;
  /** The rows of the documents that our projection produces. */
  readonly rows: Rows;
}

export async function wantedOf(
  { engines }: Loaded,
  { collection, ...projection }: Projection,
): Promise<Wanted> {
  const { log, store } = engines;
  await prepareParked(store);
  const until = await log.head();
  const options = { code: 'bench', until, onBatch: async () => undefined };
  const [filled] = await buildGenerations(log, store, [{ collection, ...projection }], options);
  if (filled === undefined) throw new Error('nothing was filled');
  await store.finish(filled.generation);
  const documents = await documentsOf(engines, { collection, ...projection }, targetOf(filled.generation));
  await store.drop(filled.generation);
  return { spec: collection, rows: rowsOf(collection, documents) };
}

/** All documents of a read model, as they were written. */
export async function documentsOf(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  projection: Projection,
  target: Target = { collection: projection.collection.name },
): Promise<readonly Document[]> {
  const directory = await directoryAt(log, await log.head());
  const documents: Document[] = [];
  for await (const found of store.scan(target, EVERYTHING))
    for (const { id, body } of found) {
      const { fields } = projection.describe(JSON.parse(body) as object, id, directory);
      documents.push({ id, fields, body });
    }
  return documents;
}

/** Projects the whole log into new live generations; returns ms. */
export async function projected({ log, store }: Pick<Engines, 'log' | 'store'>): Promise<number> {
  for (const { collection } of PROJECTIONS) await createLive(store, collection);
  const head = await log.head();
  const runner = new Runner(log, store, PROJECTIONS, { clock: SYSTEM_CLOCK, owner: 'bench', code: 'bench' });
  try {
    return await timed(async () => {
      await runner.start();
      await waitForPosition(SYSTEM_CLOCK, store, PROJECTIONS, head, Infinity);
    });
  } finally {
    await runner.stop();
  }
}
