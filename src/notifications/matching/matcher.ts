import { toDomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { type MatchedEvent } from '../delivery-events';
import { type ActiveSubscription, type SubscriptionEvent } from '../subscription';
import { type Occurrence, type Topic } from '../topic';
import { messagesOf, preparedOf, testOf } from './messages-of';
import { type PublishedRates, RATES_STREAM, ratesDecider, type RatesEvent } from './rates';
import { receiversIn, SUBSCRIPTION_STREAMS, SubscriptionBook, subscriptionOf } from './subscription-book';

/** What is due because of an event. */
export type Due = Exclude<MatchedEvent, { readonly type: 'Matched' }>;

/** Prefixes of the streams that determine who is sent what. */
export const STATE_STREAMS = [SUBSCRIPTION_STREAMS, RATES_STREAM] as const;

const NOTHING: readonly Due[] = [];

const REQUESTS: ReadonlySet<string> = new Set<SubscriptionEvent['type']>([
  'TestRequested',
  'ProbeRequested',
  'RedeliveryRequested',
  'MessageRequested',
  'RedeliveriesCancelled',
]);

/**
 * Decides who is sent what: a function of the events of the log so far, without clock or randomness. So whoever matches the same
 * events, and however often, makes the same messages, byte for byte.
 */
export class Matcher {
  private readonly book = new SubscriptionBook();
  private rates: PublishedRates | undefined;
  /** Topics by event type and stream. */
  private readonly topicsOf = new Map<string, readonly Topic[]>();

  constructor(private readonly topics: readonly Topic[]) {
    for (const topic of topics)
      for (const type of topic.handles) this.topicsOf.set(type, [...(this.topicsOf.get(type) ?? []), topic]);
  }

  /** Prefixes of all streams to match. */
  get streams(): readonly string[] {
    return [...new Set([...STATE_STREAMS, ...this.topics.flatMap(({ streams }) => streams)])];
  }

  /** Applies an event that is matched already. */
  apply(event: RecordedEvent): void {
    this.book.apply(event);
    if (event.stream === RATES_STREAM)
      this.rates = ratesDecider.evolve(this.rates, toDomainEvent(event) as RatesEvent);
  }

  /**
   * Applies the next event and returns what is due because of it, always in the same order. Messages are rendered as they are read,
   * since together they may be hundreds of MB: read them before the next event is applied.
   */
  match(event: RecordedEvent): Iterable<Due> {
    this.apply(event);
    if (this.book.size === 0) return NOTHING;
    if (event.stream.startsWith(SUBSCRIPTION_STREAMS)) return this.requested(event);
    return this.occurred(event);
  }

  private *occurred(event: RecordedEvent): Generator<Due> {
    for (const topic of this.topicsOf.get(event.type) ?? []) {
      if (!topic.streams.some((prefix) => event.stream.startsWith(prefix))) continue;
      const { stream, revision, position } = event;
      const occurrence = topic.occurrence({ ...toDomainEvent(event), stream, revision, position });
      if (occurrence !== undefined) yield* this.toParties(event, topic, occurrence);
    }
  }

  /** The messages to all parties. */
  private *toParties(event: RecordedEvent, topic: Topic, occurrence: Occurrence): Generator<Due> {
    for (const party of new Set(occurrence.parties)) {
      for (const [id, subscription] of this.book.ofOrganisation(party)) {
        if (subscription.topic !== topic.name) continue;
        const prepared = preparedOf(id, subscription);
        if (!prepared.matches(occurrence)) continue;
        yield* messagesOf({ event, id, subscription, prepared, occurrence, rates: this.rates });
      }
    }
  }

  /** What an organisation has asked for. */
  private requested(event: RecordedEvent): readonly Due[] {
    if (!REQUESTS.has(event.type)) return NOTHING;
    const id = subscriptionOf(event);
    const subscription = this.book.get(id);
    if (subscription === undefined) return NOTHING;
    const { type, data } = toDomainEvent(event) as SubscriptionEvent;
    if (type === 'RedeliveryRequested') {
      const { receiver, message, revision, at } = data;
      const { organisationId } = subscription;
      const redelivery = { id: message, subscriptionId: id, organisationId, receiver, revision, at };
      return [{ type: 'RedeliveryDue', data: redelivery }];
    }
    if (type === 'ProbeRequested') {
      const { receiver, at } = data;
      const { organisationId } = subscription;
      return [{ type: 'ProbeDue', data: { subscriptionId: id, organisationId, receiver, at } }];
    }
    if (type === 'MessageRequested') return [requestedMessage(event.position, id, subscription, data)];
    if (type === 'RedeliveriesCancelled') {
      const { organisationId } = subscription;
      return [...receiversIn(id, subscription).keys()].map((receiver) => ({
        type: 'RedeliveriesWithdrawn',
        data: { subscriptionId: id, organisationId, receiver, at: data.at },
      }));
    }
    if (type === 'TestRequested') return this.test(event, id, subscription, data);
    return NOTHING;
  }

  private test(
    event: RecordedEvent,
    id: string,
    subscription: ActiveSubscription,
    { receiver, stateId, at }: Extract<SubscriptionEvent, { readonly type: 'TestRequested' }>['data'],
  ): readonly Due[] {
    const topic = this.topics.find(({ name }) => name === subscription.topic);
    if (topic === undefined) return NOTHING;
    const occurrence = testOf(topic, event.id, stateId, at);
    const [prepared, { rates }] = [preparedOf(id, subscription), this];
    const messages = [...messagesOf({ event, id, subscription, prepared, occurrence, rates }, receiver)];
    return messages.map(({ type, data }) => ({ type, data: { ...data, isTest: true } }));
  }
}

/** A message of a backfill: rendered as one that is older than any version of its receiver, so when it is sent. */
function requestedMessage(
  cause: Position,
  id: string,
  { organisationId, topic, content }: ActiveSubscription,
  data: Extract<SubscriptionEvent, { readonly type: 'MessageRequested' }>['data'],
): Due {
  const { receiver, message, subject, sequence, stateId, time: at, at: made } = data;
  return {
    type: 'MessageDue',
    data: {
      ...{ id: message, subscriptionId: id, organisationId, receiver, topic, subject, sequence, stateId, at },
      ...{ cause, rendered: START, made },
      ...(content.strictOrder === true ? { strictOrder: true } : {}),
    },
  };
}
