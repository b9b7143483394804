import { randomUUID } from 'node:crypto';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { offerId } from '../../src/domain/products/offer';
import { type Response } from '../support/app';
import { deliveryWorld, type Json } from './delivery-samples';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';
import { POST_RECEIVER } from './subscription-network';
import { NOW } from './voucher-network';

const { german } = FEEDS;
const token = OTHER_TOKENS.operator;
const { world, history, settled, sample: sampleOf } = deliveryWorld();
const { post, search } = clientOf(() => world.app);

const get = (path: string): Promise<Response> => world.app.get(`/ops/1.0${path}`, { token });
const change = (path: string): Promise<Response> => world.app.post(`/ops/1.0${path}`, { token });

async function json<Answer = readonly Json[]>(path: string): Promise<Answer> {
  const answer = await get(path);
  expect([path, answer.statusCode]).toEqual([path, 200]);
  return answer.json<Answer>();
}

/** The last action of operators. */
async function lastAction(): Promise<Json | undefined> {
  return (await json('/actions;limit=1'))[0];
}

async function until<T>(read: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await read();
    if (holds(found)) return found;
    await new Promise(setImmediate);
  }
}

describe('messages and receivers of anybody (decisions X130)', () => {
  it('are shown with the exact request and the answers, also once their subscription is deleted', async () => {
    const sample = await sampleOf();
    const due = await sample.due('a');
    await history().outcome(due, { outcome: 'dead', error: 'status 500', status: 500, answer: '<b>no</b>' });
    await settled();
    const details = await json<Json>(`/deliveries/${due.id}`);
    const { request, lastAttempts, ...own } = await sample.json<Json>(`/deliveries/${due.id}`);
    expect(details).toEqual({
      ...{ organisationId: 1, subscriptionId: sample.id, held: false },
      ...{ ...own, request, lastAttempts },
    });
    expect(details).toMatchObject({ state: 'dead', lastAttempts: [{ status: 500, answer: '<b>no</b>' }] });
    await world.send('DELETE', `/${sample.id}`, 'nord');
    expect(await json(`/deliveries/${due.id}`)).toMatchObject({ state: 'dead', request });
    expect((await get('/deliveries/msg_none')).statusCode).toBe(404);
  });

  it('are sent again, enabled and tested, which is recorded', async () => {
    const sample = await sampleOf();
    const due = await sample.due('b');
    await history().outcome(due, { outcome: 'dead', error: 'timeout' });
    await settled();
    expect((await change(`/deliveries/${due.id}/redeliver;reason=asked`)).statusCode).toBe(204);
    expect(await sample.requests('RedeliveryRequested')).toHaveLength(1);
    expect(await lastAction()).toMatchObject({
      action: 'notifications redeliver',
      reason: 'asked',
      state: 'done',
    });
    const receiver = `/receivers/${sample.id}/${sample.receivers[0]}`;
    expect((await change(`${receiver}/test`)).statusCode).toBe(204);
    expect(await sample.requests('TestRequested')).toHaveLength(1);
    expect((await change(`${receiver}/enable`)).statusCode).toBe(204);
    const unknown = await change(`/receivers/${sample.id}/none/enable`);
    expect([unknown.statusCode, unknown.body]).toEqual([400, expect.stringContaining('none')]);
    const owned = await sampleOf('nord', { receivers: [{ ...POST_RECEIVER, disabled: true }] });
    expect((await change(`/receivers/${owned.id}/${owned.receivers[0]}/enable`)).statusCode).toBe(409);
    expect((await change('/deliveries/msg_none/redeliver')).statusCode).toBe(400);
    const asOther = await world.app.post(`/ops/1.0${receiver}/test`, { token: TOKENS.nord });
    expect(asOther.statusCode).toBe(403);
  });

  it('are sent again in bulk, counted before, which is recorded (decisions X152)', async () => {
    const sample = await sampleOf('casa');
    for (const id of ['c', 'd'])
      await history().outcome(await sample.due(id), { outcome: 'dead', error: 'timeout' });
    await settled();
    const path = `/subscriptions/${sample.id}/redeliveries;minTime=2020-01-01;maxTime=2040-01-01`;
    const counted = await change(`${path};dryRun=true`);
    expect([counted.statusCode, counted.json()]).toEqual([200, { requested: 2, remaining: 0 }]);
    expect(await sample.requests('RedeliveryRequested')).toHaveLength(0);
    const done = await change(`${path};reason=it%20works%20again`);
    expect([done.statusCode, done.json()]).toEqual([200, { requested: 2, remaining: 0 }]);
    expect(await sample.requests('RedeliveryRequested')).toHaveLength(2);
    expect(await lastAction()).toMatchObject({
      action: 'notifications redeliver-all',
      reason: 'it works again',
      state: 'done',
    });
    const refused = await change(`/subscriptions/none/redeliveries;minTime=2020-01-01;maxTime=2040-01-01`);
    expect([refused.statusCode, refused.body]).toEqual([
      400,
      expect.stringContaining('none: expected the id of a subscription'),
    ]);
  });

  it('are listed by subscriptions, page by page, without addresses', async () => {
    const sample = await sampleOf('casa', { subscriptionName: 'of casa' });
    const [one] = await json(`/subscriptions;organisationId=2`);
    expect(one).toMatchObject({
      organisationId: 2,
      topic: 'transactions',
      filter: { messageTypeIds: [4, 6] },
    });
    const listed = await json('/subscriptions;organisationId=2;topic=transactions');
    const own = listed.find(({ subscriptionId }) => subscriptionId === sample.id);
    expect(own).toMatchObject({
      subscriptionName: 'of casa',
      receivers: [
        { receiverId: sample.receivers[0], state: 'enabled', receiverUrl: 'https://shop.example:8443' },
        { receiverUrl: 'https://shop.example' },
      ],
    });
    const all = await json('/subscriptions');
    const pages = await Promise.all(all.map((_, offset) => json(`/subscriptions;limit=1;offset=${offset}`)));
    expect(pages.flat().map(({ subscriptionId }) => subscriptionId)).toEqual(
      all.map(({ subscriptionId }) => subscriptionId),
    );
    expect(await json('/subscriptions;organisationId=2;topic=claims')).toEqual([]);
  });
});

