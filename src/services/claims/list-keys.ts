import { BOOLEAN, DAY, INTEGER, type KeyType, oneOf, until } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';
import { sizeKey } from '../../wire/keys/pages';

const ids = { type: INTEGER, multiple: true } as const;

/** Document 3, List keys: those of all paths. */
const filterKeys = {
  statusId: { ...ids, description: 'Statuses' },
  minUpdateDate: { type: DAY, description: 'Last changed on this day or later' },
  maxUpdateDate: { type: until(DAY), description: 'Last changed on this day or earlier' },
  programId: { ...ids, description: 'Programs' },
  claimId: { ...ids, description: 'Ids of claims' },
} as const satisfies KeyTable;

const pageKeys = {
  limit: sizeKey('Number of claims'),
  sortOrder: { type: oneOf('desc', 'asc'), description: 'Direction of the order; desc by default' },
} as const satisfies KeyTable;

const LEGACY_ORDERS = ['claimId', 'programName', 'siteName', 'statusChanged'] as const;
const ORDERS = [...LEGACY_ORDERS, 'timeStamp', 'timeStampEvent', 'orderNumber'] as const;
export type ClaimOrder = (typeof ORDERS)[number];

/** Document 3, List keys (for `token` and `pretty` see `src/http`; `format` `docs/decisions.md#c13`). */
export const listKeys = {
  ...filterKeys,
  minTransactionDate: { type: DAY, description: 'Transaction on this day or later' },
  maxTransactionDate: { type: until(DAY), description: 'Transaction on this day or earlier' },
  tdconnect: { type: BOOLEAN, description: 'Whether rows are counted from 0 rather than from 1' },
  offset: {
    type: INTEGER,
    description: 'Claims to skip with tdconnect=true; without it the first row, from 1',
  },
  sortBy: { type: orderAmong(ORDERS), description: 'Order; by default claimId' },
  ...pageKeys,
  format: { type: oneOf('csv'), beyondJson: true, description: 'CSV; overrides the extension' },
} as const satisfies KeyTable;

/** Document 3, Legacy advertiser paths. */
export const legacyListKeys = {
  ...filterKeys,
  offset: { type: INTEGER, description: 'The first row, from 1' },
  sortBy: { type: orderAmong(LEGACY_ORDERS), description: 'Order; by default claimId' },
  ...pageKeys,
} as const satisfies KeyTable;

export type ClaimListKeys = Keys<typeof listKeys>;
export type LegacyListKeys = Keys<typeof legacyListKeys>;

/** The keys of a legacy list: those that it lacks are absent. */
export function fromLegacy(keys: LegacyListKeys): ClaimListKeys {
  const none = {
    minTransactionDate: undefined,
    maxTransactionDate: undefined,
    tdconnect: undefined,
    format: undefined,
  };
  return { ...keys, ...none };
}

/** One of these, in any case and with spaces; `status change` is `statusChanged` (`docs/decisions.md#c8`). */
function orderAmong<const Order extends ClaimOrder>(orders: readonly Order[]): KeyType<Order> {
  const plain = oneOf(...orders);
  return {
    ...plain,
    read: (text) => {
      const word = text.replaceAll(/\s/g, '');
      return plain.read(/^statuschange$/i.test(word) ? 'statusChanged' : word);
    },
  };
}
