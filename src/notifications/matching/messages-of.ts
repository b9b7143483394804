import { type RecordedEvent } from '../../kernel/event';
import { type MatchedEvent, type Message } from '../delivery-events';
import { messageIdOf } from '../receiver-id';
import { type ActiveSubscription, type SubscriptionContent } from '../subscription';
import { type Attributes, type Occurrence, type Topic } from '../topic';
import { type PreparedSubscription, preparedSubscription } from './prepared-subscription';
import { type Conversion, conversionOf, type PublishedRates } from './rates';
import { receiversIn } from './subscription-book';

/** An occurrence that a subscription selects. */
interface Selected {
  /** The event that it is of. */
  readonly event: Pick<RecordedEvent, 'id' | 'position'>;
  readonly id: string;
  readonly subscription: ActiveSubscription;
  readonly prepared: PreparedSubscription;
  readonly occurrence: Occurrence;
  /** As of the event. */
  readonly rates: PublishedRates | undefined;
}

/** The messages about an occurrence, to all receivers of the subscription or to one. */
export function* messagesOf(
  { event, id, subscription, prepared, occurrence, rates }: Selected,
  only?: string,
): Generator<Extract<MatchedEvent, { readonly type: 'MessageDue' }>> {
  const { content, organisationId, topic } = subscription;
  const to = content.currencyConversion?.to;
  const from = occurrence.currencyId;
  const conversion = to === undefined ? undefined : conversionOf(rates, from, to);
  const isRateMissing = conversion === undefined && to !== undefined && to !== from;
  const values = prepared.customised(
    conversion === undefined ? occurrence.attributes : converted(occurrence, conversion),
  );
  const { subject, sequence, stateId, at } = occurrence;
  for (const [receiver, render] of prepared.renderers) {
    if (only !== undefined && receiver !== only) continue;
    const data: Message = {
      id: messageIdOf(event.id, receiver),
      ...{ subscriptionId: id, organisationId, receiver, topic, subject, sequence, stateId, at },
      cause: event.position,
      ...(isRateMissing && hidesCurrency(render.names, occurrence, content)
        ? { awaitsRate: { from, to, upTo: event.position } }
        : render(values)),
      ...(conversion === undefined ? {} : { conversion: stored(conversion) }),
      ...(content.strictOrder === true ? { strictOrder: true } : {}),
    };
    yield { type: 'MessageDue', data };
  }
}

/** Whether messages show an amount, or what is made of one by the custom attribute, without its currency (`docs/decisions.md#n12`). */
function hidesCurrency(
  names: ReadonlySet<string>,
  { amounts }: Occurrence,
  { customAttribute }: SubscriptionContent,
): boolean {
  if (names.has('currencyId')) return false;
  const inputs =
    customAttribute !== undefined && names.has(customAttribute.userAttribute)
      ? customAttribute.tdAttributes
      : [];
  return amounts.some((name) => names.has(name) || inputs.includes(name));
}

/** What a test is about. It has a subject of its own: no test waits for another one. `event`: the id of its `TestRequested`. */
export function testOf(topic: Topic, event: string, stateId: number, at: string): Occurrence {
  return { ...topic.example(stateId, new Date(at)), subject: `test-${event}` };
}

export function preparedOf(id: string, subscription: ActiveSubscription): PreparedSubscription {
  return preparedSubscription(subscription.content, receiversIn(id, subscription));
}

/** The attributes with amounts in another currency. */
function converted({ attributes, amounts }: Occurrence, { to, convert }: Conversion): Attributes {
  const values = amounts.flatMap((name) => {
    const amount = attributes[name];
    return typeof amount === 'number' ? [[name, convert(amount)] as const] : [];
  });
  return { ...attributes, ...Object.fromEntries(values), currencyId: to };
}

function stored({ from, to, rate, day }: Conversion): Message['conversion'] & object {
  return { from, to, rate, day };
}
