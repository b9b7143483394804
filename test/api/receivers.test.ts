import { randomUUID } from 'node:crypto';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type DomainEvent, execute, load, toNewEvent } from '../../src/kernel/decider';
import { Secrets, subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { NO_STREAM } from '../../src/kernel/event';
import { golden } from '../support/golden';
import { at, deliveryWorld, type Due, type Json, type Sample } from './delivery-samples';
import { type Copy, GET_RECEIVER, POST_RECEIVER, subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();

describe('receivers of a subscription (decisions N14, N17)', () => {
  test('have counts over all days that are kept, the last answers, and since when they fail', async () => {
    const sample = await sampleOf();
    const messages = [await sample.due('a'), await sample.due('b'), await sample.due('c')] as const;
    await history().outcome(messages[0], { at: at(-48) });
    await history().outcome(messages[1], { at: at(-25), outcome: 'failed', error: 'status 500' });
    await history().outcome(messages[2], {
      at: at(1),
      outcome: 'dead',
      error: 'timeout',
      status: 504,
    });
    await settled();

    expect(await sample.json('/receivers')).toEqual([
      {
        receiverId: sample.receivers[0],
        state: 'enabled',
        httpMethod: 'POST',
        receiverUrl: POST_RECEIVER.receiverUrl,
        ...{ attempts: 3, failed: 2, delivered: 1, dead: 1, failingSince: at(-25) },
        lastSuccess: { time: at(-48), status: 200 },
        lastFailure: { time: at(1), status: 504, error: 'timeout' },
      },
      {
        receiverId: sample.receivers[1],
        state: 'enabled',
        httpMethod: 'GET',
        receiverUrl: GET_RECEIVER.receiverUrl,
        ...{ attempts: 0, failed: 0, delivered: 0, dead: 0 },
      },
    ]);
    expect((await sample.get('/receivers.xml')).body).toContain('<failingSince>');
  });

  test('say who has disabled them, and why (decisions N8)', async () => {
    const sample = await sampleOf('nord', {
      receivers: [POST_RECEIVER, { ...GET_RECEIVER, disabled: true }],
    });
    await disable(sample);
    expect(await sample.json('/receivers')).toMatchObject([
      { state: 'disabled', disabledBy: 'system', disabledReason: 'gone' },
      { state: 'disabled', disabledBy: 'owner' },
    ]);
  });

  test('that rest have the time until which they do, and so have their messages (decisions N7)', async () => {
    const sample = await sampleOf();
    const [first = '', second = ''] = sample.receivers;
    const late = await sample.due('late');
    for (let attempt = 1; attempt <= 5; attempt += 1)
      await history().outcome(late, {
        ...{ outcome: 'failed', attempt, at: at(10), ms: 1000, isTimeout: true, error: 'timeout' },
        next: at(12),
      });
    const soon = await sample.due('soon', { at: at(1) });
    await history().outcome(soon, { outcome: 'failed', at: at(9.999), next: at(10) });
    await sample.due('new', { at: at(2) });
    await sample.due('other', { at: at(3), receiver: second });
    await settled();

    const restingUntil = new Date(Date.parse(at(10)) + 31_000).toISOString();
    const receivers = await sample.json('/receivers');
    expect(receivers.map((one) => [one['receiverId'], one['state'], one['restingUntil']])).toEqual([
      [first, 'enabled', restingUntil],
      [second, 'enabled', undefined],
    ]);
    const nextOf = async () =>
      (await sample.json('/deliveries')).map(({ transactionId, nextAttempt }) => [
        transactionId,
        nextAttempt,
      ]);
    expect(await nextOf()).toEqual([
      ['other', undefined],
      ['new', restingUntil],
      ['soon', restingUntil],
      ['late', at(12)],
    ]);
    expect(await sample.json(`/deliveries/${soon.id}`)).toMatchObject({ nextAttempt: restingUntil });
    expect((await sample.get('/receivers.xml')).body).toContain(`<restingUntil>${restingUntil}<`);

    await disable(sample);
    await settled();
    const [held] = await sample.json('/receivers');
    expect(held).toMatchObject({ state: 'disabled' });
    expect(held).not.toHaveProperty('restingUntil');
    expect((await nextOf()).map(([, next]) => next)).toEqual([undefined, undefined, undefined, undefined]);
  });
});

const SAME = subscription({ receivers: [POST_RECEIVER, GET_RECEIVER] });

test.each<[string, (sample: Sample) => Promise<unknown>, isDisabled: boolean]>([
  ['a receiver to be enabled', (sample) => sample.post(`/receivers/${sample.receivers[1]}/enable`), true],
  ['redeliveries', (sample) => sample.post('/redeliveries', { minTime: at(0), maxTime: at(9) }), true],
  ['a PUT that changes nothing', ({ id }) => world.put(id, SAME), false],
])(
  'a subscription with many requests of old is read in a few events once somebody has asked for %s (ADR 35)',
  async (_, ask, isDisabled) => {
    const sample = await sampleOf();
    const { id, receivers } = sample;
    const { log } = world.app.engines;
    await world.send('POST', `/${id}/secret/rotations`, 'nord');
    if (isDisabled) await disable(sample);
    const test = { type: 'TestRequested', data: { at: at(0), receiver: receivers[1], stateId: 4 } };
    for (let count = 0; count < 2_000; count += 500) {
      const { revision } = await load(log, subscriptionDecider, id);
      await log.append(
        `subscription-${id}`,
        revision,
        Array.from({ length: 500 }, () => toNewEvent(test, randomUUID())),
      );
    }
    const before = await load(log, subscriptionDecider, id);
    expect(before.events).toBeGreaterThan(2_000);
    const copy = await sample.json('');
    await ask(sample);
    const after = await load(log, subscriptionDecider, id);
    expect(after.events).toBeLessThan(10);
    expect(after.state).toEqual(before.state);
    await ask(sample);
    expect(await load(log, subscriptionDecider, id)).toEqual(after);
    await settled();
    expect([await sample.json(''), (await world.ids()).includes(id)]).toEqual([copy, true]);
  },
);

/** The first receiver has answered 410. */
async function disable({ id, receivers: [receiver = ''] }: Sample): Promise<void> {
  const command = { do: 'disableReceiver', at: at(0), receiver, reason: 'gone' } as const;
  await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, id, command);
}

describe('receivers that are tested', () => {
  const now = new Date(NOW).toISOString();

  /** Like the application, but waits for outcomes of tests. */
  let waits: NestFastifyApplication;
  beforeAll(async () => {
    waits = await world.app.again({
      subscriptions: {
        convertible: () => undefined,
        secrets: () => new Secrets(Buffer.alloc(32)),
        addressProblem: () => undefined,
        deliveries: world.app.engines.deliveries,
        testWithin: 15_000,
        keepMs: 30 * 24 * 60 * 60 * 1000,
      },
    });
  });
  afterAll(() => waits.close());

  const testAt = ({ id, receivers: [receiver = ''] }: Sample, extension = '') =>
    waits.inject({
      method: 'POST',
      url: `${SUBSCRIPTIONS}/${id}/receivers/${receiver}/test${extension}?token=${CONVERSION_TOKENS.nord}`,
    });

  describe('a test of a receiver (decisions N14, N16)', () => {
    const SUCCESS = { ms: 12.4, status: 200, answer: 'thanks' } as const;
    const FAILURE = {
      outcome: 'failed',
      ...{ ms: 3.6, status: 503, answer: 'down', error: 'the status is 503' },
      next: new Date(NOW + 5_000).toISOString(),
    } as const;

    test.each([
      ['delivered', SUCCESS, { state: 'delivered', status: 200, milliseconds: 12, answer: 'thanks' }],
      [
        'retrying',
        FAILURE,
        {
          ...{ state: 'retrying', status: 503, milliseconds: 4, answer: 'down', error: 'the status is 503' },
          nextAttempt: new Date(NOW + 5_000).toISOString(),
        },
      ],
    ] as const)('is answered with its outcome and its message id: %s', async (_, outcome, expected) => {
      const sample = await sampleOf();
      const [answer, message] = await Promise.all([testAt(sample), sample.sendsTest(outcome)]);
      expect([answer.statusCode, answer.json()]).toEqual([200, { messageId: message.id, ...expected }]);
      expect(await sample.json<Json>(`/deliveries/${message.id}`)).toMatchObject({
        test: true,
        state: expected.state,
      });
    });

    test('is answered in XML too', async () => {
      const sample = await sampleOf();
      const [answer, message] = await Promise.all([testAt(sample, '.xml'), sample.sendsTest(SUCCESS)]);
      expect(answer.body).toContain(`<messageId>${message.id}</messageId>`);
      expect(answer.body).toContain('<milliseconds>12</milliseconds>');
    });

    test('without an outcome in time is answered with 202 and the id', async () => {
      const sample = await sampleOf();
      // This application does not wait.
      const answer = await sample.post(`/receivers/${sample.receivers[0]}/test`);
      const [asked] = await sample.requests('TestRequested');
      const messageId = history().idOf(asked!.id, sample.receivers[0]!);
      expect([answer.statusCode, answer.json()]).toEqual([202, { messageId, state: 'due' }]);
    });

    test('is asked for once until it is attempted, however often and fast (decisions N16)', async () => {
      const sample = await sampleOf();
      const ask = async (): Promise<unknown> => {
        const answer = await sample.post(`/receivers/${sample.receivers[0]}/test`);
        return (answer.json<Json>() as { readonly messageId?: unknown }).messageId;
      };
      const ids = [await ask(), ...(await Promise.all([ask(), ask(), ask()]))];
      expect(new Set(ids).size).toBe(1);
      expect(await sample.requests('TestRequested')).toHaveLength(1);
      expect((await sample.sendsTest(FAILURE)).id).toBe(ids[0]);
      await settled();
      const next = await Promise.all([ask(), ask(), ask()]);
      expect(new Set([...ids, ...next]).size).toBe(2);
      expect(await sample.requests('TestRequested')).toHaveLength(2);
    });

    test('is waited for by ten requests of an organisation at a time: others get 202 at once (decisions N16)', async () => {
      const sample = await sampleOf();
      const answers = Array.from({ length: 11 }, () => testAt(sample));
      expect((await Promise.race(answers)).statusCode).toBe(202);
      await sample.sendsTest(SUCCESS);
      const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
      expect(statuses.sort()).toEqual([...Array<number>(10).fill(200), 202]);
    });

    test('of a receiver that the system has disabled is held: 202 at once (decisions N8)', async () => {
      const sample = await sampleOf();
      const [receiver = ''] = sample.receivers;
      const command = { do: 'disableReceiver', at: now, receiver, reason: 'gone' } as const;
      await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, sample.id, command);
      const answer = await testAt(sample);
      expect([answer.statusCode, answer.json()]).toMatchObject([202, { state: 'held' }]);
    });
  });

  describe('a receiver that rests (decisions N7, N14)', () => {
    /** A receiver that rests, and a message that is to be sent to it again. */
    async function resting(): Promise<{ readonly sample: Sample; readonly dead: Due }> {
      const sample = await sampleOf();
      const dead = await sample.due('dead', { at: at(1) });
      for (let attempt = 1; attempt <= 5; attempt += 1)
        await history().outcome(dead, {
          outcome: attempt === 5 ? 'dead' : 'failed',
          ...{ attempt, isTimeout: true, error: 'timeout' },
          ...{ at: new Date(NOW - 5_000).toISOString(), ms: 1_000 },
        });
      await settled();
      expect(await sample.json('/receivers')).toMatchObject([
        { restingUntil: expect.any(String) as string },
        {},
      ]);
      return { sample, dead };
    }

    test('is tried at once when it is enabled, and shown as such', async () => {
      const { sample } = await resting();
      const [receiver = ''] = sample.receivers;
      const enable = (): ReturnType<Sample['post']> => sample.post(`/receivers/${receiver}/enable`);
      expect((await enable()).statusCode).toBe(204);
      const [probe, ...others] = await sample.requests('ProbeRequested');
      expect([JSON.parse(probe!.data), others]).toEqual([{ at: now, receiver }, []]);
      await history().probe(receiver, now);
      await settled();
      expect((await sample.json('/receivers'))[0]).not.toHaveProperty('restingUntil');
      // It does not rest any more, so there is nothing to do.
      expect((await enable()).statusCode).toBe(204);
      expect(await sample.requests('ProbeRequested')).toHaveLength(1);
    });

    test('is tried at once when it is enabled, also while read models cannot say that it rests', async () => {
      const { sample } = await resting();
      const unavailable = new EngineUnavailable('the read store is not available');
      const spies = (['get', 'search'] as const).map((call) =>
        jest.spyOn(world.app.engines.store, call).mockRejectedValue(unavailable),
      );
      const { statusCode } = await sample.post(`/receivers/${sample.receivers[0]}/enable`);
      for (const spy of spies) spy.mockRestore();
      expect(statusCode).toBe(204);
      expect(await sample.requests('ProbeRequested')).toHaveLength(1);
    });

    test('is tried at once when a message is asked for, each time: nextAttempt', async () => {
      const { sample, dead } = await resting();
      const path = `/deliveries/${dead.id}`;
      const first = await sample.post(`${path}/redeliver`);
      expect([first.statusCode, first.json()]).toMatchObject([202, { state: 'dead', nextAttempt: now }]);
      expect(await sample.requests('ProbeRequested')).toEqual([]);
      await history().redeliver(dead, now);
      await settled();
      const { restingUntil } = (await sample.json('/receivers'))[0]!;
      expect(await sample.json(path)).toMatchObject({ redeliveryRequested: now, nextAttempt: restingUntil });
      const again = await sample.post(`${path}/redeliver`);
      expect(again.json()).toMatchObject({ nextAttempt: now });
      expect(await sample.requests('RedeliveryRequested')).toHaveLength(1);
      expect(await sample.requests('ProbeRequested')).toHaveLength(1);
    });

    test('has no nextAttempt for what is asked for if it is disabled (decisions N8)', async () => {
      const { sample, dead } = await resting();
      const [receiver = ''] = sample.receivers;
      const command = { do: 'disableReceiver', at: now, receiver, reason: 'gone' } as const;
      await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, sample.id, command);
      const answer = await sample.post(`/deliveries/${dead.id}/redeliver`);
      expect(answer.json()).not.toHaveProperty('nextAttempt');
    });
  });
});

