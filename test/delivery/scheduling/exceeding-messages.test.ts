import { createHash, randomUUID } from 'node:crypto';
import { type DomainEvent, execute, load, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM } from '../../../src/kernel/event';
import { appendRequests, requestStream } from '../../../src/domain/subscriptions/delivery-requests';
import { MESSAGE_BYTES } from '../../../src/delivery/matching/messages-of';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { missedMessages } from '../../../src/delivery/matching/explain';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import {
  type ActiveSubscription,
  type Receiver,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../../src/domain/subscriptions/subscription';
import { type Topic } from '../../../src/domain/subscriptions/topic';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { golden } from '../../support/golden';
import { runnerWorld } from './runner-world';

const AT = '2026-03-01T12:00:00.000Z';
const SUBSCRIPTIONS = 9;
const RECEIVERS = 10;

const { event: tracked } = golden<DomainEvent & { data: { transaction: { advertiserId: number } } }>(
  'TransactionTracked',
);
const party = tracked.data.transaction.advertiserId;
const large: DomainEvent = {
  ...tracked,
  data: { ...tracked.data, transaction: { ...tracked.data.transaction, reportInfo: 'r'.repeat(65_000) } },
};
/** So long that 16 MiB have 86 of the 90 messages. */
const receiverBody = '${reportInfo}${reportInfo}${reportInfo}';
const SIZE = 3 * 65_000 + 'https://r.example/0/0'.length;
const FITTING = Math.floor(MESSAGE_BYTES.most / SIZE);

describe('Messages that exceed what is sent about one event (decisions N14, N15)', () => {
  const world = runnerWorld();
  const { start, until, outcomes } = world;
  let matcher: MatcherRunner;
  /** Bodies as hashes, by the ids of messages. */
  let attempts: Map<string, string>;
  const attempt: MakeAttempt = async ({ id, request: { body = '' } }) => {
    attempts.set(id, createHash('sha256').update(body).digest('hex'));
    return { at: Date.now(), ms: 1, end: 'success', status: 200 };
  };

  const expected = createHash('sha256')
    .update('r'.repeat(3 * 65_000))
    .digest('hex');

  beforeEach(() => {
    attempts = new Map();
    matcher = matcherWith(transactionTopic);
    matcher.start();
  });
  afterEach(() => matcher.stop());

  function matcherWith(topic: Topic): MatcherRunner {
    const { log, leases } = world.engines;
    return new MatcherRunner(
      { log, deliveries: world.deliveries, leases, topics: [topic] },
      { clock: SYSTEM_CLOCK, owner: 'one' },
    );
  }

  const contentOf = (subscription: number): SubscriptionContent => {
    const receivers = Array.from({ length: RECEIVERS }, (_, receiver): Receiver => ({
      httpMethod: 'POST',
      receiverUrl: `https://r.example/${subscription}/${receiver}`,
      receiverFormat: 'custom',
      receiverBody,
    }));
    return { filter: { stateIds: [1] }, receivers };
  };

  async function subscribed(subscriptions: number): Promise<void> {
    for (let subscription = 0; subscription < subscriptions; subscription += 1) {
      const content = contentOf(subscription);
      const command = { do: 'create', at: AT, topic: 'transactions', organisationId: party } as const;
      await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, `s${subscription}`, {
        ...command,
        subscription: content,
      });
    }
    await world.subscriptions.reached(await world.engines.log.head());
  }

  async function happens(stream: string, event: DomainEvent, revision = NO_STREAM): Promise<void> {
    await world.engines.log.append(stream, revision, [toNewEvent(event, randomUUID())]);
    await matcher.reached(await world.engines.log.head());
  }

  it('are dead letters with the reason; the others are sent with their bytes, and a redelivery renders one again', async () => {
    await subscribed(SUBSCRIPTIONS);
    await happens('transaction-t1', large);
    start('one', attempt);
    const all = SUBSCRIPTIONS * RECEIVERS;
    await until(async () => (await outcomes()).length === all);
    const dead = (await outcomes()).filter(({ outcome }) => outcome === 'dead');
    expect([attempts.size, dead.length]).toEqual([FITTING, all - FITTING]);
    expect(new Set(attempts.values())).toEqual(new Set([expected]));
    for (const { error, attempt: number } of dead)
      expect([error, number]).toEqual([expect.stringContaining('more than 16777216 bytes'), undefined]);
    const { id, subscriptionId, receiver, revision } = dead[0]!;
    const data = { at: AT, receiver, message: id, revision };
    await appendRequests(SYSTEM_CLOCK, world.engines.log, subscriptionId, [
      { type: 'RedeliveryRequested', data },
    ]);
    await until(async () => (await outcomes()).length === all + 1);
    expect((await outcomes()).at(-1)).toMatchObject({ id, outcome: 'delivered', isManual: true });
    expect(attempts.get(id)).toBe(expected);
  });

  it('are dead letters also if what their subscriptions render by is replaced before they are sent', async () => {
    await subscribed(SUBSCRIPTIONS);
    await happens('transaction-t1', large);
    const customAttribute = { userAttribute: 'u', tdAttributes: ['epi'], rules: [] };
    for (let at = 0; at < SUBSCRIPTIONS; at += 1) {
      const subscription = { ...contentOf(at), customAttribute };
      const command = { do: 'replace', at: AT, subscriptionId: `s${at}`, subscription } as const;
      await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, `s${at}`, command);
    }
    await world.subscriptions.reached(await world.engines.log.head());
    start('one', attempt);
    const all = SUBSCRIPTIONS * RECEIVERS;
    await until(async () => (await outcomes()).length === all);
    const dead = (await outcomes()).filter(({ outcome }) => outcome === 'dead');
    expect([attempts.size, dead.length]).toEqual([FITTING, all - FITTING]);
  });

  it('are limited in the same way of a backfill', async () => {
    await happens('transaction-t1', large);
    await subscribed(1);
    const { log } = world.engines;
    const loaded = await load(log, subscriptionDecider, 's0');
    const active = loaded.state as ActiveSubscription;
    // 100 receivers, more than a subscription may have.
    const receivers = Array.from({ length: 10 }, (_, at) =>
      active.content.receivers.map((one) => ({ ...one, receiverUrl: `${one.receiverUrl}/${at}` })),
    ).flat();
    const subscription = { ...active, content: { ...active.content, receivers } };
    const wanted = { has: () => true } as unknown as ReadonlySet<string>;
    const missed = { topic: transactionTopic, id: 's0', subscription, receivers: wanted, min: 0 };
    const { found } = await missedMessages(
      SYSTEM_CLOCK,
      log,
      { ...missed, max: Date.now(), after: undefined },
      1_000,
    );
    const beyond = found.filter(({ isBeyond }) => isBeyond === true);
    const fitting = Math.floor(MESSAGE_BYTES.most / (SIZE + 2));
    expect([found.length, beyond.length]).toEqual([100, 100 - fitting]);
    expect(found.slice(0, fitting).every(({ isBeyond }) => isBeyond === undefined)).toBe(true);
    const data = { at: AT, ...beyond[0]! };
    await happens(requestStream('s0'), { type: 'MessageRequested', data });
    const due: unknown[] = [];
    for await (const batch of world.deliveries.readStream('matched'))
      for (const event of batch) if (event.type === 'MessageDue') due.push(JSON.parse(event.data));
    expect(due).toMatchObject([{ renderable: true, made: AT }]);
  });

  it('are rendered again also if an error had prevented it, once that is mended', async () => {
    await matcher.stop();
    const broken: Topic = {
      ...transactionTopic,
      occurrence: (event, programs) => {
        const occurrence = transactionTopic.occurrence(event, programs)!;
        return Object.defineProperty({ ...occurrence }, 'attributes', {
          get: () => {
            throw new TypeError('a bug');
          },
        });
      },
    };
    await subscribed(1);
    matcher = matcherWith(broken);
    matcher.start();
    await happens('transaction-t1', tracked);
    start('one', attempt);
    await until(async () => (await outcomes()).length === RECEIVERS);
    const [first] = await outcomes();
    expect(first).toMatchObject({ outcome: 'dead', error: expect.stringContaining('cannot be rendered') });
    const { id: message, receiver, revision } = first!;
    const data = { at: AT, receiver, message, revision };
    await appendRequests(SYSTEM_CLOCK, world.engines.log, 's0', [{ type: 'RedeliveryRequested', data }]);
    await until(async () => (await outcomes()).length === RECEIVERS + 1);
    expect((await outcomes()).at(-1)).toMatchObject({ id: message, outcome: 'delivered', isManual: true });
  });
});
