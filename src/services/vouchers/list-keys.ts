import { dryRunKey } from '../../wire/keys/dry-run';
import { PAGE_KEY, sizeKey } from '../../wire/keys/pages';
import { BOOLEAN, DATE, INTEGER, LANGUAGE, oneOf, TEXT, until } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';

const ids = { type: INTEGER, multiple: true } as const;

/** Format of dates in an answer (Document 2, List keys). */
export const dateKeys = {
  dateOutputFormat: {
    type: oneOf('iso8601', 'epoch'),
    description: 'Format of dates; milliseconds by default',
  },
} as const satisfies KeyTable;

/** Of posts, beyond Document 2 (`docs/decisions.md#a15`). */
export const postKeys = { dryRun: dryRunKey } as const satisfies KeyTable;

/** Document 2, List keys (for `token` and `jsonp` see `src/http`); the last two `docs/decisions.md#v17`. */
export const listKeys = {
  id: { ...ids, description: 'Ids of vouchers' },
  maxStartDate: {
    type: until(DATE),
    description: 'Valid from this time or earlier, a date includes its day; includes ended ones',
  },
  minEndDate: { type: DATE, description: 'Valid until this time or later; includes ended ones' },
  ...dateKeys,
  programId: { ...ids, description: 'Programs' },
  keywords: { type: TEXT, multiple: true, description: 'Words to find in title, descriptions and code' },
  voucherTypeId: { ...ids, description: 'Types' },
  siteSpecific: {
    type: BOOLEAN,
    description: 'Only vouchers for some sites, or only those for any site',
  },
  siteId: { ...ids, description: 'Sites that can use the voucher' },
  pageSize: sizeKey('Vouchers on a page'),
  page: PAGE_KEY,
  random: { type: INTEGER, description: 'Seed of a random order; the same seed gives the same order' },
  languageId: { type: LANGUAGE, description: 'Language of the voucher' },
  activeAt: { type: DATE, description: 'The default listing as of this time' },
  format: { type: oneOf('csv'), beyondJson: true, description: 'CSV; overrides the extension' },
} as const satisfies KeyTable;

export type VoucherListKeys = Keys<typeof listKeys>;
