import { randomUUID } from 'node:crypto';
import { type DomainEvent, toNewEvent } from '../../../src/kernel/decider';
import { type RecordedEvent } from '../../../src/kernel/event';
import { EngineUnavailable, type EventBatch, type EventLog } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { parkedEvents, Parking } from '../../../src/runtime/parked-events';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { type Topic } from '../../../src/domain/subscriptions/topic';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { overrideLog } from '../../support/temporary-log';
import { type Step } from './histories';
import {
  appendAll,
  appendedIn,
  dyingAt,
  frozenAtParking,
  matchAll,
  matchedIn,
  type MatchingLogs,
  withLogs,
  withoutExclusion,
} from './matching-logs';
import { AT, claimTopic, created, GET, moved } from './recorded-events';

const SUBSCRIBED: Step = ['subscription-a', created(1)];
const MOVED: Step = ['claim-1', moved()];
const TRACKED: DomainEvent = { type: 'TransactionTracked', data: {} };
const MANY = Array.from({ length: 10 }, (_, at) => ({ ...GET, receiverUrl: `https://a.example/${at}` }));
const withMany = (name: string): Step => [`subscription-${name}`, created(1, { receivers: MANY })];
/** 600 messages about an event: more than an append has. */
const SIXTY = Array.from({ length: 60 }, (_, at) => withMany(`s${at}`));

/** Code that cannot use a claim. */
const UNABLE: Topic = {
  ...claimTopic,
  occurrence: () => {
    throw new TypeError('older code');
  },
};

