import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { execute } from '../../src/kernel/decider';
import { Secrets } from '../../src/domain/subscriptions/secrets';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { at, deliveryWorld, type Due, type Json, type Sample } from './delivery-samples';
import { SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { NOW } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();
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
