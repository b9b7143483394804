import { toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, numberOf, START } from '../../../src/kernel/event';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { MATCHED } from '../../../src/notifications/delivery-events';
import { type CursorEvent, continuationOf, keepCursor } from '../../../src/notifications/matching/cursor';
import { eventsOf, overrideLog } from '../../support/temporary-log';
import { golden } from '../../support/golden';
import { type Step } from './histories';
import { appendAll, appendedIn, matchedIn, matcherOf, type MatchingLogs, withLogs } from './matching-logs';
import { created, moved } from './recorded-events';

const SUBSCRIBED: Step = ['subscription-a', created(1)];
const MOVED: Step = ['claim-1', moved()];
const UNMATCHED: Step = ['claim-1', moved({ stateId: 9 })];
const HOUR = 60 * 60 * 1000;

/** Runs a matcher until it has matched everything. */
async function matchAll(logs: MatchingLogs, options: Parameters<typeof matcherOf>[1] = {}): Promise<void> {
  const matcher = matcherOf(logs, options);
  matcher.start();
  await matcher.reached(await logs.log.head());
  await matcher.stop();
}

const cursorsIn = async (logs: MatchingLogs) =>
  (await matchedIn(logs.deliveries)).flatMap((event) => (event.type === 'Matched' ? [event.data] : []));

describe('the matcher', () => {
  it('appends what has arrived together with its cursor', () =>
    withLogs('sqlite', async (logs) => {
      const upTo = await appendAll(logs.log, [SUBSCRIBED, MOVED, UNMATCHED, MOVED]);
      await matchAll(logs);
      const matched = await matchedIn(logs.deliveries);
      expect(matched.map(({ type }) => type)).toEqual(['MessageDue', 'MessageDue', 'Matched']);
      expect(matched.at(-1)?.data).toEqual({ upTo, messages: 0 });
    }));

  it('matches what happens later', () =>
    withLogs('sqlite', async (logs) => {
      const matcher = matcherOf(logs);
      matcher.start();
      for (const step of [SUBSCRIBED, MOVED, MOVED]) await matcher.reached(await appendAll(logs.log, [step]));
      expect(await appendedIn(logs.deliveries)).toHaveLength(2);
      await matcher.stop();
    }));

  it('appends its cursor alone after 10,000 events and after an hour: a restart reads no more', () =>
    withLogs('sqlite', async (logs) => {
      await appendAll(logs.log, [SUBSCRIBED, UNMATCHED]);
      await matchAll(logs);
      expect(await matchedIn(logs.deliveries)).toEqual([]);
      let now = 0;
      let position = await logs.log.head();
      const matcher = matcherOf(logs, { now: () => now });
      matcher.start();
      await matcher.reached(position);
      now += HOUR;
      const upTo = await appendAll(logs.log, [UNMATCHED]);
      await matcher.reached(upTo);
      expect(await cursorsIn(logs)).toEqual([{ upTo, messages: 0 }]);
      const unmatched = Array.from({ length: 500 }, () => toNewEvent(UNMATCHED[1]));
      for (let count = 0; count < 21; count += 1)
        ({ position } = await logs.log.append('claim-2', 500 * count - 1, unmatched));
      await matcher.reached(position);
      const [, second, ...others] = await cursorsIn(logs);
      expect([numberOf(second?.upTo ?? '') - numberOf(upTo) >= 10_000, others]).toEqual([true, []]);
      await matcher.stop();
    }));

  it('stands by while another process has the lease, and takes over when it has expired', () =>
    withLogs('sqlite', async (logs) => {
      let now = 0;
      await logs.store.lease('matcher', 'other', now, 30_000);
      const matcher = matcherOf(logs, { now: () => now });
      const head = await appendAll(logs.log, [SUBSCRIBED, MOVED]);
      matcher.start();
      expect(await matcher.reached(head, AbortSignal.timeout(50))).toBe(false);
      expect(await matchedIn(logs.deliveries)).toEqual([]);
      now += 30_001;
      expect(await matcher.reached(head)).toBe(true);
      expect(await appendedIn(logs.deliveries)).toHaveLength(1);
      await matcher.stop();
    }));

  it('appends nothing twice when two processes believe to have the lease', () =>
    withLogs('sqlite', (one) =>
      withLogs('sqlite', async (other) => {
        const matchers = [matcherOf(one), matcherOf({ ...one, store: other.store })];
        for (const matcher of matchers) matcher.start();
        for (let round = 0; round < 20; round += 1) {
          const position = await appendAll(one.log, round === 0 ? [SUBSCRIBED, MOVED] : [MOVED, MOVED]);
          await Promise.all(matchers.map((matcher) => matcher.reached(position)));
        }
        await Promise.all(matchers.map((matcher) => matcher.stop()));
        const ids = (await appendedIn(one.deliveries)).map(({ id }) => id);
        expect([ids.length, new Set(ids).size]).toEqual([39, 39]);
      }),
    ));

  it('reports an unavailable log once, and continues', () =>
    withLogs('sqlite', async (logs) => {
      let failures = 6;
      const deliveries = overrideLog(logs.deliveries, {
        append: async (...all) => {
          if (failures-- > 0)
            throw new EngineUnavailable('the delivery log is not available: the disk is full');
          return await logs.deliveries.append(...all);
        },
      });
      const reports: unknown[] = [];
      const troubles: unknown[] = [];
      const report = (failure: unknown): void => {
        reports.push(failure);
        troubles.push(matcher.trouble());
      };
      const matcher = matcherOf({ ...logs, deliveries }, { report });
      const head = await appendAll(logs.log, [SUBSCRIBED, MOVED]);
      matcher.start();
      await matcher.reached(head);
      expect(reports).toEqual([new EngineUnavailable('the delivery log is not available: the disk is full')]);
      expect([troubles, matcher.trouble()]).toEqual([[(reports[0] as Error).message], undefined]);
      await matcher.stop();
      expect(await appendedIn(logs.deliveries)).toHaveLength(1);
    }));

  it('does nothing when the delivery log is ahead of the log, which a backup has replaced', () =>
    withLogs('sqlite', async (logs) => {
      await appendAll(logs.log, [SUBSCRIBED, MOVED]);
      await matchAll(logs);
      await withLogs('sqlite', async (restored) => {
        await appendAll(restored.log, [SUBSCRIBED]);
        const failed = new Promise<unknown>((resolve) => {
          const matcher = matcherOf(
            { ...logs, log: restored.log },
            { owner: 'one', report: (failure) => void matcher.stop().then(() => resolve(failure)) },
          );
          matcher.start();
        });
        expect(await failed).toMatchObject({
          message: expect.stringContaining('is ahead of the event log') as string,
        });
      });
      expect(await appendedIn(logs.deliveries)).toHaveLength(1);
    }));
});

