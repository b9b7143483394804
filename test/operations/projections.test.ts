import { PROJECTIONS } from '../../projections';
import { offerId } from '../../src/domain/products/offer';
import { pauseReadModels, readModelStates, resumeReadModels } from '../../src/operations/projections';
import { type Projection } from '../../src/projector/projection';
import { PositionWait } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { FEED_ID, listed, repriced } from '../projector/sample-events';
import { World } from '../projector/world';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.end());

const all: readonly Projection[] = PROJECTIONS;
const start = () => world.runner({}, all).start();
const statesOf = async (...names: readonly string[]) => await readModelStates(world, SYSTEM_CLOCK, names);
const stateOf = async (name: string) => (await statesOf(name))[0]!;
const pause = (...names: readonly string[]) => pauseReadModels(world, names, SYSTEM_CLOCK);
const resume = (...names: readonly string[]) => resumeReadModels(world, names);
const a = offerId(FEED_ID, 'a');

/** Waits until a read model is in a state. */
async function until(name: string, state: string): Promise<void> {
  for (let tries = 0; (await stateOf(name)).state !== state; tries += 1) {
    if (tries === 600) expect((await stateOf(name)).state).toBe(state);
    await SYSTEM_CLOCK.pause(50);
  }
}

describe('the list of read models (decisions X122)', () => {
  test('says that nobody builds them, and then that they are live', async () => {
    await world.emit(listed('a', 1), listed('b', 2));
    expect(await stateOf('products')).toMatchObject({
      state: 'failed',
      reason: 'no process with the role projector runs: start `affilog serve`',
      bytes: 0,
      generations: [],
    });
    await start();
    await world.settled(all);
    await until('products', 'live');
    expect(await stateOf('products')).toMatchObject({
      state: 'live',
      generation: expect.any(Number) as number,
      position: await world.log.head(),
      lagEvents: 0,
      lagSeconds: 0,
      parked: 0,
    });
    const [{ bytes, generations }] = (await statesOf('products')) as [Awaited<ReturnType<typeof stateOf>>];
    expect(generations).toMatchObject([{ state: 'live', bytes }]);
    expect(bytes).toBeGreaterThan(1000);
  });

  test('counts the events of its streams that each lacks', async () => {
    await start();
    await world.settled(all);
    await world.stopRunners();
    await world.emit(listed('a', 1), listed('b', 2), repriced('a', 3));
    expect(await stateOf('products')).toMatchObject({
      state: 'degraded',
      reason: 'no process with the role projector runs: start `affilog serve`',
      lagEvents: 3,
    });
    expect((await stateOf('products')).lagSeconds).toBeGreaterThan(0);
    expect(await stateOf('vouchers')).toMatchObject({ lagEvents: 0, lagSeconds: 0 });
  });

  test('names documents that are parked, and read models that have stopped', async () => {
    const failing = all.map((one): Projection =>
      one.collection.name === 'products'
        ? {
            ...one,
            fold: () => {
              throw new Error('no');
            },
          }
        : one,
    );
    await world.emit(listed('a', 1));
    await world.runner({}, failing).start();
    await world.settled(all);
    await until('price-history', 'live');
    expect(await stateOf('products')).toMatchObject({
      state: 'degraded',
      reason: 'documents are parked: see `affilog parked list products`',
      parked: 1,
    });
  });

  test('refuses unknown names', async () => {
    await expect(statesOf('offers')).rejects.toThrow('offers: expected the name of a projection: products');
  });
});

describe('a read model that is paused (decisions X123)', () => {
  test('stays as it is, also after a restart, while the others follow', async () => {
    await start();
    await world.emit(listed('a', 1));
    await world.settled(all);
    expect(await pauseReadModels(world, ['products'], SYSTEM_CLOCK, 'user alice')).toEqual(['products']);
    expect(await pause('products')).toEqual([]);
    expect(await stateOf('products')).toMatchObject({
      ...{ state: 'paused', paused: { by: 'user alice' } },
      reason: expect.stringMatching(
        /^since \S+Z by user alice: `affilog projections resume products` continues it$/,
      ) as string,
    });
    await world.stopRunners();
    await start();
    await world.emit(repriced('a', 2));
    await world.settled(all.filter(({ collection }) => collection.name !== 'products'));
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 1 } });
    expect(await stateOf('products')).toMatchObject({ state: 'paused', lagEvents: 1 });
    expect(await stateOf('vouchers')).toMatchObject({ state: 'live' });
    expect(await resume('all')).toEqual(['products']);
    await world.settled(all);
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 2 } });
    await until('products', 'live');
  });

  test('does not change once the command has returned, however much is appended (decisions X145)', async () => {
    await start();
    await world.settled(all);
    for (let round = 0; round < 3; round += 1) {
      const emitting = world.emit(...Array.from({ length: 200 }, (_, at) => listed(`r${round}-${at}`, 1)));
      await pause('products');
      const { position } = await stateOf('products');
      await emitting;
      await world.emit(listed(`r${round}-last`, 1));
      await world.settled(all.filter(({ collection }) => collection.name !== 'products'));
      expect((await stateOf('products')).position).toBe(position);
      await resume('products');
      await world.settled(all);
    }
  });

  test('is waited for no longer than it takes to see that it is paused', async () => {
    await start();
    await world.settled(all);
    // Once it has returned, the projector has seen it.
    await pause('products');
    const position = await world.emit(listed('a', 1));
    const began = performance.now();
    expect(await new PositionWait(SYSTEM_CLOCK, world.store, all).until(position, 60_000)).toBe(false);
    expect(performance.now() - began).toBeLessThan(30_000);
    await resume('products');
    expect(await new PositionWait(SYSTEM_CLOCK, world.store, all).until(position, 60_000)).toBe(true);
  });

  test('does not keep writes from waiting until the others show them (decisions A7)', async () => {
    await start();
    await world.settled(all);
    await pause('vouchers');
    const wait = new PositionWait(SYSTEM_CLOCK, world.store, all);
    for (let price = 1; price <= 10; price += 1) {
      const position = await world.emit(listed('a', price));
      expect(await wait.until(position, 60_000)).toBe(false);
      expect(await world.documents('products')).toMatchObject({ [a]: { price } });
    }
    await pause('all');
    const position = await world.emit(listed('a', 11));
    await SYSTEM_CLOCK.pause(1_100);
    expect(await wait.until(position, 60_000)).toBe(false);
  });

  test('catches up apart from the others, which do not wait for it', async () => {
    await start();
    await world.settled(all);
    await pause('products');
    for (let at = 0; at < 30; at += 1)
      await world.emit(...Array.from({ length: 100 }, (_, each) => listed(`p${at}-${each}`, 1)));
    await resume('products');
    await world.settled(all);
    expect(Object.keys(await world.documents('products'))).toHaveLength(3000);
    await until('products', 'live');
    await world.emit(repriced('p0-0', 7));
    await world.settled(all);
    expect(await world.documents('products')).toMatchObject({ [offerId(FEED_ID, 'p0-0')]: { price: 7 } });
    expect(world.reports).toEqual([]);
  });
});
