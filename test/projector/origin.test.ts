import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { PROJECTIONS } from '../../projections/index';
import { claimStore, recordOrigin, refuseOtherLog } from '../../src/projector/origin';
import { waitForPosition } from '../../src/projector/wait';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { rebuildProjections } from '../../src/ops/rebuild';
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
    await one.happen(listed('a'));
    await one.settled();
    await other.happen(listed('b'), listed('c'));
  });
  afterEach(async () => {
    await one.end();
    await other.end();
  });

  /** The read models of the one with the log of the other. */
  const mixed = () => ({ log: other.log, store: one.store });

  /** Waits until it is recorded whose they are, which takes an event. */
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

  it('are made anew by a rebuild of all of them that is forced, by no other', async () => {
    await claimed();
    await one.stopRunners();
    await expect(rebuildProjections(mixed(), 'all')).rejects.toMatchObject(REFUSED);
    await expect(rebuildProjections(mixed(), 'products', { force: true })).rejects.toMatchObject(REFUSED);
    await rebuildProjections(mixed(), 'all', { force: true });
    await expect(refuseOtherLog(one.log, one.store, PROJECTIONS)).rejects.toMatchObject(REFUSED);
    await one.runner({}, PROJECTIONS, mixed()).start();
    expect(await waitForPosition(one.store, PROJECTIONS, await other.log.head(), 30_000)).toBe(true);
    expect(Object.keys(await one.documents('products'))).toHaveLength(2);
  });

  it('are of any log as long as nothing has been folded into them', async () => {
    const empty = await World.open();
    await empty.runner().start();
    expect(await empty.log.head()).toBe(START);
    await expect(refuseOtherLog(other.log, empty.store, PROJECTIONS)).resolves.toBeUndefined();
    await empty.end();
  });

  /** The stream of the event recorded as folded last, once there is one. */
  async function marked(): Promise<string> {
    for (;;) {
      const [mark] = await one.store.get({ collection: 'origin' }, ['folded']).catch(() => []);
      if (mark !== undefined) return (JSON.parse(mark.body) as { readonly stream: string }).stream;
      await turn();
    }
  }

  it('are marked again with the event folded last after a forced rebuild of all, without a new event', async () => {
    await marked();
    // The last step of that rebuild: a projector that noticed the swap before it has restarted already.
    await recordOrigin(one.log, one.store, PROJECTIONS);
    expect(await marked()).toBe(`feed-${FEED_ID}`);
  });

  it('are not marked with an event of the log before, when that was replaced under a running projector', async () => {
    await claimed();
    await marked();
    // Folded, and not recorded yet: the projector stops at once.
    await one.happen(listed('d'));
    await one.settled();
    await rebuildProjections(mixed(), 'all', { force: true });
    await one.stopRunners();
    await expect(refuseOtherLog(other.log, one.store, PROJECTIONS)).resolves.toBeUndefined();
  });

  /** The one's log, with an event of somebody else as its last that is gone later. */
  async function sharedLog(): Promise<EventLog> {
    await one.append('somebody-1', toNewEvent(listed('x')));
    return overrideLog(one.log, {
      readStream: (stream, options) => one.log.readStream(stream.replace('somebody', 'nobody'), options),
    });
  }

  it('are marked with an event of a stream that is followed: those of others may be deleted', async () => {
    await one.stopRunners();
    const log = await sharedLog();
    await recordOrigin(one.log, one.store, PROJECTIONS);
    await one.runner({}, PROJECTIONS, { log, store: one.store }).start();
    expect(await marked()).toBe(`feed-${FEED_ID}`);
    await expect(refuseOtherLog(log, one.store, PROJECTIONS)).resolves.toBeUndefined();
  });

  it('are of the log that begins with the same event of ours, whatever others appended before', () =>
    withLog(async (log) => {
      const { store } = other;
      await log.append('order-1', NO_STREAM, [toNewEvent(listed('x'))]);
      await expect(claimStore(log, store, PROJECTIONS)).resolves.toBeUndefined();
      await log.append(`feed-${FEED_ID}`, NO_STREAM, [toNewEvent(listed('b'))]);
      await expect(claimStore(log, store, PROJECTIONS)).resolves.toBeDefined();
    }));
});
