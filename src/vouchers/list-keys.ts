import { BOOLEAN, DATE, INTEGER, LANGUAGE, oneOf, TEXT } from '../wire/key-types';
import { type Keys, type KeyTable } from '../wire/keys';

const ids = { type: INTEGER, multiple: true } as const;

/** How the dates of an answer are written (Document 2, List keys). */
export const dateKeys = {
  dateOutputFormat: {
    type: oneOf('iso8601', 'epoch'),
    description: 'How dates are written; milliseconds without it',
  },
} as const satisfies KeyTable;

/** Document 2, List keys (for `token` and `jsonp` see `src/http`); the last two `docs/decisions.md#v17`. */
export const listKeys = {
  id: { ...ids, description: 'Ids of vouchers' },
  maxStartDate: { type: DATE, description: 'Valid from this time or earlier, ended ones too' },
  minEndDate: { type: DATE, description: 'Valid until this time or later, ended ones too' },
  ...dateKeys,
  programId: { ...ids, description: 'Programs' },
  keywords: { type: TEXT, multiple: true, description: 'Words to find in title, descriptions and code' },
  voucherTypeId: { ...ids, description: 'Types' },
  siteSpecific: {
    type: BOOLEAN,
    description: 'Only vouchers that are for some sites, or only those for any',
  },
  siteId: { ...ids, description: 'Sites that can use the voucher' },
  pageSize: { type: INTEGER, description: 'Vouchers on a page, 1000 at most and if not given' },
  page: { type: INTEGER, description: 'Page, from 0' },
  random: { type: INTEGER, description: 'Seed of a random order, the same for the same seed' },
  languageId: { type: LANGUAGE, description: 'Language of the voucher' },
  activeAt: { type: DATE, description: 'As the default listing is at this time' },
  format: { type: oneOf('csv'), description: 'CSV, whatever the extension' },
} as const satisfies KeyTable;

export type ListKeys = Keys<typeof listKeys>;
