import { type OperationText, type Shape } from '../../wire/api/description';
import { TEXT } from '../../wire/keys/types';
import { IGNORED_FIELDS } from '../../wire/keys/name-list';
import { type Kind, listOf } from '../../wire/record/record';
import {
  listedSubscription,
  postedSubscription,
  postedTest,
  subscriptionSecret,
  testOutcome,
} from './fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';

/** The shapes of answers about subscriptions of a kind. */
export function subscriptionShapes(kind: SubscriptionKind) {
  const { typeName: name } = kind;
  const one = listedSubscription(kind);
  return {
    one: { name, kind: one, xml: { file: `${name}_v1_0.xsd`, root: 'subscription' } },
    list: {
      name: `${name}s`,
      kind: listOf(one, { each: 'subscription' }),
      xml: { file: `${name}s_v1_0.xsd`, root: 'subscriptions' },
    },
  } as const satisfies Readonly<Record<string, Shape>>;
}

export const SECRET = {
  name: 'SubscriptionSecret',
  kind: subscriptionSecret,
  xml: { file: 'SubscriptionSecret_v1_0.xsd', root: 'subscriptionSecret' },
} as const satisfies Shape;

export const TEST_OUTCOME = {
  name: 'ReceiverTestOutcome',
  kind: testOutcome,
  xml: { file: 'ReceiverTestOutcome_v1_0.xsd', root: 'receiverTestOutcome' },
} as const satisfies Shape;

export const SUBSCRIPTION_ID = {
  id: {
    type: TEXT,
    description: 'Id of the subscription',
    example: '0123456789abcdef0123456789abcdef',
  },
} as const;

const RECEIVER = {
  ...SUBSCRIPTION_ID,
  receiverId: { type: TEXT, description: 'Id of one of its receivers', example: '0123456789abcdef' },
} as const;

/** Document 2, Endpoints, Subscriptions; beyond it `docs/decisions.md#n14`. */
export function subscriptionOperations(kind: SubscriptionKind) {
  const { typeName: name, subject } = kind;
  const { one, list } = subscriptionShapes(kind);
  const body = posted(`Posted${name}`, postedSubscription(kind));
  return {
    create: {
      id: `create${name}`,
      sends: IGNORED_FIELDS,
      summary: 'Create a subscription',
      description:
        `A message is sent to each receiver when a ${subject} enters one of the states. Everything that is wrong with the ` +
        'subscription is reported at once. A body has at most 1 MiB; all settings together have at most 128 KiB as JSON.',
      example: {},
      body,
      answer: one,
      status: 201,
    },
    replace: {
      id: `replace${name}`,
      sends: IGNORED_FIELDS,
      summary: 'Replace a subscription',
      description:
        'Replaces all settings: send every field, not only those that change. A receiver whose id is sent is continued, and what ' +
        'waits for it is rendered again; without ids those that are equal, else the only one that differs. Receivers that the ' +
        'system has disabled are enabled. A body has at most 1 MiB; all settings together have at most 128 KiB as JSON, or as much as those ' +
        'that they replace.',
      example: {},
      path: SUBSCRIPTION_ID,
      body,
      answer: one,
    },
    delete: {
      id: `delete${name}`,
      summary: 'Delete a subscription',
      description: 'Messages that are not delivered yet are cancelled, each when it would be sent next.',
      example: {},
      path: SUBSCRIPTION_ID,
      status: 200,
    },
    list: {
      id: `list${name}s`,
      summary: 'List subscriptions',
      description: 'All subscriptions of the caller, oldest first.',
      example: { pretty: true },
      answer: list,
    },
    get: { id: `get${name}`, summary: 'Get a subscription', example: {}, path: SUBSCRIPTION_ID, answer: one },
    secret: {
      id: `get${name}Secret`,
      summary: 'Get the secret of a subscription',
      description:
        'Messages are signed with it, as Standard Webhooks describes, and with each secret that was replaced less than 24 hours ago.',
      example: {},
      path: SUBSCRIPTION_ID,
      answer: SECRET,
    },
    rotate: {
      id: `rotate${name}Secret`,
      summary: 'Replace the secret of a subscription',
      description:
        'Messages are signed with the replaced secret too for 24 hours, even if the new one is replaced meanwhile. A secret can be ' +
        'replaced five times within 24 hours.',
      example: {},
      path: SUBSCRIPTION_ID,
      answer: SECRET,
    },
    enable: {
      id: `enable${name}Receiver`,
      summary: 'Enable a receiver that the system has disabled, or that rests',
      description:
        'Messages that were held are sent. A receiver that rests is tried at once with one message: the one that would be tried next. ' +
        'Does nothing for any other receiver.',
      example: {},
      path: RECEIVER,
    },
    test: {
      id: `test${name}Receiver`,
      summary: 'Send a test message to a receiver',
      description:
        'A message with example values, marked by the header webhook-test, is sent at once, before what waits, and even if the receiver ' +
        'rests. The answer is its outcome, whatever that is. The body may be absent.',
      example: {},
      path: RECEIVER,
      body: { ...posted(`Tested${name}`, postedTest(kind)), isOptional: true },
      answer: TEST_OUTCOME,
      also: {
        202: 'There was no outcome within 15 seconds, or the receiver is disabled by the system: GET the message by its id.',
      },
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}

/** A body in JSON only. */
function posted<K extends Kind>(name: string, kind: K): Shape<K> {
  return { name, kind };
}
