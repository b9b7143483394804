import { type DateFormat } from '../wire/date';
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
export const DATE_FORMAT: KeyType<DateFormat> = {
  accepts: 'iso8601 or epoch',
  problem: 'unusable',
  read: (text) => (text.trim().toLowerCase() === 'iso8601' ? 'iso8601' : 'epoch'),
  takesAll: true,
};

/** Document 1, Search products and CSV export: the query keys (for `token` and `jsonp` see `src/http`). */
export const searchKeys = {
  q: { ...values, says: 'Words to find in title and description' },
  fid: { type: INTEGER, multiple: true, required: true, says: 'Feeds to search' },
  currency: { type: CURRENCY, says: 'Currency of the program' },
  sourceproducturl: {
    type: BOOLEAN,
    multiple: true,
    inQuery: true,
    says: 'Adds the advertiser’s URL without tracking, for publishers',
  },
  minPrice: { type: NUMBER, aliases: ['pricemin'], says: 'Least price' },
  maxPrice: { type: NUMBER, aliases: ['pricemax'], says: 'Greatest price' },
  minUpdateDate: { type: DATE, says: 'Modified at this time or after it' },
  maxUpdateDate: { type: DATE, says: 'Modified at this time or before it' },
  tdCategoryId: { type: INTEGER, multiple: true, says: 'Platform category, with all below it' },
  category: { ...values, says: 'Category name of the advertiser' },
  brand: { ...values, aliases: ['brands'], says: 'Brand' },
  spId: { ...values, says: 'The advertiser’s id of the product' },
  tdId: { ...values, says: 'The platform’s id of the offer' },
  ean: { ...values, says: 'International article number' },
  mpn: { ...values, says: 'Part number of the manufacturer' },
  sku: { ...values, says: 'Stock-keeping unit' },
  upc: { ...values, says: 'Universal product code' },
  isbn: { ...values, says: 'International standard book number' },
  language: { type: LANGUAGE, says: 'Language of the feed' },
  field: { type: CUSTOM_FIELD, says: 'Custom field' },
  orderBy: {
    type: oneOf('priceAsc', 'priceDesc', 'modificationDateAsc', 'modificationDateDesc'),
    says: 'Order of the results; without it the best match first, or the newest',
  },
  page: { type: INTEGER, says: 'Page of the results, from 1' },
  pageSize: { type: INTEGER, says: 'Results on a page, 1000 at most' },
  limit: { type: INTEGER, says: 'Highest index of a result' },
  cursor: {
    type: TEXT,
    says: 'Pages beyond the first 1,000 results: *, then the nextCursor of the last answer',
  },
  groupOffersByProduct: { type: BOOLEAN, says: 'Groups the offers of the same product' },
  priceHistory: { type: BOOLEAN, says: 'Adds all prices there have been' },
  dateOutputFormat: { type: DATE_FORMAT, says: 'Dates as ISO 8601 in place of milliseconds' },
  availability: { ...values, says: 'Availability' },
  condition: { ...values, says: 'Condition' },
  model: { ...values, says: 'Model' },
  manufacturer: { ...values, says: 'Manufacturer' },
  shippingCost: { ...values, says: 'Cost of delivery' },
  promoText: { ...values, says: 'Promotional text' },
  warranty: { ...values, says: 'Warranty' },
  deliveryTime: { ...values, says: 'Time of delivery' },
  weight: { ...values, says: 'Weight' },
  size: { ...values, says: 'Size' },
  techSpec: { ...values, says: 'Technical specification' },
  minInStock: { type: INTEGER, says: 'Least number in stock' },
  maxInStock: { type: INTEGER, says: 'Greatest number in stock' },
  ...csvKeys,
} as const satisfies KeyTable;

export type SearchKeys = Keys<typeof searchKeys>;

/** Document 1, Create or update products; Replace a feed. */
export const postKeys = {
  fid: { type: INTEGER, required: true, says: 'Feed to load' },
  mode: { type: oneOf('replace'), says: 'Replaces the whole content of the feed' },
} as const satisfies KeyTable;

/** Document 1, Delete products. */
export const deleteKeys = {
  fid: { type: INTEGER, required: true, says: 'Feed to delete from' },
  spId: { ...values, says: 'The advertiser’s ids of the products to delete' },
  deleteAll: { type: BOOLEAN, says: 'Deletes all products of the feed' },
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
