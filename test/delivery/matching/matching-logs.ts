import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { LeaseFile } from '../../../src/engines/embedded/leases';
import { toDomainEvent, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, type Position, START } from '../../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { type Leases } from '../../../src/kernel/leases';
import { MATCHED, type MatchedEvent } from '../../../src/domain/deliveries/delivery-events';
import { type MatcherOptions, MatcherRunner } from '../../../src/delivery/matching/matcher-runner';
import { type Topic } from '../../../src/domain/subscriptions/topic';
import { transactionTopic } from '../../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { isolatedEngines } from '../../support/engines';
import { PATIENT } from '../../support/esdb-log';
import { overrideLog } from '../../support/temporary-log';
import { type Step } from './histories';
import { type Expected } from './matching-model';
import { claimTopic } from './recorded-events';

/** A domain log, a delivery log and leases. */
export interface MatchingLogs {
  readonly log: EventLog;
  readonly deliveries: EventLog;
  readonly leases: Leases;
}

export async function withLogs(
  engine: 'sqlite' | 'eventstoredb',
  use: (logs: MatchingLogs) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-matching-'));
  const [domain, delivery] = [
    await openedLog(engine, folder, 'log'),
    await openedLog(engine, folder, 'deliveries'),
  ];
  const leases = new LeaseFile(join(folder, 'leases.sqlite'));
  try {
    await use({ log: domain.log, deliveries: delivery.log, leases });
  } finally {
    await leases.close();
    await domain.close();
    await delivery.close();
    await rm(folder, { recursive: true });
  }
}

async function openedLog(
  engine: 'sqlite' | 'eventstoredb',
  folder: string,
  name: string,
): Promise<{ log: EventLog; close: () => Promise<void> }> {
  if (engine === 'sqlite') {
    const { log } = await openLog(join(folder, `${name}.sqlite`), false);
    return { log, close: () => log.close() };
  }
  const { openEventStoreDb } = await import('../../../src/engines/eventstoredb/open-event-store-db.js');
  const served = await mkdtemp(join(folder, name));
  const { settings, remove } = await isolatedEngines(served, { log: 'eventstoredb', store: 'sqlite' });
  const log = await openEventStoreDb(settings.EVENT_LOG ?? '', PATIENT);
  return {
    log,
    close: async () => {
      await log.close();
      await remove();
    },
  };
}

/** Appends events; returns the position of the last one. */
export async function appendAll(log: EventLog, steps: readonly Step[]): Promise<Position> {
  let last = START;
  const revisions = new Map<string, number>();
  for (const [stream, event] of steps) {
    const known = revisions.get(stream) ?? (await revisionOf(log, stream));
    const { revision, position } = await log.append(stream, known, [toNewEvent(event, randomUUID())]);
    revisions.set(stream, revision);
    last = position;
  }
  return last;
}

async function revisionOf(log: EventLog, stream: string): Promise<number> {
  for await (const [event] of log.readStream(stream, { backwards: true, limit: 1 }))
    if (event !== undefined) return event.revision;
  return NO_STREAM;
}

/** A matcher of claims. */
export function matcherOf(logs: MatchingLogs, options: Partial<MatcherOptions> = {}): MatcherRunner {
  return new MatcherRunner(
    { ...logs, topics: [claimTopic] },
    { clock: SYSTEM_CLOCK, owner: 'one', ...options },
  );
}

/** Runs a matcher until it has matched everything, whatever that appends; returns what it has reported. */
export async function matchAll(
  { log, ...logs }: MatchingLogs,
  { topics = [claimTopic, transactionTopic], ...options }: MatchAllOptions = {},
): Promise<readonly unknown[]> {
  const reports: unknown[] = [];
  const report = (failure: unknown): void => void reports.push(failure);
  const matcher = new MatcherRunner(
    { log, ...logs, topics },
    { clock: SYSTEM_CLOCK, owner: 'one', report, ...options },
  );
  matcher.start();
  for (let reached = ''; reached !== (await log.head());) {
    reached = await log.head();
    await matcher.reached(reached);
  }
  await matcher.stop();
  return reports;
}

type MatchAllOptions = Partial<MatcherOptions> & { readonly topics?: readonly Topic[] };

/** Everything in `matched`. */
export async function matchedIn(deliveries: EventLog): Promise<readonly MatchedEvent[]> {
  const all: MatchedEvent[] = [];
  for await (const batch of deliveries.readStream(MATCHED))
    for (const event of batch) all.push(toDomainEvent(event) as MatchedEvent);
  return all;
}

/** What was appended, as the model describes it. */
export async function appendedIn(deliveries: EventLog): Promise<readonly Expected[]> {
  return (await matchedIn(deliveries)).flatMap((event): readonly Expected[] => {
    if (event.type === 'Matched') return [];
    if (event.type === 'ProbeDue')
      return [{ id: event.data.receiver, to: `probe ${event.data.subscriptionId}` }];
    if (event.type === 'RedeliveriesWithdrawn')
      return [{ id: event.data.receiver, to: `withdraw ${event.data.subscriptionId}` }];
    const { id, subscriptionId } = event.data;
    if (event.type === 'RedeliveryDue') return [{ id, to: `again ${subscriptionId}` }];
    const { request, conversion, awaitsRate } = event.data;
    const awaits = awaitsRate === undefined ? {} : { awaits: `${awaitsRate.from} ${awaitsRate.to}` };
    const rate = conversion === undefined ? {} : { rate: conversion.rate };
    const url = request === undefined ? {} : { url: request.url };
    return [{ id, to: subscriptionId, ...url, ...awaits, ...rate }];
  });
}

export interface Dying {
  readonly deliveries: EventLog;
  /** Resolves when it has died. */
  readonly died: Promise<void>;
}

/**
 * A delivery log whose `n`-th append is done or not, but never answered; then nothing is answered any more, as after a
 * kill.
 */
export function dyingAt(deliveries: EventLog, n: number, when: 'before' | 'after'): Dying {
  let appends = 0;
  let die: () => void = () => undefined;
  const died = new Promise<void>((resolve) => (die = resolve));
  const refuse = (): never => {
    throw new EngineUnavailable('the delivery log is not available: the process was killed');
  };
  const isDead = (): boolean => appends >= n;
  return {
    died,
    deliveries: overrideLog(deliveries, {
      append: async (...all) => {
        if (isDead()) refuse();
        appends += 1;
        if (!isDead()) return await deliveries.append(...all);
        if (when === 'after') await deliveries.append(...all);
        die();
        return refuse();
      },
      readStream: (...all) => (isDead() ? refuse() : deliveries.readStream(...all)),
    }),
  };
}

/** A log in which a process is frozen, as it is about to park its first event, until something has happened. */
export function frozenAtParking(log: EventLog, meanwhile: () => Promise<unknown>): EventLog {
  let isFrozen = false;
  return overrideLog(log, {
    append: async (stream, ...rest) => {
      if (stream === 'parked-matcher' && !isFrozen) {
        isFrozen = true;
        await meanwhile();
      }
      return await log.append(stream, ...rest);
    },
  });
}

/** Leases that every owner has. */
export function withoutExclusion(leases: Leases): Leases {
  return new Proxy(leases, {
    get: (target, name) =>
      name === 'lease'
        ? async (...[lease, owner, now, ttl]: Parameters<Leases['lease']>) => ({
            name: lease,
            owner,
            expires: now() + ttl,
          })
        : (Reflect.get(target, name) as () => unknown).bind(target),
  });
}
