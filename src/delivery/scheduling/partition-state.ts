import { type DeadLetter, type Outcome } from '../../domain/deliveries/delivery-events';
import { afterProbeRequest } from '../../domain/deliveries/health';
import { deadLetterOf, deletedDeadLetter } from './outcome';
import { ReceiverState } from './receiver-state';

/** How much is kept in memory; beyond it, a part of long queues is read again later. */
export interface QueueLimits {
  /** Messages of a partition. */
  readonly partition: number;
  /** Messages of a receiver that are always kept. */
  readonly receiver: number;
}

const LIMITS: QueueLimits = { partition: 100_000, receiver: 1_000 };

/**
 * What has to be sent to the receivers of a partition: the fold of the stream `matched`, and of the outcomes in the
 * partition's stream, in any order of the two. Pure: no clock.
 */
export class PartitionState {
  readonly receivers = new Map<string, ReceiverState>();
  /** Messages that are dead, by their ids, unless the domain log is known to have them. */
  readonly deadLetters = new Map<string, DeadLetter>();
  /** The revision of `matched` up to which it was taken in. */
  matchedUpTo = -1;
  private queued = 0;

  constructor(private readonly limits: QueueLimits = LIMITS) {}

  /** Messages in all queues. */
  get size(): number {
    return this.queued;
  }

  /**
   * Takes a message of a receiver of this partition. Messages are taken in order; one that was taken before is ignored.
   */
  due(receiver: string, revision: number): void {
    if (revision <= this.matchedUpTo) return;
    this.matchedUpTo = revision;
    const state = this.receiver(receiver);
    if (state.rest !== undefined) return;
    const isLong = state.queue.size >= this.limits.receiver && this.queued >= this.limits.partition;
    if (isLong) state.rest = revision;
    else this.counting(state, () => state.take(revision));
  }

  /** Takes a redelivery: `revision` is that of the message, `redelivery` that of the event. */
  redeliver(receiver: string, redelivery: number, revision: number): void {
    if (redelivery <= this.matchedUpTo) return;
    this.matchedUpTo = redelivery;
    this.receiver(receiver).takeRedelivery(redelivery, revision);
  }

  /** Takes a request not to make the redeliveries to a receiver that were taken before. */
  cancelRedeliveries(receiver: string, revision: number): void {
    if (revision <= this.matchedUpTo) return;
    this.matchedUpTo = revision;
    this.receiver(receiver).redeliveries.clear();
  }

  /** Takes a request for a probe, of a time (epoch ms): the receiver no longer rests. */
  probe(receiver: string, revision: number, at: number): void {
    if (revision <= this.matchedUpTo) return;
    this.matchedUpTo = revision;
    const state = this.receiver(receiver);
    state.health = afterProbeRequest(state.health, at);
  }

  /** `matched` has been read up to here. */
  reach(revision: number): void {
    this.matchedUpTo = Math.max(this.matchedUpTo, revision);
  }

  settle(outcome: Outcome, state = this.receiver(outcome.receiver)): void {
    this.counting(state, () => state.settle(outcome, this.matchedUpTo));
    const deadLetter = deadLetterOf(outcome);
    if (deadLetter !== undefined) this.deadLetters.set(deadLetter.id, deadLetter);
  }

  /** Receivers whose queue has become short, so that the rest of their messages is to be read: from which revision. */
  *short(): Generator<{ readonly receiver: string; readonly rest: number }> {
    for (const [receiver, { rest, queue }] of this.receivers)
      if (rest !== undefined && queue.size <= this.limits.receiver / 2) yield { receiver, rest };
  }

  /**
   * Takes the messages of a receiver from its `rest` on, as far as they were read; `rest` is where to continue, if
   * anywhere.
   */
  refill(receiver: string, revisions: readonly number[], rest: number | undefined): void {
    const state = this.receiver(receiver);
    this.counting(state, () => {
      for (const revision of revisions) state.take(revision);
    });
    state.rest = rest;
  }

  /** The message was deleted from the log: if it was still to be sent, it is a dead letter. */
  forget(receiver: string, revision: number, known: Pick<DeadLetter, 'at' | 'subscriptionId'>): void {
    const state = this.receivers.get(receiver);
    if (state === undefined) return;
    const deadLetter = deletedDeadLetter(receiver, revision, state, known);
    if (deadLetter !== undefined) this.deadLetters.set(deadLetter.id, deadLetter);
    this.counting(state, () => state.forget(revision));
  }

  /** Makes the receiver's state if there is none. */
  receiver(id: string): ReceiverState {
    let state = this.receivers.get(id);
    if (state === undefined) {
      state = new ReceiverState();
      this.receivers.set(id, state);
    }
    return state;
  }

  /** Puts back what was saved. */
  restore(receivers: Iterable<readonly [string, ReceiverState]>, matchedUpTo: number): void {
    this.matchedUpTo = matchedUpTo;
    for (const [id, state] of receivers) {
      this.receivers.set(id, state);
      this.queued += state.queue.size;
    }
  }

  private counting({ queue }: ReceiverState, change: () => void): void {
    const before = queue.size;
    change();
    this.queued += queue.size - before;
  }
}
