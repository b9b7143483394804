import { isDeepStrictEqual } from 'node:util';
import { createHash, createHmac } from 'node:crypto';
import { type CommandOf, type Decider, type EventOf } from '../../kernel/decider';
import { type DeliveryRequest, isUsable } from './delivery-requests';
import { changedReceivers, continuedReceivers, type Receiver, receiversOf } from './receiver-id';

/**
 * A subscription, in the stream `subscription-<id>` (Document 2, Subscription).
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */

export type { Receiver, ReceiverFormat } from './receiver-id';

/** What subscriptions may be about: each is a `Topic`. */
export const TOPIC_NAMES = ['transactions', 'claims', 'vouchers', 'products'] as const;
export type TopicName = (typeof TOPIC_NAMES)[number];

/** Each list has at least one value; an absent one selects all. */
export interface SubscriptionFilter {
  readonly programIds?: readonly number[];
  readonly siteIds?: readonly number[];
  readonly eventIds?: readonly number[];
  readonly eventTypeIds?: readonly number[];
  readonly voucherTypeIds?: readonly number[];
  /** ISO 639-1, in whatever case. */
  readonly languageIds?: readonly string[];
  /** Alternatives (`docs/decisions.md#p4`). */
  readonly keywords?: readonly string[];
  readonly feedIds?: readonly number[];
  /** With all categories below them. */
  readonly tdCategoryIds?: readonly number[];
  /** In per cent: prices that fell by less are not selected. */
  readonly minFallPercent?: number;
  /**
   * The states to be notified of: message types of transactions, statuses of claims, changes of vouchers and products.
   */
  readonly stateIds: readonly number[];
}

/** What a PUT replaces. */
export interface SubscriptionContent {
  readonly subscriptionName?: string;
  /** Messages are about this site only: the token was for one site. */
  readonly siteId?: number;
  readonly filter: SubscriptionFilter;
  readonly receivers: readonly Receiver[];
  readonly currencyConversion?: { readonly to: string };
  readonly customAttribute?: {
    readonly tdAttributes: readonly string[];
    readonly userAttribute: string;
    readonly rules: readonly { readonly inputs: readonly string[]; readonly output: string }[];
  };
  readonly disabled?: true;
  /** `docs/decisions.md#n6`. */
  readonly strictOrder?: true;
}

/** Why the system has disabled a receiver (`docs/decisions.md#n8`). */
export type DisabledReason = 'gone' | 'failing';

/** The state beside its content, but for what the first event has: so a PUT supersedes all events before it. */
type KeptByPut = Pick<ActiveSubscription, 'secret' | 'replacedSecrets' | 'redeliveriesCancelled'>;

/** What a subscription begins with. */
interface NewSubscription {
  readonly topic: TopicName;
  readonly organisationId: number;
  readonly subscription: SubscriptionContent;
}

/** `receiver`: its id (`receiver-id.ts`). */
export type SubscriptionEvent =
  | EventOf<'SubscriptionCreated', NewSubscription>
  /** `kept`: what a PUT does not replace. Absent in older events: what is there before it. */
  | EventOf<'SubscriptionReplaced', { subscription: SubscriptionContent; kept?: KeptByPut }>
  | EventOf<'SubscriptionDeleted'>
  | EventOf<'ReceiverDisabled', { receiver: string; reason: DisabledReason }>
  | EventOf<'ReceiverEnabled', { receiver: string }>
  /** From now on messages are signed with the secret of this number, for a day with the one before it too. */
  | EventOf<'SecretRotated', { secret: number }>
  /** Messages that were requested before are not sent, unless they were delivered. */
  | EventOf<'BackfillsCancelled'>
  /** Redeliveries that were asked for before are not made, unless they were attempted. */
  | EventOf<'RedeliveriesCancelled'>
  /** The probes that are due because of a PUT; in old logs all requests. */
  | DeliveryRequest;

export interface ActiveSubscription {
  readonly is: 'active';
  readonly topic: TopicName;
  readonly organisationId: number;
  readonly createdAt: string;
  readonly content: SubscriptionContent;
  readonly disabledReceivers: Readonly<
    Record<string, { readonly at: string; readonly reason: DisabledReason }>
  >;
  /** The number of the secret, from 1, and when it replaced the one before. */
  readonly secret: { readonly number: number; readonly since: string };
  /** Secrets before it, oldest first: until when messages are signed with them too. */
  readonly replacedSecrets: readonly { readonly number: number; readonly until: string }[];
  /** When redeliveries were last cancelled (an ISO 8601 instant): use `lastCancelled`. */
  readonly redeliveriesCancelled?: string;
}