const { create, put, get } = world;

const OTHER = { ...POST_RECEIVER, receiverUrl: 'https://other.example/in' };

const receiversIn = (copy: unknown) => (copy as Copy)['receivers'] as readonly Record<string, unknown>[];
const idsIn = (copy: unknown) => receiversIn(copy).map(({ receiverId }) => receiverId);

describe('receivers that a PUT changes (decisions N8)', () => {
  it('have ids in every answer, the same as in lists of receivers', async () => {
    const copy = await create({ receivers: [GET_RECEIVER, POST_RECEIVER] });
    const { subscriptionId: id } = copy;
    const ids = idsIn(copy);
    expect(new Set(ids).size).toBe(2);
    expect(idsIn((await get(`/${id}`)).json())).toEqual(ids);
    await world.app.settled();
    const listed = (await get('')).json<readonly Copy[]>().find((one) => one.subscriptionId === id);
    expect(idsIn(listed)).toEqual(ids);
    const receivers = (await get(`/${id}/receivers`)).json<readonly Record<string, unknown>[]>();
    expect(receivers.map(({ receiverId }) => receiverId)).toEqual(ids);
    expect((await get(`/${id}.xml`)).body).toContain(`<receiverId>${String(ids[0])}</receiverId>`);
  });

  it('are continued if they are named, or the only one that differs; a copy that is sent back changes nothing', async () => {
    const copy = await create({ receivers: [GET_RECEIVER, POST_RECEIVER] });
    const { subscriptionId: id } = copy;
    const [first, second] = idsIn(copy);
    const mended = await put(id, subscription({ receivers: [OTHER, GET_RECEIVER] }));
    expect(idsIn(mended.json())).toEqual([second, first]);
    const named = [{ ...POST_RECEIVER, receiverId: first }, GET_RECEIVER, { ...OTHER, receiverId: second }];
    const replaced = await put(id, subscription({ receivers: named }));
    expect(idsIn(replaced.json())).toEqual([first, expect.any(String), second]);
    expect([first, second]).not.toContain(idsIn(replaced.json())[1]);
    expect((await put(id, replaced.json())).json()).toEqual(replaced.json());
  });

  it('are not continued by a POST, which ignores ids', async () => {
    const copy = await create({ receivers: [GET_RECEIVER, POST_RECEIVER] });
    const again = await world.post(copy);
    expect(again.statusCode).toBe(201);
    expect(again.headers['x-ignored-fields']).toBe('subscriptionId');
    for (const receiverId of idsIn(again.json())) expect(idsIn(copy)).not.toContain(receiverId);
  });

  it('are refused by an id that the subscription does not have (CON_530), or that two have (CON_350)', async () => {
    const copy = await create({ receivers: [GET_RECEIVER] });
    const { subscriptionId: id } = copy;
    const [receiverId] = idsIn(copy);
    const unknown = subscription({ receivers: [{ ...GET_RECEIVER, receiverId: '0123456789abcdef' }] });
    expect(refusalOf(await put(id, unknown))).toEqual({
      codes: '404 CON_530',
      message: `receivers[0].receiverId: expected one of ${String(receiverId)}, or none for a new receiver, got '0123456789abcdef'`,
    });
    const both = [
      { ...GET_RECEIVER, receiverId },
      { ...POST_RECEIVER, receiverId },
    ];
    expect(refusalOf(await put(id, subscription({ receivers: both })))).toEqual({
      codes: '400 CON_350',
      message: `receivers[1].receiverId: expected another id than that of receivers[0], which is different, got '${String(receiverId)}'`,
    });
    // A copy from before it was removed.
    await put(id, subscription({ receivers: [POST_RECEIVER, OTHER] }));
    expect(idsIn((await put(id, { ...copy, receivers: [...receiversIn(copy), OTHER] })).json())).toContain(
      receiverId,
    );
  });

  it('show what waits for them as it is sent next, and what was sent as it was (decisions N14)', async () => {
    const { log } = world.app.engines;
    const sample = await sampleOf('nord', { receivers: [POST_RECEIVER] });
    const { event } = golden<DomainEvent>('TransactionTracked');
    const { position: cause } = await log.append(`transaction-${sample.id}`, NO_STREAM, [
      toNewEvent(event, randomUUID()),
    ]);
    const request = { method: 'POST', url: POST_RECEIVER.receiverUrl, body: 'as it was made' } as const;
    const made = { subject: sample.id, sequence: 1, cause, request };
    const [waits, sent] = [await sample.due('a', made), await sample.due('b', made)];
    await history().outcome(waits, { outcome: 'failed', at: at0, next: at0 });
    await history().outcome(sent);
    await settled();
    const requestOf = async ({ id }: { readonly id: string }) =>
      (await sample.json<{ readonly request: { url: string; body: string } }>(`/deliveries/${id}`)).request;
    expect([await requestOf(waits), await requestOf(sent)]).toMatchObject([request, request]);

    const mended = subscription({ receivers: [{ ...POST_RECEIVER, receiverBody: '"${orderNumber}"' }] });
    expect((await put(sample.id, mended)).statusCode).toBe(200);
    const again = { url: POST_RECEIVER.receiverUrl, body: '"N-1001"' };
    expect([await requestOf(waits), await requestOf(sent)]).toMatchObject([again, request]);
    await history().outcome(waits, { rendered: await log.head() });
    await settled();
    expect((await put(sample.id, subscription())).statusCode).toBe(200);
    expect([await requestOf(waits), await requestOf(sent)]).toMatchObject([again, request]);
  });
});

const at0 = '2026-03-01T12:00:00.000Z';
