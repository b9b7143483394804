import { type Position } from '../../src/kernel/event';
import { type ReadStore } from '../../src/kernel/read-store';
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
const pacer = (projections: readonly Projection[] = PROJECTIONS, store = world.store) =>
  new Pacer(clock, world.log, store, projections, DOMAIN_LOG);
const follow = () =>
  world.store.lease(projectorLease.name, 'projector', () => clock.wall(), projectorLease.ms);
const reach = async (position: Position) => {
  for (const { collection } of PROJECTIONS)
    await world.store.write({ collection: collection.name }, [], position);
};

/** Live read models have not seen the last event for so long when the work is paced. */
async function behindFor(ms: number, paced: Pacer): Promise<Position> {
  await paced.pace(0);
  const position = await world.emit(listed(`p${clock.now_}`));
  clock.now_ += 100;
  await paced.pace(0);
  clock.now_ += ms;
  return position;
}

/** Work beside a projector, as a model: all in milliseconds. */
interface Model {
  /** Of each part, however small, and of each of its events. */
  readonly fixed: number;
  readonly perEvent: number;
  /** Between two events that are appended, and until they are projected: longer by the work on events meanwhile. */
  readonly every: number;
  readonly lag: number;
  readonly whileWorking?: number;
}

/** Works for so long; returns how much of the time that was, how long parts took, and by how much events were late. */
async function workFor(ms: number, paced: Pacer, { fixed, perEvent, every, lag, whileWorking = 0 }: Model) {
  await follow();
  const pending: { readonly position: Position; readonly at: number; due: number }[] = [];
  const late: number[] = [];
  const parts: { readonly events: number; readonly took: number; readonly at: number }[] = [];
  let next = 0;
  const happen = async (now: number, working = 0): Promise<void> => {
    for (; next <= now; next += every) {
      const due = next + lag + working * (now - next);
      pending.push({ position: await world.emit(listed(`p${next}`)), at: next, due });
    }
    const done = pending.filter(({ due }) => due <= now);
    const last = done.at(-1);
    if (last === undefined) return;
    await reach(last.position);
    late.push(...pending.splice(0, done.length).map(({ at, due }) => due - at));
  };
  clock.onPause = () => happen(clock.now_);
  while (clock.now_ < ms) {
    const events = paced.part;
    const took = fixed + perEvent * events;
    await happen(clock.now_);
    const delay = whileWorking * perEvent * events;
    for (const one of pending) one.due += delay;
    clock.now_ += took;
    await happen(clock.now_, delay / took);
    parts.push({ events, took, at: clock.now_ });
    await paced.pace(events);
  }
  const [, ...settled] = parts.filter(({ at }) => at > ms / 10);
  const sum = (of: readonly number[]): number => of.reduce((all, one) => all + one, 0);
  return {
    share: sum(parts.map(({ took }) => took)) / ms,
    longest: Math.max(...settled.map(({ took }) => took)),
    ofEvents: sum(settled.map(({ events }) => events * perEvent)) / sum(settled.map(({ took }) => took)),
    /** Events a millisecond in a stretch of the time. */
    rate: (from: number, to: number): number =>
      sum(parts.filter(({ at }) => at > from && at <= to).map(({ events }) => events)) / (to - from),
    late: Math.max(...late),
  };
}

