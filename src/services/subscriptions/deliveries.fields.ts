import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { STATES } from '../../domain/deliveries/stored-delivery';
import { stateField, type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { TOPICS } from '../../domain/topics';
import { CURSOR_KEY, ListCursors, sizeKey } from '../../wire/keys/pages';
import { DATE, INTEGERS, type Keys, type KeyTable, oneOf, TEXTS, until } from '../../wire/keys/keys';
import { boolean, instant, integer, text, time, wordOf } from '../../wire/record/kinds';
import { type AnswerOf, type Fields, listOf, type PostedOf, record } from '../../wire/record/record';

/** States of a delivery (`docs/decisions.md#n14`). */
export const DELIVERY_STATES = ['due', 'retrying', 'held', 'delivered', 'dead', 'cancelled'] as const;

export type OutputState = (typeof DELIVERY_STATES)[number];

export const deliveryKeys = {
  state: { type: oneOf(...DELIVERY_STATES), multiple: true, description: 'States' },
  receiverId: { ...TEXTS, description: 'Ids of receivers' },
  transactionId: { ...TEXTS, description: 'Ids of what messages are about' },
  messageTypeId: { ...INTEGERS, description: 'States that messages are about' },
  minTime: { type: DATE, description: 'About a transition at this time or later' },
  maxTime: {
    type: until(DATE),
    description: 'About a transition at this time or earlier; a date includes its day',
  },
  pageSize: sizeKey('Deliveries on a page'),
  cursor: CURSOR_KEY,
} as const satisfies KeyTable;

export type DeliveryKeys = Keys<typeof deliveryKeys>;

export const deliveryCursors = new ListCursors<DeliveryKeys>({
  presentation: ['pageSize'],
  excluded: [],
  refuse: fault.content,
});

/** What kinds of subscriptions call differently; tables and answers have the names of transactions. */
type Naming = Pick<SubscriptionTopic, 'subjectField' | 'states'>;

/** The same with the names of a topic, such as `claimId` and `statusId`. The type keeps the names of transactions. */
export function namedFor<Value extends object>(topic: Naming, value: Value): Value {
  const names = new Map(namesOf(topic));
  return renamed(value, (name) => names.get(name) ?? name);
}

/** The inverse of `namedFor`. */
export function namedAsTransactions<Value extends object>(topic: Naming, value: Value): Value {
  const names = new Map(namesOf(topic).map(([own, other]) => [other, own]));
  return renamed(value, (name) => names.get(name) ?? name);
}

function namesOf({ subjectField, states }: Naming): readonly (readonly [string, string])[] {
  return [
    ['transactionId', subjectField],
    ['messageTypeId', stateField(states)],
  ];
}

function renamed<Value extends object>(value: Value, nameOf: (name: string) => string): Value {
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [nameOf(name), one as unknown]),
  ) as Value;
}

const optional = { optional: true } as const;

const ATTEMPT = {
  time: { kind: instant(), description: 'When it began' },
  status: { kind: integer(), ...optional, description: 'HTTP status of the answer' },
  error: { kind: text(), ...optional, description: 'Why it failed' },
} as const satisfies Fields;

const attempt = record(
  {
    attempt: {
      kind: integer(),
      description:
        'Number in the schedule, from 1; of a redelivery that of the next attempt, or 1 after the last one',
    },
    ...ATTEMPT,
    milliseconds: { kind: integer(), ...optional, description: 'Duration' },
    answer: { kind: text(), ...optional, description: 'First KiB of the answer’s body' },
    manual: { kind: boolean(), description: 'Somebody asked for it' },
  },
  { name: 'DeliveryAttempt' },
);

