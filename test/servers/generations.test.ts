import { offerId } from '../../src/domain/products/offer';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { EVERYTHING, oneAnswer } from '../../src/kernel/query';
import { rebuildProjections, swapProjections } from '../../src/operations/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { FEED_ID, listed, repriced } from '../projector/sample-events';
import { World } from '../projector/world';
import { PROJECTIONS } from '../../projections';
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

test('an answer continues with its generation after that was dropped (decisions X126)', async () => {
  const target = { collection: 'products' };
  const { store } = world;
  const wanted = { filter: EVERYTHING, order: [], offset: 0, size: 1 };
  await world.runner({}, PROJECTIONS).start();
  const query = oneAnswer();
  expect(await store.search(target, wanted, query)).toMatchObject({ total: 0 });
  await rebuildProjections(world, ['products'], { retainMs: 0 });
  await world.emit(listed('z', 1));
  await world.settled(PROJECTIONS);
  await store.refresh(target);
  // Another process knows nothing of it yet.
  const other = openElasticsearch(elsewhere.url);
  for (const one of [store, other]) {
    expect(await one.search(target, wanted, query)).toMatchObject({ total: 0 });
    expect(await one.search(target, wanted, oneAnswer())).toMatchObject({ total: 1 });
  }
  await other.close();
  await world.stopRunners();
});

test('generations beside the live ones are followed on an Elasticsearch without restarts of the projector (decisions X126)', async () => {
  await world.runner({}, PROJECTIONS).start();
  await world.emit(listed('a', 1));
  await world.settled(PROJECTIONS);
  await rebuildProjections(world, ['products', 'vouchers']);
  await world.stopRunners();
  const own = world.log.subscribe.bind(world.log);
  let subscriptions = 0;
  world.log.subscribe = (options) => {
    subscriptions += 1;
    return own(options);
  };
  await world.runner({}, PROJECTIONS).start();
  await world.emit(repriced('a', 2));
  await world.settled(PROJECTIONS);
  await SYSTEM_CLOCK.pause(2_000);
  // Two for the live ones, with loads and without (decisions X154), and one for those that are kept.
  expect(subscriptions).toBe(3);
  await swapProjections(world, ['products'], 'kept');
  await world.emit(repriced('a', 3));
  await world.settled(PROJECTIONS);
  expect(await world.documents('products')).toMatchObject({ [offerId(FEED_ID, 'a')]: { price: 3 } });
  expect(world.reports).toEqual([]);
});
