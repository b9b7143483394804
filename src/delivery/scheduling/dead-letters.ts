import {
  type DeadLetter,
  type DeadLetterEvent,
  type Outcome,
  type Message,
  whyUnsendable,
} from '../../domain/deliveries/delivery-events';
import { disables, endedOf, type Health } from '../../domain/deliveries/health';
import { type DisabledReason, subscriptionDecider } from '../../domain/subscriptions/subscription';
import { execute, toNewEvent } from '../../kernel/decider';
import { NO_STREAM, streamOf } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Clock } from '../../runtime/clock';
import { Backoff } from '../../runtime/unavailable';
import { inParallel } from '../../runtime/concurrency';
import { disabledBy, cancelledOutcome, outcomeWithout } from './outcome';
import { type OwnedPartition } from './owned-partition';
import { type MessageCache } from './message-cache';
import { type Sendable } from './lane';
import { type ReceiverState } from './receiver-state';
import { type Recipients } from './recipients';
import { type Permission } from './scheduler';

/** Records in the domain log that a message is a dead letter, unless it is there already. */
async function recordDeadLetter(clock: Clock, log: EventLog, deadLetter: DeadLetter): Promise<void> {
  const event: DeadLetterEvent = { type: 'MessageDeadLettered', data: deadLetter };
  try {
    await log.append(streamOf('deadletter', deadLetter.id), NO_STREAM, [toNewEvent(event, clock.uuid())]);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
  }
}

/** False if it is disabled already, or there is no such receiver any more. */
async function disableReceiver(
  clock: Clock,
  log: EventLog,
  { subscriptionId, receiver, at }: Outcome,
  reason: DisabledReason,
): Promise<boolean> {
  const command = { do: 'disableReceiver', at, subscriptionId, receiver, reason } as const;
  return (await execute(clock, log, subscriptionDecider, subscriptionId, command)).position !== undefined;
}

/** Dead letters that are recorded at once: they share commits. */
const AT_ONCE = 8;

/**
 * Records dead letters in the domain log (`docs/decisions.md#n3`) once their outcomes are durable: before that another
 * process may have the partition, and deliver them. Sending does not wait for it.
 */
export class DeadLetters {
  private readonly recording = new WeakMap<OwnedPartition, Promise<void>>();

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly report: (failure: unknown) => void,
  ) {}

  /** Resolves when all dead letters of the partition are recorded, or it is lost: its next owner records the rest. */
  async record(partition: OwnedPartition): Promise<void> {
    if (partition.state.deadLetters.size === 0) return;
    const recording = this.recording.get(partition) ?? this.recordAll(partition);
    this.recording.set(partition, recording);
    await recording;
  }

  private async recordAll(partition: OwnedPartition): Promise<void> {
    const { deadLetters } = partition.state;
    const record = () =>
      inParallel(deadLetters.values(), AT_ONCE, async (deadLetter) => {
        await recordDeadLetter(this.clock, this.log, deadLetter);
        deadLetters.delete(deadLetter.id);
      });
    // While they are recorded, others may be added.
    while (deadLetters.size > 0 && !partition.isLost)
      await untilDone(this.clock, record, () => partition.isLost, this.report);
    this.recording.delete(partition);
  }
}

/** Disables receivers that have failed for too long, or are gone (`docs/decisions.md#n8`), and reports it. */
export class Disabling {
  /** Outcomes that have disabled their receivers: an owner may have enabled one before its outcome is durable. */
  private readonly done = new WeakSet<Outcome>();

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly report: (failure: unknown) => void,
  ) {}

  /** An outcome is recorded as another one. */
  becomes(before: Outcome, after: Outcome): void {
    if (this.done.has(before)) this.done.add(after);
  }

  /** `health`: of the receiver before the failed attempt. */
  async check(partition: OwnedPartition, health: Health, outcome: Outcome): Promise<void> {
    const reason = this.done.has(outcome) ? undefined : disables(health, endedOf(outcome));
    if (reason === undefined) return;
    this.done.add(outcome);
    const disable = (): Promise<boolean> => disableReceiver(this.clock, this.log, outcome, reason);
    if ((await untilDone(this.clock, disable, () => partition.isLost, this.report)) === true)
      this.report(disabledBy(reason, outcome));
  }
}

const BACKOFF = { first: 100, longest: 5_000 } as const;

