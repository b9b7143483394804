import { type DomainEvent, toDomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { type MatchedEvent } from '../../domain/deliveries/delivery-events';
import { isUsable, REQUEST_STREAMS } from '../../domain/subscriptions/delivery-requests';
import {
  type ActiveSubscription,
  lastCancelled,
  type SubscriptionEvent,
} from '../../domain/subscriptions/subscription';
import { Candidates } from '../../domain/subscriptions/selector';
import { type Occurrence, occurrenceOf, partiesOf, type Topic } from '../../domain/subscriptions/topic';
import { Directory } from '../../network/directory';
import { DIRECTORY_PREFIXES } from '../../network/events';
import {
  BEYOND,
  type BudgetLimits,
  ByteBudget,
  MESSAGE_BYTES,
  messagesOf,
  preparedOf,
  subjectOfTest,
  testOf,
} from './messages-of';
import { hasRates, type PublishedRates, RATES_STREAM, ratesDecider, type RatesEvent } from './rates';
import {
  changesSubscription,
  receiversIn,
  SUBSCRIPTION_STREAMS,
  SubscriptionBook,
  subscriptionOf,
} from './subscription-book';

/** Names the events that the matcher cannot use (`parked-events.ts`). */
export const MATCHER = 'matcher';

/** What is due because of an event. */
export type Due = Exclude<MatchedEvent, { readonly type: 'Matched' }>;

const NOTHING: readonly Due[] = [];

/** Old logs have requests in the streams of subscriptions, as new ones have probes because of a PUT. */
const REQUESTING = [REQUEST_STREAMS, SUBSCRIPTION_STREAMS] as const;

const REQUESTS: ReadonlySet<string> = new Set<SubscriptionEvent['type']>([
  'TestRequested',
  'ProbeRequested',
  'RedeliveryRequested',
  'MessageRequested',
  'RedeliveriesCancelled',
]);

/**
 * Decides who is sent what: a function of the events of the log so far, without clock or randomness. So whoever matches
 * the same events, and however often, makes the same messages, byte for byte.
 */
export class Matcher {
  private readonly book = new SubscriptionBook();
  /** Of `book`, by organisation and topic, for those that something has happened to since it changed. */
  private readonly candidates = new Map<string, Candidates<readonly [string, ActiveSubscription]>>();
  private rates: PublishedRates | undefined;
  /** As far as topics join it. */
  private readonly directory = new Directory();
  /** Topics by event type and stream. */
  private readonly topicsOf = new Map<string, readonly Topic[]>();

  /** `report` receives errors because of which messages could not be made. */
  constructor(
    private readonly topics: readonly Topic[],
    private readonly report: (failure: unknown) => void = () => undefined,
    private readonly limits: BudgetLimits = MESSAGE_BYTES,
  ) {
    for (const topic of topics)
      for (const type of topic.handles) this.topicsOf.set(type, [...(this.topicsOf.get(type) ?? []), topic]);
  }

  /** Prefixes of the streams that determine who is sent what. */
  get stateStreams(): readonly string[] {
    return [
      ...new Set([SUBSCRIPTION_STREAMS, RATES_STREAM, ...this.topics.flatMap(({ joins = [] }) => joins)]),
    ];
  }

  /** Prefixes of all streams to match. */
  get streams(): readonly string[] {
    return [
      ...new Set([...this.stateStreams, REQUEST_STREAMS, ...this.topics.flatMap(({ streams }) => streams)]),
    ];
  }

  /** Applies an event that is matched already. Raises what makes it unusable: then nothing has changed. */
  apply(event: RecordedEvent): void {
    if (changesSubscription(event)) {
      checked(toDomainEvent(event) as SubscriptionEvent, isUsable);
      this.book.apply(event);
      this.candidates.clear();
    }
    if (DIRECTORY_PREFIXES.some((prefix) => event.stream.startsWith(prefix))) this.directory.apply(event);
    if (event.stream !== RATES_STREAM) return;
    const published = checked(toDomainEvent(event) as RatesEvent, hasRates);
    this.rates = ratesDecider.evolve(this.rates, published);
  }

  /**
   * Applies the next event and returns what is due because of it, always in the same order. Messages are rendered as
   * they are read, since together they may be many MB: read them before the next event is applied. Raises what makes
   * the event unusable: then nothing has changed, and reading raises nothing. Messages to several organisations take
   * turns.
   */
  match(event: RecordedEvent): Iterable<Due> {
    this.apply(event);
    if (this.book.size === 0) return NOTHING;
    if (REQUESTING.some((prefix) => event.stream.startsWith(prefix))) return this.requested(event);
    return this.occurred(event);
  }

  private occurred(event: RecordedEvent): Iterable<Due> {
    const found = (this.topicsOf.get(event.type) ?? []).flatMap((topic) => {
      if (!topic.streams.some((prefix) => event.stream.startsWith(prefix))) return [];
      const occurrence = occurrenceOf(topic, event, this.directory.programs);
      return occurrence === undefined ? [] : [{ topic, occurrence, parties: partiesOf(occurrence) }];
    });
    return found.length === 0 ? NOTHING : this.toAll(event, found);
  }

  private *toAll(event: RecordedEvent, found: readonly FoundDue[]): Generator<Due> {
    for (const { topic, occurrence, parties } of found) {
      const subscribers = [...parties].filter((party) => this.book.ofOrganisation(party).size > 0);
      yield* takingTurns(subscribers.map((party) => this.toParty(party, event, topic, occurrence)));
    }
  }

  private *toParty(
    party: number,
    event: RecordedEvent,
    topic: Topic,
    occurrence: Occurrence,
  ): Generator<Due> {
    const {
      rates,
      report,
      directory: { programs },
    } = this;
    const budget = new ByteBudget(this.limits);
    for (const [id, subscription] of this.candidatesOf(party, topic).of(occurrence)) {
      const prepared = preparedOf(id, subscription);
      const selected = prepared.selector.of(party, occurrence);
      if (selected === undefined) continue;
      const parts = { event, id, subscription, prepared, occurrence: selected };
      yield* messagesOf({ ...parts, programs, rates, budget, report });
    }
  }

  private candidatesOf(party: number, { name }: Topic): Candidates<readonly [string, ActiveSubscription]> {
    const key = `${party} ${name}`;
    let known = this.candidates.get(key);
    if (known === undefined) {
      const all = [...this.book.ofOrganisation(party)].filter(([, { topic }]) => topic === name);
      known = new Candidates(all, ([id, subscription]) => preparedOf(id, subscription).selector);
      this.candidates.set(key, known);
    }
    return known;
  }

  /** What an organisation has asked for. */
  private requested(event: RecordedEvent): readonly Due[] {
    if (!REQUESTS.has(event.type)) return NOTHING;
    const id = subscriptionOf(event);
    const subscription = this.book.get(id);
    if (subscription === undefined) return NOTHING;
    const { type, data } = checked(toDomainEvent(event) as SubscriptionEvent, isUsable);
    const own = { subscriptionId: id, organisationId: subscription.organisationId };
    if (type === 'RedeliveryRequested') {
      const { receiver, message, revision, at } = data;
      const cancelledBefore = lastCancelled(subscription);
      const due = { id: message, ...own, receiver, revision, at, cancelledBefore };
      return [{ type: 'RedeliveryDue', data: due }];
    }
    if (type === 'ProbeRequested') {
      const { receiver, at } = data;
      return [{ type: 'ProbeDue', data: { ...own, receiver, at } }];
    }
    if (type === 'MessageRequested') return [backfillMessage(event.position, id, subscription, data)];
    if (type === 'RedeliveriesCancelled') {
      const receivers = [...receiversIn(id, subscription).keys()];
      const withdrawn = receivers.map((receiver) => ({ ...own, receiver, at: data.at }));
      return withdrawn.map((one) => ({ type: 'RedeliveriesWithdrawn', data: one }));
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
    const occurrence = testOf(topic, subjectOfTest(event), stateId, at);
    const [prepared, { rates, report }] = [preparedOf(id, subscription), this];
    const { programs } = this.directory;
    const selected = { event, id, subscription, prepared, occurrence, programs, rates, report };
    const messages = messagesOf(selected, (one) => one === receiver);
    return Array.from(messages, ({ type, data }) => ({ type, data: { ...data, isTest: true } }));
  }
}

/** Whether an event changes who is sent what. */
export function changesState(event: RecordedEvent): boolean {
  return changesSubscription(event) || event.stream === RATES_STREAM;
}

function checked<Event extends DomainEvent>(event: Event, isUsable: (event: Event) => boolean): Event {
  if (isUsable(event)) return event;
  throw new TypeError(`${event.type} without the data that it needs: another program has written it`);
}

/** What has happened, by an event, to those who may be notified. */
interface FoundDue {
  readonly topic: Topic;
  readonly occurrence: Occurrence;
  readonly parties: ReadonlySet<number>;
}

function* takingTurns<One>(all: readonly Iterator<One>[]): Generator<One> {
  for (let open = all; open.length > 0;) {
    const left: Iterator<One>[] = [];
    for (const one of open) {
      const { done, value } = one.next() as IteratorYieldResult<One> | { done: true; value: undefined };
      if (done === true) continue;
      yield value;
      left.push(one);
    }
    open = left;
  }
}

/** A message of a backfill: rendered as one that is older than any version of its receiver, so when it is sent. */
function backfillMessage(
  cause: Position,
  id: string,
  { organisationId, topic, content }: ActiveSubscription,
  data: Extract<SubscriptionEvent, { readonly type: 'MessageRequested' }>['data'],
): Due {
  const { receiver, message, subject, sequence, stateId, time: at, at: made, isBeyond } = data;
  return {
    type: 'MessageDue',
    data: {
      ...{ id: message, subscriptionId: id, organisationId, receiver, topic, subject, sequence, stateId, at },
      ...{ cause, made },
      ...(isBeyond === true ? BEYOND : { rendered: START }),
      ...(content.strictOrder === true ? { strictOrder: true } : {}),
    },
  };
}
