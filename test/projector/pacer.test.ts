import { type Position } from '../../src/kernel/event';
import { writeNote } from '../../src/projector/notes';
import { DOMAIN_LOG, type Projection } from '../../src/projector/projection';
import { SystemClock } from '../../src/runtime/clock';
import { listed } from './sample-events';
import { PROJECTIONS, World } from './world';
import { Pacer } from '../../src/projector/fill';

/** Monotonic time passes only in pauses, and by hand. */
class ManualClock extends SystemClock {
  now_ = 0;
  paused = 0;
  onPause: () => Promise<unknown> = async () => undefined;

  override wall(): number {
    return 1_000_000;
  }

  override monotonic(): number {
    return this.now_;
  }

  override async pause(ms: number): Promise<void> {
    this.now_ += ms;
    this.paused += ms;
    await this.onPause();
  }
}

let world: World;
let clock: ManualClock;
beforeEach(async () => {
  world = await World.open();
  clock = new ManualClock();
  for (const { collection } of PROJECTIONS) {
    const generation = await world.store.create(collection);
    await world.store.finish(generation);
    await world.store.swap(generation);
  }
});
afterEach(() => world.end());

const { projectorLease } = DOMAIN_LOG;
const pacer = (projections: readonly Projection[] = PROJECTIONS) =>
  new Pacer(clock, world.log, world.store, projections, DOMAIN_LOG);
const follow = () => world.store.lease(projectorLease.name, 'projector', clock.wall(), projectorLease.ms);
const reach = async (position: Position) => {
  for (const { collection } of PROJECTIONS)
    await world.store.write({ collection: collection.name }, [], position);
};

/** Live read models have not seen the last event for so long when the work is paced. */
async function behindFor(ms: number, paced: Pacer): Promise<Position> {
  await paced.pace();
  const position = await world.emit(listed(`p${clock.now_}`));
  clock.now_ += 100;
  await paced.pace();
  clock.now_ += ms;
  return position;
}

describe('work beside live read models (decisions X128)', () => {
  test('waits while they are behind, until they have caught up', async () => {
    await follow();
    const paced = pacer();
    const position = await behindFor(500, paced);
    const began = clock.now_;
    clock.onPause = async () => {
      if (clock.now_ - began >= 300) await reach(position);
    };
    await paced.pace();
    expect(clock.paused).toBeGreaterThanOrEqual(300);
    expect(clock.paused).toBeLessThan(400);
  });

  test('does not wait for what is less behind', async () => {
    await follow();
    const paced = pacer();
    await behindFor(200, paced);
    await paced.pace();
    expect(clock.paused).toBe(0);
  });

  test('waits four times as long as it has worked at most, and ignores for a while those that make no progress', async () => {
    await follow();
    const paced = pacer();
    await behindFor(500, paced);
    await paced.pace();
    expect(clock.paused).toBeGreaterThanOrEqual(2_000);
    expect(clock.paused).toBeLessThan(2_200);
    for (let at = 0; at < 5; at += 1) {
      clock.now_ += 500;
      await paced.pace();
    }
    const { paused } = clock;
    expect(paused).toBeGreaterThanOrEqual(4_000);
    expect(paused).toBeLessThan(7_000);
    clock.now_ += 20_000;
    await paced.pace();
    expect(clock.paused).toBe(paused);
    clock.now_ += 20_000;
    await paced.pace();
    expect(clock.paused).toBeGreaterThan(paused);
  });

  test.each([
    ['without a projector', async () => undefined],
    [
      'for those that are paused',
      async () => {
        await follow();
        for (const { collection } of PROJECTIONS)
          await writeNote(world.store, 'paused', collection.name, { since: 'now' });
      },
    ],
  ])('does not wait %s', async (_, prepare) => {
    await prepare();
    const paced = pacer();
    await behindFor(5_000, paced);
    await paced.pace();
    expect(clock.paused).toBe(0);
  });

  test('is done in parts of about 200 ms, and at once if nobody follows the log', async () => {
    expect(pacer([]).part).toBe(Infinity);
    const alone = pacer();
    await alone.pace();
    expect(alone.part).toBe(Infinity);
    await follow();
    const paced = pacer();
    for (const perEvent of [0.01, 1, 5]) {
      for (let at = 0; at < 20; at += 1) {
        await paced.pace();
        clock.now_ += perEvent * paced.part;
      }
      expect(perEvent * paced.part).toBeLessThanOrEqual(400);
      expect(perEvent * paced.part).toBeGreaterThanOrEqual(50);
    }
  });
});
