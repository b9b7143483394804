import { PositionWait } from '../../src/projector/wait';
import { type Position } from '../../src/kernel/event';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { SYSTEM_CLOCK, SystemClock, type Timer } from '../../src/runtime/clock';
import { failing } from './failing';
import { listed } from './sample-events';
import { PROJECTIONS, World } from './world';

const LONG = 30_000;

describe('Waiting for a position (decisions A7)', () => {
  let world: World;
  beforeEach(async () => {
    world = await World.open();
  });
  afterEach(() => world.end());

  /** A wait that counts its calls of the store; call number `failed` fails. */
  function counted(failed?: number) {
    let calls = 0;
    const failure = new EngineUnavailable('out of order');
    const when = (call: number): boolean => (calls = call) === failed;
    const store = failing(world.store, 'checkpoint', when, failure);
    return { wait: new PositionWait(SYSTEM_CLOCK, store, PROJECTIONS), calls: () => calls, failure };
  }

  it('ends for all waiters with the same poll', async () => {
    await world.runner().start();
    await world.settled();
    const { wait, calls } = counted();
    const waiting: Promise<boolean>[] = [];
    const positions: Position[] = [];
    for (const id of ['a', 'b', 'c']) {
      const position = await world.emit(listed(id));
      positions.push(position);
      for (let more = 0; more < 100; more += 1) waiting.push(wait.until(position, LONG));
    }
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    expect(calls()).toBeLessThan(waiting.length / 2);
    const found = await world.documents('products');
    expect(Object.keys(found)).toHaveLength(positions.length);
  });

  it('looks at once when it learns that read models have moved', async () => {
    await world.runner().start();
    await world.settled();
    await world.stopRunners();
    const position = await world.emit(listed('a'));
    // Without timers nothing is polled.
    const timer: Timer = { cancel: () => undefined, unref: () => timer };
    const clock = Object.assign(new SystemClock(), { timer: () => timer });
    const wait = new PositionWait(clock, world.store, PROJECTIONS);
    const reached = wait.until(position, LONG);
    await world.runner({ moved: (moved) => wait.moved(moved) }).start();
    expect(await reached).toBe(true);
  });

  it('asks none of the read models where the projector has announced it, unless others are live by now', async () => {
    await world.runner().start();
    const position = await world.emit(listed('a'));
    await world.settled();
    const generations = await world.store.generations(
      ...PROJECTIONS.map(({ collection }) => collection.name),
    );
    const { wait, calls } = counted();
    wait.moved({ to: position, generations });
    expect(await wait.until(position, LONG)).toBe(true);
    expect(calls()).toBe(0);

    await world.stopRunners();
    const later = await world.emit(listed('b'));
    // Over Elasticsearch each collection counts its own generations.
    const ofOthers = generations.map((one) => ({ ...one, collection: 'others' }));
    for (const some of [generations.slice(1), ofOthers]) {
      wait.moved({ to: later, generations: some });
      expect(await wait.until(later, 20)).toBe(false);
    }
    expect(calls()).toBeGreaterThan(0);
  });

  it('knows how far groups of read models have moved that announce it one by one', async () => {
    await world.runner().start();
    const positions = [await world.emit(listed('a')), await world.emit(listed('b'))] as const;
    await world.settled();
    const [first, ...others] = await world.store.generations(
      ...PROJECTIONS.map(({ collection }) => collection.name),
    );
    const { wait, calls } = counted();
    wait.moved({ to: positions[1], generations: others });
    wait.moved({ to: positions[0], generations: [first!] });
    expect(await wait.until(positions[0], LONG)).toBe(true);
    const later = wait.until(positions[1], LONG);
    wait.moved({ to: positions[1], generations: [first!] });
    expect([await later, calls()]).toEqual([true, 0]);
  });

  it('times out for each waiter by itself', async () => {
    await world.runner().start();
    await world.emit(listed('a'));
    await world.settled();
    await world.stopRunners();
    const position = await world.emit(listed('b'));
    const { wait } = counted();
    const long = wait.until(position, LONG);
    expect(await wait.until(position, 0)).toBe(false);
    expect(await wait.until(position, 20)).toBe(false);
    await world.runner().start();
    expect(await long).toBe(true);
  });

  it('times out while there is no read model', async () => {
    const position = await world.emit(listed('a'));
    expect(await counted().wait.until(position, 20)).toBe(false);
  });

  it('fails while the store is unavailable, and works again afterwards', async () => {
    await world.runner().start();
    const position = await world.emit(listed('a'));
    await world.settled();
    const { wait, failure } = counted(1);
    await expect(wait.until(position, LONG)).rejects.toBe(failure);
    expect(await wait.until(position, LONG)).toBe(true);
  });
});
