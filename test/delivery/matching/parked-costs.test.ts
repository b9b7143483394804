import { type Clock, SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { type DomainEvent, toDomainEvent } from '../../../src/kernel/decider';
import { type EventLog } from '../../../src/kernel/event-log';
import { MATCHER_LEASE } from '../../../src/runtime/lease-holder';
import { parkedEvents, Parking } from '../../../src/runtime/parked-events';
import { MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { parkedEventCounter } from '../../../src/operations/parked';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { TestClock } from '../../support/clock';
import { cases } from '../../support/size';
import { overrideLog } from '../../support/temporary-log';
import { type Step } from './histories';
import { appendAll, type MatchingLogs, withLogs } from './matching-logs';
import { AT, claimTopic, created } from './recorded-events';

const STREAM = 'parked-matcher';
const TRANSACTION: DomainEvent = { type: 'TransactionTracked', data: {} };
const SUBSCRIPTION: DomainEvent = { type: 'SubscriptionCreated', data: {} };

/** What was asked of a log about parked events. */
interface Counted {
  readonly log: EventLog;
  /** Events of the stream of parked events that were read from it. */
  read: number;
  /** Appends to it. */
  appends: number;
  /** Reads of the whole log. */
  starts: number;
}

function counted(
  log: EventLog,
  beforeAppend: (nth: number) => Promise<void> = () => Promise.resolve(),
): Counted {
  const counts: Counted = {
    read: 0,
    appends: 0,
    starts: 0,
    log: overrideLog(log, { append, readStream, readAll }),
  };
  async function append(...[stream, ...rest]: Parameters<EventLog['append']>) {
    if (stream === STREAM) await beforeAppend((counts.appends += 1));
    return await log.append(stream, ...rest);
  }
  async function* readStream(...[stream, ...rest]: Parameters<EventLog['readStream']>) {
    for await (const batch of log.readStream(stream, ...rest)) {
      if (stream === STREAM) counts.read += batch.length;
      yield batch;
    }
  }
  function readAll(...all: Parameters<EventLog['readAll']>) {
    counts.starts += 1;
    return log.readAll(...all);
  }
  return counts;
}

/** Many that lack their data: of subscriptions of their own, or of one transaction. */
function manyOf(event: DomainEvent, count: number): readonly Step[] {
  const isState = event === SUBSCRIPTION;
  return Array.from({ length: count }, (_, at) => [isState ? `subscription-x${at}` : 'transaction-x', event]);
}

function matcherOver(
  { log, ...logs }: MatchingLogs,
  options: { code: string; clock?: Clock },
): MatcherRunner {
  return new MatcherRunner(
    { log, ...logs, topics: [claimTopic, transactionTopic] },
    { clock: SYSTEM_CLOCK, owner: 'one', ...options },
  );
}

/** Runs a matcher until it has matched everything, whatever that appends. */
async function matchAll(logs: MatchingLogs, code: string): Promise<void> {
  const matcher = matcherOver(logs, { code });
  matcher.start();
  for (let reached = ''; reached !== (await logs.log.head());) {
    reached = await logs.log.head();
    await matcher.reached(reached);
  }
  await matcher.stop();
}

async function typesIn(log: EventLog): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const batch of log.readStream(STREAM))
    types.push(...batch.map((event) => toDomainEvent(event).type));
  return types;
}

const COUNT = cases(250, 120);

