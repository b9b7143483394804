import { type Outcome } from '../../domain/deliveries/delivery-events';
import { afterOutcome, type Health, HEALTHY } from '../../domain/deliveries/health';

/** A message that has failed. */
export interface Retry {
  /** The number of its last attempt. */
  readonly attempt: number;
  /** When the next one is due (epoch ms). */
  readonly next: number;
  /** Messages about this subject wait for it (strict order). */
  readonly subject?: string;
}

/** What has to be sent to a receiver. Messages are named by the revision of their `MessageDue`. */
export class ReceiverState {
  /** Messages that have not been attempted. */
  readonly queue = new Pointers();
  readonly retries = new Map<number, Retry>();
  /** Messages to send once more, by the revision of `RedeliveryDue`. */
  readonly redeliveries = new Map<number, number>();
  /**
   * Messages from this revision on are not in the queue, since it is long: they are found by reading `matched` again.
   */
  unreadFrom: number | undefined;
  /** Revisions that have an outcome, but have not been read yet in `matched`. */
  readonly settled = new Set<number>();
  health: Health = HEALTHY;

  /** It has nothing left to send. */
  get isDone(): boolean {
    const { queue, retries, redeliveries, unreadFrom, settled } = this;
    return queue.size + retries.size + redeliveries.size + settled.size === 0 && unreadFrom === undefined;
  }

  /** It is as if it had never been used. */
  get isBlank(): boolean {
    return this.isDone && this.health === HEALTHY;
  }

  /** `matchedUpTo`: up to where `matched` has been taken in. */
  settle(outcome: Outcome, matchedUpTo: number): void {
    const { revision, redelivery, isManual } = outcome;
    this.health = afterOutcome(this.health, outcome);
    if (redelivery !== undefined) this.settleRedelivery(redelivery, matchedUpTo);
    if (isManual === true && outcome.outcome === 'failed') return;
    const isQueued = this.queue.delete(revision);
    const isRetried = this.retries.delete(revision);
    const isUnread = !isQueued && !isRetried && this.isUnread(revision, matchedUpTo);
    // It was delivered meanwhile, since somebody had asked for it: an attempt that has failed afterwards changes
    // nothing.
    if (!isQueued && !isRetried && (!isUnread || this.settled.has(revision))) return;
    if (isUnread) this.settled.add(revision);
    if (outcome.outcome === 'failed') this.retries.set(revision, retryOf(outcome));
  }

  /** Whether a message of the schedule is still to be sent, as far as is known. */
  isOpen(revision: number, matchedUpTo: number): boolean {
    if (this.queue.has(revision) || this.retries.has(revision)) return true;
    return this.isUnread(revision, matchedUpTo) && !this.settled.has(revision);
  }

  /** Takes a message that has been read in `matched`, unless it was settled before. */
  take(revision: number): void {
    if (!this.settled.delete(revision)) this.queue.add(revision);
  }

  /** Takes a redelivery that has been read in `matched`. */
  takeRedelivery(redelivery: number, revision: number): void {
    if (!this.settled.delete(redelivery)) this.redeliveries.set(redelivery, revision);
  }

  forget(revision: number): void {
    this.queue.delete(revision);
    this.retries.delete(revision);
    for (const [redelivery, message] of this.redeliveries)
      if (message === revision) this.redeliveries.delete(redelivery);
  }

  private settleRedelivery(redelivery: number, matchedUpTo: number): void {
    if (!this.redeliveries.delete(redelivery) && redelivery > matchedUpTo) this.settled.add(redelivery);
  }

  private isUnread(revision: number, matchedUpTo: number): boolean {
    return revision > matchedUpTo || (this.unreadFrom !== undefined && revision >= this.unreadFrom);
  }
}

function retryOf({ attempt = 0, at, next = at, subject }: Outcome): Retry {
  return { attempt, next: Date.parse(next), ...(subject === undefined ? {} : { subject }) };
}

/**
 * Revisions in ascending order. Adding at the end takes constant time, finding and removing any logarithmic time, on
 * average.
 */
export class Pointers implements Iterable<number> {
  /** Removed ones are negative, until they are cleared away. */
  private items: number[] = [];
  private start = 0;
  private removed = 0;

  get size(): number {
    return this.items.length - this.start - this.removed;
  }

  /** Adds one at the end; does nothing unless it is greater than all. */
  add(revision: number): void {
    const last = this.items.at(-1);
    if (last === undefined || revision > revisionOf(last)) this.items.push(revision);
  }

  has(revision: number): boolean {
    return this.items[this.indexOf(revision)] === revision;
  }

  /** False if it was not there. */
  delete(revision: number): boolean {
    const at = this.indexOf(revision);
    if (this.items[at] !== revision) return false;
    this.items[at] = -1 - revision;
    this.removed += 1;
    this.clear();
    return true;
  }

  /** The first one after a revision. */
  after(revision: number): number | undefined {
    for (let at = this.indexOf(revision + 1); at < this.items.length; at += 1) {
      const item = this.items[at];
      if (item !== undefined && item >= 0) return item;
    }
    return undefined;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let at = this.start; at < this.items.length; at += 1) {
      const item = this.items[at];
      if (item !== undefined && item >= 0) yield item;
    }
  }

  /** The index of the first one, removed or not, that is not below a revision. */
  private indexOf(revision: number): number {
    let low = this.start;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (revisionOf(this.items[middle] ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private clear(): void {
    while (this.start < this.items.length && (this.items[this.start] ?? 0) < 0) {
      this.start += 1;
      this.removed -= 1;
    }
    if (this.start + this.removed <= 32 + this.size) return;
    this.items = [...this];
    this.start = 0;
    this.removed = 0;
  }
}

function revisionOf(item: number): number {
  return item < 0 ? -1 - item : item;
}
