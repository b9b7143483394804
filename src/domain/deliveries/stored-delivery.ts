import { type Position } from '../../kernel/event';
import { type Message, type OfReceiver } from './delivery-events';

/** What is stored of a message's delivery: `held` is known only when the subscription is read. Only add states. */
export const STATES = ['due', 'retrying', 'delivered', 'dead', 'cancelled'] as const;

/** One attempt to deliver a message. */
export interface StoredAttempt {
  /** Its number in the schedule, from 1; `docs/decisions.md#n17` for those that somebody asked for. */
  readonly attempt: number;
  readonly at: string;
  readonly ms?: number;
  readonly status?: number;
  readonly error?: string;
  readonly answer?: string;
  readonly isManual?: true;
}

/** A message and its state, in the read model `deliveries`. */
export interface StoredDelivery
  extends OfReceiver, Pick<Required<Message>, 'topic' | 'subject' | 'sequence' | 'stateId' | 'at'> {
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
  /** The revision of its `RedeliveryDue`: the last one, if several were asked for. */
  readonly redeliveryDue?: number;
  /** `cancelledBefore` of that. */
  readonly cancelledBefore?: string;
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

export interface ListedDelivery extends StoredDelivery {
  readonly messageId: string;
}

/** A day of a receiver, in UTC, in the read model `receivers`. */
export interface ReceiverDay extends OfReceiver {
  /** Its date: `2026-11-23`. */
  readonly day: string;
  readonly attempts: number;
  readonly failed: number;
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
