import { randomUUID } from 'node:crypto';
import { type DomainEvent, execute, toNewEvent } from '../../../src/kernel/decider';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { RATES_STREAM } from '../../../src/delivery/matching/rates';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { type Attempt } from '../../../src/delivery/sending/attempt';
import {
  type Receiver,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../../src/domain/subscriptions/subscription';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { golden } from '../../support/golden';
import { overrideLog } from '../../support/temporary-log';
import { runnerWorld } from './runner-world';

const AT = '2026-03-01T12:00:00.000Z';
const RECEIVER: Receiver = { httpMethod: 'GET', receiverUrl: 'https://a.example/?v=${orderValue}' };
const SHOWING: Receiver = {
  httpMethod: 'GET',
  receiverUrl: 'https://a.example/?v=${orderValue}&c=${currencyId}',
};
/** NOK 1,299.00 by an advertiser. */
const { event: NOK } = golden<DomainEvent & { data: { transaction: { advertiserId: number } } }>(
  'TransactionTracked',
);
const SEK = { ...NOK, data: { ...NOK.data, transaction: { ...NOK.data.transaction, currencyId: 'SEK' } } };
const NO_RATE = 'there is no exchange rate of NOK to SEK';

describe('A message that shows amounts without their currency, while there is no rate (decisions N12)', () => {
  const world = runnerWorld();
  const { start, until, outcomes, deadLetters } = world;
  let matcher: MatcherRunner;
  let attempts: Attempt[];
  let revision: number;
  const attempt: MakeAttempt = async (one) => {
    attempts.push(one);
    return { at: Date.now(), ms: 1, end: 'success', status: 200 };
  };
  const sent = () => attempts.map(({ request: { url } }) => url);

  beforeEach(() => {
    [attempts, revision] = [[], -1];
    const { log, leases } = world.engines;
    const parts = { log, deliveries: world.deliveries, leases, topics: [transactionTopic] };
    matcher = new MatcherRunner(parts, { clock: SYSTEM_CLOCK, owner: 'one' });
    matcher.start();
  });
  afterEach(() => matcher.stop());

  const content = (receiver: Receiver, more: Partial<SubscriptionContent> = {}): SubscriptionContent => ({
    filter: { stateIds: [1] },
    receivers: [receiver],
    currencyConversion: { to: 'SEK' },
    ...more,
  });
  async function subscribed(more: Partial<SubscriptionContent> = {}): Promise<void> {
    const organisationId = NOK.data.transaction.advertiserId;
    const command = { do: 'create', at: AT, topic: 'transactions', organisationId } as const;
    const subscription = content(RECEIVER, more);
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', { ...command, subscription });
  }

  async function happens(stream: string, event: DomainEvent, expected = -1): Promise<void> {
    await world.engines.log.append(stream, expected, [toNewEvent(event, randomUUID())]);
    await matcher.reached(await world.engines.log.head());
  }

  /** Publishes rates of a day. */
  async function published(rates: Readonly<Record<string, number>>, day: number): Promise<void> {
    const data = { at: AT, day: `2026-03-0${day}`, rates };
    await happens(RATES_STREAM, { type: 'ExchangeRatesPublished', data }, revision);
    revision += 1;
  }

  it('waits without holding up others, and is sent once a rate is known, by the first rates that have it', async () => {
    await subscribed();
    await published({ SEK: 11 }, 1);
    start('one', attempt);
    await happens('transaction-t1', NOK);
    await happens('transaction-t2', SEK);
    await until(async () => (await outcomes()).length === 2);
    expect(sent()).toEqual(['https://a.example/?v=1299']);
    const [waiting] = (await outcomes()).filter(({ outcome }) => outcome === 'failed');
    expect(waiting).toMatchObject({ error: NO_RATE, next: expect.any(String) as unknown });
    expect(waiting).not.toHaveProperty('attempt');
    await published({ SEK: 12 }, 2);
    await published({ SEK: 10, NOK: 20 }, 3);
    await until(() => attempts.length === 2);
    await until(async () => (await outcomes()).at(-1)?.outcome === 'delivered');
    expect(attempts[1]).toMatchObject({
      id: waiting!.id,
      number: 1,
      request: { url: 'https://a.example/?v=649.5' },
    });
    // The same bytes, whatever is published afterwards.
    await published({ SEK: 5, NOK: 20 }, 4);
    expect(attempts).toHaveLength(2);
  });

  it('waits quietly after an event without rates (decisions N12)', async () => {
    await subscribed();
    await published({ SEK: 11 }, 1);
    let reads = 0;
    const log = overrideLog(world.engines.log, {
      readStream: (...args) => {
        if (args[0] === RATES_STREAM) reads += 1;
        return world.engines.log.readStream(...args);
      },
    });
    start('one', attempt, { log });
    await happens('transaction-t1', NOK);
    await until(async () => (await outcomes()).length === 1);
    await happens(RATES_STREAM, { type: 'ExchangeRatesPublished', data: {} }, revision);
    revision += 1;
    await world.subscriptions.reached(await log.head());
    await happens('transaction-t2', SEK);
    await until(() => attempts.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(reads).toBeLessThan(20);
    await published({ SEK: 10, NOK: 20 }, 3);
    await until(() => attempts.length === 2);
    expect(sent()).toEqual(['https://a.example/?v=1299', 'https://a.example/?v=649.5']);
  });

  it('waits in another process after the one that had it was stopped, or rates were published meanwhile', async () => {
    await subscribed();
    const first = start('one', attempt);
    await happens('transaction-t1', NOK);
    await until(async () => (await outcomes()).length === 1);
    await first.stop();
    await published({ SEK: 10, NOK: 20 }, 1);
    await published({ SEK: 10, NOK: 10 }, 2);
    start('two', attempt);
    await until(async () => (await outcomes()).at(-1)?.outcome === 'delivered');
    expect(sent()).toEqual(['https://a.example/?v=649.5']);
  });

  it('is sent unconverted once its template shows the currency, and cancelled when its receiver is gone', async () => {
    await subscribed();
    start('one', attempt);
    await happens('transaction-t1', NOK);
    await until(async () => (await outcomes()).length === 1);
    const replace = { do: 'replace', at: AT, subscriptionId: 's', subscription: content(SHOWING) } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', replace);
    await until(() => attempts.length === 1);
    expect(sent()).toEqual(['https://a.example/?v=1299&c=NOK']);
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', {
      ...replace,
      subscription: content(RECEIVER),
    });
    await happens('transaction-t2', NOK);
    await until(async () => (await outcomes()).length === 3);
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, 's', { do: 'delete', at: AT });
    await until(async () => (await outcomes()).length === 4);
    expect((await outcomes()).at(-1)).toMatchObject({ outcome: 'cancelled' });
    expect(attempts).toHaveLength(1);
  });

  it.each([true, undefined])(
    'holds up those about its transaction in strict order only: %s',
    async (strict) => {
      const more = strict === true ? { strictOrder: strict } : {};
      await subscribed({ ...more, filter: { stateIds: [1, 2, 3, 4, 5, 6] } });
      start('one', attempt);
      await happens('transaction-t1', NOK);
      await happens('transaction-t1', golden<DomainEvent>('TransactionPendingApproved').event, 0);
      await happens('transaction-t2', SEK);
      await until(async () => (await outcomes()).length === (strict === true ? 2 : 3));
      expect(sent()).toEqual(['https://a.example/?v=1299']);
      await published({ SEK: 10, NOK: 20 }, 1);
      await until(() => attempts.length === 3);
      expect(attempts.slice(1).map(({ sequence }) => sequence)).toEqual([1, 2]);
    },
  );

  it('is a dead letter that names the currencies when it expires', async () => {
    await subscribed();
    const runner = start('one', attempt);
    await happens('transaction-t1', NOK);
    await until(async () => (await outcomes()).length === 1);
    await until(async () => {
      await runner.expireOld(Date.now());
      return (await deadLetters()).length === 1;
    });
    const reason = `it expired while ${NO_RATE}`;
    expect(await deadLetters()).toMatchObject([{ subject: 't1', attempts: 0, reason }]);
    expect(attempts).toEqual([]);
  });
});
