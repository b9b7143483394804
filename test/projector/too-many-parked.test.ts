import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { listParked, requestRetry, TooManyParked } from '../../src/projector/parked';
import { priceHistory } from '../../projections/price-history';
import { products } from '../../projections/products';
import { type Projection } from '../../src/projector/projection';
import { rebuild } from '../../src/projector/rebuild';
import { type Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, type Position } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { EVERYTHING } from '../../src/kernel/query';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog } from '../support/temporary-log';
import { FEED_ID, listed, mapped } from './sample-events';
import { World } from './world';

const MAX_PARKED = 1000;

let world: World;
let isFixed: boolean;
beforeEach(async () => {
  world = await World.open();
  isFixed = false;
});
afterEach(() => world.end());

/** The products, projected by code that fails at a price of 13 until it is fixed. */
const picky: Projection = {
  ...(products as Projection),
  fold(document, event) {
    if (!isFixed && (event.data as { price?: number }).price === 13) throw new Error('thirteen');
    return products.fold(document as never, event as never);
  },
};
const OTHERS = [priceHistory];
const BOTH = [picky, ...OTHERS];

/** Appends 1,200 products that cannot be folded. */
async function appendTooMany(): Promise<void> {
  for (let stream = 0; stream < 3; stream += 1) {
    const events = Array.from({ length: 400 }, (_, at) => toNewEvent(listed(`p${at}`, 13), randomUUID()));
    await world.log.append(`feed-${stream}`, NO_STREAM, events);
  }
}

/** Starts a runner whose products projection has stopped. */
async function stoppedRunner(): Promise<Runner> {
  const runner = world.runner({}, BOTH);
  await runner.start();
  await appendTooMany();
  await untilStopped();
  return runner;
}

async function untilStopped(): Promise<void> {
  while (!world.reports.some((report) => report instanceof TooManyParked)) await turn();
}

const count = (collection: string): Promise<number> => world.store.count({ collection }, EVERYTHING);
const isAtHead = async (projection: Projection): Promise<boolean> =>
  waitForPosition(SYSTEM_CLOCK, world.store, [projection], await world.log.head(), 0);

describe('a read model of which more than 1,000 documents cannot be folded (decisions X90)', () => {
  test('stops and is reported; the others and their checkpoints continue', async () => {
    const runner = await stoppedRunner();
    await world.settled(OTHERS);
    expect(await count('price-history')).toBe(1200);
    await world.emit(listed('later', 5), mapped(FEED_ID, 'Audio', '11'));
    await world.settled(OTHERS);
    expect(await count('price-history')).toBe(1201);
    expect(await isAtHead(picky)).toBe(false);
    expect(runner.trouble()).toBe(
      'products has stopped: too many of its documents are parked (affilog parked list products)',
    );
    expect(await listParked(world.store)).toHaveLength(MAX_PARKED);
    expect(world.reports.filter((report) => report instanceof TooManyParked)).toHaveLength(1);
  });

  test('resumes when fixed code retries the parked documents', async () => {
    const runner = await stoppedRunner();
    isFixed = true;
    await requestRetry(world.store, await listParked(world.store));
    await world.settled(BOTH);
    expect([await count('products'), (await listParked(world.store)).length]).toEqual([1200, 0]);
    while (runner.trouble() !== undefined) await turn();
  });

  test('stops again when the retry fails', async () => {
    await stoppedRunner();
    await requestRetry(world.store, await listParked(world.store));
    while (world.reports.filter((report) => report instanceof TooManyParked).length < 2) await turn();
    await world.emit(listed('later', 5));
    await world.settled(OTHERS);
    expect(await isAtHead(picky)).toBe(false);
  });

  test('resumes after a rebuild', async () => {
    const runner = await stoppedRunner();
    isFixed = true;
    const options = { clock: SYSTEM_CLOCK, owner: 'operator', code: 'fixed', force: true };
    await rebuild(world.log, world.store, [picky], options);
    await world.emit(listed('later', 5));
    await world.settled(BOTH);
    expect(await count('products')).toBe(1201);
    while (runner.trouble() !== undefined) await turn();
  });

  test('resumes at the next start with other code', async () => {
    const before = await stoppedRunner();
    await before.stop();
    isFixed = true;
    await world.runner({ code: 'fixed' }, BOTH).start();
    await world.settled(BOTH);
    expect([await count('products'), (await listParked(world.store)).length]).toEqual([1200, 0]);
  });

  test('is not built if it does not exist yet, while the others are', async () => {
    await appendTooMany();
    const runner = world.runner({}, BOTH);
    await runner.start();
    await world.settled(OTHERS);
    expect(await count('price-history')).toBe(1200);
    expect(runner.trouble()).toContain('products has stopped');
    isFixed = true;
    await rebuild(world.log, world.store, [picky], {
      clock: SYSTEM_CLOCK,
      owner: 'operator',
      code: 'fixed',
      force: true,
    });
    await world.emit(listed('later', 5));
    await world.settled(BOTH);
    expect(await count('products')).toBe(1201);
  });

  describe('and is far behind the others', () => {
    /** Number of events read. */
    let read: number;
    /** Start positions of the subscriptions. */
    let starts: Position[];
    const counting = (): EventLog =>
      overrideLog(world.log, {
        async *subscribe(options) {
          starts.push(options.after);
          for await (const batch of world.log.subscribe({ ...options, batchSize: 10 })) {
            read += batch.events.length;
            yield batch;
          }
        },
      });
    beforeEach(() => {
      [read, starts] = [0, []];
    });

    test('is left behind; the others continue from their checkpoints', async () => {
      const first = await stoppedRunner();
      await world.emit(...Array.from({ length: 500 }, (_, at) => listed(`later${at}`, 5)));
      await world.settled(OTHERS);
      await first.stop();
      const head = await world.log.head();
      await world.runner({}, BOTH, { log: counting(), store: world.store }).start();
      await world.emit(listed('last', 5));
      await world.settled(OTHERS);
      expect(starts.at(-1)).toBe(head);
      // Up to the document that exceeds the limit.
      expect(read).toBeLessThan(1300);
    });

    test('is not retried when the runner restarts for another reason', async () => {
      const runner = world.runner({}, BOTH, { log: counting(), store: world.store });
      await runner.start();
      await appendTooMany();
      await untilStopped();
      await world.settled(OTHERS);
      const head = await world.log.head();
      starts = [];
      await rebuild(world.log, world.store, OTHERS, { clock: SYSTEM_CLOCK, owner: 'operator', code: 'test' });
      while (starts.length === 0) await turn();
      // Those that are live, and the one that is kept beside them.
      expect([...new Set(starts)]).toEqual([head]);
      expect(runner.trouble()).toContain('products has stopped');
      expect(world.reports.filter((report) => report instanceof TooManyParked)).toHaveLength(1);
    });
  });
});
