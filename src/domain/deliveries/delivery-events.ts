import { type EventOf } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { PARTITIONS } from '../subscriptions/receiver-id';
import { type TopicName } from '../subscriptions/subscription';

/**
 * The delivery log: an event log of its own, beside that of the domain (docs/architecture.md, Notifications). Its
 * events are deleted when `NOTIFY_KEEP` is over.
 *
 * The names and shapes of these events are the storage format: add, never rename. Times are ISO 8601 instants.
 */

/** The stream that the matcher appends to. */
export const MATCHED = 'matched';

/** The stream of a partition's outcomes. */
export function partitionStream(partition: number): string {
  return `partition-${String(partition).padStart(2, '0')}`;
}

/** All its streams. */
export const DELIVERY_STREAMS: readonly string[] = [
  MATCHED,
  ...Array.from({ length: PARTITIONS }, (_, partition) => partitionStream(partition)),
];

/** The exact bytes that are sent, except for what changes with each attempt: time, signature and number. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** `sentUrl`; in older events the text before it is normalised, maybe with a fragment. */
  readonly url: string;
  readonly contentType?: string;
  readonly body?: string;
}

/** A receiver, and whose it is. */
export interface OfReceiver {
  readonly subscriptionId: string;
  readonly organisationId: number;
  /** `receiverIdOf`. */
  readonly receiver: string;
}

/** A message that is due at once, in the stream `matched`. */
export interface Message extends OfReceiver {
  /** `messageIdOf`. */
  readonly id: string;
  /** Absent in the oldest events: `topicOf`. */
  readonly topic?: TopicName;
  /** The transaction, or claim, that it is about. */
  readonly subject: string;
  readonly sequence: number;
  readonly stateId: number;
  /** When the state was entered. */
  readonly at: string;
  /** The domain event that caused it; of a message of a backfill its `MessageRequested`. */
  readonly cause: Position;
  /**
   * The position of the log up to which its subscription was read, if that is not `cause`: it was rendered again, or
   * later. `START`: it is rendered when it is sent.
   */
  readonly rendered?: Position | undefined;
  /** When it was made, if it is of a backfill: long after `at`. Its request is made when it is sent. */
  readonly made?: string | undefined;
  /** Absent: it cannot be sent, for this reason, or waits for a rate. */
  readonly request?: HttpRequest;
  readonly unsendable?: string;
  /** It could not be rendered, or was not since there were too many: a redelivery renders it. */
  readonly renderable?: true;
  /**
   * It shows amounts that cannot be converted: the rates published up to a position of the log do not have both
   * currencies.
   */
  readonly awaitsRate?: { readonly from: string; readonly to: string; readonly upTo: Position };
  /** The rate by which its amounts were converted, and the day of the rate. */
  readonly conversion?: {
    readonly from: string;
    readonly to: string;
    /** What one unit of `from` costs in `to`, as close as a number can be. */
    readonly rate: number;
    readonly day: string;
  };
  readonly strictOrder?: true;
  readonly isTest?: true;
}

/** In the oldest events, which do not name it, claims have an integer as their id, transactions a hash. */
export function topicOf({ topic, subject }: Pick<Message, 'subject' | 'topic'>): TopicName {
  return topic ?? (/^\d{1,15}$/.test(subject) ? 'claims' : 'transactions');
}

/** Why a message without a request cannot be sent. */
export function whyUnsendable({ unsendable, awaitsRate }: Message): string {
  if (awaitsRate !== undefined) return `there is no exchange rate of ${awaitsRate.from} to ${awaitsRate.to}`;
  return unsendable ?? 'it has no request';
}

/**
 * How far the matcher has come, the last event of each of its appends: everything up to `upTo` is matched. With
 * `messages`, a later event was appended in part: this many messages, after the last cursor without.
 */
export interface MatcherCursor {
  readonly upTo: Position;
  readonly messages: number;
  /** The position of that event. Absent in older cursors: the next one. */
  readonly event?: Position;
  /** Messages to several organisations take turns. For older code, which counts them; this code compares ids. */
  readonly inTurn?: true;
}

