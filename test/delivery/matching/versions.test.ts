import fc from 'fast-check';
import { type ParsedEvent } from '../../../src/kernel/decider';
import { type RecordedEvent } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { parkedEvents, Parking } from '../../../src/runtime/parked-events';
import { type Occurrence, type Topic } from '../../../src/domain/subscriptions/topic';
import { cases } from '../../support/size';
import { overrideLog } from '../../support/temporary-log';
import { type Step } from './histories';
import {
  appendAll,
  appendedIn,
  dyingAt,
  frozenAtParking,
  matchAll,
  type MatchingLogs,
  withLogs,
  withoutExclusion,
} from './matching-logs';
import { AT, claimTopic, created, GET, moved } from './recorded-events';

const RECEIVERS = Array.from({ length: 10 }, (_, at) => ({ ...GET, receiverUrl: `https://a.example/${at}` }));
/** Those of every version. With them an event has more messages than an append. */
const BASE = Array.from({ length: 55 }, (_, at) => `subscription-s${at}`);
/** Those that some versions cannot use. */
const OTHERS = ['subscription-x0', 'subscription-x1'];

/** What a version of the code cannot use. */
interface Version {
  readonly code: string;
  readonly claims: readonly number[];
  readonly subscriptions: readonly string[];
}

const versions: fc.Arbitrary<Version> = fc
  .record({ claims: fc.subarray([0, 1, 2]), subscriptions: fc.subarray(OTHERS) })
  .map((version) => ({ code: JSON.stringify(version), ...version }));
const ends: fc.Arbitrary<End> = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom('before', 'after'));

/** Killed at its n-th append. */
type End = readonly [n: number, when: 'before' | 'after'];

type Action =
  | { readonly is: 'claim' }
  | { readonly is: 'retry' }
  | { readonly is: 'run'; readonly version: Version }
  | { readonly is: 'kill'; readonly version: Version; readonly end: End }
  /** Frozen as it is about to park, while the other one matches everything. */
  | { readonly is: 'freeze'; readonly version: Version; readonly other: Version };

const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.oneof(
    fc.constant<Action>({ is: 'claim' }),
    fc.constant<Action>({ is: 'retry' }),
    fc.record({ is: fc.constant('run' as const), version: versions }),
    fc.record({ is: fc.constant('kill' as const), version: versions, end: ends }),
    fc.record({ is: fc.constant('freeze' as const), version: versions, other: versions }),
  ),
  { minLength: 3, maxLength: 12 },
);

const ABLE: Version = { code: 'able', claims: [], subscriptions: [] };

function topicOf({ claims }: Version): Topic {
  return {
    ...claimTopic,
    occurrence: (event: ParsedEvent, ...rest) => {
      const { subject } = event.data as Occurrence;
      if (claims.some((claim) => subject === `claim ${claim}`)) throw new TypeError(`${subject} is too new`);
      return claimTopic.occurrence(event, ...rest);
    },
  };
}

/** The log as a version reads it. */
function logOf(log: EventLog, { subscriptions }: Version): EventLog {
  const read = (event: RecordedEvent): RecordedEvent =>
    subscriptions.includes(event.stream) ? { ...event, data: '{}' } : event;
  return overrideLog(log, {
    async *readAll(options) {
      for await (const batch of log.readAll(options)) yield { ...batch, events: batch.events.map(read) };
    },
    async *subscribe(options) {
      for await (const batch of log.subscribe(options)) yield { ...batch, events: batch.events.map(read) };
    },
    async *readStream(...all) {
      for await (const batch of log.readStream(...all)) yield batch.map(read);
    },
  });
}

async function run(logs: MatchingLogs, version: Version): Promise<void> {
  const { code } = version;
  await matchAll({ ...logs, log: logOf(logs.log, version) }, { topics: [topicOf(version)], code });
}

async function runUntil(
  logs: MatchingLogs,
  version: Version,
  [n, when]: readonly [number, 'before' | 'after'],
) {
  const { code } = version;
  const dying = dyingAt(logs.deliveries, n, when);
  const parts = { ...logs, ...dying, log: logOf(logs.log, version), topics: [topicOf(version)] };
  const matcher = new MatcherRunner(parts, { clock: SYSTEM_CLOCK, owner: code, code });
  matcher.start();
  await Promise.race([dying.died, matcher.reached(await logs.log.head())]);
  await matcher.stop();
}

async function act(logs: MatchingLogs, action: Action, claims: number): Promise<number> {
  const { log } = logs;
  if (action.is === 'claim') {
    if (claims === 3) return claims;
    await appendAll(log, [[`claim-${claims}`, moved({ subject: `claim ${claims}` })]]);
    return claims + 1;
  }
  if (action.is === 'retry') {
    const parking = await new Parking(SYSTEM_CLOCK, log, 'matcher').refresh();
    await parking.retry([...parking.parked.keys()], AT);
  } else if (action.is === 'freeze') {
    const both = { ...logs, leases: withoutExclusion(logs.leases) };
    await run({ ...both, log: frozenAtParking(log, () => run(both, action.other)) }, action.version);
  } else if (action.is === 'kill') await runUntil(logs, action.version, action.end);
  else await run(logs, action.version);
  return claims;
}

it.each([
  ['sqlite', cases(100, 10)],
  ['eventstoredb', cases(12, 2)],
] as const)(
  'whatever versions match, are killed or frozen, park and retry, each message is made once, over %s (decisions X103)',
  async (engine, numRuns) => {
    await fc.assert(
      fc.asyncProperty(actions, async (all) => {
        await withLogs(engine, async (logs) => {
          const steps = [...BASE, ...OTHERS].map((name): Step => [
            name,
            created(1, { receivers: RECEIVERS }),
          ]);
          await appendAll(logs.log, steps);
          let claims = 0;
          for (const action of [{ is: 'claim' } as const, ...all]) claims = await act(logs, action, claims);
          await run(logs, ABLE);
          const made = (await appendedIn(logs.deliveries)).map(({ id, to }) => ({
            id,
            to: `subscription-${to}`,
          }));
          expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
          const base = made.filter(({ to }) => BASE.includes(to));
          expect(base).toHaveLength(claims * BASE.length * RECEIVERS.length);
          expect(await parkedEvents(SYSTEM_CLOCK, logs.log, 'matcher')).toEqual([]);
        });
      }),
      { numRuns },
    );
  },
);
