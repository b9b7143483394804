import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { PROJECTIONS } from '../../projections';
import { claimStore, recordOrigin, refuseOtherLog } from '../../src/projector/origin';
import { waitForPosition } from '../../src/projector/wait';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { rebuildProjections } from '../../src/operations/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog, withLog } from '../support/temporary-log';
import { FEED_ID, listed } from './sample-events';
import { World } from './world';

const REFUSED = { name: 'OtherLog', message: expect.stringContaining('affilog rebuild all --force') };

describe('Read models of another log (decisions X31)', () => {
  let one: World;
  let other: World;
  beforeEach(async () => {
    one = await World.open();
    other = await World.open();
    await one.runner().start();
    await one.emit(listed('a'));
    await one.settled();
    await other.emit(listed('b'), listed('c'));
  });
  afterEach(async () => {
    await one.end();
    await other.end();
  });

  /** The read models of `one` with the log of `other`. */
  const mixed = () => ({ log: other.log, store: one.store, deliveries: one.deliveries });

  /** Waits until the origin is recorded, which needs an event. */
  async function claimed(): Promise<void> {
    while (!(await claimStore(one.log, one.store, PROJECTIONS)));
  }

  it('are refused, and nothing is projected into them', async () => {
    await claimed();
    await expect(refuseOtherLog(one.log, one.store, PROJECTIONS)).resolves.toBeUndefined();
    await expect(refuseOtherLog(other.log, one.store, PROJECTIONS)).rejects.toMatchObject(REFUSED);
    const before = await one.documents('products');
    await one.stopRunners();
    const failures = new EventEmitter();
    const failed = once(failures, 'failure');
    void one.runner({ report: (error) => failures.emit('failure', error) }, PROJECTIONS, mixed()).start();
    expect(await failed).toEqual([expect.objectContaining(REFUSED)]);
    expect(await one.documents('products')).toEqual(before);
  });

  it('are refused by a log without events too', async () => {
    await claimed();
    const empty = await World.open();
    await expect(refuseOtherLog(empty.log, one.store, PROJECTIONS)).rejects.toMatchObject(REFUSED);
    await empty.end();
  });

  it('are only replaced by a forced rebuild of all', async () => {
    await claimed();
    await one.stopRunners();
    await expect(rebuildProjections(mixed(), 'all')).rejects.toMatchObject(REFUSED);
    await expect(rebuildProjections(mixed(), 'products', { force: true })).rejects.toMatchObject(REFUSED);
    await rebuildProjections(mixed(), 'all', { force: true });
    await expect(refuseOtherLog(one.log, one.store, PROJECTIONS)).rejects.toMatchObject(REFUSED);
    await one.runner({}, PROJECTIONS, mixed()).start();
    expect(await waitForPosition(SYSTEM_CLOCK, one.store, PROJECTIONS, await other.log.head(), 30_000)).toBe(
      true,
    );
    expect(Object.keys(await one.documents('products'))).toHaveLength(2);
  });

  it('belong to no log until an event is projected', async () => {
    const empty = await World.open();
    await empty.runner().start();
    expect(await empty.log.head()).toBe(START);
    await expect(refuseOtherLog(other.log, empty.store, PROJECTIONS)).resolves.toBeUndefined();
    await empty.end();
  });

  /** Waits for the record of the last applied event and returns its stream. */
  async function lastRecorded(): Promise<string> {
    for (;;) {
      const [record] = await one.store.get({ collection: 'origin' }, ['folded']).catch(() => []);
      if (record !== undefined) return (JSON.parse(record.body) as { readonly stream: string }).stream;
      await turn();
    }
  }

  it('record the last applied event again after a forced rebuild of all, without a new event', async () => {
    await lastRecorded();
    // The last step of that rebuild: a projector that has noticed the swap has already restarted.
    await recordOrigin(one.log, one.store, PROJECTIONS);
    expect(await lastRecorded()).toBe(`feed-${FEED_ID}`);
  });

  it('do not record an event of the previous log when it was replaced under a running projector', async () => {
    await claimed();
    await lastRecorded();
    // Applied but not recorded yet: the projector stops at once.
    await one.emit(listed('d'));
    await one.settled();
    await rebuildProjections(mixed(), 'all', { force: true });
    await one.stopRunners();
    await expect(refuseOtherLog(other.log, one.store, PROJECTIONS)).resolves.toBeUndefined();
  });

  /** The log of `one`, ending with an event of another program that is deleted later. */
  async function sharedLog(): Promise<EventLog> {
    await one.append('somebody-1', toNewEvent(listed('x'), randomUUID()));
    return overrideLog(one.log, {
      readStream: (stream, options) => one.log.readStream(stream.replace('somebody', 'nobody'), options),
    });
  }

  it('only record events of their own streams: those of other programs may be deleted', async () => {
    await one.stopRunners();
    const log = await sharedLog();
    await recordOrigin(one.log, one.store, PROJECTIONS);
    await one.runner({}, PROJECTIONS, { log, store: one.store }).start();
    expect(await lastRecorded()).toBe(`feed-${FEED_ID}`);
    await expect(refuseOtherLog(log, one.store, PROJECTIONS)).resolves.toBeUndefined();
  });

  it('are identified by our first event, whatever other programs have appended before', () =>
    withLog(async (log) => {
      const { store } = other;
      await log.append('order-1', NO_STREAM, [toNewEvent(listed('x'), randomUUID())]);
      await expect(claimStore(log, store, PROJECTIONS)).resolves.toBeUndefined();
      await log.append(`feed-${FEED_ID}`, NO_STREAM, [toNewEvent(listed('b'), randomUUID())]);
      await expect(claimStore(log, store, PROJECTIONS)).resolves.toBeDefined();
    }));
});
