import { EventEmitter, once } from 'node:events';
import { EventStoreDBClient } from '@eventstore/db-client';
import { TestApp } from '../support/app';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
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
import { CLAIM_NETWORK, claimClientOf, claimOf } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';
import { subscription, subscriptionClientOf, SUBSCRIPTIONS, subscriptionWorld } from './subscription-network';
import { CONVERSION_TOKENS, reportOf, transactionClientOf } from './transaction-network';
import { NOW, voucher, VOUCHER_TOKENS, voucherClientOf } from './voucher-network';
import { at, type Json, Sample } from './delivery-samples';

/**
 * A stream that somebody has tombstoned in EventStoreDB: what it was about is gone, and its id can never be written
 * again.
 */
describe('a stream that was deleted from the event log (decisions X91)', () => {
  let server: EsdbServer;
  let client: EventStoreDBClient;
  let app: TestApp;
  const feeds = clientOf(() => app);
  const vouchers = voucherClientOf(() => app);
  const transactions = transactionClientOf(() => app);
  const claims = claimClientOf(() => app);
  const subscriptions = subscriptionClientOf(() => app);
  beforeAll(async () => {
    server = await startEsdbServer();
    client = EventStoreDBClient.connectionString`${server.url}`;
    app = await TestApp.start({
      network: CLAIM_NETWORK,
      now: () => new Date(NOW),
      engines: { log: 'sqlite', store: 'sqlite' },
      settings: { EVENT_LOG: server.url },
    });
  });
  afterAll(async () => {
    const health = (await app.get('/health/ready')).json<object>();
    await app.close();
    await client.dispose();
    await server.stop();
    expect(health).toMatchObject({ unexpectedFailures: 0 });
  });

  const deletes = (stream: string) => client.tombstoneStream(stream);
  const named = (stream: string) =>
    `${stream} was deleted from the event log, so it cannot be changed any more: ask the operator to restore it from a backup`;

  it('of a voucher is a fault that names it, also within a list, and others are written', async () => {
    const id = await vouchers.create({ sourceId: 'gone' });
    await deletes(`voucher-${id}`);
    const edited = await vouchers.post(voucher({ sourceId: 'gone', title: 'Another' }));
    expect([outcome(edited), edited.body]).toEqual([
      '410 410',
      expect.stringContaining(named(`voucher-${id}`)),
    ]);
    const list = [voucher({ sourceId: 'gone' }), voucher({ sourceId: 'there' })];
    const answer = await app.post('/1.0/vouchers/bulk', {
      token: VOUCHER_TOKENS.nord,
      body: JSON.stringify(list),
    });
    expect(answer.json()).toEqual([
      { errors: [{ code: '410', message: named(`voucher-${id}`) }] },
      { id: expect.any(Number) as number },
    ]);
    expect(outcome(await vouchers.remove(id))).toBe('400 101');
  });

  it('of a transaction is a fault of its report', async () => {
    const { transactionId } = await transactions.create('GONE');
    await deletes(`transaction-${transactionId}`);
    expect(outcome(await transactions.report(reportOf('GONE')))).toBe('410 410');
    const several = await transactions.reportAll([reportOf('GONE'), reportOf('THERE')]);
    expect(several.json()).toMatchObject([{ errors: [{ code: '410' }] }, { outcome: 'created' }]);
    expect(outcome(await transactions.move({ transactionId, action: 'approve' }))).toBe('404 CON_500');
  });

  it('of a claim is a fault of its updates', async () => {
    const { claimId } = await claims.create('GONE');
    await deletes(`claim-${String(claimId)}`);
    const versions = await claims.send('GET', `/claims/${String(claimId)}/versions`, 'preisblick');
    expect(outcome(versions)).toBe('404 UTS_402');
    const update = { claimId, versionNo: 0, statusId: 300 };
    expect((await claims.rule([update])).statusCode).toBeLessThan(500);
    expect(outcome(await claims.file([claimOf('GONE')]))).toBe('409 UTS_397');
  });

  it('of a subscription is a fault of whatever names it', async () => {
    const { subscriptionId } = await subscriptions.create();
    await deletes(`subscription-${subscriptionId}`);
    const replaced = await app.request('PUT', `${SUBSCRIPTIONS}/${subscriptionId}`, {
      token: CONVERSION_TOKENS.nord,
      body: JSON.stringify(subscription()),
    });
    expect(outcome(replaced)).toBe('404 CON_210');
  });

  it('of a feed is a fault of its posts, and a download is answered', async () => {
    await feeds.post(FEEDS.german, [product('a')]);
    await app.settled();
    const download = () => app.get(`/1.0/productsUnlimited;fid=${FEEDS.german}`, { token: TOKENS.nord });
    expect((await download()).statusCode).toBe(200);
    await deletes(`feed-${FEEDS.german}`);
    const answer = await app.post(`/1.0/products;fid=${FEEDS.german}`, {
      token: TOKENS.nord,
      body: JSON.stringify({ products: [product('b')] }),
    });
    expect(outcome(answer)).toBe('410 410');
    expect((await download()).statusCode).toBe(200);
  });
});

describe('a delivery log that was removed', () => {
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
    const lines = deliveryLines(
      engines,
      { at: {} },
      { most: 10, now: new Date(NOW), count: () => undefined },
    );
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
});
