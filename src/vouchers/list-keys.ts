import { BOOLEAN, DATE, INTEGER, oneOf, TEXT } from '../wire/key-types';
import { type KeyFaults, type Keys, type KeyTable } from '../wire/keys';
import { LANGUAGE } from '../wire/iso-keys';
import { voucherFaults as fault } from './faults';

const ids = { type: INTEGER, multiple: true } as const;

/** How the dates of an answer are written (Document 2, List keys). */
export const dateKeys = {
  dateOutputFormat: { type: oneOf('iso8601', 'epoch') },
} as const satisfies KeyTable;

/** Document 2, List keys (for `token` and `jsonp` see `src/http`); the last two `docs/decisions.md#v17`. */
export const listKeys = {
  id: ids,
  maxStartDate: { type: DATE },
  minEndDate: { type: DATE },
  ...dateKeys,
  programId: ids,
  keywords: { type: TEXT, multiple: true },
  voucherTypeId: ids,
  siteSpecific: { type: BOOLEAN },
  siteId: ids,
  pageSize: { type: INTEGER },
  page: { type: INTEGER },
  random: { type: INTEGER },
  languageId: { type: LANGUAGE },
  activeAt: { type: DATE },
  format: { type: oneOf('csv') },
} as const satisfies KeyTable;

export type ListKeys = Keys<typeof listKeys>;

/** Whatever is wrong with a key is 101 (`docs/decisions.md#v14`). */
export const keyFaults: KeyFaults = {
  missing: fault.invalidVoucher,
  notNumeric: fault.invalidVoucher,
  notDate: fault.invalidVoucher,
  notCommaSeparated: fault.invalidVoucher,
  notCurrency: fault.invalidVoucher,
  unusable: fault.invalidVoucher,
};
