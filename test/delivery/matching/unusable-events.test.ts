import { randomUUID } from 'node:crypto';
import { type DomainEvent, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { MAX_PARKED_EVENTS, parkedEvents, Parking } from '../../../src/runtime/parked-events';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { type Topic } from '../../../src/domain/subscriptions/topic';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { golden } from '../../support/golden';
import { type Step } from './histories';
import { appendAll, appendedIn, matchAll, matchedIn, type MatchingLogs, withLogs } from './matching-logs';
import { AT, claimTopic, created, GET, moved, POST, replaced } from './recorded-events';

const WITHOUT_DATA: DomainEvent = { type: 'TransactionTracked', data: {} };
const SUBSCRIBED: Step = ['subscription-a', created(1)];
const SUBSCRIBED_TO_TRANSACTIONS: Step = ['subscription-t', created(1, {}, 'transactions')];
const MOVED: Step = ['claim-1', moved()];

/** What another program may have written, each of which stopped all messages for good, or all of those to somebody. */
const POISONED: Readonly<Record<string, Step>> = {
  'a transaction without data': ['transaction-x', WITHOUT_DATA],
  'a claim whose parties are none': ['claim-2', moved({ parties: 5 as unknown as readonly number[] })],
  'a subscription without content': ['subscription-x', { type: 'SubscriptionCreated', data: {} }],
  'a subscription without receivers': [
    'subscription-x',
    created(1, { receivers: undefined as unknown as [] }),
  ],
  'a replaced subscription without data': ['subscription-a', { type: 'SubscriptionReplaced', data: {} }],
  'a replaced subscription that keeps no secret': [
    'subscription-a',
    { type: 'SubscriptionReplaced', data: { ...replaced({}).data, kept: { replacedSecrets: [] } } },
  ],
  'an unknown event of a subscription': ['subscription-a', { type: 'Foreign', data: { at: AT } }],
  'a secret of no number': ['subscription-a', { type: 'SecretRotated', data: {} }],
  'a test of nothing': ['subscription-a', { type: 'TestRequested', data: {} }],
  'a redelivery of nothing': ['subscription-a', { type: 'RedeliveryRequested', data: {} }],
  'a test of nothing, among requests': ['deliveryrequests-a', { type: 'TestRequested', data: {} }],
  'rates without rates': ['exchange-rates', { type: 'ExchangeRatesPublished', data: {} }],
};

describe.each(['sqlite', 'eventstoredb'] as const)('matching over %s', (engine) => {
  const parkedIn = async ({ log }: MatchingLogs) =>
    (await parkedEvents(SYSTEM_CLOCK, log, 'matcher')).map(({ type, stream, revision }) => [
      type,
      stream,
      revision,
    ]);

  it.each(Object.entries(POISONED))(
    'continues behind %s, which is parked and reported once, also after restarts (decisions X103)',
    (_, [stream, event]) =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [SUBSCRIBED, SUBSCRIBED_TO_TRANSACTIONS, MOVED, [stream, event], MOVED]);
        const reports = await matchAll(logs);
        expect(reports.map(String)).toEqual([expect.stringContaining(`${event.type} (${stream}@`)]);
        expect(await appendedIn(logs.deliveries)).toHaveLength(2);
        const parked = await parkedIn(logs);
        expect(parked).toEqual([[event.type, stream, expect.any(Number)]]);
        await appendAll(logs.log, [MOVED]);
        expect(await matchAll(logs)).toEqual([]);
        expect(await appendedIn(logs.deliveries)).toHaveLength(3);
        expect(await parkedIn(logs)).toEqual(parked);
      }),
  );

  it('makes dead letters of messages that cannot be rendered, reports why, and makes those to others (decisions N10, X103)', () =>
    withLogs(engine, async (logs) => {
      const half = { type: 'TransactionTracked', data: { at: AT, transaction: { advertiserId: 1 } } };
      await appendAll(logs.log, [
        SUBSCRIBED,
        ['subscription-t', created(1, { receivers: [GET, POST] }, 'transactions')],
        ['transaction-x', half],
        MOVED,
      ]);
      const reports = await matchAll(logs);
      expect(reports).toEqual([expect.objectContaining({ name: 'NotRendered' })]);
      const due = (await matchedIn(logs.deliveries)).flatMap(({ type, data }) =>
        type === 'MessageDue' ? [[data.subscriptionId, data.unsendable, data.renderable]] : [],
      );
      const reason = expect.stringContaining('an error of this system');
      expect(due).toEqual([
        ['t', reason, true],
        ['t', reason, true],
        ['a', undefined, undefined],
      ]);
      expect(await parkedIn(logs)).toEqual([]);
    }));

  it('retries with other code what could not be used, and makes its messages once (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      await appendAll(logs.log, [SUBSCRIBED_TO_TRANSACTIONS, ['transaction-x', WITHOUT_DATA]]);
      await matchAll(logs, { code: 'one' });
      const cursor = (await matchedIn(logs.deliveries)).length;
      const example = { ...transactionTopic.example(3, new Date(AT)), stateId: 1, subject: 'x' };
      const able: Topic = { ...transactionTopic, occurrence: () => example };
      for (const code of ['two', 'two', 'three']) await matchAll(logs, { topics: [able], code });
      expect(await parkedIn(logs)).toEqual([]);
      const due = (await matchedIn(logs.deliveries)).slice(cursor);
      // A start may append its cursor.
      expect(due.map(({ type }) => type).filter((type) => type !== 'Matched')).toEqual(['MessageDue']);
    }));

  it('retries when operators ask for it, and parks again what still fails (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      await appendAll(logs.log, [SUBSCRIBED, ['claim-2', moved({ parties: 5 as unknown as [] })]]);
      await matchAll(logs);
      const [parked] = await parkedEvents(SYSTEM_CLOCK, logs.log, 'matcher');
      await (await new Parking(SYSTEM_CLOCK, logs.log, 'matcher').refresh()).retry([parked!.event], AT);
      expect(await parkedIn(logs)).toEqual([]);
      expect(await matchAll(logs)).toHaveLength(1);
      expect(await parkedIn(logs)).toEqual([['ClaimMoved', 'claim-2', 0]]);
      await (
        await new Parking(SYSTEM_CLOCK, logs.log, 'matcher').refresh()
      ).skip(parked!.event, { reason: 'r', by: 'o', at: AT });
      expect(await matchAll(logs, { code: 'two' })).toEqual([]);
      expect(await parkedIn(logs)).toEqual([]);
    }));

  it('uses a subscription that was parked from when it is retried (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      const { log } = logs;
      // Older code could not use it.
      await appendAll(log, [SUBSCRIBED, ['subscription-a', replaced({ receivers: [GET, POST] })], MOVED]);
      const [event] = await eventsIn(logs, 'subscription-a', 1);
      const parked = { event, type: 'SubscriptionReplaced', stream: 'subscription-a', revision: 1 };
      const entry = { ...parked, error: 'e', code: 'one', at: AT };
      await log.append('parked-matcher', NO_STREAM, [
        toNewEvent({ type: 'EventParked', data: entry }, randomUUID()),
      ]);
      await matchAll(logs, { code: 'two' });
      await appendAll(log, [MOVED]);
      await matchAll(logs, { code: 'two' });
      expect(await parkedIn(logs)).toEqual([]);
      expect(await appendedIn(logs.deliveries)).toHaveLength(4);
    }));

  it('stops at more than 1,000 events that it cannot use, so that none is lost by a bug, and continues when some are given up (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      const { log } = logs;
      await appendAll(log, [SUBSCRIBED]);
      const unusable = toNewEventsOf(WITHOUT_DATA, MAX_PARKED_EVENTS);
      await log.append('parked-matcher', NO_STREAM, unusable.slice(0, 500));
      await log.append('parked-matcher', 499, unusable.slice(500));
      await appendAll(log, [['transaction-x', WITHOUT_DATA], MOVED]);
      const matcher = new MatcherRunner(
        { ...logs, topics: [claimTopic, transactionTopic] },
        { clock: SYSTEM_CLOCK, owner: 'one' },
      );
      matcher.start();
      while (matcher.trouble() === undefined) await new Promise(setImmediate);
      expect(matcher.trouble()).toContain('more than 1000 events cannot be used and are parked');
      const [first] = await parkedEvents(SYSTEM_CLOCK, log, 'matcher');
      await (
        await new Parking(SYSTEM_CLOCK, log, 'matcher').refresh()
      ).skip(first!.event, { reason: 'r', by: 'o', at: AT });
      await matcher.reached(await log.head());
      await matcher.stop();
      expect(await appendedIn(logs.deliveries)).toHaveLength(1);
    }));

  async function eventsIn({ log }: MatchingLogs, stream: string, from: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for await (const batch of log.readStream(stream, { from })) ids.push(...batch.map(({ id }) => id));
    return ids;
  }
});

