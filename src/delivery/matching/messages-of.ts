import { NamedError } from '../../kernel/fault';
import { type MatchedEvent, type Message, type HttpRequest } from '../../domain/deliveries/delivery-events';
import { messageIdOf } from '../../domain/subscriptions/receiver-id';
import { Selector } from '../../domain/subscriptions/selector';
import {
  type ActiveSubscription,
  type Receiver,
  type ReceiverFormat,
  type SubscriptionContent,
} from '../../domain/subscriptions/subscription';
import {
  compiledBody,
  type CompiledTemplate,
  compiledUrl,
  filled,
  isTemplate,
  MAX_URL,
  parseTemplate,
  sample,
  sentUrl,
  type Template,
  textOf,
  UnusableTemplate,
} from '../../domain/subscriptions/template';
import { type Attributes, type Occurrence, type Topic } from '../../domain/subscriptions/topic';
import { type RecordedEvent, START } from '../../kernel/event';
import { type Programs } from '../../network/programs';
import { APPEND_LIMITS } from '../../kernel/event-log';
import { type Conversion, conversionOf, type PublishedRates } from './rates';
import { receiversIn } from './subscription-book';

/** An occurrence that a subscription selects. */
interface Selected {
  readonly event: Pick<RecordedEvent, 'id' | 'position'>;
  readonly id: string;
  readonly subscription: ActiveSubscription;
  readonly prepared: PreparedSubscription;
  readonly occurrence: Occurrence;
  /** As of the event, as far as the topic joins them. */
  readonly programs: Programs;
  /** As of the event. */
  readonly rates: PublishedRates | undefined;
  /** Of the organisation, for the messages about this event; without one they are not limited. */
  readonly budget?: ByteBudget;
  /** Receives errors because of which messages could not be made. */
  readonly report: (failure: unknown) => void;
}

type MessageDue = Extract<MatchedEvent, { readonly type: 'MessageDue' }>;

/** The content of a message, or why it cannot be sent, or not yet. */
type Made = Pick<Message, 'request' | 'unsendable' | 'renderable' | 'awaitsRate' | 'rendered' | 'conversion'>;

/**
 * The messages about an occurrence, to all receivers of the subscription or to some. One that cannot be made has the
 * reason in place of its request; raises nothing.
 */
export function* messagesOf(
  selected: Selected,
  isWanted: (receiver: string) => boolean = () => true,
): Generator<MessageDue> {
  const { event, id, subscription, prepared, occurrence } = selected;
  const { content, organisationId, topic } = subscription;
  const { subject, sequence, stateId, at } = occurrence;
  const make = makerOf(selected);
  for (const [receiver, render] of prepared.renderers) {
    if (!isWanted(receiver)) continue;
    const data: Message = {
      id: messageIdOf(event.id, receiver),
      ...{ subscriptionId: id, organisationId, receiver, topic, subject, sequence, stateId, at },
      cause: event.position,
      ...make(render),
      ...(content.strictOrder === true ? { strictOrder: true } : {}),
    };
    yield { type: 'MessageDue', data };
  }
}

const FAULT: Made = {
  unsendable: 'it cannot be rendered, because of an error of this system that is reported to its operators',
  renderable: true,
};

/** A bug, or an event of another program: the message is a dead letter, the others are made. */
class NotRendered extends NamedError {
  constructor({ id, position }: Selected['event'], subscription: string, cause: unknown) {
    super(
      `a message of the subscription ${subscription} about the event ${id} at ${position} cannot be rendered`,
      { cause },
    );
  }
}

/** Makes the messages about an occurrence to one receiver after the other; raises nothing, and reports one failure. */
function makerOf(selected: Selected): (render: Renderer) => Made {
  const { event, id, report } = selected;
  let [make, isReported]: [((render: Renderer) => Made) | undefined, boolean] = [undefined, false];
  return (render) => {
    try {
      return (make ??= messageMaker(selected))(render);
    } catch (error) {
      if (!isReported) report(new NotRendered(event, id, error));
      isReported = true;
      return FAULT;
    }
  };
}

/** Makes the messages to one receiver after the other by what they have in common. */
function messageMaker({ event, subscription, prepared, occurrence, programs, rates, budget }: Selected) {
  const { content, organisationId } = subscription;
  const to = content.currencyConversion?.to;
  const from = occurrence.currencyId;
  const conversion = to === undefined ? undefined : conversionOf(rates, from, to);
  const isRateMissing = conversion === undefined && to !== undefined && to !== from;
  const { amounts } = occurrence;
  const own = occurrence.own?.({ organisationId, siteId: content.siteId }, programs);
  const attributes = own === undefined ? occurrence.attributes : { ...occurrence.attributes, ...own };
  const values = prepared.customised(
    conversion === undefined ? attributes : converted({ attributes, amounts }, conversion),
  );
  const convertedBy = conversion === undefined ? {} : { conversion: stored(conversion) };
  return (render: Renderer): Made => {
    if (budget?.isSpent === true) return BEYOND;
    const rendered = render(values);
    const share = budget?.take('request' in rendered ? sizeOf(rendered.request) : 0) ?? 'stored';
    if (share === 'beyond') return BEYOND;
    if (isRateMissing && hidesCurrency(render.names, occurrence, content))
      return { awaitsRate: { from, to, upTo: event.position } };
    // It is rendered when it is sent, with the same rates.
    if (share === 'not stored') return { rendered: START };
    return { ...rendered, ...convertedBy };
  };
}

