import { type Position, START } from '../../kernel/event';
import { type Message } from '../../domain/deliveries/delivery-events';
import { type Secrets } from '../../domain/subscriptions/secrets';
import { type FollowedSubscriptions, type Standings } from './followed-subscriptions';
import { type Permission } from './scheduler';

/** The current state of all subscriptions. */
export type KnownSubscriptions = Pick<FollowedSubscriptions, 'position' | 'ready'> & {
  readonly book: Pick<
    Standings,
    | 'allReceivers'
    | 'hasReceiver'
    | 'isCancelled'
    | 'ratesPublished'
    | 'renderedSince'
    | 'secretsOf'
    | 'standingOf'
  >;
};

/** Derived secrets that are kept. */
const KEPT = 10_000;

/** What subscriptions mean for sending (`docs/decisions.md#n8`). */
export class Recipients {
  private isReady = false;
  private readonly derived = new Map<string, Uint8Array>();

  constructor(
    private readonly subscriptions: KnownSubscriptions,
    private readonly secrets: Secrets,
  ) {
    subscriptions.ready.then(
      () => (this.isReady = true),
      () => undefined,
    );
  }

  /** Resolves once all subscriptions are known as they were at the start. */
  get ready(): Promise<void> {
    return this.subscriptions.ready;
  }

  /**
   * A receiver may look gone while its subscription has not been read as far as the event that caused the message. That
   * its backfill was cancelled is no reason not to send a message again: `redelivery` is that of its `RedeliveryDue`.
   */
  permission(
    subscriptionId: string,
    receiver: string,
    about?: Pick<Message, 'cause' | 'rendered' | 'made'>,
    redelivery?: number,
  ): Permission {
    const { book, position } = this.subscriptions;
    const standing = book.standingOf(subscriptionId, receiver);
    if (standing === 'gone') return about !== undefined && position < readFor(about) ? 'hold' : 'cancel';
    const isFirstOfBackfill = about?.made !== undefined && redelivery === undefined;
    if (isFirstOfBackfill && book.isCancelled(subscriptionId, about.cause)) return 'withdraw';
    return standing === 'active' ? 'send' : 'hold';
  }

  /**
   * The position since which the subscription of a message has to be read to render it, if it was rendered by an older
   * version of its receiver or not at all, or awaits a rate and others were published; undefined: it is sent as it is.
   * One that was not rendered since it exceeds the budget, or because of an error, is only rendered for a redelivery.
   */
  outdatedBy(
    { subscriptionId, receiver, cause, rendered = cause, awaitsRate, renderable }: Message,
    isRedelivery = false,
  ): Position | undefined {
    const { book } = this.subscriptions;
    const since = book.renderedSince(subscriptionId, receiver);
    const hasNewRates = awaitsRate !== undefined && awaitsRate.upTo < book.ratesPublished;
    const isOutdated = renderable === true ? isRedelivery : rendered < (since ?? START) || hasNewRates;
    return isOutdated ? since : undefined;
  }

  ratesFor(subscriptionId: string | undefined, receiver: string): string {
    const { book } = this.subscriptions;
    const since = subscriptionId === undefined ? undefined : book.renderedSince(subscriptionId, receiver);
    return `${book.ratesPublished} ${since ?? ''}`;
  }

  /** The receivers of all subscriptions. */
  all(): Iterable<{ readonly id: string; readonly isDisabled: boolean }> {
    return this.subscriptions.book.allReceivers();
  }

  /** False if no subscription has the receiver. */
  mayHave(receiver: string): boolean {
    return !this.isReady || this.subscriptions.book.hasReceiver(receiver);
  }

  /** The secrets to sign with, the current one first (`docs/decisions.md#n5`). `now`: epoch ms. */
  secretsOf(subscriptionId: string, now: number): readonly Uint8Array[] {
    const numbers = this.subscriptions.book.secretsOf(subscriptionId, now);
    return numbers.map((number) => this.secret(subscriptionId, number));
  }

  private secret(subscriptionId: string, number: number): Uint8Array {
    const key = `${subscriptionId} ${number}`;
    const known = this.derived.get(key);
    if (known !== undefined) return known;
    const derived = this.secrets.bytes(subscriptionId, number);
    if (this.derived.size >= KEPT) this.derived.clear();
    this.derived.set(key, derived);
    return derived;
  }
}

/** Up to where its subscription was read for a message. */
function readFor({ cause, rendered = cause }: Pick<Message, 'cause' | 'rendered'>): Position {
  return rendered > cause ? rendered : cause;
}