const DELIVERY = {
  messageId: { kind: text(), description: 'Id of the message: header webhook-id' },
  receiverId: { kind: text(), description: 'Id of the receiver' },
  transactionId: { kind: text(), description: 'Id of what the message is about' },
  messageTypeId: { kind: integer(), description: 'State that this has entered' },
  sequenceNumber: { kind: text(), description: 'Order of the messages with one such id' },
  time: { kind: instant(), description: 'When this entered the state' },
  state: { kind: wordOf(...DELIVERY_STATES), description: 'State of the message' },
  changed: { kind: instant(), ...optional, description: 'Time of the last outcome' },
  attempts: { kind: integer(), description: 'Number of attempts, redeliveries included' },
  lastStatus: { kind: integer(), ...optional, description: 'HTTP status of the last attempt' },
  lastError: { kind: text(), ...optional, description: 'Why the last attempt failed, or why there is none' },
  nextAttempt: {
    kind: instant(),
    ...optional,
    description:
      'When it is attempted next, unless at once: by the schedule, since somebody asked for it, or after the rest ' +
      'of the receiver',
  },
  redeliveryRequested: { kind: instant(), ...optional, description: 'Since when it is to be sent once more' },
  test: { kind: boolean(), description: 'A test message with example values' },
} as const satisfies Fields;

export function listedDelivery(topic: SubscriptionTopic) {
  return record(namedFor(topic, DELIVERY), { name: `${topic.prefix}Delivery` });
}

export type OutputDelivery = AnswerOf<ReturnType<typeof listedDelivery>>;

/** The fields with id and state of each topic: one message has those of one. */
function subjectFields(): Fields {
  return Object.fromEntries(
    Object.values(TOPICS).flatMap(({ subject, subjectField, states }): [string, Fields[string]][] => [
      [
        subjectField,
        { ...DELIVERY.transactionId, ...optional, description: `Id of the ${subject} that it is about` },
      ],
      [
        stateField(states),
        { ...DELIVERY.messageTypeId, ...optional, description: `State that the ${subject} has entered` },
      ],
    ]),
  );
}

export const operatorsDelivery = record(
  {
    organisationId: { kind: integer(), description: 'Organisation that is notified' },
    subscriptionId: { kind: text(), description: 'Its subscription' },
    ...DELIVERY,
    transactionId: { ...DELIVERY.transactionId, ...optional },
    messageTypeId: { ...DELIVERY.messageTypeId, ...optional },
    ...subjectFields(),
    state: { kind: wordOf(...STATES), description: 'State of the message' },
    held: { kind: boolean(), description: 'It is due or retried, and waits until its receiver is enabled' },
  },
  { name: 'AnyDelivery' },
);

export type OperatorsDelivery = AnswerOf<typeof operatorsDelivery>;

const header = record({
  name: { kind: text(), description: 'Name' },
  value: { kind: text(), description: 'Value' },
});

const request = record(
  {
    method: { kind: wordOf('GET', 'POST'), description: 'HTTP method' },
    url: { kind: text(), description: 'URL as it is sent: percent-encoded, without a fragment' },
    headers: {
      kind: listOf(header, { each: 'header' }),
      description: 'Those that are the same at each attempt',
    },
    body: { kind: text(), ...optional, description: 'Body, to the letter' },
  },
  { name: 'DeliveryRequest' },
);

export function oneDelivery(topic: SubscriptionTopic) {
  return record({ ...namedFor(topic, DELIVERY), ...DETAILS }, { name: `${topic.prefix}DeliveryDetails` });
}

const DETAILS = {
  request: {
    kind: request,
    ...optional,
    description: 'What is sent; absent if it cannot be sent, or is no longer kept',
  },
  lastAttempts: {
    kind: listOf(attempt, { each: 'attempt', most: 20 }),
    description: 'The last 20 attempts, oldest first',
  },
} as const satisfies Fields;

export type OutputDeliveryDetails = AnswerOf<ReturnType<typeof oneDelivery>>;

export const operatorsDeliveryDetails = record(
  { ...operatorsDelivery.fields, ...DETAILS },
  { name: 'AnyDeliveryDetails' },
);

export type OperatorsDeliveryDetails = AnswerOf<typeof operatorsDeliveryDetails>;

const ended = record({ ...ATTEMPT }, { name: 'ReceiverAttempt' });