describe.each(['sqlite', 'eventstoredb'] as const)(
  'whatever code matches, and however often, over %s',
  (engine) => {
    /** Kills a matcher at its second append, in the midst of an event. */
    async function matchInPart(logs: MatchingLogs, code: string): Promise<void> {
      const dying = dyingAt(logs.deliveries, 2, 'before');
      const matcher = new MatcherRunner(
        { ...logs, ...dying, topics: [claimTopic] },
        { clock: SYSTEM_CLOCK, owner: code, code },
      );
      matcher.start();
      await dying.died;
      await matcher.stop();
      expect((await matchedIn(logs.deliveries)).at(-1)).toMatchObject({
        type: 'Matched',
        data: { messages: 499 },
      });
    }

    /** The number of messages, and of different ones. */
    async function counts({ deliveries }: MatchingLogs): Promise<readonly number[]> {
      const ids = (await appendedIn(deliveries)).map(({ id }) => id);
      return [ids.length, new Set(ids).size];
    }

    async function firstOf(log: EventLog, stream: string): Promise<RecordedEvent> {
      for await (const [event] of log.readStream(stream, { limit: 1 })) if (event !== undefined) return event;
      throw new Error(`${stream} is empty`);
    }

    const parkingOf = ({ log }: MatchingLogs, code = ''): Promise<Parking> =>
      new Parking(SYSTEM_CLOCK, log, 'matcher', code).refresh();
    const park = async (logs: MatchingLogs, stream: string, code: string): Promise<void> => {
      const parking = await parkingOf(logs, code);
      await parking.park(await firstOf(logs.log, stream), { error: 'e', at: AT });
    };
    const retry = async (logs: MatchingLogs, stream: string): Promise<void> =>
      (await parkingOf(logs)).retry([(await firstOf(logs.log, stream)).id], AT);
    const parkedIn = async ({ log }: MatchingLogs): Promise<readonly string[]> =>
      (await parkedEvents(SYSTEM_CLOCK, log, 'matcher')).map(({ stream }) => stream);

    it.each([
      ['which it then retries', () => Promise.resolve()],
      ['which an operator has retried meanwhile', (logs: MatchingLogs) => retry(logs, 'subscription-parked')],
    ])(
      'code that can use a subscription, %s, continues an event that was matched in part without it (decisions X103)',
      (_, meanwhile) =>
        withLogs(engine, async (logs) => {
          const { log } = logs;
          await appendAll(log, [withMany('parked'), ...SIXTY]);
          await park(logs, 'subscription-parked', 'one');
          await appendAll(log, [MOVED]);
          // The code that had parked it does not have it in its state.
          const hidden = overrideLog(log, {
            readAll: (options) => without(log.readAll(options), 'subscription-parked'),
            subscribe: (options) => without(log.subscribe(options), 'subscription-parked'),
          });
          await matchInPart({ ...logs, log: hidden }, 'one');
          await meanwhile(logs);
          await matchAll(logs, { code: 'two' });
          expect(await parkedIn(logs)).toEqual([]);
          expect(await counts(logs)).toEqual([610, 610]);
        }),
    );

    it.each([
      [
        'has used up its own retries of a subscription',
        async (logs: MatchingLogs) => {
          for (let own = 0; own < 3; own += 1) {
            await (await parkingOf(logs, 'two')).retryOthers(AT, new Set(), () => Promise.resolve());
            await park(logs, 'subscription-parked', 'one');
          }
        },
      ],
      [
        'can use a subscription that was given up',
        async (logs: MatchingLogs) => {
          const { id } = await firstOf(logs.log, 'subscription-parked');
          await (await parkingOf(logs)).skip(id, { reason: 'r', by: 'o', at: AT });
        },
      ],
    ])('code that %s continues an event that it had matched in part (decisions X103)', (_, before) =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [withMany('parked'), ...SIXTY]);
        await park(logs, 'subscription-parked', 'one');
        await before(logs);
        await matchAll(logs, { code: 'two' });
        await appendAll(logs.log, [MOVED]);
        await matchInPart(logs, 'two');
        await matchAll(logs, { code: 'two' });
        expect(await counts(logs)).toEqual([610, 610]);
      }),
    );

    it('code with a topic that older code did not have continues an event after one of it (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        const { log } = logs;
        const ofTransactions = SIXTY.map((_, at): Step => [
          `subscription-t${at}`,
          created(1, { receivers: MANY }, 'transactions'),
        ]);
        const example = { ...transactionTopic.example(3, new Date(AT)), stateId: 1, parties: [1] };
        const topics = [claimTopic, { ...transactionTopic, occurrence: () => example }];
        await appendAll(log, [...SIXTY, ...ofTransactions, ['transaction-x', TRACKED], MOVED]);
        await matchInPart(logs, 'one');
        const single = overrideLog(log, { subscribe: (options) => singly(log.subscribe(options)) });
        // Killed when it has appended all about the transaction.
        const dying = dyingAt(logs.deliveries, 2, 'after');
        const parts = { ...logs, ...dying, log: single, topics };
        const killed = new MatcherRunner(parts, { clock: SYSTEM_CLOCK, owner: 'two', code: 'two' });
        killed.start();
        await dying.died;
        await killed.stop();
        expect(await counts(logs)).toEqual([1099, 1099]);
        await matchAll(logs, { topics, code: 'two' });
        expect(await counts(logs)).toEqual([1200, 1200]);
      }));

    it('code that makes messages in another order continues an event that was matched in part (decisions N15, X103)', () =>
      withLogs(engine, async (logs) => {
        const { log, deliveries } = logs;
        const upTo = await appendAll(log, [
          withMany('a'),
          ['subscription-b', created(2, { receivers: MANY })],
        ]);
        await appendAll(log, [MOVED]);
        // As older code: those of an organisation after those of the other one, and a cursor without its event.
        const old = { isDead: false };
        const matcher = new MatcherRunner(
          {
            ...logs,
            topics: [claimTopic],
            deliveries: overrideLog(deliveries, {
              append: async (stream, expected, events) => {
                const part = events.filter(({ data }) => data.includes('"organisationId":1')).slice(0, 3);
                const cursor = toNewEvent({ type: 'Matched', data: { upTo, messages: 3 } }, randomUUID());
                if (!old.isDead) await deliveries.append(stream, expected, [...part, cursor]);
                old.isDead = true;
                throw new EngineUnavailable('killed');
              },
            }),
          },
          { clock: SYSTEM_CLOCK, owner: 'old' },
        );
        matcher.start();
        while (!old.isDead) await new Promise(setImmediate);
        await matcher.stop();
        expect(await counts(logs)).toEqual([3, 3]);
        await matchAll(logs);
        expect(await counts(logs)).toEqual([20, 20]);
      }));

    it('what older code parks in the midst of an event is continued by a retry (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [...SIXTY, MOVED]);
        await matchInPart(logs, 'new');
        await matchAll(logs, { topics: [UNABLE], code: 'old' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([['claim-1'], [499, 499]]);
        // Older code parks it again.
        await retry(logs, 'claim-1');
        await matchAll(logs, { topics: [UNABLE], code: 'old' });
        await matchAll(logs, { code: 'new' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [600, 600]]);
      }));

    it('a retry that was matched in part is continued by another one (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [...SIXTY, MOVED]);
        await matchAll(logs, { topics: [UNABLE], code: 'old' });
        await retry(logs, 'claim-1');
        await matchInPart(logs, 'new');
        await matchAll(logs, { topics: [UNABLE], code: 'old' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([['claim-1'], [499, 499]]);
        await matchAll(logs, { code: 'new' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [600, 600]]);
      }));

    it('what another process has matched is not parked, though both believe to lead (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        const { log } = logs;
        await appendAll(log, [SUBSCRIBED]);
        await matchAll(logs);
        await appendAll(log, [MOVED]);
        const leases = withoutExclusion(logs.leases);
        let isDelayed = false;
        const slow = overrideLog(log, {
          async *subscribe(options) {
            // The other one leads, and matches it, after this one has read where matching continues.
            if (!isDelayed) await matchAll({ ...logs, leases }, { code: 'new' });
            isDelayed = true;
            yield* log.subscribe(options);
          },
        });
        await matchAll({ ...logs, log: slow, leases }, { topics: [UNABLE], code: 'old' });
        expect(await parkedIn(logs)).toEqual([]);
        await matchAll(logs, { code: 'new' });
        expect(await counts(logs)).toEqual([1, 1]);
      }));

    it('what another process matches just before it is parked is not made again by retries (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [SUBSCRIBED, withMany('b')]);
        await matchAll(logs);
        await appendAll(logs.log, [MOVED]);
        // That of claim-2 is as new.
        await appendAll(logs.log, [['claim-2', moved()]]);
        const leases = withoutExclusion(logs.leases);
        const frozen = frozenAtParking(logs.log, () => matchAll({ ...logs, leases }, { code: 'new' }));
        await matchAll({ ...logs, log: frozen, leases }, { topics: [UNABLE], code: 'old' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([['claim-1'], [22, 22]]);
        // Older code parks it again.
        await retry(logs, 'claim-1');
        await matchAll(logs, { topics: [UNABLE], code: 'old' });
        expect(await parkedIn(logs)).toEqual(['claim-1']);
        await matchAll(logs, { code: 'new' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [22, 22]]);
      }));

    it('what is retried while another process is about to park it again is made once (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [...SIXTY, MOVED]);
        await matchAll(logs, { topics: [UNABLE], code: 'old' });
        await retry(logs, 'claim-1');
        const leases = withoutExclusion(logs.leases);
        const frozen = frozenAtParking(logs.log, () => matchAll({ ...logs, leases }, { code: 'new' }));
        await matchAll({ ...logs, log: frozen, leases }, { topics: [UNABLE], code: 'old' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([['claim-1'], [600, 600]]);
        await matchAll(logs, { code: 'new' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [600, 600]]);
      }));

    it.each([1e9, 'x'])(
      'an event that another program has parked after the revision %p is retried (decisions X103)',
      (after) =>
        withLogs(engine, async (logs) => {
          const { log } = logs;
          await appendAll(log, [SUBSCRIBED, MOVED]);
          const { id: event, type, stream, revision } = await firstOf(log, 'claim-1');
          const data = { event, type, stream, revision, error: 'e', code: 'old', at: AT, after };
          await log.append('parked-matcher', -1, [toNewEvent({ type: 'EventParked', data }, randomUUID())]);
          await matchAll(logs, { code: 'new' });
          expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [1, 1]]);
        }),
    );

    it('what was parked and retried meanwhile is not parked by a process that notices neither (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [SUBSCRIBED, MOVED]);
        const leases = withoutExclusion(logs.leases);
        const frozen = frozenAtParking(logs.log, async () => {
          await matchAll({ ...logs, leases }, { topics: [UNABLE], code: 'other' });
          await matchAll({ ...logs, leases }, { code: 'new' });
        });
        await matchAll({ ...logs, log: frozen, leases }, { topics: [UNABLE], code: 'old' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [1, 1]]);
      }));

    it('what is parked and retried before a process that does not notice matches it is made once (decisions X103)', () =>
      withLogs(engine, async (logs) => {
        const { log } = logs;
        await appendAll(log, [SUBSCRIBED, MOVED]);
        const leases = withoutExclusion(logs.leases);
        let isDelayed = false;
        const slow = overrideLog(log, {
          async *subscribe(options) {
            if (!isDelayed) {
              isDelayed = true;
              // Killed when it has parked it.
              const dying = dyingAt(logs.deliveries, 1, 'before');
              const parts = { ...logs, ...dying, leases, topics: [UNABLE] };
              const killed = new MatcherRunner(parts, { clock: SYSTEM_CLOCK, owner: 'old', code: 'old' });
              killed.start();
              await dying.died;
              await killed.stop();
              await retry(logs, 'claim-1');
            }
            yield* log.subscribe(options);
          },
        });
        await matchAll({ ...logs, log: slow, leases }, { code: 'new' });
        expect([await parkedIn(logs), await counts(logs)]).toEqual([[], [1, 1]]);
      }));
  },
);

/** Batches of one event. */
async function* singly(batches: AsyncIterable<EventBatch>): AsyncGenerator<EventBatch> {
  for await (const { events, position, caughtUp } of batches) {
    for (const event of events) yield { events: [event], position: event.position, caughtUp: false };
    yield { events: [], position, caughtUp };
  }
}

/** Batches of a log without the events of a stream. */
async function* without<Batch extends { readonly events: readonly RecordedEvent[] }>(
  batches: AsyncIterable<Batch>,
  stream: string,
) {
  for await (const batch of batches)
    yield { ...batch, events: batch.events.filter((event) => event.stream !== stream) };
}
