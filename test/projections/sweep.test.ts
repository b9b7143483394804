import { products } from '../../projections/products';
import { rebuild } from '../../projections/rebuild';
import { sweep } from '../../projections/sweep';
import { listed } from './telling';
import { PROJECTIONS, World } from './world';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.end());

const states = async (): Promise<readonly string[]> =>
  (await world.store.generations(products.collection.name)).map(({ state }) => state);
const again = () => rebuild(world.log, world.store, [products], { owner: 'operator', code: 'test' });

describe('sweeping', () => {
  test('removes what a rebuild has left that was killed, and keeps the generation to go back to', async () => {
    const runner = world.runner();
    await runner.start();
    await world.happen(listed('a'));
    await world.settled();
    await again();
    await runner.stop();
    await world.store.create(products.collection);
    expect(await states()).toEqual(['retired', 'live', 'building']);
    await sweep(world.store, PROJECTIONS, 'a', Date.now);
    expect(await states()).toEqual(['retired', 'live']);
    expect(Object.keys(await world.documents('products'))).toHaveLength(1);
  });

  test('leaves what somebody is building: it holds the lease', async () => {
    await world.store.lease('rebuild', 'operator', Date.now(), 10_000);
    await world.store.create(products.collection);
    await sweep(world.store, PROJECTIONS, 'a', Date.now);
    expect(await states()).toEqual(['building']);
  });

  test('does not keep a rebuild from beginning', async () => {
    await world.runner().start();
    const swept = sweep(world.store, PROJECTIONS, 'a', Date.now);
    expect(await again()).toHaveLength(1);
    await swept;
  });

  test('is done by whoever projects', async () => {
    const first = world.runner();
    await first.start();
    await first.stop();
    await world.store.create(products.collection);
    await world.runner().start();
    const deadline = performance.now() + 20_000;
    while ((await states()).includes('building') && performance.now() < deadline)
      await new Promise(setImmediate);
    expect(await states()).toEqual(['live']);
  });
});
