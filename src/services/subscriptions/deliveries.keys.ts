import { conversionFaults as fault } from '../../domain/conversion-faults';
import { DATE, INTEGER, oneOf, TEXT, until } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';
import { CURSOR_KEY, ListCursors, sizeKey } from '../../wire/keys/pages';

/** States of a delivery (`docs/decisions.md#n14`). */
export const DELIVERY_STATES = ['due', 'retrying', 'held', 'delivered', 'dead', 'cancelled'] as const;

export type OutputState = (typeof DELIVERY_STATES)[number];

export const deliveryKeys = {
  state: { type: oneOf(...DELIVERY_STATES), multiple: true, description: 'States' },
  receiverId: { type: TEXT, multiple: true, description: 'Ids of receivers' },
  transactionId: { type: TEXT, multiple: true, description: 'Ids of what messages are about' },
  messageTypeId: { type: INTEGER, multiple: true, description: 'States that messages are about' },
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
