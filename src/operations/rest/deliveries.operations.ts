import { STATES } from '../../domain/deliveries/stored-delivery';
import { operatorsDelivery, operatorsReceiver } from '../../services/subscriptions/deliveries.fields';
import { deliveryKeys, PAGE } from '../../services/subscriptions/deliveries.keys';
import { type OperationText, type Shape } from '../../wire/api/description';
import { INTEGER, oneOf, TEXT } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';
import { ListCursors } from '../../wire/keys/cursor';
import { PAGE_HEADERS } from '../../wire/keys/page-size';
import { listOf } from '../../wire/record/record';
import { opsFaults as fault } from './ops-service';

export const ANY_DELIVERIES = {
  name: 'AnyDeliveries',
  kind: listOf(operatorsDelivery, { each: 'delivery' }),
} as const satisfies Shape;

export const ANY_RECEIVERS = {
  name: 'AnyReceivers',
  kind: listOf(operatorsReceiver, { each: 'receiver' }),
} as const satisfies Shape;

const whose = {
  organisationId: { type: INTEGER, multiple: true, description: 'Organisations that are notified' },
  subscriptionId: { type: TEXT, multiple: true, description: 'Ids of subscriptions' },
} as const satisfies KeyTable;

export const anyDeliveryKeys = {
  ...whose,
  ...deliveryKeys,
  transactionId: { type: TEXT, multiple: true, description: 'Ids of transactions' },
  messageTypeId: { type: INTEGER, multiple: true, description: 'States of transactions' },
  claimId: { type: TEXT, multiple: true, description: 'Ids of claims' },
  statusId: { type: INTEGER, multiple: true, description: 'Statuses of claims' },
  state: { type: oneOf(...STATES), multiple: true, description: 'States' },
} as const satisfies KeyTable;

export const anyReceiverKeys = {
  ...whose,
  pageSize: { type: INTEGER, description: `Receivers on a page, at most ${PAGE}; 100 by default` },
  cursor: deliveryKeys.cursor,
} as const satisfies KeyTable;

export type AnyDeliveryKeys = Keys<typeof anyDeliveryKeys>;
export type AnyReceiverKeys = Keys<typeof anyReceiverKeys>;

const rules = { presentation: ['pageSize'], excluded: [], refuse: fault.unusable } as const;

export const anyDeliveryCursors = new ListCursors<AnyDeliveryKeys>(rules);
export const anyReceiverCursors = new ListCursors<AnyReceiverKeys>(rules);

/** What has become of all messages, for operators (`docs/decisions.md#n14`). */
export const anyDeliveryOperations = {
  deliveries: {
    id: 'listAnyDeliveries',
    summary: 'List the messages of all subscriptions',
    description: 'Newest first, as long as they are kept; without what is sent.',
    example: { organisationId: [1], state: ['dead'], pageSize: 3, pretty: true },
    answer: ANY_DELIVERIES,
    sends: PAGE_HEADERS,
  },
  receivers: {
    id: 'listAnyReceivers',
    summary: 'List all receivers that anything was sent to',
    description: 'With how deliveries to them go; those that were used last come first.',
    example: { pageSize: 3, pretty: true },
    answer: ANY_RECEIVERS,
    sends: PAGE_HEADERS,
  },
} as const satisfies Readonly<Record<string, OperationText>>;
