import { type DeadLetter, type DeadLetterEvent, type Outcome } from '../../domain/deliveries/delivery-events';
import { disables, endedOf, type Health } from '../../domain/deliveries/health';
import { type DisabledReason, subscriptionDecider } from '../../domain/subscriptions/subscription';
import { execute, toNewEvent } from '../../kernel/decider';
import { NO_STREAM, streamOf } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Clock } from '../../runtime/clock';
import { Backoff } from '../../runtime/unavailable';
import { inParallel } from '../../runtime/concurrency';
import { disabledBy } from './outcome';
import { type OwnedPartition } from './owned-partition';

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
