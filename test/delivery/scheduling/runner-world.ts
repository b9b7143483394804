import { setTimeout as pause } from 'node:timers/promises';
import { Matched, messageTo, subscribe, type Target } from '../../../bench/deliveries/due-messages';
import { type Engines } from '../../../src/engines/open';
import { START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import {
  type DeadLetterEvent,
  type Message,
  type Outcome,
} from '../../../src/domain/deliveries/delivery-events';
import { type DeliveryParts, DeliveryRunner } from '../../../src/delivery/scheduling/delivery-runner';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { FollowedSubscriptions, Recipients } from '../../../src/delivery/scheduling/recipients';
import { Rerenderer } from '../../../src/delivery/matching/rerender';
import { Secrets } from '../../../src/domain/subscriptions/subscription';
import { type Attempt, type AttemptResult } from '../../../src/delivery/sending/attempt';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { openTestedEngines, type TestedFolder } from '../../support/engines';

const TIMES = { leaseMs: 2_000, longestMs: 500, lookMs: 20 };

/** Runners of deliveries over engines of their own, for the tests of a file. */
export function runnerWorld() {
  let folder: TestedFolder;
  let engines: Engines;
  let deliveries: EventLog;
  let following: AbortController;
  let subscriptions: FollowedSubscriptions;
  let matched: Matched;
  const runners: DeliveryRunner[] = [];
  const reports: unknown[] = [];
  /** Each call of `due` is about a subject of its own. */
  let subjects = 0;

  beforeEach(async () => {
    ({ folder, engines } = await openTestedEngines());
    deliveries = await engines.deliveries();
    following = new AbortController();
    subscriptions = new FollowedSubscriptions(SYSTEM_CLOCK, engines.log, following.signal);
    matched = new Matched(deliveries);
    reports.length = 0;
  });
  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    following.abort();
    await subscriptions.ended;
    await engines.close();
    await folder.remove();
  });

  function start(
    owner: string,
    attempt: MakeAttempt,
    engine: Partial<Pick<DeliveryParts, 'clock' | 'log' | 'deliveries' | 'leases' | 'recipients'>> = {},
    times: { readonly leaseMs?: number } = {},
  ) {
    const recipients = new Recipients(subscriptions, new Secrets(Buffer.alloc(32)));
    const report = (failure: unknown) => void reports.push(failure);
    const parts = {
      clock: SYSTEM_CLOCK,
      log: engines.log,
      deliveries,
      leases: engines.leases,
      recipients,
      rerenderer: new Rerenderer(engine.log ?? engines.log, [transactionTopic]),
      attempt,
      report,
      ...engine,
    };
    const runner = new DeliveryRunner(parts, { owner, ...TIMES, ...times });
    runners.push(runner);
    runner.start();
    return runner;
  }

  async function targetsOf(count: number): Promise<readonly Target[]> {
    const urls = Array.from({ length: count }, (_, number) => `https://r${number}.example/`);
    const targets = await subscribe(engines.log, urls);
    await subscriptions.reached(await engines.log.head());
    return targets;
  }

  async function due(
    targets: readonly Target[],
    each: number,
    more: Partial<Message> = {},
  ): Promise<readonly Message[]> {
    const cause = await engines.log.head();
    subjects += 1;
    const subject = `t${subjects}`;
    const messages = targets.flatMap((target) =>
      Array.from({ length: each }, (_, sequence) => ({
        ...messageTo(target, { subject, sequence, cause }),
        ...more,
      })),
    );
    await matched.append(messages, cause);
    return messages;
  }

  async function outcomes(): Promise<readonly Outcome[]> {
    const all: Outcome[] = [];
    for await (const { events } of deliveries.readAll({ after: START, prefixes: ['partition-'] }))
      for (const { type, data } of events)
        if (type === 'MessageAttempted') all.push(JSON.parse(data) as Outcome);
    return all;
  }

  /** What the domain log has recorded of dead letters. */
  async function deadLetters(): Promise<readonly DeadLetterEvent['data'][]> {
    const all: DeadLetterEvent['data'][] = [];
    for await (const { events } of engines.log.readAll({ after: START, prefixes: ['deadletter-'] }))
      all.push(...events.map(({ data }) => JSON.parse(data) as DeadLetterEvent['data']));
    return all;
  }

  async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) await pause(5);
  }

  /** Ends every attempt in the same way; `attempts` has what was sent. */
  function ending(result: Partial<AttemptResult>): {
    readonly attempts: Attempt[];
    readonly attempt: MakeAttempt;
  } {
    const attempts: Attempt[] = [];
    const attempt: MakeAttempt = async (one) => {
      attempts.push(one);
      return { end: 'success', at: Date.now(), ms: 1, ...result };
    };
    return { attempts, attempt };
  }

  return {
    get engines() {
      return engines;
    },
    get deliveries() {
      return deliveries;
    },
    get subscriptions() {
      return subscriptions;
    },
    get matched() {
      return matched;
    },
    ...{ reports, start, targetsOf, due, outcomes, deadLetters, until, ending },
  };
}
