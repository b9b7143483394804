import { createHash } from 'node:crypto';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { type Message } from '../../domain/deliveries/delivery-events';
import { type Permission } from './scheduler';
import { toDomainEvent } from '../../kernel/decider';
import { type EventLog } from '../../kernel/event-log';
import { type Clock } from '../../runtime/clock';
import { FollowedLog } from '../../runtime/followed-log';
import { changesSubscription, SUBSCRIPTION_STREAMS, subscriptionOf } from '../matching/subscription-book';
import { hasRates, RATES_STREAM } from '../matching/rates';
import { sharedRenderingOf } from '../matching/rerender';
import { contentIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  type ActiveSubscription,
  type Secrets,
  type SubscriptionContent,
  subscriptionDecider,
  type SubscriptionEvent,
} from '../../domain/subscriptions/subscription';

/** What may be sent to a receiver, by its subscription: nothing if it is `gone`; if it is disabled, later. */
type RecipientState = 'active' | 'disabled by its owner' | 'disabled by the system' | 'gone';

interface FollowedSubscription {
  /** Without its content: templates and filters may be megabytes, and sending needs none of them. */
  readonly state: ActiveSubscription;
  /** By ids. */
  readonly receivers: ReadonlyMap<string, KnownReceiver>;
  /** Messages of backfills that were requested before are cancelled. */
  readonly backfillsCancelled?: Position | undefined;
}

interface KnownReceiver {
  /** By its owner. */
  readonly isDisabled: boolean;
  /** What its messages are rendered by, as a hash, and the position since which it is. */
  readonly rendering: string;
  readonly since: Position;
}

const NO_CONTENT: SubscriptionContent = { filter: { stateIds: [] }, receivers: [] };

/** What active subscriptions mean for sending, as of the events applied so far. */
export class RecipientBook {
  private readonly all = new Map<string, FollowedSubscription>();
  /** Ids of all receivers, until a subscription changes. */
  private receivers: ReadonlySet<string> | undefined;
  private newestRates = START;

  /** The position of the exchange rates published last. */
  get ratesPublished(): Position {
    return this.newestRates;
  }

  /** Applies the next event of the log; ignores those of other streams. */
  apply(event: RecordedEvent): void {
    if (event.stream === RATES_STREAM && hasRates(toDomainEvent(event))) this.newestRates = event.position;
    if (!changesSubscription(event)) return;
    this.receivers = undefined;
    const id = subscriptionOf(event);
    const before = this.all.get(id);
    const happened = toDomainEvent(event) as SubscriptionEvent;
    const state = subscriptionDecider.evolve(before?.state ?? subscriptionDecider.initial, happened);
    if (state.is !== 'active') this.all.delete(id);
    else if (before !== undefined && happened.type === 'BackfillsCancelled')
      this.all.set(id, { ...before, backfillsCancelled: event.position });
    else if (before !== undefined && state.content === NO_CONTENT) this.all.set(id, { ...before, state });
    else this.all.set(id, followed(id, state, event.position, before));
  }

  /** `receiver`: its id. */
  stateOf(subscriptionId: string, receiver: string): RecipientState {
    const subscription = this.all.get(subscriptionId);
    const known = subscription?.receivers.get(receiver);
    if (known === undefined || subscription === undefined) return 'gone';
    if (known.isDisabled) return 'disabled by its owner';
    return receiver in subscription.state.disabledReceivers ? 'disabled by the system' : 'active';
  }

  /**
   * The position since which messages to a receiver are rendered as they are now: those that were rendered before it
   * are to be rendered again. Undefined: there is no such receiver.
   */
  renderedSince(subscriptionId: string, receiver: string): Position | undefined {
    return this.all.get(subscriptionId)?.receivers.get(receiver)?.since;
  }

  /** Whether a message of a backfill, which was requested at a position, is cancelled. */
  isCancelled(subscriptionId: string, requested: Position): boolean {
    const cancelled = this.all.get(subscriptionId)?.backfillsCancelled;
    return cancelled !== undefined && requested < cancelled;
  }

  *allReceivers(): Generator<{ readonly id: string; readonly isDisabled: boolean }> {
    for (const { state, receivers } of this.all.values())
      for (const [id, { isDisabled }] of receivers)
        yield { id, isDisabled: isDisabled || id in state.disabledReceivers };
  }

  /** Whether any subscription has a receiver of this id. */
  hasReceiver(id: string): boolean {
    this.receivers ??= new Set(
      Array.from(this.all.values(), ({ receivers }) => [...receivers.keys()]).flat(),
    );
    return this.receivers.has(id);
  }

  /** Numbers of the secrets to sign with, the current one first (`docs/decisions.md#n5`). `now`: epoch ms. */
  secretsOf(subscriptionId: string, now: number): readonly number[] {
    const state = this.all.get(subscriptionId)?.state;
    if (state === undefined) return [];
    if (state.replacedSecrets.length === 0) return [state.secret.number];
    const replaced = state.replacedSecrets.filter(({ until }) => Date.parse(until) > now);
    return [...replaced, state.secret].map(({ number }) => number).reverse();
  }
}

function followed(
  id: string,
  state: ActiveSubscription,
  position: Position,
  before: FollowedSubscription | undefined,
): FollowedSubscription {
  const { content } = state;
  const shared = sharedRenderingOf(content);
  const receivers = [...receiversOf(id, content)].map(([receiver, one]) => {
    const rendering = hashOf(`${contentIdOf(id, one)} ${shared}`);
    const known = before?.receivers.get(receiver);
    const since = known?.rendering === rendering ? known.since : position;
    const isDisabled = content.disabled === true || one.disabled === true;
    return [receiver, { isDisabled, rendering, since }] as const;
  });
  const backfillsCancelled = before?.backfillsCancelled;
  return { state: { ...state, content: NO_CONTENT }, receivers: new Map(receivers), backfillsCancelled };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64').slice(0, 16);
}

/** Follows in the log what subscriptions mean for sending. */
export class FollowedSubscriptions extends FollowedLog {
  readonly book: RecipientBook;

  constructor(
    clock: Clock,
    log: EventLog,
    signal: AbortSignal,
    report: (failure: unknown) => void = () => undefined,
  ) {
    const book = new RecipientBook();
    const apply = book.apply.bind(book);
    const prefixes = [SUBSCRIPTION_STREAMS, RATES_STREAM];
    super(clock, log, { prefixes, apply, subject: 'the list of subscriptions', report }, signal);
    this.book = book;
  }
}

/** The current state of all subscriptions. */
type KnownSubscriptions = Pick<FollowedSubscriptions, 'position' | 'ready'> & {
  readonly book: Pick<
    RecipientBook,
    | 'allReceivers'
    | 'hasReceiver'
    | 'isCancelled'
    | 'ratesPublished'
    | 'renderedSince'
    | 'secretsOf'
    | 'stateOf'
  >;
};

/** Derived secrets that are kept. */
const KEPT = 10_000;

/** Which receivers may be sent to, by their subscriptions (`docs/decisions.md#n8`). */
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
    const state = book.stateOf(subscriptionId, receiver);
    if (state === 'gone') return about !== undefined && position < readFor(about) ? 'hold' : 'cancel';
    const isFirstOfBackfill = about?.made !== undefined && redelivery === undefined;
    if (isFirstOfBackfill && book.isCancelled(subscriptionId, about.cause)) return 'withdraw';
    return state === 'active' ? 'send' : 'hold';
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
