import { restingUntil } from '../../projections/receiver-list';
import { type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { loadSubscription } from '../notifications/loaded-subscription';
import { heldReceivers, type Waiting } from '../subscriptions/deliveries.output';

interface OfReceiver {
  readonly subscriptionId: string;
  readonly receiver: string;
}

/**
 * What keeps messages of any subscriptions waiting. Whether they are held follows from their subscription, which is read once for all
 * messages of a list. A receiver that is disabled does not rest.
 */
export class AnyWaiting {
  private readonly held = new Map<string, ReadonlySet<string>>();

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
  ) {}

  async of(listed: readonly OfReceiver[], now: Date): Promise<Waiting> {
    const held = new Set<string>();
    for (const { subscriptionId, receiver } of listed)
      if ((await this.heldOf(subscriptionId)).has(receiver)) held.add(receiver);
    const others = listed.map(({ receiver }) => receiver).filter((receiver) => !held.has(receiver));
    return {
      isHeld: (receiver) => held.has(receiver),
      restingUntil: await restingUntil(this.store, others, now.getTime()),
    };
  }

  private async heldOf(subscriptionId: string): Promise<ReadonlySet<string>> {
    const known = this.held.get(subscriptionId);
    if (known !== undefined) return known;
    const { state } = await loadSubscription(this.log, subscriptionId);
    const held = state.is === 'active' ? heldReceivers(subscriptionId, state) : new Set<string>();
    this.held.set(subscriptionId, held);
    return held;
  }
}