describe('loads of any feed (decisions X89)', () => {
  it('are listed, and undone as planned, which is recorded', async () => {
    await post(german, [product('kept'), product('gone')]);
    const bad = await post(german, [product('added')], { keys: ';mode=replace' });
    const loadId = String(bad.headers['x-load-id']);
    const { imports } = await json<{ readonly imports: readonly Json[] }>(`/feeds/${german}/loads`);
    expect(imports[0]).toMatchObject({ importId: loadId, mode: 'replace', removed: 2 });
    const path = `/feeds/${german}/loads/${loadId}`;
    expect(await json(path)).toMatchObject({
      ...{ loadId, new: 2, removed: 1, revised: 0, repriced: 0, changedAgain: 0 },
      products: expect.arrayContaining([{ sourceProductId: 'added', change: 'removed' }]),
    });
    const restored = await change(`${path}/restore;reason=wrong%20file`);
    expect(restored.json()).toMatchObject({ loadId: expect.any(String), new: 2, removed: 1 });
    const ids = (await search(`;fid=${german}`)).products.map(({ offers }) => offers[0]?.sourceProductId);
    expect(ids.toSorted()).toEqual(['gone', 'kept']);
    expect(await lastAction()).toMatchObject({
      action: 'feeds restore',
      reason: 'wrong file',
      state: 'done',
    });
    const again = await change(`${path}/restore;reason=once%20more`);
    expect(again.json()).toEqual({ new: 0, removed: 0, revised: 0, repriced: 0 });
    expect((await get(`/feeds/${german}/loads/none`)).statusCode).toBe(404);
    expect((await get('/feeds/999/loads')).statusCode).toBe(404);
  });
});

