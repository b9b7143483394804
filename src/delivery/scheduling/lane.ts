import { type Message, type OutcomeKind } from '../../domain/deliveries/delivery-events';
import { type ReceiverState } from './receiver-state';

/** A message that can be sent now. */
export interface Sendable {
  readonly kind: 'first' | 'retry' | 'redelivery';
  readonly revision: number;
  readonly message: Message;
  /**
   * The revision of the `RedeliveryDue` that its attempt ends: of a retry too, if the message is asked for meanwhile.
   */
  readonly redelivery?: number | undefined;
}

/** What can be sent; or what has to be read before that is known; undefined: nothing. */
type Choice = Sendable | { readonly toLoad: number; readonly isRedelivery: boolean } | undefined;

/** First attempts for each other one, if both are due. */
const FIRST_ATTEMPTS = 3;

/**
 * Chooses the next message to a receiver (`docs/decisions.md#n6`): of those about one subject, each starts when the
 * first attempt of the one before has ended, in strict order when that is delivered or dead.
 */
export class Lane {
  /** Messages of the queue up to here are being sent, or in `ready` or `waiting`. */
  private cursor = -1;
  /** Messages that need not wait any more for the one before. */
  private readonly ready: number[] = [];
  /** Subjects with the message that others wait for, and those that wait. */
  private readonly busy = new Map<string, number>();
  private readonly waiting = new Map<string, Fifo<number>>();
  private readonly retries = new Fifo<number>();
  /** Those in `retries`, and those that are being sent. */
  private readonly dueRetries = new Set<number>();
  /** Messages that await a rate, by `SchedulerParts.ratesFor` when they were found to. */
  private readonly withoutRate = new Map<string, number[]>();
  private readonly redeliveries = new Fifo<number>();
  /** Those by message: a retry of one that is due takes the first of them along. */
  private readonly asked = new Map<number, number[]>();
  /** Redeliveries that retries which are being sent have taken along, and whether they have left the queue. */
  private readonly taken = new Map<number, boolean>();
  /** Messages whose redeliveries are being sent, and whether their retries wait for the end of that. */
  private readonly sentAgain = new Map<number, boolean>();
  /** Tests, which are sent before anything else. */
  private readonly tests = new Fifo<number>();
  /** Those of them that have been started. */
  private readonly startedTests = new Set<number>();
  /** First attempts in a row. */
  private turns = 0;
  /** What is sent next is a redelivery, if there is one. */
  private isRedeliveryNext = false;

  /** `peek` returns a message if it is in memory as it is to be sent. */
  constructor(
    private readonly state: ReceiverState,
    private readonly peek: (revision: number, isRedelivery: boolean) => Message | undefined,
  ) {
    for (const redelivery of state.redeliveries.keys()) this.redeliver(redelivery);
    for (const [revision, { subject, attempt }] of state.retries) {
      if (subject !== undefined) this.busy.set(subject, revision);
      if (attempt === 0) this.awaitRate(revision, '');
    }
  }

  /** A retry is due. It may be known already: to a probe, which is before its time. */
  retry(revision: number): void {
    if (this.dueRetries.has(revision)) return;
    this.dueRetries.add(revision);
    this.retries.add(revision);
  }

  /** Whether messages await a rate. */
  get awaitsRates(): boolean {
    return this.withoutRate.size > 0;
  }

  /** Retries what awaits a rate, unless it was found to with these rates. */
  retryWithoutRate(ratesFor: string): void {
    for (const [key, revisions] of this.withoutRate) {
      if (key === ratesFor) continue;
      this.withoutRate.delete(key);
      for (const revision of revisions) this.retry(revision);
    }
  }

  redeliver(redelivery: number): void {
    this.redeliveries.add(redelivery);
    const revision = this.state.redeliveries.get(redelivery);
    if (revision === undefined) return;
    this.asked.set(revision, [...(this.asked.get(revision) ?? []), redelivery]);
  }

