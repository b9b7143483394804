import { setTimeout as pause } from 'node:timers/promises';
import { DELIVERY_PROJECTIONS } from '../../projections';
import { openDeliveryLog } from '../../src/engines/embedded/log/open-log';
import { EngineUnavailable, type ExpiringLog } from '../../src/kernel/event-log';
import { DELIVERY_STREAMS } from '../../src/domain/deliveries/delivery-events';
import { rebuildProjections } from '../../src/operations/rebuild';
import { refuseOtherLog } from '../../src/projector/origin';
import { DELIVERY_LOG } from '../../src/projector/projection';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { DeliveryHistory } from '../support/delivery-history';
import { pauseCall } from '../support/pause-call';
import { logFolder, type LogFolder } from '../support/log-folder';
import { World } from './world';

const REFUSED = { name: 'OtherLog' };

let world: World;
let other: LogFolder;
let log: ExpiringLog;
let lost: ExpiringLog;
beforeEach(async () => {
  world = await World.open();
  other = await logFolder();
  log = await world.deliveries();
  ({ log: lost } = await openDeliveryLog(other.file, false));
});
afterEach(async () => {
  await lost.close();
  await other.remove();
  await world.end();
});

const refused = (of: ExpiringLog): Promise<void> =>
  refuseOtherLog(of, world.store, DELIVERY_PROJECTIONS, DELIVERY_LOG);

async function project(): Promise<void> {
  await write(log, ['a', 'b', 'c']);
  await projectAll(log, recorded);
}

async function write(to: ExpiringLog, names: readonly string[]): Promise<void> {
  const history = new DeliveryHistory(to);
  for (const name of names) await history.outcome(await history.due(name, { at: now() }));
}

/** Waits until the projector has recorded an event that it has applied. */
async function recorded(): Promise<void> {
  while ((await world.store.get({ collection: DELIVERY_LOG.origin }, ['folded'])).length === 0)
    await pause(20);
}

/** Projects everything, then stops. */
async function projectAll(from: ExpiringLog, isDone = async (): Promise<void> => undefined): Promise<void> {
  const source = { source: DELIVERY_LOG };
  const runner = world.runner({ ...source, owner: 'deliveries' }, DELIVERY_PROJECTIONS, {
    log: from,
    store: world.store,
  });
  await runner.start();
  expect(
    await waitForPosition(SYSTEM_CLOCK, world.store, DELIVERY_PROJECTIONS, await from.head(), 30_000),
  ).toBe(true);
  await isDone();
  await runner.stop();
}

const listed = async (): Promise<readonly string[]> =>
  Object.values(await world.documents('deliveries'))
    .map((document) => (document as { readonly subject: string }).subject)
    .sort();

const now = (): string => new Date().toISOString();

test('read models of deliveries belong to their log, even when what they were made of has expired (decisions X31)', async () => {
  await project();
  await expect(refused(log)).resolves.toBeUndefined();
  await log.expire(new Date(Date.now() + 1), DELIVERY_STREAMS);
  await expect(refused(log)).resolves.toBeUndefined();
  await new DeliveryHistory(log).due('later', { at: now() });
  await log.expire(new Date(Date.now() + 1), DELIVERY_STREAMS);
  await expect(refused(log)).resolves.toBeUndefined();
});

test('read models of a delivery log that was lost are refused by commands until all are rebuilt (decisions X31)', async () => {
  await project();
  await expect(refused(lost)).rejects.toMatchObject(REFUSED);
  await write(lost, ['d', 'e', 'f', 'g']);
  await expect(refused(lost)).rejects.toMatchObject(REFUSED);

  const engines = { log: world.log, store: world.store, deliveries: async () => lost };
  await expect(rebuildProjections(engines, 'deliveries')).rejects.toMatchObject(REFUSED);
  await rebuildProjections(engines, 'all', { force: true });
  expect(Object.keys(await world.documents('deliveries'))).toHaveLength(4);
  await expect(refused(lost)).resolves.toBeUndefined();
});

test.each([
  ['is empty', []],
  ['has fewer messages', ['d']],
  ['has more messages', ['d', 'e', 'f', 'g']],
])(
  'a projector builds them again from the delivery log that took its place, which %s (decisions X31)',
  async (_, names) => {
    await project();
    await write(lost, names);
    await projectAll(lost);
    expect(await listed()).toEqual(names);
    await expect(refused(lost)).resolves.toBeUndefined();
    expect(world.reports).toEqual([expect.stringContaining('another log')]);

    const all = [...names, 'h'];
    await write(lost, ['h']);
    await projectAll(lost);
    expect(await listed()).toEqual(all);
    expect(world.reports).toHaveLength(1);
  },
);

test.each([
  ['retired', 'retire', 2],
  ['built', 'finish', 3],
] as const)(
  'a projector that fails while they are being %s starts over (decisions X31)',
  async (_, step, nth) => {
    await project();
    await write(lost, ['d']);
    const failing = pauseCall(world.store, step, nth);
    const projected = projectAll(lost);
    await failing.reached;
    failing.release(new EngineUnavailable('the disk is full'));
    await expect(listed()).rejects.toMatchObject({ name: 'NoGeneration' });
    failing.release();
    await projected;
    expect(await listed()).toEqual(['d']);
    await expect(refused(lost)).resolves.toBeUndefined();
  },
);