describe('parked documents (decisions X47)', () => {
  it('are listed without a stack, retried, and skipped with a reason', async () => {
    const { log } = world.app.engines;
    const at = '2026-03-01T12:00:00.000Z';
    const broken = toNewEvent({ type: 'VoucherPublished', data: { at } }, randomUUID());
    await log.append('voucher-7777', NO_STREAM, [broken]);
    const [one, ...others] = await until(
      () => json('/parked;name=vouchers'),
      ({ length }) => length > 0,
    );
    expect(others).toEqual([]);
    expect(one).toMatchObject({
      ...{ name: 'vouchers', id: '7777', stream: 'voucher-7777', event: broken.id, retryRequested: false },
      error: expect.not.stringContaining('\n'),
    });
    expect((await change('/parked/retry;name=vouchers;id=7777')).statusCode).toBe(204);
    expect(await lastAction()).toMatchObject({ action: 'parked retry', state: 'done' });
    await until(
      () => json('/parked;name=vouchers'),
      (found) => found[0]?.['retryRequested'] === false,
    );
    expect((await change('/parked/skip;name=vouchers;id=7777')).statusCode).toBe(400);
    expect((await change('/parked/skip;name=vouchers;id=7777;reason=a%20test')).statusCode).toBe(204);
    // The read model that copies follow has parked it too.
    expect((await change('/parked/skip;name=changes;id=voucher-7777;reason=a%20test')).statusCode).toBe(204);
    expect(
      await until(
        () => json('/parked'),
        ({ length }) => length === 0,
      ),
    ).toEqual([]);
    expect((await change('/parked/retry;name=vouchers;id=1')).statusCode).toBe(400);
    expect((await get('/parked;name=none')).statusCode).toBe(400);
  });
});

describe('what a server runs on, and documents (decisions X131, X132)', () => {
  it('has engines, disk space, the rate of events, and who leads what', async () => {
    const state = await json<Json>('/server');
    expect(state).toMatchObject({
      disk: {
        free: expect.any(Number),
        files: expect.arrayContaining([expect.objectContaining({ bytes: expect.any(Number) })]),
      },
      position: await world.app.engines.log.head(),
    });
    const leases = state['leases'] as readonly Json[];
    expect(leases).toContainEqual({ work: 'matcher' });
    const { leases: held, store } = world.app.engines;
    await held.lease('matcher', 'somebody', () => NOW, 30_000);
    await store.lease('rebuild', 'somebody else', () => NOW, 10_000);
    const now = (await json<Json>('/server'))['leases'];
    for (const [work, owner] of Object.entries({ matcher: 'somebody', rebuild: 'somebody else' }))
      expect(now).toContainEqual({ work, owner, until: expect.any(String) });
  });

  it('are what an event is folded into, as they are now', async () => {
    await post(german, [product('documented', { price: 3 })]);
    const [event] = (await get('/log;type=ProductListed;stream=feed-')).body.trim().split('\n').slice(-1);
    const { position } = JSON.parse(event ?? '') as { readonly position: string };
    const id = offerId(german, 'documented');
    const found = await json(`/documents;position=${position}`);
    expect(found.map(({ readModel }) => readModel)).toEqual(['products', 'price-history', 'feeds']);
    expect(found[0]).toMatchObject({ id, document: { sourceProductId: 'documented', price: 300 } });
    expect(await json(`/documents;readModel=products;id=${id}`)).toEqual([found[0]]);
    expect(await json('/documents;readModel=products;id=none')).toEqual([
      { readModel: 'products', id: 'none' },
    ]);
    for (const keys of [
      'position=1999',
      'readModel=none;id=1',
      'readModel=products',
      'readModel=all;id=1',
      '',
    ])
      expect([keys, (await get(`/documents;${keys}`)).statusCode]).toEqual([keys, 400]);
    const { subscriptionId } = await world.create({ receivers: [POST_RECEIVER] }, 'nord');
    const [document] = await json(`/documents;readModel=subscriptions;id=${subscriptionId}`);
    expect(JSON.stringify(document)).toContain('"receiverUrl":"https://shop.example:8443"');
    expect(JSON.stringify(document)).not.toContain('receiverBody');
  });
});

describe('histories by pages (decisions X109)', () => {
  it('have so many events after a version', async () => {
    for (const price of [1, 2, 3, 4, 5]) await post(german, [product('paged', { price })]);
    const versions = async (keys: string) =>
      (await json(`/history/product/${german}/paged${keys}`)).map(({ version }) => version);
    expect(await versions('')).toEqual([1, 2, 3, 4, 5]);
    expect(await versions(';limit=2')).toEqual([1, 2]);
    expect(await versions(';limit=2;after=2')).toEqual([3, 4]);
    expect(await versions(';limit=9;after=4')).toEqual([5]);
    expect(await versions(';after=5')).toEqual([]);
    expect((await get(`/history/product/${german}/paged;limit=0`)).statusCode).toBe(400);
  });
});
