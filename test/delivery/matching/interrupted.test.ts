import fc from 'fast-check';
import { type DomainEvent } from '../../../src/kernel/decider';
import { type EventLog } from '../../../src/kernel/event-log';
import { type Receiver } from '../../../src/domain/subscriptions/subscription';
import { eventsOf, overrideLog } from '../../support/temporary-log';
import { cases } from '../../support/size';
import { histories, type Step } from './histories';
import {
  appendAll,
  appendedIn,
  dyingAt,
  matchedIn,
  matcherOf,
  type MatchingLogs,
  withLogs,
} from './matching-logs';
import { type Expected, expectedOf } from './matching-model';
import { claimTopic, created, moved } from './recorded-events';

const example = (stateId: number, at: Date) => claimTopic.example(stateId, at);

/** How a matcher ends: killed at its n-th append, which is done or not, or stopped. */
type End = readonly [n: number, when: 'before' | 'after' | 'stopped'];

/** Appends a part of the history for each end, and matches until then; at last without one, reading by `read`. */
async function matchInterrupted(
  logs: MatchingLogs,
  steps: readonly Step[],
  ends: readonly End[],
  read: Partial<EventLog> = {},
): Promise<void> {
  const size = Math.ceil(steps.length / (ends.length + 1));
  for (const [at, [n, when]] of ends.entries()) {
    await appendAll(logs.log, steps.slice(at * size, (at + 1) * size));
    const dying = when === 'stopped' ? undefined : dyingAt(logs.deliveries, n, when);
    const matcher = matcherOf({ ...logs, ...dying });
    matcher.start();
    const reached = matcher.reached(await logs.log.head());
    await (dying === undefined ? reached : Promise.race([dying.died, reached]));
    await matcher.stop();
  }
  const matcher = matcherOf({ ...logs, log: overrideLog(logs.log, read) });
  matcher.start();
  await appendAll(logs.log, steps.slice(ends.length * size));
  await matcher.reached(await logs.log.head());
  await matcher.stop();
}

const ends: fc.Arbitrary<readonly End[]> = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom('before', 'after', 'stopped')),
  { maxLength: 6 },
);

describe.each(['sqlite', 'eventstoredb'] as const)(
  'matching over %s (decisions N8, N11 to N15)',
  (engine) => {
    it('makes what the reference model expects, nothing twice, however it is interrupted', async () => {
      await fc.assert(
        fc.asyncProperty(histories, ends, async (steps, all) => {
          await withLogs(engine, async (logs) => {
            await matchInterrupted(logs, steps, all);
            expect(await appendedIn(logs.deliveries)).toEqual(expectedOf(await eventsOf(logs.log), example));
          });
        }),
        { numRuns: engine === 'sqlite' ? cases(120, 20) : cases(30, 3) },
      );
    });

    it('splits what is too much for one append, and continues in the midst of an event', async () => {
      const receivers = Array.from({ length: 10 }, (_, at): Receiver => {
        return { httpMethod: 'GET', receiverUrl: `https://a.example/${at}/\${epi}` };
      });
      const subscriptions = Array.from({ length: 60 }, (_, at): Step => [
        `subscription-${at}`,
        created(1 + (at % 2), { receivers }),
      ]);
      // As many as are stored with their bytes.
      const large: DomainEvent = moved({ attributes: { epi: 'e'.repeat(800) } });
      // 600 messages of each event: more than an append has.
      const steps: readonly Step[] = [
        ...subscriptions,
        ['claim-1', moved()],
        ['claim-2', large],
        ['claim-3', moved()],
        ['claim-4', moved()],
        ['claim-5', large],
      ];
      const killed: readonly End[] = [
        [1, 'after'],
        [1, 'before'],
        [2, 'after'],
        [1, 'after'],
        [1, 'after'],
      ];
      await withLogs(engine, async (logs) => {
        await appendAll(logs.log, steps);
        await matchInterrupted(logs, [], killed);
        const matched = await matchedIn(logs.deliveries);
        const cursors = matched.flatMap((event) => (event.type === 'Matched' ? [event.data.messages] : []));
        expect(cursors.filter((messages) => messages > 0).length).toBeGreaterThan(3);
        expect(cursors.at(-1)).toBe(0);
        expect(await appendedIn(logs.deliveries)).toEqual(expectedOf(await eventsOf(logs.log), example));
      });
    });

    it('continues in the midst of an event after a batch that ends before it', async () => {
      const receivers = Array.from({ length: 10 }, (_, at): Receiver => {
        return { httpMethod: 'GET', receiverUrl: `https://a.example/${at}/\${epi}` };
      });
      // Those of two organisations, which do not take turns to the end.
      const subscriptions = Array.from({ length: 60 }, (_, at): Step => [
        `subscription-${at}`,
        created(at < 40 ? 1 : 2, { receivers }),
      ]);
      await withLogs(engine, async (logs) => {
        const before = await appendAll(logs.log, [
          ...subscriptions,
          ['other-1', { type: 'Other', data: {} }],
        ]);
        await appendAll(logs.log, [['claim-1', moved()]]);
        await matchInterrupted(logs, [], [[2, 'before']], {
          async *subscribe(options) {
            // As a server that lags.
            yield { events: [], position: before, caughtUp: true };
            yield* logs.log.subscribe({ ...options, after: before });
          },
        });
        const ids = (all: readonly Expected[]) => all.map(({ id }) => id).sort();
        const expected = expectedOf(await eventsOf(logs.log), example);
        expect(ids(await appendedIn(logs.deliveries))).toEqual(ids(expected));
      });
    });
  },
);
