import { type MakeFault } from '../../kernel/fault';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { type ReceiverFormat } from '../../domain/subscriptions/subscription';
import { stateField, type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { type Caller } from '../../network/organisations';
import { isPosted, type Posted, Refusals } from '../../wire/api/posted';
import { postedFromJson } from '../../wire/json/read';
import { NotParsable } from '../../wire/bytes';
import { atMost, boolean, idOf, instant, integer, language, text, wordOf } from '../../wire/record/kinds';
import { currency } from '../../wire/record/minor-units';
import { type FoundIn, recordReader } from '../../wire/record/read';
import {
  type AnswerOf,
  type Field,
  type List,
  listOf,
  only,
  type PostedOf,
  reading,
  record,
  type Scalar,
} from '../../wire/record/record';
import { DELIVERY_STATES } from './deliveries.fields';

/** Most of what a subscription has (`docs/decisions.md#n10`, `#n13`, `#n15`). */
export const MOST = {
  ids: 1000,
  receivers: 10,
  nameCharacters: 255,
  urlCharacters: 2048,
  bodyBytes: 64 * 1024,
  inputs: 10,
  attributeCharacters: 100,
  rules: 1000,
} as const;

const optional = { optional: true } as const;

const FORMATS = ['JSON', 'XML', 'custom'] as const satisfies readonly ReceiverFormat[];

/** `docs/decisions.md#n10`: in whatever case. */
const FORMAT: Scalar<ReceiverFormat, ReceiverFormat> = {
  is: 'scalar',
  posted: {
    json: { type: 'string' },
    xsd: 'xs:string',
    note: `: ${FORMATS.join(', ')}`,
    read: reading(
      (value) =>
        typeof value === 'string'
          ? FORMATS.find((format) => format.toLowerCase() === value.toLowerCase())
          : undefined,
      `one of ${FORMATS.join(', ')}`,
    ),
  },
  answered: { json: { type: 'string', enum: FORMATS }, xsd: 'xs:string', write: (format) => format },
};

/** The kind, of which any problem with a posted value is this fault. */
function refusedAs<Posted, Answered>(
  unusable: MakeFault,
  { posted, answered }: Scalar<Posted, Answered>,
): Scalar<Posted, Answered> {
  return {
    is: 'scalar',
    posted: {
      ...posted,
      read: (value, place, refusals) => {
        const own = new Refusals({ unusable });
        const found = posted.read(value, place, own);
        refusals.faults.push(...own.faults);
        return found;
      },
    },
    answered,
  };
}

/** Document 2, Subscription: receiver object. */
const receiver = record({
  httpMethod: {
    kind: wordOf('GET', 'POST'),
    required: true,
    missing: fault.noMethod,
    description: 'HTTP method of the requests',
    example: 'POST',
  },
  receiverUrl: {
    kind: only(
      text(),
      ({ length }) => length <= MOST.urlCharacters,
      `at most ${MOST.urlCharacters} characters`,
    ),
    required: true,
    description: 'URL of the requests; for GET with attributes as ${name} in path, query or fragment',
    example: 'https://receiver.example/messages',
  },
  receiverBody: {
    kind: text({ maxBytes: MOST.bodyBytes }),
    ...optional,
    description: 'Body of the requests with attributes as ${name}; for POST only, and required there',
  },
  receiverFormat: {
    kind: refusedAs(fault.format, FORMAT),
    ...optional,
    description: 'Format of the body; for POST only, and required there',
    example: 'JSON',
  },
  disabled: { kind: boolean(), description: 'Sends nothing', otherwise: false },
  receiverId: {
    kind: text(),
    ...optional,
    description:
      'Id of the receiver, in each answer. In a PUT: continues this receiver, with what waits for it. ' +
      'Ignored in a POST',
  },
});

export type FoundReceiver = FoundIn<typeof receiver>;

/** `docs/decisions.md#n13`. */
const customAttribute = record({
  tdAttributes: {
    kind: listOf(text(), { each: 'attribute', most: MOST.inputs, isNoneIfEmpty: true, items: 'attributes' }),
    required: true,
    description: 'Attributes that are the input of the rules',
  },
  userAttribute: {
    kind: only(
      text(),
      ({ length }) => length <= MOST.attributeCharacters,
      `at most ${MOST.attributeCharacters} characters`,
    ),
    required: true,
    description: 'Name of the new attribute',
  },
  rules: {
    kind: listOf(
      record({
        inputs: {
          kind: listOf(text({ orInteger: true }), {
            each: 'input',
            most: MOST.inputs,
            items: 'texts',
            hasEmptyItems: true,
          }),
          required: true,
          description: 'A value of each attribute, as text',
        },
        output: {
          kind: text({ orInteger: true }),
          otherwise: '',
          description: 'Value of the new attribute when all inputs are equal',
        },
      }),
      { each: 'rule', most: MOST.rules, isNoneIfEmpty: true, items: 'rules' },
    ),
    required: true,
    description: 'The first one that fits determines the value',
  },
});

export type FoundCustomAttribute = FoundIn<typeof customAttribute>;

type FilterField = Field<
  List<Scalar<number, number>> | List<Scalar<string, string>> | Scalar<number, number>
>;

/** What the lists of filters have, by what they select. */
const LISTS = {
  language: { kind: language(), items: 'ISO 639-1 codes', each: 'languageId' },
  keyword: { kind: atMost(MOST.nameCharacters, text()), items: 'texts', each: 'keyword' },
} as const;

const PERCENT = only(integer(), (value) => value >= 1 && value <= 99, 'an integer from 1 to 99');

/** Document 2, Subscription: filter. */
function filterOf({ states, filter, subject, sample }: SubscriptionTopic) {
  const lists = Object.entries(filter).map(([name, { description, of }]): [string, FilterField] => {
    const values = typeof of === 'object' ? ` (${namedIn(of)})` : '';
    const shared = { ...optional, description: `${description}${values}; all if absent` };
    const list = { most: MOST.ids, isNoneIfEmpty: true } as const;
    if (of === 'percent') return [name, { kind: PERCENT, ...shared }];
    if (typeof of === 'string') {
      const { kind, ...named } = LISTS[of];
      return [name, { kind: listOf(kind, { ...list, ...named }), ...shared }];
    }
    const items = of === undefined ? 'integers' : `${description.replace('T', 't')}${values}`;
    const ids = listOf(of === undefined ? integer() : idOf(of), { ...list, each: 'id', items });
    return [name, { kind: ids, ...shared }];
  });
  return record(
    {
      ...Object.fromEntries(lists),
      [states.field]: {
        kind: listOf(idOf(states.ids), {
          each: 'id',
          most: MOST.ids,
          isNoneIfEmpty: true,
          items: `states (${namedIn(states.ids)})`,
        }),
        required: true,
        missing: fault.noMessageType,
        description: `States of a ${subject} to be notified of: ${namedIn(states.ids)}`,
        example: sample.states,
      },
    },
    { namesUnknown: true },
  );
}

function namedIn(ids: Readonly<Record<number, { readonly name: string }>>): string {
  return Object.entries(ids)
    .map(([id, { name }]) => `${id} ${name}`)
    .join(', ');
}

/** What is posted of a subscription of this kind (Document 2, Subscription). */
export function postedSubscription(topic: SubscriptionTopic) {
  return record(contentOf(topic), { name: `Posted${topic.typeName}` });
}

function contentOf(topic: SubscriptionTopic) {
  const { receiverBody } = topic.sample;
  const fields = {
    ...receiver.fields,
    receiverBody: { ...receiver.fields.receiverBody, example: receiverBody },
  };
  return {
    subscriptionName: {
      kind: atMost(MOST.nameCharacters, text()),
      ...optional,
      description: 'Name',
      example: `My ${topic.subject}s`,
    },
    filter: { kind: filterOf(topic), required: true, description: 'What to be notified of' },
    receivers: {
      kind: listOf(record(fields), {
        each: 'receiver',
        most: MOST.receivers,
        isNoneIfEmpty: true,
        items: 'receivers',
      }),
      required: true,
      missing: fault.noReceiver,
      description: 'Where messages are sent',
    },
    currencyConversion: {
      kind: record({
        to: {
          kind: refusedAs(fault.currency, currency()),
          required: true,
          description: 'ISO 4217 code of the currency',
        },
      }),
      ...optional,
      description:
        'Converts the amounts of messages. Without an exchange rate, messages that show amounts but no ' +
        '`${currencyId}` wait for one; others are sent unconverted',
    },
    customAttribute: { kind: customAttribute, ...optional, description: 'An attribute of your own' },
    disabled: { kind: boolean(), otherwise: false, description: 'Makes no messages' },
    strictOrder: {
      kind: boolean(),
      ...optional,
      description: `A message waits until the one before of its ${topic.subject} is delivered or a dead letter`,
    },
  } as const;
}

export function listedSubscription(topic: SubscriptionTopic) {
  return record(
    {
      subscriptionId: { kind: text(), description: 'Id of the subscription' },
      ...contentOf(topic),
      siteId: {
        kind: integer(),
        ...optional,
        description: 'The only site that messages are about: it was created with a token for one site',
      },
    },
    { name: topic.typeName },
  );
}

export type OutputSubscription = AnswerOf<ReturnType<typeof listedSubscription>>;
export type PostedSubscription = PostedOf<ReturnType<typeof postedSubscription>>;

/** `docs/decisions.md#n5`. */
export const subscriptionSecret = record(
  {
    secret: { kind: text(), description: 'The secret that messages are signed with (Standard Webhooks)' },
    since: { kind: instant(), description: 'When it replaced the one before, or the creation' },
  },
  { name: 'SubscriptionSecret' },
);

export type OutputSecret = AnswerOf<typeof subscriptionSecret>;

/** `docs/decisions.md#n14`. */
export function postedTest({ states, typeName, sample }: SubscriptionTopic) {
  return record(
    {
      [stateField(states)]: {
        kind: idOf(states.ids),
        description: 'State of the example; by default the first one of the filter',
        example: sample.states[0],
      },
    },
    { name: `Tested${typeName}` },
  );
}

/** `docs/decisions.md#n16`. */
export const testOutcome = record(
  {
    messageId: { kind: text(), description: 'Id of the message: header webhook-id' },
    state: {
      kind: wordOf(...DELIVERY_STATES),
      description: 'State of the message; due: it has no outcome yet',
    },
    status: { kind: integer(), ...optional, description: 'HTTP status of the answer' },
    milliseconds: { kind: integer(), ...optional, description: 'Duration of the attempt' },
    error: { kind: text(), ...optional, description: 'Why it failed' },
    answer: { kind: text(), ...optional, description: 'First KiB of the answer’s body' },
    nextAttempt: { kind: instant(), ...optional, description: 'When it is attempted next, if it failed' },
  },
  { name: 'ReceiverTestOutcome' },
);

export type OutputTest = AnswerOf<typeof testOutcome>;

/** A posted object, unchecked. Raises CON_310 for what cannot be read; `expected` describes the object. */
export function postedObject(bytes: Buffer, expected: string): Posted {
  try {
    const found = postedFromJson(bytes);
    if (isPosted(found)) return found;
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
  throw fault.syntax(`the body is not an object: expected ${expected}`);
}

export function expectedTest({ states, sample }: SubscriptionTopic): string {
  const example = JSON.stringify({ [stateField(states)]: sample.states[0] });
  return `an object such as ${example}, or no body`;
}

/** The state that a test is to be about, if the body names one. Raises `Faults`. */
export function postedState(
  topic: SubscriptionTopic,
  posted: Posted,
  caller: Pick<Caller, 'kind'>,
): number | undefined {
  const refusals = new Refusals({ unusable: fault.content });
  const field = stateField(topic.states);
  const { [field]: stateId } = recordReader(postedTest(topic))(posted, refusals);
  const { notForAdvertisers } = topic.states;
  if (caller.kind === 'advertiser' && stateId !== undefined && notForAdvertisers.includes(stateId))
    refusals.add(
      fault.paidForAdvertiser,
      `${field} is ${stateId}: expected a state that advertisers may subscribe to`,
    );
  refusals.raise();
  return stateId;
}
