import { prepareParked } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { rebuild } from '../../src/projector/rebuild';
import { Sweeper } from '../../src/projector/generations';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestClock } from '../support/clock';
import { pauseCall } from '../support/pause-call';
import { listed } from './sample-events';
import { PROJECTIONS, World } from './world';

let world: World;
let time: number;
beforeEach(async () => {
  world = await World.open();
  await prepareParked(world.store);
  time = Date.now();
});
afterEach(() => world.end());

const states = async (): Promise<readonly string[]> =>
  (await world.store.generations(products.collection.name)).map(({ state }) => state);
const again = () =>
  rebuild(world.log, world.store, [products], { clock: SYSTEM_CLOCK, owner: 'operator', code: 'test' });

/** A sweeper; the next sweep is due a minute later. */
const newSweeper = (): Sweeper => new Sweeper(new TestClock(() => time), world.store, PROJECTIONS, 'a');
async function sweepNext(sweeper: Sweeper): Promise<readonly string[]> {
  time += 60_000;
  await sweeper.sweep();
  return await states();
}
const LEASE = ['rebuild', 10_000] as const;

describe('sweeping', () => {
  test('removes what a killed rebuild has left and retains the previous generation', async () => {
    const runner = world.runner();
    await runner.start();
    await world.emit(listed('a'));
    await world.settled();
    await again();
    await runner.stop();
    await world.store.create(products.collection);
    expect(await states()).toEqual(['retired', 'live', 'building']);
    const sweeper = newSweeper();
    expect(await sweepNext(sweeper)).toEqual(['retired', 'live', 'building']);
    expect(await sweepNext(sweeper)).toEqual(['retired', 'live']);
    expect(Object.keys(await world.documents('products'))).toHaveLength(1);
  });

  test('ignores a generation whose builder holds the lease', async () => {
    await world.store.create(products.collection);
    const sweeper = newSweeper();
    for (let times = 0; times < 3; times += 1) {
      await world.store.lease(LEASE[0], 'operator', () => time + 60_000, LEASE[1]);
      expect(await sweepNext(sweeper)).toEqual(['building']);
    }
  });

  test('ignores a rebuild whose lease has expired only temporarily', async () => {
    await world.store.create(products.collection);
    const sweeper = newSweeper();
    for (let times = 0; times < 3; times += 1) {
      expect(await sweepNext(sweeper)).toEqual(['building']);
      await world.store.lease(LEASE[0], 'operator', () => time + 60_000, LEASE[1]);
      expect(await sweepNext(sweeper)).toEqual(['building']);
    }
    expect(await sweepNext(sweeper)).toEqual(['building']);
    await world.store.create(products.collection);
    expect(await sweepNext(sweeper)).toEqual(['building']);
    expect(await sweepNext(sweeper)).toEqual([]);
  });

  test('leaves a generation that its builder makes live after all, at the last moment', async () => {
    const built = await world.store.create(products.collection);
    const sweeper = newSweeper();
    expect(await sweepNext(sweeper)).toEqual(['building']);
    const dropped = pauseCall(world.store, 'drop', 1);
    const swept = sweepNext(sweeper);
    await dropped.reached;
    await world.store.finish(built);
    await world.store.swap(built);
    dropped.release();
    expect(await swept).toEqual(['live']);
  });

  test('runs at most once a minute', async () => {
    await world.store.create(products.collection);
    const sweeper = newSweeper();
    expect(await sweepNext(sweeper)).toEqual(['building']);
    time += 59_999;
    await sweeper.sweep();
    expect(await states()).toEqual(['building']);
    time += 1;
    await sweeper.sweep();
    expect(await states()).toEqual([]);
  });

  test('does not prevent a rebuild from starting', async () => {
    await world.runner().start();
    await world.store.create(products.collection);
    const sweeper = newSweeper();
    expect(await sweepNext(sweeper)).toEqual(['live', 'building']);
    const swept = sweepNext(sweeper);
    expect(await again()).toHaveLength(1);
    await swept;
    expect(await states()).toEqual(['retired', 'live']);
  });

  test('is done by the runner', async () => {
    const first = world.runner();
    await first.start();
    await first.stop();
    await world.store.create(products.collection);
    await world.runner({ clock: new TestClock(() => (time += 1000)) }).start();
    const deadline = performance.now() + 20_000;
    while ((await states()).includes('building') && performance.now() < deadline)
      await new Promise(setImmediate);
    expect(await states()).toEqual(['live']);
  });
});
