import { eventsOf, toDomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent, START, streamOf } from '../../kernel/event';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  type ActiveSubscription,
  type Receiver,
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../domain/subscriptions/subscription';
import { type EventLog } from '../../kernel/event-log';

export const SUBSCRIPTION_STREAMS = `${SUBSCRIPTION}-`;

const WITHOUT_EFFECT: ReadonlySet<string> = new Set<SubscriptionEvent['type']>([
  'TestRequested',
  'ProbeRequested',
  'RedeliveryRequested',
  'MessageRequested',
]);

const NONE: ReadonlyMap<string, ActiveSubscription> = new Map();

/** All active subscriptions, as of the events applied so far. */
export class SubscriptionBook {
  private readonly all = new Map<string, ActiveSubscription>();
  /** Those of an organisation, in the order in which they were created. */
  private readonly byOrganisation = new Map<number, Map<string, ActiveSubscription>>();

  get size(): number {
    return this.all.size;
  }

  /** Applies the next event of the log; ignores those of other streams, and those that are not usable. */
  apply(event: RecordedEvent): void {
    if (!changesSubscription(event)) return;
    const id = subscriptionOf(event);
    const before = this.all.get(id);
    const happened = toDomainEvent(event) as SubscriptionEvent;
    const state = subscriptionDecider.evolve(before ?? subscriptionDecider.initial, happened);
    if (state.is === 'active') this.put(id, state);
    else if (before !== undefined) this.remove(id, before);
  }

  get(id: string): ActiveSubscription | undefined {
    return this.all.get(id);
  }

  /** By their ids, in the order in which they were created. */
  ofOrganisation(id: number): ReadonlyMap<string, ActiveSubscription> {
    return this.byOrganisation.get(id) ?? NONE;
  }

  entries(): IterableIterator<[string, ActiveSubscription]> {
    return this.all.entries();
  }

  private put(id: string, state: ActiveSubscription): void {
    this.all.set(id, state);
    const others = this.byOrganisation.get(state.organisationId);
    if (others === undefined) this.byOrganisation.set(state.organisationId, new Map([[id, state]]));
    else others.set(id, state);
  }

  private remove(id: string, { organisationId }: ActiveSubscription): void {
    this.all.delete(id);
    const others = this.byOrganisation.get(organisationId);
    others?.delete(id);
    if (others?.size === 0) this.byOrganisation.delete(organisationId);
  }
}

/** Whether an event changes the state of a subscription. */
export function changesSubscription({ stream, type }: Pick<RecordedEvent, 'stream' | 'type'>): boolean {
  return stream.startsWith(SUBSCRIPTION_STREAMS) && !WITHOUT_EFFECT.has(type);
}

/** The subscription that an event, or a request, belongs to. */
export function subscriptionOf({ stream }: Pick<RecordedEvent, 'stream'>): string {
  return stream.slice(stream.indexOf('-') + 1);
}

/** By content, since ids of receivers are hashes of it, and subscriptions are read far more often than they change. */
const receivers = new WeakMap<object, ReadonlyMap<string, Receiver>>();

/** The receivers of a subscription by their ids. `subscription` belongs to this id. */
export function receiversIn(id: string, { content }: ActiveSubscription): ReadonlyMap<string, Receiver> {
  const known = receivers.get(content) ?? receiversOf(id, content);
  receivers.set(content, known);
  return known;
}

/** A state of a subscription, between two positions: of the event that made it, and of the next one. */
interface PastSubscription {
  readonly from: Position;
  readonly until: Position;
  readonly state: SubscriptionState;
}

const END: Position = '9'.repeat(START.length);

/** A subscription as it was when the event at `position` was appended. */
export async function subscriptionAsOf(
  log: EventLog,
  id: string,
  position: Position,
): Promise<PastSubscription> {
  let [from, state]: [Position, SubscriptionState] = [START, subscriptionDecider.initial];
  if (position === START) return { from, until: START, state };
  for await (const event of eventsOf(log, streamOf(SUBSCRIPTION, id))) {
    if (event.position > position) return { from, until: event.position, state };
    from = event.position;
    state = subscriptionDecider.evolve(state, toDomainEvent(event) as SubscriptionEvent);
  }
  return { from, until: END, state };
}
