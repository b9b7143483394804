import { restingUntil } from '../../../projections/receiver-list';
import { type EventLog } from '../../kernel/event-log';
import { type ReadStore } from '../../kernel/read-store';
import { loadSubscription } from '../../domain/subscriptions/loaded-subscription';
import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import { heldReceivers, type Waiting } from './deliveries.output';
import { withoutCancelled } from './redeliveries';

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
 * What keeps messages of any subscriptions waiting. Whether they are held follows from their subscription, which is read once for
 * all messages of a list. A receiver that is disabled does not rest.
 */
export class AnyWaiting {
  private readonly subscriptions = new Map<string, HeldMessages>();

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
  ) {}

  async of(listed: readonly OfReceiver[], now: Date): Promise<Waiting> {
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
