import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Position, START } from '../../kernel/event';
import { CURRENCY, DATE, INTEGER, type KeyType, oneOf, TEXT, until } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';
import { CURSOR_KEY, ListCursors, PAGE_KEY, sizeKey } from '../../wire/keys/pages';

const ids = { type: INTEGER, multiple: true } as const;
const texts = { type: TEXT, multiple: true } as const;

/** Which transactions (`docs/decisions.md#t6`). */
const filterKeys = {
  transactionId: { ...texts, description: 'Ids of transactions' },
  legacyTransactionId: { ...texts, description: 'Legacy ids of transactions' },
  programId: { ...ids, description: 'Programs' },
  siteId: { ...ids, description: 'Sites' },
  eventId: { ...ids, description: 'Events' },
  eventTypeId: { ...ids, description: 'Types of events: 4, 5, 9 or 10' },
  messageTypeId: { ...ids, description: 'States, 1 to 9' },
  orderNumber: { ...texts, description: 'Order numbers' },
  epi: { ...texts, description: 'Extra publisher information' },
  currencyId: { type: CURRENCY, multiple: true, description: 'Currencies' },
  minTimeOfEvent: { type: DATE, description: 'Converted at this time or later' },
  maxTimeOfEvent: {
    type: until(DATE),
    description: 'Converted at this time or earlier; a date includes its day',
  },
  minChanged: { type: DATE, description: 'Last transition or amendment at this time or later' },
  maxChanged: {
    type: until(DATE),
    description: 'Last transition or amendment at this time or earlier; a date includes its day',
  },
} as const satisfies KeyTable;

/** Format of dates in an answer: as in messages, unless milliseconds are requested. */
export const dateKeys = {
  dateOutputFormat: { type: oneOf('iso8601', 'epoch'), description: 'Format of dates; ISO 8601 by default' },
} as const satisfies KeyTable;

/** Of a history: all of it unless `pageSize` is sent. */
export const historyKeys = {
  pageSize: sizeKey('States on a page', 'by default all are returned'),
  page: { ...PAGE_KEY, description: `${PAGE_KEY.description}; together with pageSize` },
  ...dateKeys,
} as const satisfies KeyTable;

export const totalsKeys = filterKeys;

const NEXT_SINCE = /^p(\d{19})$/;

/** A log position, of which clients know only that it is no date. */
const SINCE: KeyType<Position> = {
  expected: '*, or the X-Next-Since of an answer to since; minChanged takes a date',
  problem: 'unusable',
  read: (text) => (text.trim() === '*' ? START : NEXT_SINCE.exec(text.trim())?.[1]),
};

/** The value of `X-Next-Since` for a log position. */
export function nextSince(position: Position): string {
  return `p${position}`;
}

export const listKeys = {
  ...filterKeys,
  orderBy: { type: oneOf('timeOfEvent', 'changed'), description: 'Order; by default timeOfEvent' },
  sortOrder: { type: oneOf('desc', 'asc'), description: 'Newest first, by default, or oldest first' },
  pageSize: sizeKey('Transactions on a page'),
  page: PAGE_KEY,
  since: {
    type: SINCE,
    description:
      'Only what has changed since: *, then the X-Next-Since of the last answer; in the order of changes',
  },
  cursor: CURSOR_KEY,
  ...dateKeys,
  format: { type: oneOf('csv'), description: 'CSV; overrides the extension' },
} as const satisfies KeyTable;

export type FilterKeys = Keys<typeof filterKeys>;
export type TransactionListKeys = Keys<typeof listKeys>;
export type HistoryKeys = Keys<typeof historyKeys>;

export const listCursors = new ListCursors<TransactionListKeys>({
  presentation: ['pageSize', 'dateOutputFormat', 'format'],
  excluded: ['page', 'since'],
  refuse: fault.content,
});
