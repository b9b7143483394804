import { restingUntil } from '../../../projections/receivers';
import { type Message } from '../../domain/deliveries/delivery-events';
import {
  type ListedDelivery,
  type ReceiverTotals,
  type StoredAttempt,
} from '../../domain/deliveries/stored-delivery';
import { loadSubscription } from '../../domain/subscriptions/loaded-subscription';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import { sentUrl } from '../../domain/subscriptions/sent-url';
import { type ActiveSubscription, type Receiver } from '../../domain/subscriptions/subscription';
import { type EventLog } from '../../kernel/event-log';
import { type ReadStore } from '../../kernel/read-store';
import { without } from '../../kernel/without';
import {
  type OutputDelivery,
  type OutputDeliveryDetails,
  type OutputReceiver,
  type OutputState,
  type OutputTotals,
} from './deliveries.fields';

/** What keeps messages for a receiver waiting, beside their schedule. */
export interface WaitingReceivers {
  /** They are held (`docs/decisions.md#n8`). */
  readonly isHeld: (receiverId: string) => boolean;
  /** Until when (epoch ms) it rests, if it does (`docs/decisions.md#n7`). */
  readonly restingUntil: ReadonlyMap<string, number>;
}

/** Those of a subscription that its owner or the system has disabled. */
export function heldReceivers(id: string, subscription: ActiveSubscription): ReadonlySet<string> {
  const { content, disabledReceivers } = subscription;
  const held = [...receiversOf(id, content)].filter(
    ([receiver, { disabled }]) =>
      content.disabled === true || disabled === true || receiver in disabledReceivers,
  );
  return new Set(held.map(([receiver]) => receiver));
}

export function toDelivery(listed: ListedDelivery, waiting: WaitingReceivers): OutputDelivery {
  const { messageId, receiver, subject, stateId, sequence, at, changed, attempts, redelivery } = listed;
  const state = stateOf(listed, waiting);
  const last = attempts.at(-1);
  const next = waiting.isHeld(receiver) ? undefined : nextOf(listed, waiting.restingUntil.get(receiver));
  const lastError = last?.error ?? listed.reason;
  return {
    messageId,
    receiverId: receiver,
    transactionId: subject,
    messageTypeId: stateId,
    sequenceNumber: String(sequence),
    time: at,
    state,
    ...(changed === undefined ? {} : { changed }),
    attempts: listed.attempted,
    ...(last?.status === undefined ? {} : { lastStatus: last.status }),
    ...(lastError === undefined ? {} : { lastError }),
    ...(next === undefined ? {} : { nextAttempt: next }),
    ...(redelivery === undefined ? {} : { redeliveryRequested: redelivery }),
    test: listed.isTest === true,
  };
}

function stateOf({ state, receiver }: ListedDelivery, { isHeld }: WaitingReceivers): OutputState {
  return isWaiting(state) && isHeld(receiver) ? 'held' : state;
}

function isWaiting(state: OutputState): boolean {
  return state === 'due' || state === 'retrying';
}

/**
 * When a message that is not held is attempted next (an ISO 8601 instant), unless at once or never: the receiver may
 * rest longer.
 */
function nextOf(
  { state, next, redelivery }: ListedDelivery,
  restingUntil: number | undefined,
): string | undefined {
  if (!isWaiting(state) && redelivery === undefined) return undefined;
  const scheduled = redelivery === undefined ? next : undefined;
  const isLater =
    restingUntil !== undefined && (scheduled === undefined || restingUntil > Date.parse(scheduled));
  return isLater ? new Date(restingUntil).toISOString() : scheduled;
}

/** `message`: absent if it is no longer kept. */
export function toDetails(
  listed: ListedDelivery,
  message: Message | undefined,
  waiting: WaitingReceivers,
): OutputDeliveryDetails {
  const request = message && requestOf(message);
  return {
    ...toDelivery(listed, waiting),
    ...(request === undefined ? {} : { request }),
    lastAttempts: listed.attempts.map(toAttempt),
  };
}

function requestOf({ id, sequence, request, isTest }: Message): OutputDeliveryDetails['request'] {
  if (request === undefined) return undefined;
  const { method, url, contentType, body } = request;
  const headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    'webhook-id': id,
    'webhook-sequence': String(sequence),
    ...(isTest === true ? { 'webhook-test': 'true' } : {}),
  };
  return {
    method,
    // Messages that were made earlier have the text that was normalised when it was sent.
    url: sentUrl(url)?.href ?? url,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    ...(body === undefined ? {} : { body }),
  };
}

function toAttempt({ attempt, at, ms, status, error, answer, isManual }: StoredAttempt) {
  return {
    attempt,
    time: at,
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    ...(ms === undefined ? {} : { milliseconds: Math.round(ms) }),
    ...(answer === undefined ? {} : { answer }),
    manual: isManual === true,
  };
}

