import { EventStoreDBClient } from '@eventstore/db-client';
import { TestApp } from '../support/app';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { claimClientOf, claimOf, CLAIM_NETWORK } from './claim-network';
import { FEEDS, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';
import { subscription, subscriptionClientOf, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS, reportOf, transactionClientOf } from './transaction-network';
import { NOW, voucher, VOUCHER_TOKENS, voucherClientOf } from './voucher-network';

/** A stream that somebody has tombstoned in EventStoreDB: what it was about is gone, and its id can never be written again. */
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