/**
 * Bytes of the messages to an organisation about one event: `most` that are sent, and `stored` of them that are stored
 * with their bytes.
 */
export interface BudgetLimits {
  readonly most: number;
  readonly stored: number;
}

/** `docs/decisions.md#n15`. */
export const MESSAGE_BYTES: BudgetLimits = { most: 16 * 1024 * 1024, stored: 256 * 1024 };

/** The content of a message that exceeds the budget. */
export const BEYOND = {
  unsendable: `the messages to the organisation about this event have more than ${MESSAGE_BYTES.most} bytes together`,
  renderable: true,
} as const;

/** URL and body, in UTF-8. */
function sizeOf({ url, body = '' }: HttpRequest): number {
  return Buffer.byteLength(url) + Buffer.byteLength(body);
}

/**
 * Whether messages show an amount, or what is made of one by the custom attribute, without its currency
 * (`docs/decisions.md#n12`).
 */
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

/** The subject of a test: one of its own, so that no test waits for another one. `event`: its `TestRequested`. */
export function subjectOfTest(event: Pick<RecordedEvent, 'id'>): string {
  return `test-${event.id}`;
}

/** What a test is about. */
export function testOf(topic: Topic, subject: string, stateId: number, at: string): Occurrence {
  return { ...topic.example(stateId, new Date(at)), subject };
}

/** The attributes with amounts in another currency. */
function converted(
  { attributes, amounts }: Pick<Occurrence, 'attributes' | 'amounts'>,
  { to, convert }: Conversion,
): Attributes {
  const values = amounts.flatMap((name) => {
    const amount = attributes[name];
    return typeof amount === 'number' ? [[name, convert(amount)] as const] : [];
  });
  return { ...attributes, ...Object.fromEntries(values), currencyId: to };
}

function stored({ from, to, rate, day }: Conversion): Message['conversion'] & object {
  return { from, to, rate, day };
}

/** A subscription in the form in which occurrences are matched fastest. */
interface PreparedSubscription {
  readonly selector: Selector;
  /** Adds the custom attribute. */
  readonly customised: (attributes: Attributes) => Attributes;
  /** Renderers by ids of receivers, without those that the owner has disabled. */
  readonly renderers: ReadonlyMap<string, Renderer>;
}

/** By content: it is the same as long as nobody replaces the subscription. */
const prepared = new WeakMap<SubscriptionContent, PreparedSubscription>();

export function preparedOf(id: string, subscription: ActiveSubscription): PreparedSubscription {
  const { content } = subscription;
  const cached = prepared.get(content);
  if (cached !== undefined) return cached;
  const enabled = [...receiversIn(id, subscription)].filter(([, { disabled }]) => disabled !== true);
  const one = {
    selector: new Selector(content),
    customised: customising(content),
    renderers: new Map(
      content.disabled === true ? [] : enabled.map(([id, receiver]) => [id, lazyRenderer(receiver)]),
    ),
  };
  prepared.set(content, one);
  return one;
}

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

/**
 * What the messages to an organisation about one event may take, in their order. What is not stored is rendered when it
 * is sent; after the first message that is beyond the budget there are no others, so that none of them has to be
 * rendered.
 */
export class ByteBudget {
  private taken = 0;
  private storedBytes = 0;
  private isOver = false;

  constructor(private readonly limits: BudgetLimits = MESSAGE_BYTES) {}

  get isSpent(): boolean {
    return this.isOver;
  }

  take(bytes: number): 'stored' | 'not stored' | 'beyond' {
    this.isOver ||= this.taken + bytes > this.limits.most;
    if (this.isOver) return 'beyond';
    this.taken += bytes;
    if (this.storedBytes + bytes > this.limits.stored) return 'not stored';
    this.storedBytes += bytes;
    return 'stored';
  }
}

/** A message as it is sent, or why it cannot be. */
type RenderedMessage = { readonly request: HttpRequest } | { readonly unsendable: string };

/** Renders the messages to a receiver. */
interface Renderer {
  (attributes: Attributes): RenderedMessage;
  /** The attributes that its messages show. */
  readonly names: ReadonlySet<string>;
}

/** Most bytes of a body (`docs/decisions.md#n10`). */
const MAX_BODY = 256 * 1024;
/**
 * UTF-16 units of a URL before it is normalised, which makes it shorter by less than the template's 2,048 characters.
 */
