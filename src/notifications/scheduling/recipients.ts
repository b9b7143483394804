import { type Position } from '../../kernel/event';
import { type FollowedSubscriptions, type SubscriptionBook } from '../matching/subscription-book';
import { OLD_SECRET_MS, type Secrets } from '../secrets';

import { type Permission } from './scheduler';

/** The current state of all subscriptions. */
export type Subscriptions = Pick<FollowedSubscriptions, 'position' | 'ready'> & {
  readonly book: Pick<SubscriptionBook, 'get' | 'hasReceiver' | 'standingOf'>;
};

/** Derived secrets that are kept. */
const KEPT = 10_000;

/** What subscriptions mean for sending (`docs/decisions.md#n8`). */
export class Recipients {
  private isReady = false;
  private readonly derived = new Map<string, Uint8Array>();

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly secrets: Secrets,
  ) {
    void subscriptions.ready.then(
      () => (this.isReady = true),
      () => undefined,
    );
  }

  /** A receiver may look gone while its subscription has not been read as far as the event that caused the message. */
  permission(subscriptionId: string, receiver: string, cause?: Position): Permission {
    const { book, position } = this.subscriptions;
    const standing = book.standingOf(subscriptionId, receiver);
    if (standing === 'active') return 'send';
    if (standing !== 'gone') return 'hold';
    return cause !== undefined && position < cause ? 'hold' : 'cancel';
  }

  /** False if no subscription has the receiver. */
  mayHave(receiver: string): boolean {
    return !this.isReady || this.subscriptions.book.hasReceiver(receiver);
  }

  /** The secrets to sign with: after a rotation the one before too, for a while. */
  secretsOf(subscriptionId: string, now: number): readonly Uint8Array[] {
    const secret = this.subscriptions.book.get(subscriptionId)?.secret;
    if (secret === undefined) return [];
    const { number, since } = secret;
    const isRotated = number > 1 && now - Date.parse(since) < OLD_SECRET_MS;
    const numbers = isRotated ? [number, number - 1] : [number];
    return numbers.map((one) => this.secret(subscriptionId, one));
  }

  private secret(subscriptionId: string, number: number): Uint8Array {
    const key = `${subscriptionId} ${number}`;
    const known = this.derived.get(key) ?? this.secrets.bytes(subscriptionId, number);
    if (this.derived.size >= KEPT) this.derived.clear();
    this.derived.set(key, known);
    return known;
  }
}
