import { once, EventEmitter } from 'node:events';
import { DELIVERY_PROJECTIONS } from '../../projections';
import { openDeliveryLog } from '../../src/engines/embedded/log/open-log';
import { deliveryRunner } from '../../src/app/read-models';
import { type ExpiringLog } from '../../src/kernel/event-log';
import { deliveryLines } from '../../src/operations/notifications';
import { type Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { projectDeliveries } from '../support/app-deliveries';
import { TestClock } from '../support/clock';
import { DeliveryHistory } from '../support/delivery-history';
import { logFolder, type LogFolder } from '../support/log-folder';
import { pauseCall } from '../support/pause-call';
import { at, type Json, Sample } from './delivery-samples';
import { OTHER_TOKENS } from './network';
import { subscriptionWorld } from './subscription-network';
import { NOW } from './voucher-network';

const world = subscriptionWorld();
const KEPT = { keepMs: 30 * 24 * 3_600_000 };

let other: LogFolder;
let lost: ExpiringLog;
let runner: Runner | undefined;
/** Continues building, after a failure too. */
let release: (() => void) | undefined;
/** What runners over the log that is left have reported. */
const reports: unknown[] = [];
const reported = new EventEmitter();
beforeAll(async () => {
  other = await logFolder();
  ({ log: lost } = await openDeliveryLog(other.file, false));
});
afterAll(async () => {
  release?.();
  await runner?.stop();
  await lost.close();
  await other.remove();
});

/** A server whose delivery log was removed: its delivery log is a new one. */
async function openAgain(): Promise<Runner> {
  await runner?.stop();
  const engines = { store: world.app.engines.store, deliveries: async () => lost };
  const report = (failure: unknown): void => {
    reports.push(failure);
    reported.emit('report');
  };
  runner = await deliveryRunner(
    engines,
    {
      clock: new TestClock(
        () => NOW,
        () => NOW,
      ),
      owner: 'again',
      code: 'test',
      report,
    },
    KEPT,
  );
  return runner;
}

const forOperators = (path: string) => world.app.get(`/ops/1.0/${path}`, { token: OTHER_TOKENS.operator });

test('messages of a delivery log that was removed are no longer listed: its read models are built again from the new one (decisions X31)', async () => {
  const { engines } = world.app;
  const before = await projectDeliveries(world.app, () => NOW);
  const sample = await Sample.create({ world, history: () => before.history });
  await before.history.outcome(await sample.due('old'), { at: at(1) });
  await before.settled();
  expect(await sample.subjects('')).toEqual(['old']);
  await before.stop();

  const built = pauseCall(engines.store, 'create', 1, ({ name }) => name === 'deliveries');
  release = built.release;
  const again = await openAgain();
  const started = again.start();
  await Promise.race([built.reached, once(reported, 'report')]);
  const paths = ['/deliveries', '/receivers', '/deliveries/msg_' + '0'.repeat(32)];
  const answers = await Promise.all([
    ...paths.map((path) => sample.get(path)),
    ...['deliveries', 'receivers'].map(forOperators),
  ]);
  expect(answers.map(({ statusCode, headers }) => [statusCode, headers['retry-after']])).toEqual(
    Array.from({ length: 5 }, () => [500, '5']),
  );
  // The answer says why, and what to do.
  for (const answer of answers)
    expect(answer.body).toMatch(
      /"code":"5","message":"Service not responding: the read model (deliveries|receivers|receiver-health) is being built from its log, .* removed or replaced\. Wait until .*repeat the request \(request /,
    );
  const lines = deliveryLines(engines, { at: {} }, { most: 10, now: new Date(NOW), count: () => undefined });
  await expect(lines.next()).rejects.toMatchObject({ name: 'NoGeneration' });

  built.release();
  await started;
  expect(reports).toEqual([
    expect.stringMatching(
      /^the read models deliveries, receivers, receiver-health are of another log.*deliveries\.sqlite/,
    ),
  ]);
  expect(await sample.subjects('')).toEqual([]);
  expect((await forOperators('receivers')).json()).toEqual([]);
});

test('messages of the new delivery log are listed, also after a restart (decisions X31)', async () => {
  const { engines } = world.app;
  const history = new DeliveryHistory(lost);
  const sample = await Sample.create({ world, history: () => history });
  await history.outcome(await sample.due('new'), { at: at(1) });
  reports.length = 0;
  const again = await openAgain();
  await again.start();
  expect(
    await waitForPosition(SYSTEM_CLOCK, engines.store, DELIVERY_PROJECTIONS, await lost.head(), 30_000),
  ).toBe(true);
  expect(await sample.subjects('')).toEqual(['new']);
  expect((await forOperators('receivers')).json<readonly Json[]>()).toHaveLength(1);
  await (await openAgain()).start();
  expect(await sample.subjects('')).toEqual(['new']);
  expect(reports).toEqual([]);
});
