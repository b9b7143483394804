import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { layoutFolder } from '../../src/engines/embedded/store/registry';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { listed, repriced } from './sample-events';
import { PROJECTIONS, World } from './world';

/** Products in several segments. */
const PRODUCTS = Array.from({ length: 40 }, (_, at) => listed(`p${at}`, at));

const target = { collection: 'products' };
const search = { filter: { words: ['headphones'], within: ['title'] }, order: [], offset: 0, size: 100 };

let world: World;
beforeEach(async () => {
  world = await World.open();
  await world.runner().start();
  await world.emit(...PRODUCTS.slice(0, 20));
  await world.settled();
  await world.emit(...PRODUCTS.slice(20));
  await world.settled();
});
afterEach(() => world.end());

const readFolder = (): string => layoutFolder(join(world.dataDir, 'read'));

/** Changes bytes of the search index of the live generation. */
async function damage(): Promise<void> {
  const live = (await world.store.generations('products')).find(({ state }) => state === 'live');
  const file = new DatabaseSync(join(readFolder(), `products-g${live?.number ?? 0}.sqlite`));
  file.exec("UPDATE blobs SET bytes = CAST(bytes || 'x' AS BLOB) WHERE name GLOB '*/pack'");
  file.close();
}

/** A store of another thread, which has nothing of the index in memory. */
function another(): ReadStore {
  return openEmbeddedStore({ directory: readFolder(), threads: false, readers: 0 });
}

/** What was damaged is not kept: nothing could be rolled back to it. */
async function expectRebuilt(count: number): Promise<void> {
  await world.settled();
  expect((await world.store.generations('products')).map(({ state }) => state)).toEqual(['live']);
  expect(await world.store.count(target, EVERYTHING)).toBe(count);
  expect((await world.store.search(target, search)).total).toBe(count);
}

test('a search that finds the index damaged is refused, and the read model is built again by the running server', async () => {
  const before = await world.documents('products');
  await damage();
  const other = another();
  await expect(other.search(target, search)).rejects.toMatchObject({
    name: 'EngineUnavailable',
    message: 'the read store is not available: products is built again, as its file is damaged',
  });
  await other.close();
  await expectRebuilt(40);
  expect(await world.documents('products')).toEqual(before);
});

test('a write that finds the index damaged is not lost: it is in the read model that is built again', async () => {
  await world.stopRunners();
  await damage();
  const store = another();
  await world.runner({}, PROJECTIONS, { log: world.log, store }).start();
  await world.emit(repriced('p3', 77), listed('new', 5));
  await expectRebuilt(41);
  await world.stopRunners();
  await store.close();
});