  /** The first redelivery of a message that is to be made; undefined if there is none. */
  askedFor(revision: number): number | undefined {
    const left = this.asked.get(revision)?.find((redelivery) => this.state.redeliveries.has(redelivery));
    if (left === undefined) this.asked.delete(revision);
    return left;
  }

  /** A message of the queue is a test. */
  test(revision: number): void {
    this.tests.add(revision);
  }

  /** If the receiver tries one message only, it is one that somebody has asked for. */
  preferRedelivery(): void {
    this.isRedeliveryNext = true;
  }

  /** What to send next; the same until `start` is called, or something ends or is added. */
  choose(): Choice {
    return this.nextTest() ?? (this.isRedeliveryNext ? this.nextRedelivery() : undefined) ?? this.nextOther();
  }

  private nextOther(): Choice {
    const isRepeatedNext = this.turns >= FIRST_ATTEMPTS;
    const choice = isRepeatedNext ? this.nextRepeated() : this.nextFirst();
    if (choice !== undefined && 'message' in choice) return choice;
    const other = isRepeatedNext ? this.nextFirst() : this.nextRepeated();
    return other !== undefined && 'message' in other ? other : (choice ?? other);
  }

  /** What `choose` has returned is being sent. */
  start({ kind, revision, message, redelivery }: Sendable): void {
    this.isRedeliveryNext = false;
    if (kind === 'first') {
      this.turns += 1;
      if (this.tests.first === revision) {
        this.tests.take();
        this.startedTests.add(revision);
      } else if (this.ready[0] === revision) this.ready.shift();
      else this.cursor = revision;
      this.busy.set(message.subject, revision);
      return;
    }
    this.turns = 0;
    if (kind === 'redelivery') this.sentAgain.set(revision, this.sentAgain.get(revision) ?? false);
    else if (redelivery !== undefined) this.taken.set(redelivery, false);
    (kind === 'retry' ? this.retries : this.redeliveries).take();
  }

  /**
   * An attempt has ended. Without an outcome it was none, and the message is due again. `ratesFor` is
   * `SchedulerParts.ratesFor` when it began, if the message awaits a rate.
   */
  end(
    { kind, revision, message, redelivery }: Sendable,
    outcome: OutcomeKind | undefined,
    ratesFor?: string,
  ): void {
    if (kind === 'redelivery') {
      if (this.sentAgain.get(revision) === true) this.retries.add(revision);
      this.sentAgain.delete(revision);
    } else if (redelivery !== undefined) {
      if (this.taken.get(redelivery) === true) this.redeliveries.add(redelivery);
      this.taken.delete(redelivery);
    }
    if (outcome === undefined) {
      if (kind === 'first') this.makeReady(revision);
      else if (kind === 'retry') this.retries.add(revision);
      else if (redelivery !== undefined) this.redeliveries.add(redelivery);
      return;
    }
    this.startedTests.delete(revision);
    if (kind === 'retry') this.dueRetries.delete(revision);
    if (ratesFor !== undefined && kind !== 'redelivery' && outcome === 'failed')
      this.awaitRate(revision, ratesFor);
    const isAwaited = this.busy.get(message.subject) === revision;
    const isEnd = outcome !== 'failed' || (kind === 'first' && message.strictOrder !== true);
    if (isAwaited && isEnd) this.release(message.subject);
  }

  private nextTest(): Choice {
    for (let revision = this.tests.first; revision !== undefined; revision = this.tests.first) {
      if (this.state.queue.has(revision)) return this.loaded(revision, 'first');
      this.tests.take();
    }
    return undefined;
  }

  private nextFirst(): Choice {
    for (;;) {
      const [ready] = this.ready;
      if (ready !== undefined && !this.state.queue.has(ready)) {
        this.skip(ready);
        continue;
      }
      const revision = ready ?? this.state.queue.after(this.cursor);
      if (revision === undefined) return undefined;
      if (ready === undefined && this.startedTests.has(revision)) {
        this.cursor = revision;
        continue;
      }
      const message = this.peek(revision, false);
      if (message === undefined) return { toLoad: revision, isRedelivery: false };
      if (ready !== undefined || !this.busy.has(message.subject)) return { kind: 'first', revision, message };
      this.cursor = revision;
      this.waitFor(message.subject, revision);
    }
  }

