import { randomUUID } from 'node:crypto';
import { type DomainEvent, execute, load, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM } from '../../../src/kernel/event';
import { without } from '../../../src/kernel/values';
import { appendRequests, requestStream } from '../../../src/domain/subscriptions/delivery-requests';
import { missedMessages } from '../../../src/delivery/matching/explain';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { RATES_STREAM } from '../../../src/delivery/matching/rates';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { receiverIdOf } from '../../../src/domain/subscriptions/receiver-id';
import { type Attempt, type AttemptResult } from '../../../src/delivery/sending/attempt';
import {
  type ActiveSubscription,
  type Receiver,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../../src/domain/subscriptions/subscription';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { golden } from '../../support/golden';
import { runnerWorld } from './runner-world';

const AT = '2026-03-01T12:00:00.000Z';
const WRONG: Receiver = {
  httpMethod: 'POST',
  receiverUrl: 'https://wrong.example/in',
  receiverFormat: 'custom',
  receiverBody: 'wrong ${orderValue} ${currencyId}',
};
const RIGHT: Receiver = {
  ...WRONG,
  receiverUrl: 'https://right.example/in',
  receiverBody: 'right ${orderValue} ${currencyId}',
};

describe('What waits when a PUT changes its receiver (decisions N8)', () => {
  const world = runnerWorld();
  const { start, until, outcomes } = world;
  let matcher: MatcherRunner;
  let attempts: Attempt[];
  /** How attempts at a host end. */
  let endAt: (host: string) => Partial<AttemptResult>;
  const attempt: MakeAttempt = async (one) => {
    attempts.push(one);
    return { at: Date.now(), ms: 1, end: 'success', status: 200, ...endAt(new URL(one.request.url).host) };
  };
  const content = (receiver: Receiver): SubscriptionContent => ({
    filter: { stateIds: [1] },
    receivers: [receiver],
    currencyConversion: { to: 'SEK' },
  });

  beforeEach(() => {
    attempts = [];
    const { log, leases } = world.engines;
    const parts = { log, deliveries: world.deliveries, leases, topics: [transactionTopic] };
    matcher = new MatcherRunner(parts, { clock: SYSTEM_CLOCK, owner: 'one' });
    matcher.start();
    endAt = (host) => (host === 'wrong.example' ? FAILED : {});
  });
  afterEach(() => matcher.stop());

  const FAILED = { end: 'failure', status: 500, error: 'status 500', retryAfter: 0 } as const;

  /** A subscription of the advertiser of the golden transaction. */
  async function subscribed(): Promise<string> {
    const command = { do: 'create', at: AT, topic: 'transactions', organisationId: party } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', {
      ...command,
      subscription: content(WRONG),
    });
    return receiverIdOf('s', WRONG);
  }

  const { event: tracked } = golden<DomainEvent>('TransactionTracked');
  const party = advertiserIn(tracked);

  async function replace(subscription: SubscriptionContent): Promise<void> {
    const command = { do: 'replace', at: AT, subscriptionId: 's', subscription } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', command);
    await world.subscriptions.reached(await world.engines.log.head());
  }

  async function happens(stream: string, event: DomainEvent, expected = NO_STREAM): Promise<void> {
    await world.engines.log.append(stream, expected, [toNewEvent(event, randomUUID())]);
    await matcher.reached(await world.engines.log.head());
  }

  const rates = (sek: number): DomainEvent => ({
    type: 'ExchangeRatesPublished',
    data: { at: AT, day: `2026-03-0${sek}`, rates: { SEK: sek, NOK: 1 } },
  });

  it('is rendered again from its event, with the rates of then, and sent under its old id', async () => {
    const receiver = await subscribed();
    await happens(RATES_STREAM, rates(2));
    await happens('transaction-t1', tracked);
    await happens(RATES_STREAM, rates(4), 0);
    const runner = start('one', attempt);
    await until(async () => (await outcomes()).length === 1);
    await replace(content(RIGHT));
    await until(() => attempts.length === 2);
    await until(async () => (await outcomes()).length === 2);
    const [before, after] = attempts as [Attempt, Attempt];
    const value = Number(before.request.body?.split(' ')[1]);
    expect(before.request).toMatchObject({ url: WRONG.receiverUrl, body: `wrong ${value} SEK` });
    expect(after).toMatchObject({ id: before.id, number: 2 });
    expect(after.request).toMatchObject({ url: RIGHT.receiverUrl, body: `right ${value} SEK` });
    expect(await outcomes()).toMatchObject([
      { receiver, outcome: 'failed' },
      { receiver, outcome: 'delivered', rendered: expect.any(String) as unknown },
    ]);
    expect((await outcomes())[0]).not.toHaveProperty('rendered');
    await runner.stop();
  });

  it('also if it was held, by another process than the one that had it, and with what else has changed', async () => {
    const receiver = await subscribed();
    await happens(RATES_STREAM, rates(2));
    const disable = { do: 'disableReceiver', at: AT, receiver, reason: 'gone' } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', disable);
    for (const name of ['t1', 't2', 't3']) await happens(`transaction-${name}`, tracked);
    const first = start('one', attempt);
    await first.stop();
    const unconverted = without(content(RIGHT), 'currencyConversion');
    await replace({
      ...unconverted,
      receivers: [
        { ...RIGHT, id: receiver },
        { ...WRONG, receiverUrl: 'https://new.example/' },
      ],
    });
    start('two', attempt);
    await until(async () => (await outcomes()).length === 3);
    expect(attempts.map(({ request }) => request.url)).toEqual(Array(3).fill(RIGHT.receiverUrl));
    for (const { request } of attempts) expect(request.body).not.toContain('SEK');
  });

  it('is rendered when it is sent if it is of a backfill, and not sent once that is cancelled (decisions N14)', async () => {
    await happens(RATES_STREAM, rates(2));
    for (const name of ['t1', 't2', 't3']) await happens(`transaction-${name}`, tracked);
    await happens(RATES_STREAM, rates(4), 0);
    const receiver = await subscribed();
    const { log } = world.engines;
    const { state } = await load(log, subscriptionDecider, 's');
    const subscription = state as ActiveSubscription;
    const missed = { topic: transactionTopic, id: 's', subscription, receivers: new Set([receiver]) };
    const { found } = await missedMessages(
      SYSTEM_CLOCK,
      log,
      { ...missed, min: 0, max: Date.now(), after: undefined },
      9,
    );
    expect(found.map(({ subject }) => subject)).toEqual(['t1', 't2', 't3']);
    // Nothing of it is a position, which another log would not have.
    expect(found[0]).toEqual({
      ...{ receiver, message: expect.stringMatching(/^msg_/) as unknown, subject: 't1', sequence: 1 },
      ...{ stateId: 1, time: (tracked.data as { at: string }).at },
    });
    const requests = found.map((data) => ({ type: 'MessageRequested', data: { at: AT, ...data } }) as const);
    await replace(content(RIGHT));
    await happens(requestStream('s'), requests[0]!);
    start('one', attempt);
    await until(async () => (await outcomes()).length === 1);
    expect(attempts[0]).toMatchObject({ id: found[0]!.message, request: { url: RIGHT.receiverUrl } });
    // NOK 1,299.00 at the rate of then.
    expect(attempts[0]?.request.body).toBe('right 2598 SEK');
    const disable = { do: 'disableReceiver', at: AT, receiver, reason: 'gone' } as const;
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, 's', disable);
    await happens(requestStream('s'), requests[1]!, 0);
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, 's', { do: 'cancelBackfills', at: AT });
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, 's', { do: 'enableReceiver', at: AT, receiver });
    await happens(requestStream('s'), requests[2]!, 1);
    await until(async () => (await outcomes()).length === 3);
    expect((await outcomes()).map(({ id, outcome }) => [id, outcome])).toEqual([
      [found[0]!.message, 'delivered'],
      [found[1]!.message, 'cancelled'],
      [found[2]!.message, 'delivered'],
    ]);
    expect((await outcomes())[1]?.error).toBe('its backfill was cancelled');
    // It is sent again when somebody asks for it.
    const [, { revision: cancelled }] = (await outcomes()) as [unknown, { revision: number }];
    const data = { at: AT, receiver, message: found[1]!.message, revision: cancelled };
    await appendRequests(SYSTEM_CLOCK, log, 's', [{ type: 'RedeliveryRequested', data }]);
    await until(async () => (await outcomes()).length === 4);
    expect((await outcomes())[3]).toMatchObject({
      id: found[1]!.message,
      outcome: 'delivered',
      isManual: true,
    });
    expect(attempts).toHaveLength(3);
  });

  it('is a dead letter with its reason if its new body is too long', async () => {
    const receiver = await subscribed();
    const disable = { do: 'disableReceiver', at: AT, receiver, reason: 'gone' } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', disable);
    await happens('transaction-t1', tracked);
    await replace(content({ ...RIGHT, receiverBody: '${reportInfo}'.repeat(8_000) }));
    start('one', attempt);
    await until(async () => (await outcomes()).length === 1);
    expect(await outcomes()).toMatchObject([
      { outcome: 'dead', error: 'its body is longer than 262144 bytes' },
    ]);
    expect(attempts).toEqual([]);
  });
});

function advertiserIn({ data }: DomainEvent): number {
  return (data as { transaction: { advertiserId: number } }).transaction.advertiserId;
}
