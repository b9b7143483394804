import { type Receiver, type SubscriptionContent } from '../../domain/subscriptions/subscription';
import { type Attributes, type Occurrence } from '../../domain/subscriptions/topic';
import { textOf } from '../../domain/subscriptions/template';
import { lazyRenderer, type Renderer } from './render';

/** A subscription in the form in which occurrences are matched fastest. */
export interface PreparedSubscription {
  /** Whether messages are made of an occurrence: of one that it is not a party of, never call it. */
  readonly matches: (occurrence: Occurrence) => boolean;
  /** Adds the custom attribute. */
  readonly customised: (attributes: Attributes) => Attributes;
  /** Renderers by ids of receivers, without those that the owner has disabled. */
  readonly renderers: ReadonlyMap<string, Renderer>;
}

/** By content: it is the same as long as nobody replaces the subscription. */
const prepared = new WeakMap<SubscriptionContent, PreparedSubscription>();

/** `receivers`: those of the subscription by their ids. */
export function preparedSubscription(
  content: SubscriptionContent,
  receivers: ReadonlyMap<string, Receiver>,
): PreparedSubscription {
  const known = prepared.get(content) ?? prepare(content, receivers);
  prepared.set(content, known);
  return known;
}

function prepare(
  content: SubscriptionContent,
  receivers: ReadonlyMap<string, Receiver>,
): PreparedSubscription {
  const enabled = [...receivers].filter(([, { disabled }]) => disabled !== true);
  return {
    matches: filterOf(content),
    customised: customising(content),
    renderers: new Map(
      content.disabled === true ? [] : enabled.map(([id, receiver]) => [id, lazyRenderer(receiver)]),
    ),
  };
}

function filterOf({ filter, siteId }: SubscriptionContent): (occurrence: Occurrence) => boolean {
  const states = new Set(filter.stateIds);
  const allows = (ids: readonly number[] | undefined): ((id: number | undefined) => boolean) => {
    const allowed = ids && new Set(ids);
    return (id) => allowed === undefined || (id !== undefined && allowed.has(id));
  };
  const [program, site, event] = [filter.programIds, filter.siteIds, filter.eventIds].map(allows) as [
    Test,
    Test,
    Test,
  ];
  const eventType = allows(filter.eventTypeIds);
  return (occurrence) =>
    states.has(occurrence.stateId) &&
    (siteId === undefined || occurrence.siteId === siteId) &&
    program(occurrence.programId) &&
    site(occurrence.siteId) &&
    event(occurrence.eventId) &&
    eventType(occurrence.eventTypeId);
}

type Test = (id: number | undefined) => boolean;

/** `docs/decisions.md#n13`. */
function customising({ customAttribute }: SubscriptionContent): (attributes: Attributes) => Attributes {
  if (customAttribute === undefined) return (attributes) => attributes;
  const { tdAttributes, userAttribute, rules } = customAttribute;
  // Of equal inputs the first counts.
  const outputs = new Map(rules.toReversed().map(({ inputs, output }) => [JSON.stringify(inputs), output]));
  return (attributes) => {
    const inputs = tdAttributes.map((name) => textOf(name, attributes) ?? '');
    const output = outputs.get(JSON.stringify(inputs));
    return output === undefined ? attributes : { ...attributes, [userAttribute]: output };
  };
}