describe.each(['sqlite', 'eventstoredb'] as const)('parked events over %s', (engine) => {
  it.each([
    ['events', TRANSACTION, 'two', Math.ceil(COUNT / 100) + COUNT],
    // The state was read, so this code cannot use them either.
    ['subscriptions', SUBSCRIPTION, 'one', 0],
  ])(
    'many unusable %s are parked and retried without reading them again for each (decisions X103)',
    (_, event, code, appends) =>
      withLogs(engine, async (logs) => {
        await appendAll(logs.log, [['subscription-a', created(1)], ...manyOf(event, COUNT)]);
        const parking = counted(logs.log);
        await matchAll({ ...logs, log: parking.log }, 'one');
        expect(await parkedEvents(SYSTEM_CLOCK, logs.log, 'matcher')).toHaveLength(COUNT);
        expect(parking).toMatchObject({ appends: COUNT, read: 0 });
        const retrying = counted(logs.log);
        await matchAll({ ...logs, log: retrying.log }, 'two');
        const parked = await parkedEvents(SYSTEM_CLOCK, logs.log, 'matcher');
        expect([parked.length, new Set(parked.map(({ code }) => code))]).toEqual([COUNT, new Set([code])]);
        // One append for 100 that are retried, and one for each that is parked again.
        expect(retrying.appends).toBe(appends);
        expect(retrying.starts).toBeLessThanOrEqual(2);
        expect(retrying.read).toBeLessThanOrEqual(5 * COUNT);
      }),
  );

  it('all that operators retry is read again once, whatever is retried between (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      const [states, others] = [manyOf(SUBSCRIPTION, 30), manyOf(TRANSACTION, 30)];
      const mixed = states.flatMap((step, at): readonly Step[] => [step, others[at] ?? step]);
      await appendAll(logs.log, [['subscription-a', created(1)], ...mixed]);
      const retried = counted(logs.log);
      const matcher = matcherOver({ ...logs, log: retried.log }, { code: 'one' });
      matcher.start();
      const parkedNow = async (count: number): Promise<readonly string[]> => {
        for (;;) {
          await matcher.reached(await logs.log.head());
          const parked = await parkedEvents(SYSTEM_CLOCK, logs.log, 'matcher');
          if (parked.length === count) return parked.map(({ event }) => event);
        }
      };
      const parked = await parkedNow(60);
      await (await new Parking(SYSTEM_CLOCK, logs.log, 'matcher').refresh()).retry(parked, AT);
      await parkedNow(60);
      await matcher.stop();
      expect(retried.starts).toBe(2);
    }));

  it('a matcher that is stopped, or has lost its lease, retries nothing more (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      await appendAll(logs.log, [['subscription-a', created(1)], ...manyOf(TRANSACTION, COUNT)]);
      await matchAll(logs, 'one');
      let stopped: Promise<void> | undefined;
      const stopping = counted(logs.log, async () => void (stopped ??= matcher.stop()));
      const matcher = matcherOver({ ...logs, log: stopping.log }, { code: 'two' });
      matcher.start();
      while (stopped === undefined) await new Promise(setImmediate);
      await stopped;
      expect(stopping.appends).toBe(1);
      let time = Date.parse(AT);
      const losing = counted(logs.log, async () => {
        time += 2 * MATCHER_LEASE.ms;
        const { name, ms } = MATCHER_LEASE;
        if ((await logs.leases.lease(name, 'two', () => time, ms)) === undefined) throw new Error('not lost');
      });
      const other = matcherOver(
        { ...logs, log: losing.log },
        { code: 'three', clock: new TestClock(() => time) },
      );
      other.start();
      while (losing.appends === 0) await new Promise(setImmediate);
      await other.stop();
      expect(losing.appends).toBe(1);
    }));

  it('versions that lead in turn retry each event three times by themselves (decisions X103)', () =>
    withLogs(engine, async (logs) => {
      await appendAll(logs.log, [
        ['subscription-a', created(1)],
        ...manyOf(SUBSCRIPTION, 2),
        ...manyOf(TRANSACTION, 2),
      ]);
      const lengths: number[] = [];
      for (let turn = 0; turn < 10; turn += 1) {
        await matchAll(logs, turn % 2 === 0 ? 'one' : 'two');
        lengths.push((await typesIn(logs.log)).length);
      }
      // Parked once; those of transactions are retried and parked by either version three times.
      expect(lengths.at(-1)).toBe(2 + 2 * (1 + 2 * 3 * 2));
      expect(lengths.at(-2)).toBe(lengths.at(-1));
      expect(await parkedEvents(SYSTEM_CLOCK, logs.log, 'matcher')).toHaveLength(4);
      await matchAll(logs, 'three');
      expect((await typesIn(logs.log)).length).toBe(2 + 2 * (1 + 2 * 3 * 2 + 2));
    }));

  it('counts for the health what is new (decisions X103)', () =>
    withLogs(engine, async ({ log }) => {
      const observed = counted(log);
      const count = parkedEventCounter(observed.log);
      expect(await count()).toBe(0);
      const parking = new Parking(SYSTEM_CLOCK, log, 'matcher', 'one');
      for (let at = 0; at < 20; at += 1) {
        const event = {
          id: `e${at}`,
          stream: 's',
          revision: at,
          position: '',
          ...TRANSACTION,
          data: '',
          meta: '',
        };
        await parking.park(event, { error: 'e', at: AT });
        expect(await count()).toBe(at + 1);
      }
      await parking.retry(['e3'], AT);
      expect(await count()).toBe(19);
      expect(observed.read).toBeLessThanOrEqual(2 * 21);
    }));

  it('forgets what it knows of a log that was restored from an older backup (decisions X31, X103)', () =>
    withLogs(engine, async ({ log, deliveries: restored }) => {
      let current = log;
      const either = overrideLog(log, { readStream: (...all) => current.readStream(...all) });
      const event = { stream: 's', revision: 0, position: '', ...TRANSACTION, data: '', meta: '' };
      for (const id of ['a', 'b', 'c'])
        await new Parking(SYSTEM_CLOCK, log, 'matcher').park({ id, ...event }, { error: 'e', at: AT });
      const parking = await new Parking(SYSTEM_CLOCK, either, 'matcher').refresh();
      current = restored;
      expect((await parking.refresh()).parked.size).toBe(0);
      for (const id of ['a', 'd', 'e', 'f'])
        await new Parking(SYSTEM_CLOCK, restored, 'matcher').park({ id, ...event }, { error: 'e', at: AT });
      current = log;
      expect([...(await parking.refresh()).parked.keys()]).toEqual(['a', 'b', 'c']);
      current = restored;
      expect([...(await parking.refresh()).parked.keys()]).toEqual(['a', 'd', 'e', 'f']);
    }));
});
