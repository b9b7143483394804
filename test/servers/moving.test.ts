import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECTIONS } from '../../projections';
import { type ProductCriteria, searchProducts, searchWindow } from '../../projections/product-search';
import { createDemo } from '../../src/demo/create-demo';
import { copyLog } from '../../src/operations/copy-log';
import { type Engines, openEngines } from '../../src/engines/open';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { rebuildProjections } from '../../src/operations/rebuild';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { ownStore } from './server';

const FEEDS = [1001, 1002, 2001, 2002] as const;
/** Queries by every type of declared field: words, texts, numbers, orders. */
const SEARCHES = [
  { orderBy: 'priceAsc' },
  { orderBy: 'modificationDateDesc', minPrice: 5_000, maxPrice: 50_000 },
  { q: ['kopfhörer'] },
  { q: ['schwarz'], orderBy: 'priceDesc' },
] as const;

/** All documents of a read model, by their ids. */
async function documents({ store }: Engines, collection: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for await (const page of store.scan({ collection }, EVERYTHING))
    for (const { id, body } of page) found.set(id, body);
  return found;
}

describe('Moving from one machine to the servers', () => {
  let folder: string;
  let esdb: EsdbServer;
  const store = ownStore();
  const opened: Engines[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'affilog-moving-'));
    esdb = await startEsdbServer();
  });
  afterAll(async () => {
    for (const engines of opened) await engines.close();
    await store.remove();
    await esdb.stop();
    await rm(folder, { recursive: true });
  });

  async function open(eventLog: string, readStore: string): Promise<Engines> {
    const engines = await openEngines({ dataDir: folder, eventLog, readStore, threads: false });
    opened.push(engines);
    return engines;
  }

  it('gives equal read models after a rebuild from the copied log', async () => {
    const here = await open('sqlite:', 'sqlite:');
    const there = await open(esdb.url, store.url);
    await createDemo(here.log, folder);
    await rebuildProjections(here, 'all', { force: true });
    const copied = await copyLog(here.log, there.log);
    expect(copied.before).toBe(0);
    await rebuildProjections(there, 'all', { force: true });
    const empty: string[] = [];
    for (const { collection } of PROJECTIONS) {
      const expected = await documents(here, collection.name);
      if (expected.size === 0) empty.push(collection.name);
      expect(await documents(there, collection.name)).toEqual(expected);
    }
    // The demo removes no products, has no subscriptions, and no interrupted posts of claims.
    expect(empty).toEqual(['delistings', 'subscriptions', 'claim-batches']);
    for (const keys of SEARCHES) {
      const criteria = { ...keys, feedIds: FEEDS, visibleOnly: true, window: searchWindow() };
      const expected = await result(here.store, criteria);
      expect(expected.total).toBeGreaterThan(0);
      expect(await result(there.store, criteria)).toEqual(expected);
    }
  });
});

async function result(
  store: ReadStore,
  criteria: ProductCriteria,
): Promise<{ total: number; groups: unknown[] }> {
  const { groups, ...paged } = await searchProducts(store, criteria);
  const all: unknown[] = [];
  for await (const batch of groups) all.push(...batch);
  return { ...paged, groups: all };
}
