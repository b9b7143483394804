import { eventAt, eventsOf, load, toDomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { defined, without } from '../../kernel/values';
import { type Message, topicOf } from '../../domain/deliveries/delivery-events';
import { contentIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  type ActiveSubscription,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../domain/subscriptions/subscription';
import { type Occurrence, occurrenceOf, type Topic, variantsOf } from '../../domain/subscriptions/topic';
import { type Directory, directoryAt } from '../../network/directory';
import { Programs } from '../../network/programs';
import { messagesOf, preparedOf, testOf } from './messages-of';
import { subscriptionAsOf } from './subscription-book';
import { type PublishedRates, RATES_STREAM, ratesDecider, type RatesEvent } from './rates';

interface RenderedVersion {
  readonly subscription: ActiveSubscription;
  readonly position: Position;
}

/** An event that a message is about, and what has happened by it. */
interface RenderedEvent {
  readonly event: Pick<RecordedEvent, 'id' | 'position'>;
  readonly occurrence: Occurrence;
  readonly joins?: Topic['joins'];
}

interface RatesAt {
  readonly rates: PublishedRates | undefined;
  readonly position: Position;
}

const NO_PROGRAMS = new Programs();

/** Versions that are cached: each may have some 600 KB, as long as it renders. */
const MOST = 16;

/**
 * Renders messages again after their receiver, or their subscription, has changed, or a rate that they await was
 * published: from their event, with the rates of then or else the first ones after it, under their old ids ([ADR
 * 29](docs/adr/0029-what-waits-is-rendered-again.md)). A function of the log and of the version of the subscription, so
 * whoever renders a message by one version makes the same bytes.
 */
export class Rerenderer {
  private readonly versions = new Map<string, RenderedVersion>();
  private joined: { readonly position: Position; readonly directory: Promise<Directory> } | undefined;

  constructor(
    /** The domain log. */
    private readonly log: EventLog,
    private readonly topics: readonly Topic[],
    /** Receives errors because of which messages cannot be rendered. */
    private readonly report: (failure: unknown) => void = () => undefined,
  ) {}

  /**
   * The message by a version of its subscription that is not older than `since`. Undefined: that has no such receiver,
   * or there is none yet, as far as the log has been read. Raises `EngineUnavailable`.
   */
  async current(message: Message, since: Position): Promise<Message | undefined> {
    const version = await this.versionSince(message.subscriptionId, since);
    return version && (await this.by(message, version));
  }

  /** The message as it will be sent, if it is sent now: as it is unless its receiver has changed. */
  async toSend(message: Message, subscription: ActiveSubscription, position: Position): Promise<Message> {
    const { subscriptionId: id, receiver, rendered, cause } = message;
    const { state: then } = await subscriptionAsOf(this.log, id, rendered ?? cause);
    const isSame =
      message.awaitsRate === undefined &&
      message.renderable === undefined &&
      then.is === 'active' &&
      renderingOf(id, then.content, receiver) === renderingOf(id, subscription.content, receiver);
    return isSame ? message : ((await this.by(message, { subscription, position })) ?? message);
  }

  /** The message as it was sent, by the version that its outcome names. */
  async asSent(message: Message, rendered: Position | undefined): Promise<Message> {
    if (rendered === undefined || rendered === message.rendered) return message;
    const { state } = await subscriptionAsOf(this.log, message.subscriptionId, rendered);
    if (state.is !== 'active') return message;
    return (await this.by(message, { subscription: state, position: rendered })) ?? message;
  }

  private async versionSince(id: string, since: Position): Promise<RenderedVersion | undefined> {
    const cached = this.versions.get(id);
    this.versions.delete(id);
    const version = cached !== undefined && cached.position >= since ? cached : await this.latest(id);
    if (version === undefined || version.position < since) return undefined;
    this.versions.set(id, version);
    const [oldest = id] = this.versions.keys();
    if (this.versions.size > MOST) this.versions.delete(oldest);
    return version;
  }

  private async latest(id: string): Promise<RenderedVersion | undefined> {
    const { state, position } = await load(this.log, subscriptionDecider, id);
    return state.is === 'active' ? { subscription: state, position } : undefined;
  }

  /** Undefined: the version has no such receiver. */
  private async by(
    message: Message,
    { subscription, position }: RenderedVersion,
  ): Promise<Message | undefined> {
    const { subscriptionId: id, receiver } = message;
    const found = await this.eventOf(message);
    if (found === undefined) return { ...withoutRequest(message), unsendable: NO_EVENT, rendered: position };
    const to = subscription.content.currencyConversion;
    const { before: rates, after } =
      to === undefined ? { before: undefined, after: [] } : await this.ratesAround(found.event.position);
    const enabled = allEnabled(subscription);
    const prepared = preparedOf(id, enabled);
    const { occurrence, event } = found;
    const isJoined = occurrence.own !== undefined && found.joins !== undefined;
    const programs = isJoined ? await this.programsAt(event.position, found.joins) : NO_PROGRAMS;
    const parts = {
      occurrence,
      event,
      id,
      subscription: enabled,
      prepared,
      programs,
      rates,
      report: this.report,
    };
    const isOwn = (id: string): boolean => id === receiver;
    let [due] = [...messagesOf(parts, isOwn)];
    // By the first rates that have both currencies, however late it is.
    for (const later of due?.data.awaitsRate === undefined ? [] : after) {
      [due] = [...messagesOf({ ...parts, rates: later.rates }, isOwn)];
      if (due?.data.awaitsRate === undefined) break;
    }
    if (due === undefined) return undefined;
    const { request, unsendable, conversion, awaitsRate } = due.data;
    return {
      ...withoutRequest(message),
      ...defined({ request, unsendable, conversion }),
      ...(awaitsRate && { awaitsRate: { ...awaitsRate, upTo: after.at(-1)?.position ?? awaitsRate.upTo } }),
      rendered: position,
    };
  }

  private async eventOf(message: Message): Promise<RenderedEvent | undefined> {
    const { subject, sequence, stateId, at, cause, isTest } = message;
    const topic = this.topics.find(({ name }) => name === topicOf(message));
    if (topic === undefined) return undefined;
    if (isTest === true)
      return { event: { id: message.id, position: cause }, occurrence: testOf(topic, subject, stateId, at) };
    const event = await eventAt(this.log, topic.streamOf(subject), sequence - 1);
    if (event === undefined) return undefined;
    try {
      const happened = occurrenceOf(topic, event);
      const occurrence = happened && variantsOf(happened).find((one) => one.stateId === stateId);
      return occurrence && { event, occurrence, ...defined({ joins: topic.joins }) };
    } catch (error) {
      // An event that no version of the matcher could have used.
      this.report(error);
      return undefined;
    }
  }

  /** Cached for the messages about one event. */
  private async programsAt(position: Position, joins: readonly string[]): Promise<Programs> {
    if (this.joined?.position !== position)
      this.joined = { position, directory: directoryAt(this.log, position, joins) };
    return (await this.joined.directory).programs;
  }

  /** The rates known at a position of the log, and those published after it, in order. */
  private async ratesAround(
    position: Position,
  ): Promise<{ readonly before: PublishedRates | undefined; readonly after: readonly RatesAt[] }> {
    const after: RatesAt[] = [];
    for await (const event of eventsOf(this.log, RATES_STREAM, { backwards: true, batchSize: 10 })) {
      const rates = ratesDecider.evolve(undefined, toDomainEvent(event) as RatesEvent);
      if (rates === undefined) continue;
      if (event.position < position) return { before: rates, after: after.reverse() };
      after.push({ rates, position: event.position });
    }
    return { before: undefined, after: after.reverse() };
  }
}

const enabledOnes = new WeakMap<ActiveSubscription, ActiveSubscription>();

/** The subscription as if nothing of it were disabled: messages that are held are rendered too. */
function allEnabled(subscription: ActiveSubscription): ActiveSubscription {
  const known = enabledOnes.get(subscription);
  if (known !== undefined) return known;
  const content = without(subscription.content, 'disabled');
  const receivers = content.receivers.map((receiver) => without(receiver, 'disabled'));
  const enabled = { ...subscription, content: { ...content, receivers } };
  enabledOnes.set(subscription, enabled);
  return enabled;
}

const NO_EVENT = 'the event that it is about is not in the log';

function withoutRequest(message: Message): Message {
  return without(message, 'request', 'unsendable', 'renderable', 'conversion', 'awaitsRate');
}

/** What the bytes to a receiver depend on, as a text that is the same as long as they are. */
function renderingOf(id: string, content: SubscriptionContent, receiver: string): string | undefined {
  const found = receiversOf(id, content).get(receiver);
  return found && `${contentIdOf(id, found)} ${sharedRenderingOf(content)}`;
}

/** What the bytes to all receivers depend on. */
export function sharedRenderingOf({ currencyConversion, customAttribute }: SubscriptionContent): string {
  return JSON.stringify([currencyConversion, customAttribute]);
}