const TOTALS = {
  attempts: { kind: integer(), description: 'Attempts, as far as they are kept' },
  failed: { kind: integer(), description: 'Failed attempts' },
  delivered: { kind: integer(), description: 'Messages that were delivered' },
  dead: { kind: integer(), description: 'Messages that were given up' },
  failingSince: { kind: instant(), ...optional, description: 'First failure since the last success' },
  lastSuccess: { kind: ended, ...optional, description: 'Last attempt that has succeeded' },
  lastFailure: { kind: ended, ...optional, description: 'Last attempt that has failed' },
} as const satisfies Fields;

const RECEIVER = {
  receiverId: { kind: text(), description: 'Id of the receiver' },
  state: {
    kind: wordOf('enabled', 'disabled'),
    description: 'Messages for a disabled receiver are held, or not made',
  },
  disabledBy: { kind: wordOf('owner', 'system'), ...optional, description: 'Who has disabled it' },
  disabledReason: {
    kind: wordOf('gone', 'failing'),
    ...optional,
    description: 'Why the system has disabled it: it answered 410, or failed for five days',
  },
} as const satisfies Fields;

const RESTING = {
  restingUntil: {
    kind: instant(),
    ...optional,
    description: 'Nothing is attempted before, since it has failed often',
  },
} as const satisfies Fields;

export const listedReceiver = record(
  {
    ...RECEIVER,
    ...RESTING,
    httpMethod: { kind: text(), description: 'HTTP method' },
    receiverUrl: { kind: text(), description: 'URL as it was posted, with placeholders' },
    ...TOTALS,
  },
  { name: 'ReceiverTotals' },
);

export type OutputReceiver = AnswerOf<typeof listedReceiver>;

export const operatorsReceiver = record(
  {
    organisationId: { kind: integer(), description: 'Organisation that is notified' },
    subscriptionId: { kind: text(), description: 'Its subscription' },
    receiverId: RECEIVER.receiverId,
    receiverUrl: {
      kind: text(),
      ...optional,
      description: 'Scheme and host of its address; absent if its subscription no longer has it',
    },
    disabled: { kind: boolean(), description: 'Its messages are held, or not made' },
    held: {
      kind: integer(),
      ...optional,
      description: 'Messages that wait until it is enabled; absent unless it is disabled',
    },
    ...RESTING,
    ...TOTALS,
  },
  { name: 'AnyReceiver' },
);

export type OperatorsReceiver = AnswerOf<typeof operatorsReceiver>;

export type OutputTotals = Pick<OutputReceiver, keyof typeof TOTALS>;

/** `docs/decisions.md#n14`. */
export const postedRedeliveries = record(
  {
    minTime: {
      kind: time(),
      required: true,
      description: 'About a transition at this time or later',
      example: '2026-11-01T00:00:00Z',
    },
    maxTime: {
      kind: time({ isUpperBound: true }),
      required: true,
      description: 'About a transition at this time or earlier; a date includes its day',
      example: '2026-11-30T00:00:00Z',
    },
    state: {
      kind: wordOf('dead', 'delivered', 'cancelled', 'retrying'),
      otherwise: 'dead',
      description: 'Only messages that were given up; or delivered, or cancelled, or that wait for a retry',
    },
    receiverId: { kind: text(), description: 'Only of this receiver' },
    dryRun: { kind: boolean(), otherwise: false, description: 'Only counts the messages' },
    cursor: { kind: text(), description: 'That of the last answer, to go on after it' },
  },
  { name: 'PostedRedeliveries' },
);

export type PostedRedeliveries = PostedOf<typeof postedRedeliveries>;

export const redeliveries = record(
  {
    requested: { kind: integer(), description: 'Messages that are sent again because of this request' },
    remaining: { kind: integer(), description: 'Messages of the period that are left: post again for these' },
    cursor: {
      kind: text(),
      ...optional,
      description: 'If messages are left: to be posted with the same fields for the next ones',
    },
  },
  { name: 'Redeliveries' },
);