/** A store each of whose requests takes so long. */
function slow(store: ReadStore, ms: number): ReadStore {
  let until = -Infinity;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        // Those of one moment are under way together.
        if (clock.now_ >= until) until = clock.now_ + ms;
        const answer: unknown = await Reflect.apply(value, target, args);
        clock.now_ = Math.max(clock.now_, until);
        return answer;
      };
    },
  });
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
    await paced.pace(0);
    expect(clock.paused).toBeGreaterThanOrEqual(300);
    expect(clock.paused).toBeLessThan(400);
  });

  test('learns how far they are behind without it once everything is written', async () => {
    await follow();
    const paced = pacer();
    const written = jest.fn(async () => undefined);
    await behindFor(200, paced);
    await paced.pace(0, { written });
    expect(written).not.toHaveBeenCalled();
    clock.now_ += 500;
    clock.onPause = async () => expect(written).toHaveBeenCalledTimes(1);
    await paced.pace(0, { written });
    expect(clock.paused).toBeGreaterThan(0);
    clock.now_ += 500;
    await paced.pace(0, { written });
    expect(written).toHaveBeenCalledTimes(1);
  });

  test('does not wait for what is less behind', async () => {
    await follow();
    const paced = pacer();
    await behindFor(200, paced);
    await paced.pace(0);
    expect(clock.paused).toBe(0);
  });

  test('ignores for a while those that make no progress for five seconds', async () => {
    await follow();
    const paced = pacer();
    await behindFor(500, paced);
    await paced.pace(0);
    expect(clock.paused).toBeGreaterThanOrEqual(5_000);
    expect(clock.paused).toBeLessThan(5_200);
    const { paused } = clock;
    for (let at = 0; at < 50; at += 1) {
      clock.now_ += 500;
      await paced.pace(0);
    }
    expect(clock.paused).toBe(paused);
    clock.now_ += 10_000;
    await paced.pace(0);
    expect(clock.paused).toBeGreaterThan(paused);
  });

  test('leaves live read models less than a second behind', async () => {
    const model = { fixed: 5, perEvent: 0.1, every: 70, lag: 150, whileWorking: 0.9 };
    const { late, share } = await workFor(60_000, pacer(), model);
    expect(late).toBeLessThan(1_000);
    expect(share).toBeGreaterThan(0.2);
  });

  test.each([
    ['always', 70],
    ['now and then', 1_750],
  ])('works most of the time if these are further behind without it: %s', async (_, every) => {
    const model = { fixed: 100, perEvent: 0.3, every, lag: 1_250 };
    const { share, late } = await workFor(120_000, pacer(), model);
    expect(late).toBe(1_250);
    expect(share).toBeGreaterThan(0.6);
  });

  test('is as fast in the first tenth as later', async () => {
    for (const lag of [50, 1_250]) {
      clock.now_ = 0;
      const { rate } = await workFor(100_000, pacer(), { fixed: 80, perEvent: 0.3, every: 300, lag });
      expect(rate(0, 10_000) / rate(10_000, 100_000)).toBeGreaterThan(0.8);
    }
  });

  test('works for a fifth of the time at least while they make up for more', async () => {
    const { share } = await workFor(120_000, pacer(), { fixed: 50, perEvent: 0.3, every: 200, lag: 20_000 });
    expect(share).toBeGreaterThan(0.15);
    expect(share).toBeLessThan(0.6);
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
    await paced.pace(0);
    expect(clock.paused).toBe(0);
  });

  test('is done in parts of about 200 ms, and at once if nobody follows the log', async () => {
    expect(pacer([]).part).toBe(Infinity);
    const alone = pacer();
    await alone.pace(500);
    expect(alone.part).toBe(Infinity);
    await follow();
    const paced = pacer();
    await paced.pace(0);
    for (const perEvent of [0.01, 1, 5]) {
      for (let at = 0; at < 20; at += 1) {
        const { part } = paced;
        clock.now_ += perEvent * part;
        await paced.pace(part);
      }
      expect(perEvent * paced.part).toBeLessThanOrEqual(250);
      expect(perEvent * paced.part).toBeGreaterThanOrEqual(150);
    }
  });

  test('is done in smaller parts while larger ones leave them too far behind', async () => {
    const model = { fixed: 180, perEvent: 0.3, every: 70, lag: 250, whileWorking: 2 };
    const paced = pacer(PROJECTIONS, slow(world.store, 60));
    const { late, share, longest, ofEvents } = await workFor(60_000, paced, model);
    expect(late).toBeLessThan(900);
    expect(longest).toBeLessThan(300);
    // It is not starved.
    expect(share * ofEvents).toBeGreaterThan(0.1);
  });

  test.each([60, 200])('is not cut into smaller parts because requests take %d ms', async (ms) => {
    const model = { fixed: 3 * ms, perEvent: 0.3, every: 10_000, lag: 10 };
    const paced = pacer(PROJECTIONS, slow(world.store, ms));
    const { ofEvents, longest } = await workFor(60_000, paced, model);
    expect(ofEvents).toBeGreaterThan(ms < 100 ? 1 / 2 : 1 / 5);
    expect(longest).toBeLessThan(6 * ms + 200);
  });
});