it('what was parked, retried and given up is read as it was first stored (test/golden)', () =>
  withLogs('sqlite', async ({ log }) => {
    for (const [type, count, variant] of [
      ['EventParked', 1],
      ['EventRetried', 0],
      ['EventParked', 1],
      ['EventRetried', 0, '-code'],
      ['EventParked', 1, '-after'],
      ['ParkedEventSkipped', 0],
      ['EventParked', 1],
    ] as const) {
      const { stream, event } = golden<DomainEvent>(type, variant);
      await appendAll(log, [[stream, event]]);
      const parked = await parkedEvents(SYSTEM_CLOCK, log, 'matcher');
      expect(parked).toEqual(count === 0 ? [] : [event.data]);
    }
    const { data } = golden<DomainEvent>('EventParked').event;
    const { event } = data as { readonly event: string };
    const parking = await new Parking(SYSTEM_CLOCK, log, 'matcher', 'another').refresh();
    await parking.retry([event], AT);
    expect([parking.wasParked(event), parking.parked.size]).toEqual([true, 0]);
    const again = { id: event, type: 'T', stream: 's', revision: 0, position: START, data: '{}', meta: '{}' };
    expect(await parking.park(again, { error: 'e', at: AT })).toBe(false);
  }));

/** As if they had been parked. */
function toNewEventsOf({ type }: DomainEvent, count: number) {
  return Array.from({ length: count }, (_, at) => {
    const event = toNewEvent({ type, data: {} }, randomUUID()).id;
    const data = { event, type, stream: `transaction-${at}`, revision: 0, error: 'e', code: '', at: AT };
    return toNewEvent({ type: 'EventParked', data }, randomUUID());
  });
}