export type MatchedEvent =
  | { readonly type: 'MessageDue'; readonly data: Message }
  /**
   * A message is to be sent once more, with its old id; `revision` is that of its `MessageDue`. `cancelledBefore`:
   * `lastCancelled` of its subscription, before the request in the log; absent in older events.
   */
  | EventOf<'RedeliveryDue', OfReceiver & { id: string; revision: number; cancelledBefore?: string }>
  /** Somebody has asked for the receiver to be tried at once: it does not rest any longer. */
  | EventOf<'ProbeDue', OfReceiver>
  /** Redeliveries to the receiver that are due, and not attempted yet, are not made. */
  | EventOf<'RedeliveriesWithdrawn', OfReceiver>
  | { readonly type: 'Matched'; readonly data: MatcherCursor };

/**
 * - `delivered`: the receiver has accepted it;
 * - `failed`: it is tried again at `next`;
 * - `dead`: it is not tried again;
 * - `cancelled`: its receiver or subscription is gone, or, with an `error`, it is not to be sent for that reason.
 */
export type OutcomeKind = 'delivered' | 'failed' | 'dead' | 'cancelled';

/** The outcome of an attempt to send a message, in the stream of its receiver's partition. */
export interface Outcome extends OfReceiver {
  readonly id: string;
  /** The revision of its `MessageDue`. */
  readonly revision: number;
  readonly outcome: OutcomeKind;
  /** When the attempt began, or when it was decided without one. */
  readonly at: string;
  /** The number of the attempt, from 1; absent: it was not attempted. */
  readonly attempt?: number | undefined;
  readonly ms?: number | undefined;
  readonly status?: number | undefined;
  readonly error?: string | undefined;
  /** The receiver has not answered in time. */
  readonly isTimeout?: true | undefined;
  /**
   * It was attempted at the end of the receiver's rest. Absent in older events: there the time of the attempt shows it.
   */
  readonly isProbe?: true | undefined;
  /** The first KiB of the answer's body. */
  readonly answer?: string | undefined;
  readonly next?: string | undefined;
  /** The attempt was asked for (`RedeliveryDue`), and is not one of the schedule, which is as before. */
  readonly isManual?: true | undefined;
  /** The revision of the `RedeliveryDue` that it ends; an attempt of the schedule may end one too. */
  readonly redelivery?: number | undefined;
  /** `Message.rendered` of what was sent. */
  readonly rendered?: Position | undefined;
  /** What it is about, if the messages after it wait until it is delivered or dead. */
  readonly subject?: string | undefined;
  /**
   * If it is dead: what the domain log records of it besides. Absent in older events: that was recorded before them.
   */
  readonly deadLetter?: Pick<DeadLetter, 'subject' | 'stateId' | 'attempts'> | undefined;
}

export type PartitionEvent =
  /** A process has taken over the partition: appends of the one before conflict. */
  | EventOf<'PartitionTaken', { owner: string }>
  | { readonly type: 'MessageAttempted'; readonly data: Outcome }
  /** Everything that is needed to continue from here (`src/delivery/scheduling/partition-state.ts`). */
  | { readonly type: 'PartitionSaved'; readonly data: object };

/** A message that is not tried again. */
export interface DeadLetter {
  readonly at: string;
  /**
   * Of the message; if that was deleted already, of its receiver, and its revision. Then what is optional may be
   * unknown.
   */
  readonly id: string;
  readonly subscriptionId?: string | undefined;
  readonly organisationId?: number;
  readonly receiver: string;
  readonly subject?: string | undefined;
  readonly stateId?: number | undefined;
  readonly attempts: number;
  readonly reason: string;
}

/** In the domain log, in the stream `deadletter-<message id>`: what is lost is known for ever. */
export interface DeadLetterEvent {
  readonly type: 'MessageDeadLettered';
  readonly data: DeadLetter;
}