/** A receiver of a subscription; without totals nothing was sent to it. */
export function toReceiver(
  [receiverId, receiver]: readonly [string, Receiver],
  { content, disabledReceivers }: ActiveSubscription,
  totals: ReceiverTotals | undefined,
  restingUntil: number | undefined,
): OutputReceiver {
  const { httpMethod, receiverUrl, disabled } = receiver;
  const bySystem = disabledReceivers[receiverId];
  const isByOwner = disabled === true || content.disabled === true;
  const state =
    isByOwner || bySystem !== undefined
      ? ({ state: 'disabled', disabledBy: isByOwner ? 'owner' : 'system' } as const)
      : ({ state: 'enabled' } as const);
  return {
    receiverId,
    ...state,
    ...(bySystem === undefined ? {} : { disabledReason: bySystem.reason }),
    ...(state.state === 'disabled' ? {} : toRest(restingUntil)),
    ...{ httpMethod, receiverUrl },
    ...toTotals(totals ?? NOTHING),
  };
}

/** The field of a receiver that rests. */
export function toRest(restingUntil: number | undefined): { readonly restingUntil?: string } {
  return restingUntil === undefined ? {} : { restingUntil: new Date(restingUntil).toISOString() };
}

const NOTHING = { attempts: 0, failed: 0, delivered: 0, dead: 0 } as const;

export function toTotals(
  totals: Omit<ReceiverTotals, 'receiver' | 'subscriptionId' | 'organisationId'>,
): OutputTotals {
  const { attempts, failed, delivered, dead, failingSince, lastSuccess, lastFailure } = totals;
  return {
    ...{ attempts, failed, delivered, dead },
    ...(failingSince === undefined ? {} : { failingSince }),
    ...(lastSuccess === undefined ? {} : { lastSuccess: toEnded(lastSuccess) }),
    ...(lastFailure === undefined ? {} : { lastFailure: toEnded(lastFailure) }),
  };
}

function toEnded({ at, ...rest }: NonNullable<ReceiverTotals['lastFailure']>) {
  return { time: at, ...rest };
}

/** The delivery as it is since redeliveries were last cancelled, if they were. */
export function withoutCancelled<Listed extends ListedDelivery>(
  listed: Listed,
  { redeliveriesCancelled }: { readonly redeliveriesCancelled?: string | undefined },
): Listed {
  const { redelivery } = listed;
  const isCancelled =
    redelivery !== undefined && redeliveriesCancelled !== undefined && redelivery <= redeliveriesCancelled;
  return isCancelled ? (without(listed as ListedDelivery, 'redelivery') as Listed) : listed;
}

interface OfReceiver {
  readonly subscriptionId: string;
  readonly receiver: string;
}

/** Which messages of a subscription are held or cancelled, in its state. */
interface HeldMessages {
  /** Receivers. */
  readonly held: ReadonlySet<string>;
  readonly redeliveriesCancelled: string | undefined;
}

/**
 * What keeps messages of any subscriptions waiting. Whether they are held follows from their subscription, which is
 * read once for all messages of a list. A receiver that is disabled does not rest.
 */
export class AnyWaiting {
  private readonly subscriptions = new Map<string, HeldMessages>();

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
  ) {}

  async of(listed: readonly OfReceiver[], now: Date): Promise<WaitingReceivers> {
    const held = new Set<string>();
    for (const { subscriptionId, receiver } of listed)
      if ((await this.heldOf(subscriptionId)).held.has(receiver)) held.add(receiver);
    const others = listed.map(({ receiver }) => receiver).filter((receiver) => !held.has(receiver));
    return {
      isHeld: (receiver) => held.has(receiver),
      restingUntil: await restingUntil(this.store, others, now.getTime()),
    };
  }

  /** Messages as they are since their owners have cancelled redeliveries. */
  async current(listed: readonly ListedDelivery[]): Promise<readonly ListedDelivery[]> {
    const current: ListedDelivery[] = [];
    for (const one of listed) current.push(withoutCancelled(one, await this.heldOf(one.subscriptionId)));
    return current;
  }

  private async heldOf(subscriptionId: string): Promise<HeldMessages> {
    const known = this.subscriptions.get(subscriptionId);
    if (known !== undefined) return known;
    const { state } = await loadSubscription(this.log, subscriptionId);
    const read: HeldMessages =
      state.is === 'active'
        ? {
            held: heldReceivers(subscriptionId, state),
            redeliveriesCancelled: state.redeliveriesCancelled,
          }
        : { held: new Set(), redeliveriesCancelled: undefined };
    this.subscriptions.set(subscriptionId, read);
    return read;
  }
}
