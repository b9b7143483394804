import { conversionFaults as fault } from '../../domain/conversion-faults';
import { DATE, INTEGER, oneOf, TEXT, until } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';
import { ListCursors } from '../../wire/keys/cursor';

/** States of a delivery (`docs/decisions.md#n14`). */
export const DELIVERY_STATES = ['due', 'retrying', 'held', 'delivered', 'dead', 'cancelled'] as const;

export type OutputState = (typeof DELIVERY_STATES)[number];

/** Deliveries, or receivers, on a page: at most, and by default. */
export const PAGE = 1000;

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
  pageSize: { type: INTEGER, description: `Deliveries on a page, at most ${PAGE}; ${PAGE} by default` },
  cursor: { type: TEXT, description: 'Pages in any number: *, then the X-Next-Cursor of the last answer' },
} as const satisfies KeyTable;

export type DeliveryKeys = Keys<typeof deliveryKeys>;

export const deliveryCursors = new ListCursors<DeliveryKeys>({
  presentation: ['pageSize'],
  excluded: [],
  refuse: fault.content,
});
