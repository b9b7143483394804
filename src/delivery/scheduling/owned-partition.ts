import { setMaxListeners } from 'node:events';
import { type EventLog } from '../../kernel/event-log';
import { type LeaseHolder } from '../../runtime/lease-holder';
import { newPromise } from '../../runtime/concurrency';
import { type Outcome } from '../../domain/deliveries/delivery-events';
import { OutcomeWriter, type WriterEvents } from './outcome-writer';
import { type TakenPartition } from './partition-log';
import { type PartitionState } from './partition-state';
import { type Started } from './scheduler';

/** A partition that this process sends for. */
export class OwnedPartition {
  /** It has taken in all of `matched`, and is given what is new. */
  isLive = false;
  /** It is being given up: nothing is started any more. */
  isClosing = false;
  /** Its outcomes cannot be appended: nothing is started meanwhile. */
  isInTrouble = false;
  /** Messages that have been started and have no durable outcome. */
  readonly inFlight = new Set<Started>();
  /** Those of them whose outcomes are being appended. */
  readonly ended = new Map<Outcome, Started>();
  /** Messages that were delivered since somebody had asked for them, whose outcomes are being appended. */
  private readonly delivered = new Set<number>();
  /** Messages that become dead letters because they are about to be deleted: none of them is sent any more. */
  readonly expiring = new Set<number>();
  readonly writer: OutcomeWriter;
  readonly lease: LeaseHolder;
  /** That of the lease in which nobody else has had the partition: in another one nothing is started. */
  term: number;
  /** They wait until nothing is in flight. */
  private readonly waiting = new Set<() => void>();
  /** Attempts end when the partition is lost or given up; appends only when it is lost. */
  private readonly attempts = new AbortController();
  private readonly appends = new AbortController();

  constructor(
    readonly number: number,
    { lease, term }: { readonly lease: LeaseHolder; readonly term: number },
    log: EventLog,
    taken: TakenPartition,
    eventsOf: (partition: OwnedPartition) => WriterEvents,
  ) {
    this.lease = lease;
    this.term = term;
    setMaxListeners(0, this.attempts.signal);
    this.writer = new OutcomeWriter(lease.clock, log, number, taken, eventsOf(this), this.appends.signal);
  }

  get state(): PartitionState {
    return this.writer.state;
  }

  /** Whether messages may be started. */
  get isOpen(): boolean {
    const isHeld = this.lease.term === this.term;
    return isHeld && !this.isClosing && !this.isInTrouble && !this.signal.aborted;
  }

  /** Another process has it, or may have it. */
  get isLost(): boolean {
    return this.appends.signal.aborted;
  }

  /** Ends attempts. */
  get signal(): AbortSignal {
    return this.attempts.signal;
  }

  /**
   * Whether the message of a scheduled attempt that has failed was delivered meanwhile, since somebody had asked for
   * it.
   */
  isDelivered({ revision, receiver, redelivery, outcome }: Outcome): boolean {
    if (redelivery !== undefined || outcome === 'delivered' || outcome === 'cancelled') return false;
    if (this.delivered.has(revision)) return true;
    return !this.state.receiver(receiver).isOpen(revision, this.state.matchedUpTo);
  }

  /** Whether a message must not be started, although the state, in which is what is durable, still has it. */
  isOver({ revision, redelivery }: Pick<Started, 'revision' | 'redelivery'>): boolean {
    return this.expiring.has(revision) || (redelivery === undefined && this.delivered.has(revision));
  }

  /** The outcome of a message that was started is being appended. */
  appending(outcome: Outcome, started: Started): void {
    this.ended.set(outcome, started);
    if (isDeliveredManually(outcome)) this.delivered.add(outcome.revision);
  }

  /** An outcome is durable, and in the state: of what was started, if it was. */
  appended(outcome: Outcome): Started | undefined {
    const started = this.ended.get(outcome);
    this.ended.delete(outcome);
    if (isDeliveredManually(outcome)) this.delivered.delete(outcome.revision);
    return started;
  }

  /** A message is no longer in flight. */
  done(started: Started): void {
    this.inFlight.delete(started);
    if (this.inFlight.size === 0) this.wake();
  }

  /** Resolves when nothing is in flight, it is lost, or after a time. */
  async idle(mostMs: number): Promise<void> {
    if (this.inFlight.size === 0 || this.isLost) return;
    const { promise, resolve } = newPromise();
    this.waiting.add(resolve);
    const timer = this.lease.clock.timer(mostMs, resolve);
    await promise;
    timer.cancel();
    this.waiting.delete(resolve);
  }

  abortAttempts(): void {
    this.attempts.abort();
  }

  abort(): void {
    this.attempts.abort();
    this.appends.abort();
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
  }
}

function isDeliveredManually({ redelivery, outcome }: Outcome): boolean {
  return redelivery !== undefined && outcome === 'delivered';
}