const MAX_URL_TEXT = 2 * MAX_URL;
/** A body in the delivery log, as JSON: an append has to hold it. */
const MAX_STORED_BODY = APPEND_LIMITS.bytes - 64 * 1024;

const CONTENT_TYPES: Readonly<Record<ReceiverFormat, string>> = {
  JSON: 'application/json; charset=utf-8',
  XML: 'application/xml; charset=utf-8',
  custom: 'text/plain; charset=utf-8',
};

/** Compiles the templates of a receiver, once for many messages. */
export function rendererOf(receiver: Receiver): Renderer {
  try {
    const path = compiledField('receiverUrl', receiver.receiverUrl, compiledUrl);
    const url = urlRenderer(path);
    if (receiver.httpMethod === 'GET')
      return renderer([path], (attributes) => {
        const rendered = url(attributes);
        return 'unsendable' in rendered ? rendered : { request: { method: 'GET', url: rendered.text } };
      });
    const { receiverBody, receiverFormat } = receiver;
    const body = compiledField('receiverBody', receiverBody, (template) =>
      compiledBody(template, receiverFormat),
    );
    return renderer([path, body], (attributes) =>
      post(url(attributes), bodyOf(body, attributes), CONTENT_TYPES[receiverFormat]),
    );
  } catch (error) {
    if (!(error instanceof UnusableTemplate)) throw error;
    const { message } = error;
    return renderer([], () => ({ unsendable: message }));
  }
}

/** As `rendererOf`, compiled when it is used first: a subscription has several, of which often one is needed. */
function lazyRenderer(receiver: Receiver): Renderer {
  let compiled: Renderer | undefined;
  const own = (): Renderer => (compiled ??= rendererOf(receiver));
  return Object.defineProperty(((attributes) => own()(attributes)) as Renderer, 'names', {
    get: () => own().names,
  });
}

function renderer(
  templates: readonly CompiledTemplate[],
  render: (attributes: Attributes) => RenderedMessage,
): Renderer {
  const names = templates.flat().flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]));
  return Object.assign(render, { names: new Set(names) });
}

type RenderedPart = { readonly text: string } | { readonly unsendable: string };

function post(url: RenderedPart, body: RenderedPart, contentType: string): RenderedMessage {
  if ('unsendable' in url) return url;
  if ('unsendable' in body) return body;
  return { request: { method: 'POST', url: url.text, contentType, body: body.text } };
}

const URL_TOO_LONG = { unsendable: `its URL is longer than ${MAX_URL} bytes` } as const;

function urlRenderer(template: CompiledTemplate): (attributes: Attributes) => RenderedPart {
  const expected = dotSegmentsIn(sample(template, 'x'));
  return (attributes) => {
    const text = filled(template, attributes, MAX_URL_TEXT);
    if (text === undefined) return URL_TOO_LONG;
    const sent = sentUrl(text)?.href ?? text;
    if (Buffer.byteLength(sent) > MAX_URL) return URL_TOO_LONG;
    if (dotSegmentsIn(text) !== expected)
      return { unsendable: 'a value in the path of its URL is "." or "..", which would change the path' };
    return { text: sent };
  };
}

const DOT_SEGMENT = /[/\\](?:\.|%2e){1,2}(?=[/\\]|$)/gi;

/** The number of segments `.` and `..` of the path, which URL parsers resolve; encoding does not prevent that. */
function dotSegmentsIn(url: string): number {
  const end = url.search(/[?#]/);
  return (end < 0 ? url : url.slice(0, end)).match(DOT_SEGMENT)?.length ?? 0;
}

/** Control characters and halves of surrogate pairs, which JSON writes as six characters. */
const SIX_IN_JSON = /[\u0000-\u001f\ud800-\udfff]/;

function bodyOf(template: CompiledTemplate, attributes: Attributes): RenderedPart {
  const text = filled(template, attributes, MAX_BODY);
  if (text === undefined || Buffer.byteLength(text) > MAX_BODY)
    return { unsendable: `its body is longer than ${MAX_BODY} bytes` };
  // Other characters take at most twice their bytes in JSON, which always fits.
  if (
    6 * text.length > MAX_STORED_BODY &&
    SIX_IN_JSON.test(text) &&
    Buffer.byteLength(JSON.stringify(text)) > MAX_STORED_BODY
  )
    return { unsendable: 'its body has too many control characters' };
  return { text };
}

function compiledField(
  field: string,
  text: string,
  compile: (template: Template) => CompiledTemplate,
): CompiledTemplate {
  try {
    const template = parseTemplate(text);
    if (!isTemplate(template)) throw new UnusableTemplate(template.reason);
    return compile(template);
  } catch (error) {
    throw error instanceof UnusableTemplate ? new UnusableTemplate(`${field}: ${error.message}`) : error;
  }
}
