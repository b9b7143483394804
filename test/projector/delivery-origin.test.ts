import { DELIVERY_PROJECTIONS } from '../../projections/index';
import { openDeliveryLog } from '../../src/engines/embedded/log/open-log';
import { type ExpiringLog } from '../../src/kernel/event-log';
import { DELIVERY_STREAMS } from '../../src/notifications/delivery-events';
import { rebuildProjections } from '../../src/ops/rebuild';
import { refuseOtherLog } from '../../src/projector/origin';
import { Runner } from '../../src/projector/runner';
import { DELIVERY_LOG } from '../../src/projector/source';
import { waitForPosition } from '../../src/projector/wait';
import { DeliveryHistory } from '../support/delivery-history';
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
  const history = new DeliveryHistory(log);
  for (const name of ['a', 'b', 'c']) await history.outcome(await history.due(name, { at: now() }));
  const runner = new Runner(log, world.store, DELIVERY_PROJECTIONS, {
    ...{ owner: 'deliveries', code: 'test', source: DELIVERY_LOG },
  });
  await runner.start();
  expect(await waitForPosition(world.store, DELIVERY_PROJECTIONS, await log.head(), 30_000)).toBe(true);
  await runner.stop();
}

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

test('read models of a delivery log that was lost are refused until all are rebuilt (decisions X31)', async () => {
  await project();
  await expect(refused(lost)).rejects.toMatchObject(REFUSED);
  const history = new DeliveryHistory(lost);
  for (const name of ['d', 'e', 'f', 'g']) await history.outcome(await history.due(name, { at: now() }));
  await expect(refused(lost)).rejects.toMatchObject(REFUSED);

  const engines = { log: world.log, store: world.store, deliveries: async () => lost };
  await expect(rebuildProjections(engines, 'deliveries')).rejects.toMatchObject(REFUSED);
  await rebuildProjections(engines, 'all', { force: true });
  expect(Object.keys(await world.documents('deliveries'))).toHaveLength(4);
  await expect(refused(lost)).resolves.toBeUndefined();
});
