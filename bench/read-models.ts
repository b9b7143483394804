import { join } from 'node:path';
import { buildGenerations } from '../src/projector/rebuild';
import { PROJECTIONS } from '../projections';
import { directoryAt } from '../src/network/directory';
import { prepareParked } from '../src/projector/parked';
import { type Projection } from '../src/projector/projection';
import { Runner } from '../src/projector/runner';
import { waitForPosition } from '../src/projector/wait';
import { Layout } from '../src/engines/embedded/store/layout';
import { type Engines, openEngines } from '../src/engines/open';
import { type CollectionSpec, type Generation, type ReadStore } from '../src/kernel/read-store';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { type Rows, rowsIn, type Schema, schemaOf } from './bare/tables';
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
  /** The rows that our projection produces. */
  readonly rows: Rows;
  /** The tables and indexes of our engine. */
  readonly schema: Schema;
}

export async function wantedOf(loaded: Loaded, projection: Projection): Promise<Wanted> {
  const { log, store } = loaded.engines;
  await prepareParked(store);
  const until = await log.head();
  const options = { code: 'bench', until, onBatch: async () => undefined };
  const [filled] = await buildGenerations(log, store, [projection], options);
  if (filled === undefined) throw new Error('nothing was filled');
  const { keys, bodies } = rowsIn(fileOf(loaded, filled.generation));
  await store.drop(filled.generation);
  const layout = new Layout(projection.collection);
  const directory = await directoryAt(log, until);
  const tokens = bodies.map(([row = 0, body], at) => {
    const id = String(keys[at]?.[1]);
    const { fields } = projection.describe(JSON.parse(String(body)) as object, id, directory);
    return [row, layout.row({ id, fields, body: '' }).tokens] as const;
  });
  return {
    rows: { keys, bodies, tokens },
    schema: schemaOf(fileOf(loaded, await createLive(store, projection.collection))),
  };
}

function fileOf({ dataDir }: Loaded, { collection, number }: Generation): string {
  return join(dataDir, 'read', `${collection}-g${number}.sqlite`);
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
