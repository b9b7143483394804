import { parsePosition, type Position, START } from '../../kernel/event';
import {
  CSV_KEY,
  CURRENCY,
  DATE,
  INTEGERS,
  type Keys,
  type KeyTable,
  type KeyType,
  oneOf,
  TEXTS,
  until,
} from '../../wire/keys/keys';
import { CURSOR_KEY, PAGE_KEY, sizeKey } from '../../wire/keys/pages';

/** Values that transactions may have. */
export const amongKeys = {
  transactionId: { ...TEXTS, description: 'Ids of transactions' },
  legacyTransactionId: { ...TEXTS, description: 'Legacy ids of transactions' },
  programId: { ...INTEGERS, description: 'Programs' },
  siteId: { ...INTEGERS, description: 'Sites' },
  eventId: { ...INTEGERS, description: 'Events' },
  eventTypeId: { ...INTEGERS, description: 'Types of events: 4, 5, 9 or 10' },
  messageTypeId: { ...INTEGERS, description: 'States, 1 to 9' },
  orderNumber: { ...TEXTS, description: 'Order numbers' },
  epi: { ...TEXTS, description: 'Extra publisher information' },
  currencyId: { type: CURRENCY, multiple: true, description: 'Currencies' },
} as const satisfies KeyTable;

/** Which transactions (`docs/decisions.md#t6`). */
const filterKeys = {
  ...amongKeys,
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
  minApproved: { type: DATE, description: 'Approved at this time or later' },
  maxApproved: {
    type: until(DATE),
    description: 'Approved at this time or earlier; a date includes its day',
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

export const PERIODS = ['day', 'week', 'month'] as const;
export const GROUP_IDS = ['programId', 'siteId', 'eventId'] as const;

/** `docs/decisions.md#t9`. */
export const totalsKeys = {
  ...filterKeys,
  groupBy: {
    type: oneOf(...PERIODS, ...GROUP_IDS, 'state'),
    multiple: true,
    description:
      'What totals are of, beside the currency, at most one of day, week and month; by default state',
  },
  periodOf: {
    type: oneOf('timeOfEvent', 'changed', 'approved'),
    description: 'The time that day, week or month is of, in UTC; by default timeOfEvent',
  },
  format: CSV_KEY,
} as const satisfies KeyTable;

const NEXT_SINCE = /^p(\d+)$/;

/** A log position, of which clients know only that it is no date. */
const SINCE: KeyType<Position> = {
  expected: '*, or the X-Next-Since of an answer to since; minChanged takes a date',
  problem: 'unusable',
  read: (text) => (text.trim() === '*' ? START : parsePosition(NEXT_SINCE.exec(text.trim())?.[1] ?? '')),
};

export function nextSince(position: Position): Readonly<Record<string, string>> {
  return { 'X-Next-Since': `p${position}` };
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
  format: CSV_KEY,
} as const satisfies KeyTable;

export type FilterKeys = Keys<typeof filterKeys>;
export type TotalsKeys = Keys<typeof totalsKeys>;
export type TransactionListKeys = Keys<typeof listKeys>;
export type HistoryKeys = Keys<typeof historyKeys>;
