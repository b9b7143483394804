import { join } from 'node:path';
import { openEngines } from '../src/engines/open';
import { type Document, type Write } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import { type BareQuery, BareSearch } from './bare/search';
import { BareTables } from './bare/tables';
import { type Bench, compareLatencies, type Figure, timed } from './harness';
import { Server } from './server';

/** A listing of a read model that is filled directly, without events. */
export interface Listing {
  /** The name of the figures. */
  readonly name: string;
  readonly projection: Pick<Projection, 'collection'>;
  /** Documents in it. */
  readonly documents: number;
  readonly documentOf: (number: number) => Document;
  /** By kind: the request, its page size, and the equivalent SQL. */
  readonly kinds: Readonly<
    Record<string, { readonly path: string; readonly size: number; readonly query: BareQuery }>
  >;
}

/** Measured listings of each kind, after a warm-up. */
const COUNTED = 50;
const WARM_UP = 5;

/**
 * Ours: from the request to the complete JSON answer, over HTTP.
 * Bare: the same listing as SQL in tables with FTS5, in this process: the number of matches and the rows of the page
 * with stored bodies, without parsing or rendering.
 */
export async function compareListings(bench: Bench, listing: Listing): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, listing.name);
  await (await Server.start(dataDir, 'api')).stop();
  await fill(dataDir, listing);
  const file = join(bench.folder, `${listing.name}-bare.sqlite`);
  fillBare(file, listing);
  const server = await Server.start(dataDir, 'api');
  const bare = new BareSearch(file);
  try {
    const figures: Figure[] = [];
    for (const [kind, wanted] of Object.entries(listing.kinds))
      figures.push(...(await listed(server, bare, `${listing.name} ${kind}`, wanted)));
    return figures;
  } finally {
    bare.close();
    await server.stop();
  }
}

async function listed(
  server: Server,
  bare: BareSearch,
  name: string,
  { path, size, query }: Listing['kinds'][string],
): Promise<readonly Figure[]> {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let at = 0; at < WARM_UP + COUNTED; at += 1) {
    let answer = '';
    const ours = await timed(async () => (answer = await server.get(path)));
    let total = 0;
    const theirs = await timed(() => (total = bare.run(query)));
    const { length } = JSON.parse(answer) as readonly unknown[];
    if (length !== Math.min(size, total))
      throw new Error(`${name}: ${length} listed, expected ${total} as in SQLite`);
    if (at < WARM_UP) continue;
    times.ours.push(ours);
    times.bare.push(theirs);
  }
  return compareLatencies(name, times.ours, times.bare);
}

const BATCH = 1000;

function fillBare(file: string, { projection: { collection }, documents, documentOf }: Listing): void {
  const tables = new BareTables(file, collection);
  tables.fill(Array.from({ length: documents }, (_, at) => documentOf(at + 1)));
  tables.close();
}

/** Writes the documents into a live generation. */
async function fill(
  dataDir: string,
  { projection: { collection }, documents, documentOf }: Listing,
): Promise<void> {
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const engines = await openEngines(settings);
  const { log, store } = engines;
  const version = await log.head();
  const generation = await store.create(collection);
  const target = { collection: collection.name, generation: generation.number };
  for (let first = 1; first <= documents; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, documents - first + 1) }, (_, at) => first + at);
    const writes = numbers.map((number): Write => ({ version, put: documentOf(number) }));
    await store.write(target, writes, version);
  }
  await store.finish(generation);
  await store.swap(generation);
  await engines.close();
}
