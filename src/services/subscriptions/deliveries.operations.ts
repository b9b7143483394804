import { type OperationText, type Shape } from '../../wire/api/description';
import { PAGE_HEADERS } from '../../wire/keys/pages';
import { listOf } from '../../wire/record/record';
import {
  listedDelivery,
  listedReceiver,
  oneDelivery,
  postedRedeliveries,
  redeliveries,
} from './deliveries.fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { SUBSCRIPTION_ID } from './operations';
import { TEXT } from '../../wire/keys/types';

/** The shapes of answers about messages of a kind of subscriptions. */
export function deliveryShapes(kind: SubscriptionKind) {
  const { prefix } = kind;
  return {
    list: {
      name: `${prefix}Deliveries`,
      kind: listOf(listedDelivery(kind), { each: 'delivery' }),
      xml: { file: `${prefix}Deliveries_v1_0.xsd`, root: 'deliveries' },
    },
    details: {
      name: `${prefix}DeliveryDetails`,
      kind: oneDelivery(kind),
      xml: { file: `${prefix}DeliveryDetails_v1_0.xsd`, root: 'delivery' },
    },
  } as const satisfies Readonly<Record<string, Shape>>;
}

export const RECEIVERS = {
  name: 'ReceiverTotalsList',
  kind: listOf(listedReceiver, { each: 'receiver' }),
  xml: { file: 'Receivers_v1_0.xsd', root: 'receivers' },
} as const satisfies Shape;

export const REDELIVERIES = {
  name: 'Redeliveries',
  kind: redeliveries,
  xml: { file: 'Redeliveries_v1_0.xsd', root: 'redeliveries' },
} as const satisfies Shape;

const MESSAGE = {
  ...SUBSCRIPTION_ID,
  messageId: {
    type: TEXT,
    description: 'Id of the message',
    example: 'msg_0123456789abcdefghijklmnopqrstuv',
  },
} as const;

/** What has become of the messages of a subscription (`docs/decisions.md#n14`). */
export function deliveryOperations(kind: SubscriptionKind) {
  const { typeName: name } = kind;
  const { list, details } = deliveryShapes(kind);
  return {
    receivers: {
      id: `list${name}Receivers`,
      summary: 'List the receivers of a subscription',
      description: 'With their state, and how deliveries to them go.',
      example: {},
      path: SUBSCRIPTION_ID,
      answer: RECEIVERS,
    },
    deliveries: {
      id: `list${name}Deliveries`,
      summary: 'List the messages of a subscription',
      description: 'Newest first, as long as they are kept.',
      example: { state: ['dead'], pageSize: 3, pretty: true },
      path: SUBSCRIPTION_ID,
      answer: list,
      sends: PAGE_HEADERS,
    },
    delivery: {
      id: `get${name}Delivery`,
      summary: 'Get a message',
      description: 'With the exact request and its last attempts.',
      example: {},
      path: MESSAGE,
      answer: details,
    },
    redeliver: {
      id: `redeliver${name}Message`,
      summary: 'Send a message again',
      description:
        'With the same id and bytes: one attempt, in addition to the schedule, at once even if the receiver rests: nextAttempt, absent if ' +
        'the receiver is disabled. Until it is attempted, further requests ask for nothing new; redeliveryRequested is the time of the ' +
        'first one.',
      example: {},
      path: MESSAGE,
      answer: details,
      status: 202,
    },
    redeliverAll: {
      id: `redeliver${name}DeadLetters`,
      summary: 'Send all dead letters, or other messages, of a period again',
      description:
        'At most 10,000 at a time, oldest first, without those that are asked for already; the answer has how many are left, and a ' +
        'cursor for these. With dryRun nothing is sent.',
      example: {},
      path: SUBSCRIPTION_ID,
      body: { name: 'PostedRedeliveries', kind: postedRedeliveries },
      answer: REDELIVERIES,
      status: 202,
    },
    cancelAll: {
      id: `cancel${name}Redeliveries`,
      summary: 'Cancel redeliveries',
      description: 'All that were asked for and are not attempted yet. One in flight is completed.',
      example: {},
      path: SUBSCRIPTION_ID,
      status: 200,
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}
