import { setImmediate as turn } from 'node:timers/promises';
import { listParked } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { type Projection } from '../../src/projector/projection';
import { run } from '../cli/run';
import { offerId } from '../../src/domain/products/offer';
import { FEED_ID, listed, repriced } from '../projector/sample-events';
import { World } from '../projector/world';
import { ownStore } from './server';

const elsewhere = ownStore();
let world: World;
beforeAll(async () => {
  world = await World.open(elsewhere.url);
});
afterAll(async () => {
  await world.end();
  await elsewhere.remove();
});

let isFixed = false;

/** The products projection, failing at a price of 13 until it is fixed, and always at a price of 14. */
const picky: Projection = {
  ...(products as Projection),
  fold(document, event) {
    const { price } = event.data as { price?: number };
    if (price === 14 || (price === 13 && !isFixed)) throw new Error('unlucky');
    return products.fold(document as never, event as never);
  },
};

async function parked(...args: readonly string[]): Promise<string> {
  const settings = { DATA_DIR: world.dataDir, READ_STORE: elsewhere.url };
  const { code, out } = await run(['parked', ...args], settings);
  expect(code).toBe(0);
  return out;
}

async function unparked(many: number): Promise<void> {
  while ((await listParked(world.store)).length > many) await turn();
}

test('parked documents are listed, shown, retried and skipped on an Elasticsearch as on SQLite (decisions X47)', async () => {
  const [a, b] = [offerId(FEED_ID, 'a'), offerId(FEED_ID, 'b')];
  await world.runner({}, [picky]).start();
  await world.emit(listed('a', 1), repriced('a', 13), listed('b', 2), repriced('b', 14), repriced('b', 3));
  await world.settled([picky]);
  // Below each, what it is and what helps.
  const lines = (await parked('list', 'products')).split('\n').filter((line) => line.startsWith('products '));
  expect(lines.sort()).toEqual([a, b].map((id) => `products ${id}: Error: unlucky`).sort());
  expect(JSON.parse(await parked('show', 'products', a))).toMatchObject({ document: a });

  isFixed = true;
  await parked('retry', 'products', a);
  await unparked(1);
  await parked('skip', 'products', b, '--reason', 'a price that never was');
  await unparked(0);
  await world.store.refresh({ collection: 'products' });
  expect(await world.documents('products')).toMatchObject({ [a]: { price: 13 }, [b]: { price: 3 } });
  expect(await parked('list')).toBe('nothing is parked\n');
});