export type SubscriptionState =
  | { readonly is: 'unknown' }
  | { readonly is: 'deleted'; readonly organisationId: number }
  | ActiveSubscription;

/** All but `create` need an active subscription; of any other they do nothing. */
export type SubscriptionCommand =
  | CommandOf<'create', NewSubscription>
  /** The ids of its receivers are those that the PUT names. */
  | CommandOf<'replace', { subscriptionId: string; subscription: SubscriptionContent }>
  | CommandOf<'delete' | 'cancelBackfills' | 'cancelRedeliveries' | 'rotateSecret'>
  /** Does nothing if the subscription with this id, where one is given, no longer has the receiver. */
  | CommandOf<'disableReceiver', { subscriptionId?: string; receiver: string; reason: DisabledReason }>
  | CommandOf<'enableReceiver', { receiver: string }>
  /** Repeats the state in events that supersede all before them. */
  | CommandOf<'restate'>;

/** How long messages are signed with a secret after it was replaced (ms). */
const REPLACED_SECRET_MS = 24 * 60 * 60 * 1000;

/** Rotations within that time: each adds a signature to every message (`docs/decisions.md#n5`). */
export const MOST_ROTATIONS = 5;

/** The category of a subscription's stream. */
export const SUBSCRIPTION = 'subscription';

export const subscriptionDecider: Decider<SubscriptionCommand, SubscriptionState, SubscriptionEvent> = {
  category: SUBSCRIPTION,
  initial: { is: 'unknown' },
  supersedes: (event) =>
    event.type === 'SubscriptionReplaced' && event.data.kept !== undefined && isUsable(event),
  decide(command, state) {
    if (command.do === 'create') {
      const { at, topic, organisationId, subscription } = command;
      if (state.is !== 'unknown') return [];
      return [{ type: 'SubscriptionCreated', data: { at, topic, organisationId, subscription } }];
    }
    return state.is === 'active' ? change(command, state) : [];
  },
  evolve(state, event) {
    if (!isUsable(event)) return state;
    if (event.type === 'SubscriptionCreated') {
      const { at, topic, organisationId, subscription } = event.data;
      const secret = { number: 1, since: at };
      const origin = { topic, organisationId, createdAt: at };
      return {
        is: 'active',
        ...origin,
        content: subscription,
        disabledReceivers: {},
        secret,
        replacedSecrets: [],
      };
    }
    return state.is === 'active' ? changed(state, event) : state;
  },
};

function change(
  command: Exclude<SubscriptionCommand, { readonly do: 'create' }>,
  state: ActiveSubscription,
): readonly SubscriptionEvent[] {
  const { at } = command;
  const { content, disabledReceivers, secret } = state;
  switch (command.do) {
    case 'replace': {
      const receivers = continuedReceivers(
        command.subscriptionId,
        content.receivers,
        command.subscription.receivers,
      );
      const subscription = { ...command.subscription, receivers };
      // A PUT enables what the system has disabled, so one without changes may do something.
      if (isDeepStrictEqual(subscription, content) && Object.keys(disabledReceivers).length === 0) return [];
      const probes = changedReceivers(command.subscriptionId, content.receivers, receivers);
      return [
        { type: 'SubscriptionReplaced', data: { at, subscription, kept: keptOf(state) } },
        ...probes.map((receiver) => ({ type: 'ProbeRequested' as const, data: { at, receiver } })),
      ];
    }
    case 'cancelBackfills':
      return [{ type: 'BackfillsCancelled', data: { at } }];
    case 'cancelRedeliveries':
      return [{ type: 'RedeliveriesCancelled', data: { at: laterThan(lastCancelled(state), at) } }];
    case 'delete':
      return [{ type: 'SubscriptionDeleted', data: { at } }];
    case 'disableReceiver': {
      const { subscriptionId, receiver, reason } = command;
      if (receiver in disabledReceivers) return [];
      // It was removed, or changed, while its last attempt was in flight: nobody could enable it again.
      if (subscriptionId !== undefined && !receiversOf(subscriptionId, content).has(receiver)) return [];
      return [{ type: 'ReceiverDisabled', data: { at, receiver, reason } }];
    }
    case 'enableReceiver': {
      const { receiver } = command;
      return receiver in disabledReceivers ? [{ type: 'ReceiverEnabled', data: { at, receiver } }] : [];
    }
    case 'rotateSecret':
      if (nextRotation(state, at) !== undefined) return [];
      return [{ type: 'SecretRotated', data: { at, secret: secret.number + 1 } }];
    case 'restate':
      return [
        { type: 'SubscriptionReplaced', data: { at, subscription: content, kept: keptOf(state) } },
        ...Object.entries(disabledReceivers).map(([receiver, disabled]) => ({
          type: 'ReceiverDisabled' as const,
          data: { receiver, ...disabled },
        })),
      ];
  }
}

