import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { FEED } from '../../src/domain/products/feed';
import { SUBSCRIPTION } from '../../src/domain/subscriptions/subscription';
import { toNewEvent } from '../../src/kernel/decider';
import { streamOf } from '../../src/kernel/event';
import { cases } from '../support/size';
import { type Response, TestApp } from '../support/app';
import { CLAIM_NETWORK, claimClientOf, claimOf } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';
import { POST_RECEIVER, subscriptionClientOf, withReceiver } from './subscription-network';
import { CONVERSION_TOKENS, transactionClientOf } from './transaction-network';
import { NOW, VOUCHER_TOKENS, voucherClientOf } from './voucher-network';

const DAY = 86_400_000;
const { german } = FEEDS;

let app: TestApp;
let now = NOW;
const products = clientOf(() => app);
const vouchers = voucherClientOf(() => app);
const transactions = transactionClientOf(() => app);
const claims = claimClientOf(() => app);
const subscriptions = subscriptionClientOf(() => app);

beforeAll(async () => {
  app = await TestApp.start({ network: CLAIM_NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());
beforeEach(() => {
  now += DAY;
});

interface Entry {
  readonly version: number;
  readonly time: string;
  readonly position: string;
  readonly event: string;
  readonly by: string;
  readonly changes: Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;
  readonly state?: Readonly<Record<string, unknown>>;
}

const get = (path: string): Promise<Response> =>
  app.get(`/ops/1.0/history/${path}`, { token: OTHER_TOKENS.operator });

async function history(path: string): Promise<readonly Entry[]> {
  await app.settled();
  const answer = await get(path);
  expect([answer.statusCode, path]).toEqual([200, path]);
  return answer.json<readonly Entry[]>();
}

const outline = (entries: readonly Entry[]) => entries.map(({ version, event, by }) => [version, event, by]);
const day = (time: number) => new Date(time).toISOString().slice(0, 10);

describe('GET /ops/1.0/history (decisions X109)', () => {
  it('of a product: each event with what it changed, and the state at a time, a position and a version', async () => {
    const path = `product/${german}/h-1`;
    const first = now;
    await products.post(german, [product('h-1', { price: 12.5 })]);
    now += DAY;
    await products.post(german, [product('h-1', { price: 9.99 }), product('h-2')]);
    now += DAY;
    await products.post(german, [product('h-1', { price: 9.99, name: 'Other' })]);
    now += DAY;
    await app.request('DELETE', `/1.0/products;fid=${german};spId=h-1`, { token: TOKENS.nord });
    const entries = await history(path);
    expect(outline(entries)).toEqual([
      [1, 'ProductListed', 'advertiser 1'],
      [2, 'ProductRepriced', 'advertiser 1'],
      [3, 'ProductRevised', 'advertiser 1'],
      [4, 'ProductDelisted', 'advertiser 1'],
    ]);
    expect(entries[0]?.state).toMatchObject({ name: 'Product h-1', price: '12.50', currency: 'EUR' });
    expect(entries[1]?.changes).toEqual({ price: { before: '12.50', after: '9.99' } });
    expect(entries[2]?.changes).toEqual({ name: { before: 'Product h-1', after: 'Other' } });
    expect(entries[3]).not.toHaveProperty('state');
    expect(await history(`${path};at=${day(first)}`)).toEqual([entries[0]]);
    expect(await history(`${path};at=${first + DAY}`)).toEqual([entries[1]]);
    expect(await history(`${path};position=${entries[2]!.position}`)).toEqual([entries[2]]);
    expect(await history(`${path};version=2`)).toEqual([entries[1]]);
    expect(await history(`${path};diff=1,3`)).toEqual([
      {
        from: { version: 1, time: entries[0]?.time, position: entries[0]?.position },
        to: { version: 3, time: entries[2]?.time, position: entries[2]?.position },
        changes: {
          name: { before: 'Product h-1', after: 'Other' },
          price: { before: '12.50', after: '9.99' },
        },
      },
    ]);
    for (const position of [entries[0]!.position, `p${Number(entries[0]!.position)}`])
      expect(await history(`${path};diff=${day(first - 2 * DAY)},${position}`)).toMatchObject([
        { to: { version: 1 }, changes: { price: { after: '12.50' } } },
      ]);
  });

  it('of a voucher', async () => {
    const id = await vouchers.create({ sourceId: 'h', title: 'One' });
    const created = now;
    now += DAY;
    await vouchers.create({ sourceId: 'h', title: 'Two' });
    now += DAY;
    await app.request('DELETE', `/1.0/vouchers/${id}`, { token: VOUCHER_TOKENS.nord });
    const entries = await history(`voucher/${id}`);
    expect(outline(entries)).toEqual([
      [1, 'VoucherPublished', 'advertiser 1'],
      [2, 'VoucherRevised', 'advertiser 1'],
      [3, 'VoucherWithdrawn', 'advertiser 1'],
    ]);
    expect(entries[1]?.changes).toEqual({ title: { before: 'One', after: 'Two' } });
    expect(entries[2]).not.toHaveProperty('state');
    expect(await history(`voucher/${id};at=${day(created)}`)).toMatchObject([{ state: { title: 'One' } }]);
  });

  it('of a transaction, by its id, its legacy id and its order number, with amounts in decimals', async () => {
    const { transactionId } = await transactions.create('H-1', { orderValue: 100 });
    now += DAY;
    await transactions.move({ transactionId, action: 'approve', orderValue: 80 }, 'operator');
    const entries = await history(`transaction/${transactionId}`);
    expect(outline(entries)).toEqual([
      [1, 'TransactionTracked', 'advertiser 1 or operator'],
      [2, 'TransactionBecamePending', 'system'],
      [3, 'TransactionPendingApproved', 'advertiser 1 or operator'],
    ]);
    expect(entries[2]?.changes).toMatchObject({
      stateName: { before: 'Pending', after: 'Pending_Approved' },
      orderValue: { before: 100, after: 80 },
    });
    expect(await history('transaction/H-1')).toEqual(entries);
    expect(await history('transaction/H-1_301_1')).toEqual(entries);
  });

  it('of a transaction: an order number of several names their ids', async () => {
    const made = [await transactions.create('H-2'), await transactions.create('H-2', { eventId: 302 })];
    await app.settled();
    const answer = await get('transaction/H-2');
    expect(answer.statusCode).toBe(400);
    for (const { transactionId } of made) expect(answer.body).toContain(transactionId);
  });

  it('of a claim', async () => {
    await claims.file([claimOf('H-3')], 'preisblick');
    await app.settled();
    const [{ claimId } = { claimId: 0 }] = (await claims.list()).filter(
      ({ orderNumber }) => orderNumber === 'H-3',
    );
    now += DAY;
    await claims.rule([{ claimId, statusIdClaim: 202, versionNo: 0 }]);
    const entries = await history(`claim/${claimId}`);
    expect(outline(entries)).toEqual([
      [1, 'ClaimFiled', 'publisher 11'],
      [2, 'ClaimScreened', 'system'],
      [3, 'ClaimRuled', 'advertiser 1'],
    ]);
    expect(entries[2]?.changes).toMatchObject({ statusId: { before: 2, after: 202 } });
    expect(await history('claim/H-3')).toEqual(entries);
  });

  it('of a claim: an integer is its id if there is one, else an order number; one of several names their ids', async () => {
    await claims.file([claimOf('4712'), claimOf('H-4'), claimOf('H-4', { eventId: 18 })], 'preisblick');
    await app.settled();
    const listed = await claims.list();
    const idsOf = (order: string) =>
      listed.filter(({ orderNumber }) => orderNumber === order).map(({ claimId }) => claimId);
    const [ofNumber, first] = [idsOf('4712')[0], listed.find(({ claimId }) => claimId === 1)];
    expect(await history('claim/4712')).toEqual(await history(`claim/${ofNumber}`));
    expect(await history('claim/1')).toMatchObject([{ state: { orderNumber: first?.orderNumber } }, {}, {}]);
    expect(idsOf('H-4')).toHaveLength(2);
    const answer = await get('claim/H-4');
    expect(answer.statusCode).toBe(400);
    for (const claimId of idsOf('H-4')) expect(answer.body).toContain(String(claimId));
    expect(answer.body).toContain('claim H-4: it names several; expected one of the claimIds');
  });

  it('of a subscription, without what may have secrets of receivers', async () => {
    const secret = { ...POST_RECEIVER, receiverUrl: 'https://receiver.example/key-4711?key=4711' };
    const { subscriptionId } = await subscriptions.create(withReceiver({}, secret));
    const entries = await history(`subscription/${subscriptionId}`);
    expect(outline(entries)).toEqual([[1, 'SubscriptionCreated', 'advertiser 1']]);
    const text = JSON.stringify(entries);
    expect(text).toContain('https://receiver.example');
    expect(text).not.toMatch(/4711|receiverBody/);
  });

  it('of a subscription: what operators may request too says so', async () => {
    const { subscriptionId } = await subscriptions.create(withReceiver({}, POST_RECEIVER));
    const data = { at: new Date(now).toISOString(), receiver: 'r' };
    const appended = [
      { type: 'ReceiverDisabled', data: { ...data, reason: 'gone' } },
      { type: 'ReceiverEnabled', data },
    ].map((event) => toNewEvent(event, randomUUID()));
    await app.engines.log.append(streamOf(SUBSCRIPTION, subscriptionId), 0, appended);
    expect(outline(await history(`subscription/${subscriptionId}`))).toEqual([
      [1, 'SubscriptionCreated', 'advertiser 1'],
      [2, 'ReceiverDisabled', 'system'],
      [3, 'ReceiverEnabled', 'advertiser 1 or operator'],
    ]);
  });

  it('of a feed: definition, loads, deletions, refused posts and mappings', async () => {
    const before = (await history(`feed/${german}`)).length;
    await products.post(german, [product('f-1'), product('f-2')]);
    await app.post(`/1.0/products;fid=${german}`, { token: TOKENS.nord, body: '{' });
    await app.request('DELETE', `/1.0/products;fid=${german};spId=f-1`, { token: TOKENS.nord });
    for (const categoryId of ['12', '11'])
      await app.post('/ops/1.0/mappings', {
        token: OTHER_TOKENS.operator,
        body: JSON.stringify({ mappings: [{ feedId: german, name: 'Own', categoryId }] }),
      });
    const all = await history(`feed/${german}`);
    expect(all[0]).toMatchObject({ event: 'FeedDefined', by: 'operator', state: { id: german } });
    expect([...all].sort((a, b) => (a.position < b.position ? -1 : 1))).toEqual(all);
    const entries = all.slice(before);
    expect(entries.map(({ event }) => event)).toEqual([
      ...['FeedImported', 'FeedImportRefused', 'ProductsDeleted', 'CategoryMapped', 'CategoryMapped'],
    ]);
    expect(entries[0]?.state).toMatchObject({ lastLoad: { mode: 'update', new: 2 } });
    expect(entries[2]?.state?.['products']).toBe(Number(entries[0]?.state?.['products']) - 1);
    expect(entries[4]?.changes).toMatchObject({ 'mappings.Own': { before: '12', after: '11' } });
    const [whole] = await history(`feed/${german};version=${all.length - 1}`);
    expect(whole?.state?.['mappings']).toMatchObject({ Own: '12' });
    expect(await history(`feed/${german};diff=${all.length - 1},${all.length}`)).toMatchObject([
      { changes: { 'mappings.Own': { before: '12', after: '11' } } },
    ]);
  });

  it('of a program', async () => {
    const [first] = await history('program/101');
    expect(first).toMatchObject({
      event: 'ProgramDefined',
      by: 'operator',
      state: { id: 101, status: 'active' },
    });
  });

  it.each([
    ['voucher/4711', 404, 'voucher 4711: there are no events of it'],
    ['voucher/x', 400, 'voucher=x: expected its id, an integer'],
    ['product/7/a', 404, 'product a of feed 7: there are no events of it'],
    ['transaction/none', 404, 'expected a transactionId, a legacyTransactionId, or an order number'],
    ['claim/none', 404, 'claim none: expected a claimId, or the order number of a claim'],
    ['claim/4711', 404, 'claim 4711: expected a claimId, or the order number of a claim'],
    ['site/1', 404, 'site: expected one of product, voucher, transaction'],
    [
      'program/101;at=1999-12-31',
      404,
      'program 101: it has no events up to 1999-12-31: its first one is of 20',
    ],
    ['voucher/4711;at=1999-12-31', 404, 'voucher 4711: there are no events of it'],
    ['program/101;at=yesterday', 400, 'at=yesterday: expected a time'],
    ['program/101;version=0', 400, 'version=0: expected a version, counted from 1'],
    ['program/101;position=x', 400, 'position=x: expected a log position'],
    ['program/101;version=1;at=2026-01-01', 400, 'at, version: expected at most one of them'],
    ['program/101;diff=1', 400, 'diff=1: expected two points'],
  ])('refuses %s', async (path, status, message) => {
    const answer = await get(path);
    expect([answer.statusCode, answer.body]).toEqual([status, expect.stringContaining(message)]);
  });

  it('is for operators', async () => {
    const answer = await app.get('/ops/1.0/history/program/101', { token: CONVERSION_TOKENS.nord });
    expect(answer.statusCode).toBe(403);
  });
});

/** What random loads do to each of some products. */
const step = fc.record({
  price: fc.constantFrom(1, 2),
  name: fc.constantFrom('A', 'B'),
  ids: fc.uniqueArray(fc.constantFrom('r-1', 'r-2', 'r-3'), { minLength: 1 }),
  mode: fc.constantFrom('update', 'replace'),
});

describe('histories of products after random loads (ADR 49)', () => {
  it('have exactly the events that a scan of the feed finds, each with its state', async () => {
    const { swedish } = FEEDS;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        for (const { price, name, ids, mode } of steps) {
          now += 1000;
          await products.post(
            swedish,
            ids.map((id) => product(id, { price, name })),
            { keys: `;mode=${mode}` },
          );
        }
        await app.settled();
        const scanned = new Map<string, object[]>();
        let state: Readonly<Record<string, unknown>> = {};
        const states = new Map<string, typeof state | undefined>();
        for await (const batch of app.engines.log.readStream(streamOf(FEED, swedish)))
          for (const { type, data, position } of batch) {
            const {
              sourceProductId,
              price,
              product: posted,
            } = JSON.parse(data) as {
              readonly sourceProductId?: string;
              readonly price: number;
              readonly product?: { readonly name: string };
            };
            if (sourceProductId === undefined) continue;
            const before = states.get(sourceProductId);
            state = { name: posted?.name ?? before?.['name'], price: (price / 100).toFixed(2) };
            states.set(sourceProductId, type === 'ProductDelisted' ? undefined : state);
            const events = scanned.get(sourceProductId) ?? [];
            events.push({
              event: type,
              position,
              version: events.length + 1,
              state: states.get(sourceProductId),
            });
            scanned.set(sourceProductId, events);
          }
        for (const [id, expected] of scanned) {
          const found = await history(`product/${swedish}/${id}`);
          expect(
            found.map(({ event, position, version, state: shown }) => ({
              ...{ event, position, version },
              state: shown && { name: shown['name'], price: shown['price'] },
            })),
          ).toEqual(expected);
        }
      }),
      { numRuns: cases(40, 6) },
    );
  });
});
