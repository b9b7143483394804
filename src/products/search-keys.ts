import { BOOLEAN, DATE, INTEGER, type KeyType, NUMBER, oneOf, TEXT } from '../wire/key-types';
import { type KeyFaults, type Keys, type KeyTable } from '../wire/keys';
import { CURRENCY, LANGUAGE } from '../wire/iso-keys';
import { csvKeys } from './csv-keys';
import { productFaults as fault } from './faults';

const values = { type: TEXT, multiple: true } as const;

/** A custom field: name, equals sign, value (`docs/decisions.md#x22`). */
const CUSTOM_FIELD: KeyType<string> = {
  accepts: 'a name, an equals sign and a value',
  problem: 'unusable',
  read: (text) => (text.lastIndexOf('=') > 0 ? text : undefined),
};

/** Anything but `iso8601` means milliseconds (Document 1, Search products; `docs/decisions.md#a2`). */
export const DATE_FORMAT: KeyType<'iso8601' | 'epoch'> = {
  accepts: 'iso8601 or epoch',
  problem: 'unusable',
  read: (text) => (text.trim().toLowerCase() === 'iso8601' ? 'iso8601' : 'epoch'),
  takesAll: true,
};

/** Document 1, Search products and CSV export: the query keys (for `token` and `jsonp` see `src/http`). */
export const searchKeys = {
  q: values,
  fid: { type: INTEGER, multiple: true, required: true },
  currency: { type: CURRENCY },
  sourceproducturl: { type: BOOLEAN, multiple: true, inQuery: true },
  minPrice: { type: NUMBER, aliases: ['pricemin'] },
  maxPrice: { type: NUMBER, aliases: ['pricemax'] },
  minUpdateDate: { type: DATE },
  maxUpdateDate: { type: DATE },
  tdCategoryId: { type: INTEGER, multiple: true },
  category: values,
  brand: { ...values, aliases: ['brands'] },
  spId: values,
  tdId: values,
  ean: values,
  mpn: values,
  sku: values,
  upc: values,
  isbn: values,
  language: { type: LANGUAGE },
  field: { type: CUSTOM_FIELD },
  orderBy: { type: oneOf('priceAsc', 'priceDesc', 'modificationDateAsc', 'modificationDateDesc') },
  page: { type: INTEGER },
  pageSize: { type: INTEGER },
  limit: { type: INTEGER },
  cursor: { type: TEXT },
  groupOffersByProduct: { type: BOOLEAN },
  priceHistory: { type: BOOLEAN },
  dateOutputFormat: { type: DATE_FORMAT },
  availability: values,
  condition: values,
  model: values,
  manufacturer: values,
  shippingCost: values,
  promoText: values,
  warranty: values,
  deliveryTime: values,
  weight: values,
  size: values,
  techSpec: values,
  minInStock: { type: INTEGER },
  maxInStock: { type: INTEGER },
  ...csvKeys,
} as const satisfies KeyTable;

export type SearchKeys = Keys<typeof searchKeys>;

/** Document 1, Create or update products; Replace a feed. */
export const postKeys = {
  fid: { type: INTEGER, required: true },
  mode: { type: oneOf('replace') },
} as const satisfies KeyTable;

/** Document 1, Delete products. */
export const deleteKeys = {
  fid: { type: INTEGER, required: true },
  spId: values,
  deleteAll: { type: BOOLEAN },
} as const satisfies KeyTable;

/** Which fault tells what is wrong with a key (`docs/decisions.md#p2`). */
export const keyFaults: KeyFaults = {
  missing: fault.parametersMissing,
  notNumeric: fault.notNumeric,
  notDate: fault.illegalValue,
  notCommaSeparated: fault.notCommaSeparated,
  notCurrency: fault.currencyNotIso,
  unusable: fault.illegalValue,
};