/** What is known of cancelled redeliveries. */
export interface Cancellations {
  readonly redeliveriesCancelled?: string | undefined;
  readonly createdAt: string;
}

/**
 * When redeliveries were last cancelled, or the subscription was created. Each cancellation is later than that,
 * whatever clocks show, so these times are in the order of the log.
 */
export function lastCancelled({ redeliveriesCancelled, createdAt }: Cancellations): string {
  return redeliveriesCancelled ?? createdAt;
}

/** The present, but later than an earlier instant, whatever the clock shows. */
export function laterThan(before: string, now: string): string {
  return new Date(Math.max(Date.parse(before) + 1, Date.parse(now))).toISOString();
}

function keptOf({ secret, replacedSecrets, redeliveriesCancelled }: ActiveSubscription): KeptByPut {
  return {
    secret,
    replacedSecrets,
    ...(redeliveriesCancelled === undefined ? {} : { redeliveriesCancelled }),
  };
}

function changed(
  state: ActiveSubscription,
  event: Exclude<SubscriptionEvent, { readonly type: 'SubscriptionCreated' }>,
): SubscriptionState {
  switch (event.type) {
    case 'SubscriptionReplaced':
      return { ...state, ...event.data.kept, content: event.data.subscription, disabledReceivers: {} };
    case 'RedeliveriesCancelled':
      return { ...state, redeliveriesCancelled: event.data.at };
    case 'SubscriptionDeleted':
      return { is: 'deleted', organisationId: state.organisationId };
    case 'ReceiverDisabled': {
      const { receiver, at, reason } = event.data;
      return { ...state, disabledReceivers: { ...state.disabledReceivers, [receiver]: { at, reason } } };
    }
    case 'ReceiverEnabled': {
      const others = Object.entries(state.disabledReceivers).filter(([id]) => id !== event.data.receiver);
      return { ...state, disabledReceivers: Object.fromEntries(others) };
    }
    case 'SecretRotated':
      return rotated(state, event.data);
    case 'MessageRequested':
    case 'BackfillsCancelled':
    case 'TestRequested':
    case 'ProbeRequested':
    case 'RedeliveryRequested':
      return state;
  }
}

/** When the secret can be replaced again, if that is later than `at`: there were too many rotations. */
export function nextRotation({ replacedSecrets }: ActiveSubscription, at: string): string | undefined {
  const signing = signingAt(replacedSecrets, at);
  return signing.length < MOST_ROTATIONS ? undefined : signing[0]?.until;
}

type ReplacedSecrets = ActiveSubscription['replacedSecrets'];

function signingAt(replaced: ReplacedSecrets, at: string): ReplacedSecrets {
  return replaced.filter(({ until }) => Date.parse(until) > Date.parse(at));
}

function rotated(
  state: ActiveSubscription,
  { at, secret }: Extract<SubscriptionEvent, { readonly type: 'SecretRotated' }>['data'],
): ActiveSubscription {
  const until = new Date(Date.parse(at) + REPLACED_SECRET_MS).toISOString();
  const replaced = [...signingAt(state.replacedSecrets, at), { number: state.secret.number, until }];
  // Logs from before the limit may have more rotations.
  return {
    ...state,
    secret: { number: secret, since: at },
    replacedSecrets: replaced.slice(-MOST_ROTATIONS),
  };
}

/**
 * The secrets of subscriptions (`docs/decisions.md#n5`). They are derived from the key of the installation, so that
 * none is stored.
 */
export class Secrets {
  constructor(private readonly key: Uint8Array) {}

  /** The bytes of a secret; `number` counts rotations, from 1. */
  bytes(subscriptionId: string, number: number): Buffer {
    return createHmac('sha256', this.key).update(`${subscriptionId} ${number}`).digest();
  }

  /** The secret as receivers know it. */
  text(subscriptionId: string, number: number): string {
    return `whsec_${this.bytes(subscriptionId, number).toString('base64')}`;
  }

  /** A key for something else than subscriptions, which have ids without spaces. */
  derived(purpose: string): Buffer {
    return createHmac('sha256', this.key).update(`for ${purpose}`).digest();
  }

  /** Identifies the key without revealing it. */
  get fingerprint(): string {
    return createHash('sha256').update('affilog notifications ').update(this.key).digest('hex').slice(0, 16);
  }
}