describe('the cursor that outlasts the messages', () => {
  it('is kept at the start, once a day, and at the stop', () =>
    withLogs('sqlite', async (logs) => {
      let now = 0;
      const kept = async () =>
        (await eventsOf(logs.deliveries)).filter(({ stream }) => stream === 'cursor').map(({ data }) => data);
      const matcher = matcherOf(logs, { now: () => now });
      matcher.start();
      const first = await appendAll(logs.log, [SUBSCRIBED, MOVED]);
      await matcher.reached(first);
      expect(await kept()).toEqual([]);
      now += 24 * HOUR;
      for await (const { events } of logs.deliveries.subscribe({ after: START, prefixes: ['cursor'] }))
        if (events.length > 0) break;
      const second = await appendAll(logs.log, [MOVED]);
      await matcher.reached(second);
      await matcher.stop();
      const expected = [first, second].map((upTo) => JSON.stringify({ upTo, messages: 0 }));
      expect(await kept()).toEqual(expected);
      await matchAll(logs);
      expect(await kept()).toEqual(expected);
    }));

  it('is where matching continues when all messages have expired, at the revision that the stream has reached', () =>
    withLogs('sqlite', async (logs) => {
      await appendAll(logs.log, [SUBSCRIBED, MOVED]);
      await matchAll(logs);
      let isExpired = true;
      // As EventStoreDB answers when all events of a stream are older than its maximum age.
      const deliveries = overrideLog(logs.deliveries, {
        readStream: (stream, options) =>
          logs.deliveries.readStream(stream === MATCHED && isExpired ? 'none' : stream, options),
        append: async (...all) => {
          const appended = await logs.deliveries.append(...all);
          if (all[0] === MATCHED) isExpired = false;
          return appended;
        },
      });
      await appendAll(logs.log, [MOVED]);
      await matchAll({ ...logs, deliveries });
      const matched = await matchedIn(logs.deliveries);
      expect(matched.map(({ type }) => type)).toEqual(['MessageDue', 'Matched', 'MessageDue', 'Matched']);
      expect(new Set(matched.map(({ data }) => JSON.stringify(data))).size).toBe(4);
    }));

  it('is not set back, and another process may keep it at the same time', () =>
    withLogs('sqlite', async ({ deliveries }) => {
      const cursors = [5, 9, 7].map((position) => ({ upTo: `000000000000000000${position}`, messages: 0 }));
      await Promise.all(cursors.slice(0, 2).map((cursor) => keepCursor(deliveries, cursor)));
      for (const cursor of cursors) await keepCursor(deliveries, cursor);
      expect(await continuationOf(deliveries)).toEqual({ cursor: cursors[1], revision: NO_STREAM });
    }));

  it('is read as it has been stored for ever (test/golden)', () =>
    withLogs('sqlite', async ({ deliveries }) => {
      const { stream, event } = golden<CursorEvent>('CursorKept');
      await appendAll(deliveries, [[stream, event]]);
      expect(await continuationOf(deliveries)).toEqual({
        cursor: { upTo: '0000000000000000042', messages: 499 },
        revision: NO_STREAM,
      });
    }));
});