  /** A message will not be attempted any more. */
  settled(revision: number): void {
    for (const [subject, awaited] of this.busy) if (awaited === revision) this.release(subject);
  }

  /** A message has been delivered otherwise, since somebody has asked for it, or has expired. */
  private skip(revision: number): void {
    this.ready.shift();
    this.settled(revision);
  }

  private nextRepeated(): Choice {
    return this.nextRetry() ?? this.nextRedelivery();
  }

  private nextRetry(): Choice {
    for (let revision = this.retries.first; revision !== undefined; revision = this.retries.first) {
      const isSentAgain = this.sentAgain.has(revision);
      if (this.state.retries.has(revision) && !isSentAgain)
        return this.loaded(revision, 'retry', this.askedFor(revision));
      this.retries.take();
      if (isSentAgain) this.sentAgain.set(revision, true);
      else this.dueRetries.delete(revision);
    }
    return undefined;
  }

  /** Those that have ended otherwise are skipped: nothing would wake the receiver for the ones behind them. */
  private nextRedelivery(): Choice {
    const { redeliveries } = this;
    for (let redelivery = redeliveries.first; redelivery !== undefined; redelivery = redeliveries.first) {
      const revision = this.state.redeliveries.get(redelivery);
      const isTaken = this.taken.has(redelivery);
      if (revision !== undefined && !isTaken) return this.loaded(revision, 'redelivery', redelivery);
      redeliveries.take();
      if (isTaken) this.taken.set(redelivery, true);
    }
    if (this.taken.size === 0) this.asked.clear();
    return undefined;
  }

  private loaded(revision: number, kind: Sendable['kind'], redelivery?: number): Choice {
    const isRedelivery = kind === 'redelivery';
    const message = this.peek(revision, isRedelivery);
    if (message === undefined) return { toLoad: revision, isRedelivery };
    // A retry that cannot be sent, such as for lack of a rate, leaves what was asked for.
    const isSent = isRedelivery || message.request !== undefined;
    return { kind, revision, message, redelivery: isSent ? redelivery : undefined };
  }

  private awaitRate(revision: number, ratesFor: string): void {
    const others = this.withoutRate.get(ratesFor) ?? [];
    others.push(revision);
    this.withoutRate.set(ratesFor, others);
  }

  private waitFor(subject: string, revision: number): void {
    const waiting = this.waiting.get(subject) ?? new Fifo<number>();
    waiting.add(revision);
    this.waiting.set(subject, waiting);
  }

  /** Nothing waits for the message about a subject any more: the next one is ready. */
  private release(subject: string): void {
    const waiting = this.waiting.get(subject);
    const next = waiting?.take();
    if (waiting?.size === 0) this.waiting.delete(subject);
    if (next === undefined) {
      this.busy.delete(subject);
      return;
    }
    this.busy.set(subject, next);
    this.makeReady(next);
  }

  private makeReady(revision: number): void {
    const at = this.ready.findIndex((other) => other > revision);
    this.ready.splice(at === -1 ? this.ready.length : at, 0, revision);
  }
}

/** A queue: adding at its end and taking from its front take constant time. */
export class Fifo<Item> {
  private items: Item[] = [];
  private start = 0;

  get size(): number {
    return this.items.length - this.start;
  }

  get first(): Item | undefined {
    return this.items[this.start];
  }

  add(item: Item): void {
    this.items.push(item);
  }

  take(): Item | undefined {
    const item = this.items[this.start];
    if (this.start < this.items.length) this.start += 1;
    if (this.start > 32 && this.start * 2 > this.items.length) {
      this.items = this.items.slice(this.start);
      this.start = 0;
    }
    return item;
  }
}
