import { randomUUID } from 'node:crypto';
import { toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, numberOf } from '../../../src/kernel/event';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { continuationOf, DailyMark, type DeliveriesMatched } from '../../../src/delivery/matching/cursor';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { TestClock } from '../../support/clock';
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

  it('appends its cursor alone at the start, after 10,000 events and after a minute: a restart reads no more', () =>
    withLogs('sqlite', async (logs) => {
      const first = await appendAll(logs.log, [SUBSCRIBED, UNMATCHED]);
      await matchAll(logs);
      expect(await cursorsIn(logs)).toEqual([{ upTo: first, messages: 0 }]);
      let now = 0;
      let position = await logs.log.head();
      const matcher = matcherOf(logs, { clock: new TestClock(() => now) });
      matcher.start();
      await matcher.reached(position);
      const before = await cursorsIn(logs);
      await matcher.reached(await appendAll(logs.log, [UNMATCHED]));
      expect(await cursorsIn(logs)).toEqual(before);
      now += 60_000;
      const upTo = await appendAll(logs.log, [UNMATCHED]);
      await matcher.reached(upTo);
      expect((await cursorsIn(logs)).slice(before.length)).toEqual([{ upTo, messages: 0 }]);
      const unmatched = Array.from({ length: 500 }, () => toNewEvent(UNMATCHED[1], randomUUID()));
      for (let count = 0; count < 21; count += 1)
        ({ position } = await logs.log.append('claim-2', 500 * count - 1, unmatched));
      await matcher.reached(position);
      const [, second, ...others] = (await cursorsIn(logs)).slice(before.length);
      expect([numberOf(second?.upTo ?? '') - numberOf(upTo) >= 10_000, others]).toEqual([true, []]);
      await matcher.stop();
    }));

  it('stands by while another process has the lease, and takes over when it has expired', () =>
    withLogs('sqlite', async (logs) => {
      let now = 0;
      await logs.leases.lease('matcher', 'other', () => now, 30_000);
      const matcher = matcherOf(logs, { clock: new TestClock(() => now) });
      const head = await appendAll(logs.log, [SUBSCRIBED, MOVED]);
      matcher.start();
      expect(await matcher.reached(head, AbortSignal.timeout(50))).toBe(false);
      expect(await matchedIn(logs.deliveries)).toEqual([]);
      now += 30_001;
      expect(await matcher.reached(head)).toBe(true);
      expect(await appendedIn(logs.deliveries)).toHaveLength(1);
      await matcher.stop();
    }));

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
        expect(await failed).toMatch(/^the delivery log is ahead of the event log: nothing is matched; /);
      });
      expect(await appendedIn(logs.deliveries)).toHaveLength(1);
    }));
});

describe('the mark of what is matched', () => {
  const marks = async ({ log }: MatchingLogs) =>
    (await eventsOf(log)).filter(({ stream }) => stream === 'deliveries-matched');

  it('is set once a day, if anything was matched', () =>
    withLogs('sqlite', async (logs) => {
      let now = Date.parse('2026-03-01T12:00:00Z');
      const matcher = matcherOf(logs, { clock: new TestClock(() => now) });
      matcher.start();
      const happens = async (step: Step, hours: number) => {
        now += hours * HOUR;
        await matcher.reached(await appendAll(logs.log, [step]));
        return (await marks(logs)).map(({ data }) => (JSON.parse(data) as { at: string }).at);
      };
      const first = '2026-03-01T12:00:00.000Z';
      expect(await happens(SUBSCRIBED, 0)).toEqual([]);
      expect(await happens(MOVED, 0)).toEqual([first]);
      expect(await happens(MOVED, 23)).toEqual([first]);
      expect(await happens(MOVED, 1)).toEqual([first, '2026-03-02T12:00:00.000Z']);
      await matcher.stop();
      await matchAll(logs, { clock: new TestClock(() => now) });
      expect(await marks(logs)).toHaveLength(2);
    }));

  it('is where matching continues without a delivery log: one that is lost does not send everything again', () =>
    withLogs('sqlite', async (logs) => {
      await appendAll(logs.log, [SUBSCRIBED, MOVED, MOVED]);
      await matchAll(logs);
      await appendAll(logs.log, [MOVED]);
      await matchAll(logs);
      expect([(await marks(logs)).length, (await appendedIn(logs.deliveries)).length]).toEqual([1, 3]);
      await withLogs('sqlite', async ({ deliveries }) => {
        await matchAll({ ...logs, deliveries });
        expect(await appendedIn(deliveries)).toEqual((await appendedIn(logs.deliveries)).slice(2));
      });
    }));

  it('may be set by two processes at the same time', () =>
    withLogs('sqlite', async (logs) => {
      const upTo = await appendAll(logs.log, [SUBSCRIBED]);
      const both = [new DailyMark(SYSTEM_CLOCK, logs.log), new DailyMark(SYSTEM_CLOCK, logs.log)];
      for (const now of [0, 24 * HOUR]) {
        await Promise.all(both.map((mark) => mark.setIfDue(now, now === 0 ? upTo : '9'.repeat(19))));
        for (const mark of both) await mark.setIfDue(now, '9'.repeat(19));
      }
      expect(await marks(logs)).toHaveLength(2);
    }));

  it('is read as it has been stored for ever (test/golden)', () =>
    withLogs('sqlite', async ({ log, deliveries }) => {
      const { stream, event } = golden<DeliveriesMatched>('DeliveriesMatched');
      const upTo = await appendAll(log, [SUBSCRIBED, [stream, event]]);
      expect(await continuationOf(deliveries, log)).toEqual({
        cursor: { upTo, messages: 0 },
        revision: NO_STREAM,
        complete: NO_STREAM,
        made: new Set(),
      });
    }));
});
