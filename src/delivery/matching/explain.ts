import { eventsOnDemand, toDomainEvent, type DomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { messageIdOf } from '../../domain/subscriptions/receiver-id';
import { type Clause } from '../../domain/subscriptions/selector';
import {
  type ActiveSubscription,
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../domain/subscriptions/subscription';
import { type Occurrence, partiesOf, type Topic, usableOccurrence } from '../../domain/subscriptions/topic';
import { Directory, directoryAt } from '../../network/directory';
import { preparedOf, BEYOND, ByteBudget, messagesOf } from './messages-of';
import {
  receiversIn,
  SUBSCRIPTION_STREAMS,
  SubscriptionBook,
  subscriptionOf,
  subscriptionAsOf,
} from './subscription-book';
import { type DeliveryRequest } from '../../domain/subscriptions/delivery-requests';
import { type Programs } from '../../network/programs';
import { type Clock } from '../../runtime/clock';
import { Parking } from '../../runtime/parked-events';
import { marksAround } from './cursor';
import { MATCHER } from './matcher';

/** A clause that an occurrence does not meet, and what it has instead. */
export interface Exclusion {
  readonly clause: Clause['name'];
  readonly allowed: Clause['allowed'];
  readonly found: number | string | undefined;
}

/**
 * What a subscription made of an occurrence, and why. `receivers`: message ids, absent for those that their owner had
 * disabled.
 */
export type Explanation =
  | {
      readonly is: 'matched';
      readonly receivers: readonly { readonly id: string; readonly message?: string }[];
    }
  | { readonly is: 'excluded'; readonly by: readonly Exclusion[] }
  | { readonly is: 'disabled' }
  | { readonly is: 'created later' | 'deleted before'; readonly at: string }
  | { readonly is: 'of no party' };

/** An event of the subject, with what each subscription made of it. Without an occurrence nobody is notified. */
export interface ExplainedEvent {
  readonly event: Pick<RecordedEvent, 'id' | 'revision' | 'position'>;
  readonly occurrence: Occurrence | undefined;
  readonly subscriptions: readonly {
    readonly id: string;
    readonly organisationId: number;
    /** What the occurrence is to it. */
    readonly seen: Occurrence;
    readonly explanation: Explanation;
  }[];
}

interface Lifetime {
  readonly organisationId: number;
  readonly topic: string;
  readonly created: ExplainedMoment;
  deleted?: ExplainedMoment;
}

interface ExplainedMoment {
  readonly position: Position;
  readonly at: string;
}

/** An event with the active subscriptions at its position. */
interface Met extends Pick<ExplainedEvent, 'event' | 'occurrence'> {
  readonly active: ReadonlyMap<string, ActiveSubscription>;
}

interface ExplainOptions {
  /** The one subscription to explain. */
  readonly only?: string | undefined;
  /** Only events about it: others may share its stream. */
  readonly subject?: string;
  /** Only this many of the last events that somebody may be notified of; by default all events. */
  readonly last?: number;
}

/**
 * Explains why messages about a subject were made or not: for each event of `stream`, what the subscriptions of its
 * parties made of it, or only the one named by `only`. Replays all subscriptions, or this one. The explanations are
 * made when they are iterated.
 */
export async function explainMatches(
  log: EventLog,
  topic: Topic,
  stream: string,
  { only, last = Infinity, subject }: ExplainOptions = {},
): Promise<Iterable<ExplainedEvent>> {
  const book = new SubscriptionBook();
  const lifetimes = new Map<string, Lifetime>();
  const met: Met[] = [];
  const directory = new Directory();
  const { joins = [] } = topic;
  const own = only === undefined ? SUBSCRIPTION_STREAMS : streamOf(SUBSCRIPTION, only);
  const isInOrder = only === undefined || joins.length > 0;
  const subscriptions = isInOrder ? ofAll(log, [own, ...joins]) : eventsIn(log, own);
  for await (const event of inOrder(eventsIn(log, stream), subscriptions)) {
    if (event.stream === stream) {
      const one = meeting(topic, event, book, directory);
      if (last !== Infinity && one.occurrence === undefined) continue;
      if (subject !== undefined && (one.occurrence?.subject ?? subject) !== subject) continue;
      met.push(one);
      if (met.length > last) met.shift();
    } else if (event.stream.startsWith(SUBSCRIPTION_STREAMS)) note(lifetimes, event, book);
    else directory.apply(event);
  }
  return {
    *[Symbol.iterator]() {
      for (const one of met) {
        const { event, occurrence } = one;
        const subscriptions =
          occurrence === undefined ? [] : explained(one, occurrence, lifetimes, topic, only);
        yield { event, occurrence, subscriptions };
      }
    },
  };
}

async function* ofAll(log: EventLog, prefixes: readonly string[]): AsyncGenerator<RecordedEvent> {
  for await (const { events } of log.readAll({ after: START, prefixes })) yield* events;
}

/** The events of a subject and of subscriptions, in log order. */
async function* inOrder(
  subject: AsyncGenerator<RecordedEvent, undefined>,
  subscriptions: AsyncIterable<RecordedEvent>,
): AsyncGenerator<RecordedEvent> {
  let about = await subject.next();
  for await (const event of subscriptions) {
    for (; about.done !== true && about.value.position < event.position; about = await subject.next())
      yield about.value;
    yield event;
  }
  for (; about.done !== true; about = await subject.next()) yield about.value;
}

async function* eventsIn(log: EventLog, stream: string): AsyncGenerator<RecordedEvent, undefined> {
  for await (const batch of eventsOnDemand(log, stream)) yield* batch;
}

/** An event has the longest texts: only what depends on them is retained. */
function meeting(
  topic: Topic,
  recorded: RecordedEvent,
  book: SubscriptionBook,
  { programs }: Directory,
): Met {
  const { revision, position, id } = recorded;
  const isOfTopic = topic.handles.includes(recorded.type);
  const occurrence = isOfTopic ? usableOccurrence(topic, recorded, programs) : undefined;
  return { event: { id, revision, position }, occurrence, active: new Map(book.entries()) };
}

function note(lifetimes: Map<string, Lifetime>, event: RecordedEvent, book: SubscriptionBook): void {
  book.apply(event);
  const id = subscriptionOf(event);
  const { at } = toDomainEvent(event).data as { readonly at: string };
  const moment = { position: event.position, at };
  const known = lifetimes.get(id);
  const active = book.get(id);
  if (active === undefined && known?.deleted === undefined && known !== undefined) known.deleted = moment;
  if (active !== undefined && known === undefined)
    lifetimes.set(id, { organisationId: active.organisationId, topic: active.topic, created: moment });
}

function explained(
  { event, active }: Met,
  occurrence: Occurrence,
  lifetimes: ReadonlyMap<string, Lifetime>,
  topic: Topic,
  only: string | undefined,
): ExplainedEvent['subscriptions'] {
  const parties = partiesOf(occurrence);
  return [...lifetimes].flatMap(([id, lifetime]) => {
    const { organisationId } = lifetime;
    if (lifetime.topic !== topic.name) return [];
    if (only === undefined ? !parties.has(organisationId) : id !== only) return [];
    const subscription = active.get(id);
    const seen =
      subscription === undefined
        ? occurrence
        : preparedOf(id, subscription).selector.seenBy(organisationId, occurrence);
    const explanation: Explanation = !parties.has(organisationId)
      ? { is: 'of no party' }
      : subscription === undefined
        ? absent(lifetime, event)
        : explanationOf(id, subscription, event, seen);
    return [{ id, organisationId, seen, explanation }];
  });
}

function absent({ created, deleted }: Lifetime, { position }: ExplainedEvent['event']): Explanation {
  if (created.position > position) return { is: 'created later', at: created.at };
  return { is: 'deleted before', at: deleted?.at ?? created.at };
}

function explanationOf(
  id: string,
  subscription: ActiveSubscription,
  event: ExplainedEvent['event'],
  occurrence: Occurrence,
): Explanation {
  const by = preparedOf(id, subscription)
    .selector.exclusions(occurrence)
    .map(({ name, allowed, found }) => ({ clause: name, allowed, found: found(occurrence) }));
  if (by.length > 0) return { is: 'excluded', by };
  if (subscription.content.disabled === true) return { is: 'disabled' };
  const receivers = [...receiversIn(id, subscription)].map(([receiver, { disabled }]) =>
    disabled === true ? { id: receiver } : { id: receiver, message: messageIdOf(event.id, receiver) },
  );
  return { is: 'matched', receivers };
}

/** A message that was not made when its transition happened, and would be now. */
export type MissedMessage = Omit<
  Extract<DeliveryRequest, { readonly type: 'MessageRequested' }>['data'],
  'at'
>;

export interface Missed {
  readonly topic: Topic;
  readonly id: string;
  readonly subscription: ActiveSubscription;
  readonly receivers: ReadonlySet<string>;
  /** Bounds of the time of the transition, inclusive (epoch ms). */
  readonly min: number;
  readonly max: number;
  /** What was looked at before; undefined: nothing. */
  readonly after: Position | undefined;
}

/** By how much the clocks of those who append may differ (ms), with room to spare. */
const CLOCKS_MS = 60 * 60 * 1000;

/** Events of one call: some seconds of reading. */
const MOST_EVENTS = 100_000;

/**
 * Finds messages that a subscription would make of transitions now, and did not when these happened, or were retried:
 * what it was then is read along with them, so what the matcher has made, or will make, is not found. Stops after some
 * messages or events: `next` is where to continue. `first` is the position of the first transition that is found.
 */
export async function missedMessages(
  clock: Clock,
  log: EventLog,
  missed: Missed,
  most: number,
): Promise<{ readonly found: readonly MissedMessage[]; readonly first: Position; readonly next?: Position }> {
  const { topic, id, min, max } = missed;
  const own = streamOf(SUBSCRIPTION, id);
  const { joins = [] } = topic;
  const { upTo, ...marks } = await marksAround(log, min - CLOCKS_MS, max + CLOCKS_MS);
  const { after = marks.after } = missed;
  const directory = await directoryAt(log, after, joins);
  const parking = await new Parking(clock, log, MATCHER).refresh();
  let version = await subscriptionAsOf(log, id, after);
  let then = version.state;
  const found: MissedMessage[] = [];
  let first = START;
  let seen = 0;
  for await (const { events } of log.readAll({ after, prefixes: [...topic.streams, own, ...joins] })) {
    for (const event of events) {
      if (upTo !== undefined && event.position > upTo) return { found, first };
      seen += 1;
      if (event.stream === own)
        then = subscriptionDecider.evolve(then, toDomainEvent(event) as SubscriptionEvent);
      else if (topic.handles.includes(event.type)) {
        const time = timeOf(toDomainEvent(event));
        if (time >= min && time <= max && !parking.isDisregarded(event.id)) {
          const retried = parking.retriedAt(event.id);
          if (retried !== undefined && (retried < version.from || retried >= version.until))
            version = await subscriptionAsOf(log, id, retried);
          const before = retried === undefined ? then : version.state;
          const made = missedOf(event, before, missed, directory.programs);
          if (found.length === 0 && made.length > 0) first = event.position;
          found.push(...made);
        }
      } else directory.apply(event);
      if (seen >= MOST_EVENTS || found.length >= most) return { found, first, next: event.position };
    }
  }
  return { found, first };
}

/** When a transition happened (epoch ms): the `at` of its event, as of its `Occurrence`. */
function timeOf({ data }: DomainEvent): number {
  return Date.parse((data as { readonly at?: string }).at ?? '');
}

function missedOf(
  event: RecordedEvent,
  then: SubscriptionState,
  { topic, id, subscription, receivers }: Missed,
  programs: Programs,
): readonly MissedMessage[] {
  const { organisationId } = subscription;
  const happened = usableOccurrence(topic, event, programs);
  const prepared = preparedOf(id, subscription);
  const occurrence = happened && prepared.selector.of(organisationId, happened);
  if (happened === undefined || occurrence === undefined) return [];
  const before = then.is === 'active' ? preparedOf(id, then) : undefined;
  const wasMade = new Set(
    before?.selector.of(organisationId, happened) === undefined ? [] : before.renderers.keys(),
  );
  const isMissed = (receiver: string): boolean => receivers.has(receiver) && !wasMade.has(receiver);
  const { subject, sequence, stateId, at } = occurrence;
  const parts = { event, id, subscription, prepared, occurrence, programs };
  // They are rendered when they are sent; what they would take is counted now, unconverted.
  const counted = { ...parts, rates: undefined, budget: new ByteBudget(), report: () => undefined };
  return Array.from(messagesOf(counted, isMissed), ({ data: { receiver, id: message, unsendable } }) => ({
    ...{ receiver, message, subject, sequence, stateId },
    time: at,
    ...(unsendable === BEYOND.unsendable ? { isBeyond: true } : {}),
  }));
}