/** Repeats what an unavailable log refuses, unless it is not wanted any more: then undefined. */
export async function untilDone<Result>(
  clock: Clock,
  work: () => Promise<Result>,
  isUnwanted: () => boolean,
  report: (failure: unknown) => void,
): Promise<Result | undefined> {
  const backoff = new Backoff(clock, BACKOFF);
  while (!isUnwanted()) {
    try {
      return await work();
    } catch (error) {
      if (isUnwanted()) return undefined;
      report(error);
      await backoff.wait();
    }
  }
  return undefined;
}

interface OldParts {
  readonly clock: Clock;
  readonly partitions: Iterable<OwnedPartition>;
  readonly cache: MessageCache;
  readonly recipients: Recipients;
  readonly record: (
    partition: OwnedPartition,
    outcome: Outcome,
    about: { readonly message: Message },
  ) => Promise<void>;
}

/** Messages of a partition that expire at once. */
const MOST = 1_000;

/**
 * Makes dead letters of messages that were made before a time (epoch ms) and are neither delivered nor in flight, held
 * or not, attempted or not: soon they are deleted from the log (`docs/decisions.md#n8`). Ends redeliveries of those
 * that are held. Returns how many there were, at most 1,000 of each partition, once that is durable. Raises
 * `EngineUnavailable`.
 */
export async function expireOld(
  { clock, partitions, record, ...parts }: OldParts,
  before: number,
): Promise<number> {
  let count = 0;
  for (const partition of partitions) {
    let left = MOST;
    for await (const { message, permission, ...sendable } of expired(partition, before, parts)) {
      const outcome = outcomeOf({ ...sendable, message }, permission, clock.wall());
      partition.expiring.add(sendable.revision);
      await record(partition, outcome, { message });
      count += 1;
      left -= 1;
      if (left === 0) break;
    }
    await partition.writer.flush();
    partition.expiring.clear();
  }
  return count;
}

/** Messages of a partition that were due before a time and are not in flight. */
async function* expired(
  { inFlight, state: { receivers } }: OwnedPartition,
  before: number,
  { cache, recipients }: Pick<OldParts, 'cache' | 'recipients'>,
): AsyncGenerator<Sendable & { readonly permission: Permission }> {
  for (const [id, state] of receivers) {
    for (const open of openOf(state)) {
      for (const sendable of open) {
        const { revision } = sendable;
        const message = cache.get(revision) ?? (await cache.load(revision));
        // It may have been sent while it was read.
        if (message === undefined || !isOpen(state, sendable)) continue;
        // Those after it are newer.
        if (Date.parse(message.made ?? message.at) >= before) break;
        if ([...inFlight].some((started) => started.revision === revision)) continue;
        const permission = recipients.permission(message.subscriptionId, id, message, sendable.redelivery);
        if (permission !== 'hold' && sendable.redelivery !== undefined) continue;
        yield { ...sendable, message, permission };
      }
    }
  }
}

function outcomeOf(sendable: Sendable, permission: Permission, now: number): Outcome {
  if (permission === 'cancel' || permission === 'withdraw')
    return cancelledOutcome(sendable, permission, now);
  // A redelivery leaves the message as it is.
  const end = sendable.redelivery === undefined ? 'dead' : 'failed';
  if (permission === 'hold') return outcomeWithout(sendable, end, now, HELD);
  const { message } = sendable;
  const why = message.awaitsRate === undefined ? EXPIRED : `it expired while ${whyUnsendable(message)}`;
  return outcomeWithout(sendable, end, now, why);
}

const HELD = 'it was held until it expired';
const EXPIRED = 'it expired before it could be sent';

type Open = Omit<Sendable, 'message'>;

/** What is to be sent, each list from the oldest on. */
function openOf({ queue, retries, redeliveries }: ReceiverState): readonly Iterable<Open>[] {
  const byAge = (a: Open, b: Open): number => a.revision - b.revision;
  return [
    Array.from(retries.keys(), (revision): Open => ({ kind: 'retry', revision })).sort(byAge),
    queued(queue),
    Array.from(redeliveries, ([redelivery, revision]): Open => ({
      kind: 'redelivery',
      revision,
      redelivery,
    })).sort(byAge),
  ];
}

function isOpen({ queue, retries, redeliveries }: ReceiverState, { revision, redelivery }: Open): boolean {
  return redelivery === undefined
    ? queue.has(revision) || retries.has(revision)
    : redeliveries.has(redelivery);
}

function* queued(queue: ReceiverState['queue']): Generator<Open> {
  for (let revision = queue.after(-1); revision !== undefined; revision = queue.after(revision))
    yield { kind: 'first', revision };
}
