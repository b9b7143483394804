import { type Position } from '../../kernel/event';
import { type TopicName } from '../subscriptions/subscription';

/** What is stored of a message's delivery: `held` is known only when the subscription is read. Only add states. */
export const STATES = ['due', 'retrying', 'delivered', 'dead', 'cancelled'] as const;

/** One attempt to deliver a message. */
export interface StoredAttempt {
  /** Its number in the schedule, from 1; `docs/decisions.md#n17` for those that somebody asked for. */
  readonly attempt: number;
  /** When it began, an ISO 8601 instant. */
  readonly at: string;
  /** Duration in ms. */
  readonly ms?: number;
  readonly status?: number;
  /** Why it failed. */
  readonly error?: string;
  /** The first KiB of the answer's body. */
  readonly answer?: string;
  /** Somebody asked for it. */
  readonly isManual?: true;
}

/** A message and its state, in the read model `deliveries`. */
export interface StoredDelivery {
  readonly subscriptionId: string;
  readonly organisationId: number;
  readonly receiver: string;
  readonly topic: TopicName;
  /** The transaction, or claim. */
  readonly subject: string;
  readonly sequence: number;
  readonly stateId: number;
  /** When the state was entered. */
  readonly at: string;
  /** `Message.made`. */
  readonly made?: string;
  readonly isTest?: true;
  /** `Message.renderable`. */
  readonly renderable?: true;
  /** The revision of its `MessageDue`. */
  readonly matched: number;
  readonly state: (typeof STATES)[number];
  /** The time of the last outcome. */
  readonly changed?: string;
  /** When it is tried again. */
  readonly next?: string;
  /** When somebody has asked for it to be sent again; absent if that was attempted. */
  readonly redelivery?: string;
  /** When the last redelivery that was attempted, or ended without an attempt, was asked for. */
  readonly redelivered?: string;
  /** Why it was given up without an attempt. */
  readonly reason?: string;
  /** `Message.rendered` of what was sent last. */
  readonly rendered?: Position;
  /** The number of all attempts. */
  readonly attempted: number;
  /** The last attempts, oldest first. */
  readonly attempts: readonly StoredAttempt[];
}

/** A delivery with the id of its message. */
export interface ListedDelivery extends StoredDelivery {
  readonly messageId: string;
}

/** A day of a receiver, in UTC, in the read model `receivers`. */
export interface ReceiverDay {
  readonly receiver: string;
  readonly subscriptionId: string;
  readonly organisationId: number;
  /** Its date: `2026-11-23`. */
  readonly day: string;
  /** Attempts, successful or not. */
  readonly attempts: number;
  /** Failed attempts. */
  readonly failed: number;
  /** Messages that were delivered, and that were given up. */
  readonly delivered: number;
  readonly dead: number;
  readonly lastSuccess?: ReceiverAttempt;
  readonly lastFailure?: ReceiverAttempt;
  /** The first failure of this day after which nothing has succeeded on it. */
  readonly failingSince?: string;
}

/** How deliveries to a receiver go, as far as they are kept. */
export type ReceiverTotals = Omit<ReceiverDay, 'day'>;

export interface ReceiverAttempt {
  readonly at: string;
  readonly status?: number;
  readonly error?: string;
}
