import { toDomainEvent } from '../../kernel/decider';
import { type RecordedEvent } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { FollowedLog } from '../../kernel/followed-log';
import { changesSubscription, SUBSCRIPTION_STREAMS, subscriptionOf } from '../matching/subscription-book';
import { receiversOf } from '../receiver-id';
import {
  type ActiveSubscription,
  subscriptionDecider,
  type SubscriptionContent,
  type SubscriptionEvent,
} from '../subscription';

/** What may be sent to a receiver, by its subscription: nothing if it is `gone`; if it is disabled, later. */
export type Standing = 'active' | 'disabled by its owner' | 'disabled by the system' | 'gone';

interface Known {
  /** Without its content: templates and filters may be megabytes, and sending needs none of them. */
  readonly state: ActiveSubscription;
  /** Whether its owner has disabled a receiver, by ids. */
  readonly receivers: ReadonlyMap<string, boolean>;
}

const NO_CONTENT: SubscriptionContent = { filter: { stateIds: [] }, receivers: [] };

/** What active subscriptions mean for sending, as of the events applied so far. */
export class Standings {
  private readonly all = new Map<string, Known>();
  /** Ids of all receivers, until a subscription changes. */
  private receivers: ReadonlySet<string> | undefined;

  /** Applies the next event of the log; ignores those of other streams. */
  apply(event: RecordedEvent): void {
    if (!changesSubscription(event)) return;
    this.receivers = undefined;
    const id = subscriptionOf(event);
    const before = this.all.get(id);
    const happened = toDomainEvent(event) as SubscriptionEvent;
    const state = subscriptionDecider.evolve(before?.state ?? subscriptionDecider.initial, happened);
    if (state.is !== 'active') this.all.delete(id);
    else if (before !== undefined && state.content === NO_CONTENT) this.all.set(id, { ...before, state });
    else this.all.set(id, known(id, state));
  }

  /** `receiver`: its id. */
  standingOf(subscriptionId: string, receiver: string): Standing {
    const subscription = this.all.get(subscriptionId);
    const isDisabled = subscription?.receivers.get(receiver);
    if (isDisabled === undefined || subscription === undefined) return 'gone';
    if (isDisabled) return 'disabled by its owner';
    return receiver in subscription.state.disabledReceivers ? 'disabled by the system' : 'active';
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
    const replaced = state.replacedSecrets.filter(({ until }) => Date.parse(until) > now);
    return [...replaced, state.secret].map(({ number }) => number).reverse();
  }
}

function known(id: string, state: ActiveSubscription): Known {
  const { content } = state;
  const receivers = [...receiversOf(id, content)].map(([receiver, { disabled }]) => {
    return [receiver, content.disabled === true || disabled === true] as const;
  });
  return { state: { ...state, content: NO_CONTENT }, receivers: new Map(receivers) };
}

/** Follows in the log what subscriptions mean for sending. */
export class FollowedSubscriptions extends FollowedLog {
  readonly book: Standings;

  constructor(log: EventLog, signal: AbortSignal) {
    const book = new Standings();
    const apply = book.apply.bind(book);
    super(log, { prefixes: [SUBSCRIPTION_STREAMS], apply, subject: 'the list of subscriptions' }, signal);
    this.book = book;
  }
}
