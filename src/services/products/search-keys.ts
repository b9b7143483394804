import { type DateFormat } from '../../wire/date';
import {
  BOOLEAN,
  CURRENCY,
  DATE,
  dryRunKey,
  INTEGER,
  type KeyFaults,
  type Keys,
  type KeyTable,
  type KeyType,
  LANGUAGE,
  NUMBER,
  oneOf,
  TEXT,
  until,
} from '../../wire/keys/keys';
import { csvKeys } from './csv-keys';
import { productFaults as fault } from './faults';

const values = { type: TEXT, multiple: true } as const;

/** A custom field: name, equals sign, value (`docs/decisions.md#x22`). */
const CUSTOM_FIELD: KeyType<string> = {
  expected: 'a name, an equals sign and a value',
  problem: 'unusable',
  read: (text) => (text.lastIndexOf('=') > 0 ? text : undefined),
};

/** Anything but `iso8601` means milliseconds (Document 1, Search products; `docs/decisions.md#a2`). */
export const DATE_FORMAT: KeyType<DateFormat> = {
  expected: 'iso8601 or epoch',
  schema: { type: 'string', enum: ['iso8601', 'epoch'] },
  problem: 'unusable',
  read: (text) => (text.trim().toLowerCase() === 'iso8601' ? 'iso8601' : 'epoch'),
  takesAll: true,
};

/** Document 1, Search products and CSV export: the query keys (for `token` and `jsonp` see `src/http`). */
export const searchKeys = {
  q: { ...values, description: 'Words to find in title and description' },
  fid: { type: INTEGER, multiple: true, requiredByDefault: true, description: 'Feeds to search' },
  currency: { type: CURRENCY, description: 'Currency of the program' },
  sourceproducturl: {
    type: BOOLEAN,
    multiple: true,
    description: 'Adds the advertiser’s URL without tracking, for publishers',
  },
  minPrice: { type: NUMBER, aliases: ['pricemin'], description: 'Lowest price' },
  maxPrice: { type: NUMBER, aliases: ['pricemax'], description: 'Highest price' },
  minUpdateDate: { type: DATE, description: 'Modified at this time or later' },
  maxUpdateDate: {
    type: until(DATE),
    description: 'Modified at this time or earlier; a date includes its day',
  },
  tdCategoryId: {
    type: INTEGER,
    multiple: true,
    description: 'Platform category, including its descendants',
  },
  category: { ...values, description: 'Category name of the advertiser' },
  brand: { ...values, aliases: ['brands'], description: 'Brand' },
  spId: { ...values, description: 'The advertiser’s id of the product' },
  tdId: { ...values, description: 'The platform’s id of the offer' },
  ean: { ...values, description: 'International article number' },
  mpn: { ...values, description: 'Manufacturer part number' },
  sku: { ...values, description: 'Stock-keeping unit' },
  upc: { ...values, description: 'Universal product code' },
  isbn: { ...values, description: 'International standard book number' },
  language: { type: LANGUAGE, description: 'Language of the feed' },
  field: { type: CUSTOM_FIELD, description: 'Custom field' },
  orderBy: {
    type: oneOf('priceAsc', 'priceDesc', 'modificationDateAsc', 'modificationDateDesc'),
    description: 'Order of the results; by default the best match first, or the newest',
  },
  page: { type: INTEGER, description: 'Page of the results, from 1' },
  pageSize: { type: INTEGER, description: 'Results on a page, at most 1000' },
  limit: { type: INTEGER, description: 'Highest index of a result' },
  cursor: {
    type: TEXT,
    description: 'Pages beyond the first 1,000 results: *, then the nextCursor of the last answer',
  },
  groupOffersByProduct: { type: BOOLEAN, description: 'Groups the offers of the same product' },
  priceHistory: { type: BOOLEAN, description: 'Adds all earlier prices' },
  dateOutputFormat: { type: DATE_FORMAT, description: 'Dates as ISO 8601 instead of milliseconds' },
  availability: { ...values, description: 'Availability' },
  condition: { ...values, description: 'Condition' },
  model: { ...values, description: 'Model' },
  manufacturer: { ...values, description: 'Manufacturer' },
  shippingCost: { ...values, description: 'Shipping cost' },
  promoText: { ...values, description: 'Promotional text' },
  warranty: { ...values, description: 'Warranty' },
  deliveryTime: { ...values, description: 'Delivery time' },
  weight: { ...values, description: 'Weight' },
  size: { ...values, description: 'Size' },
  techSpec: { ...values, description: 'Technical specification' },
  minInStock: { type: INTEGER, description: 'Lowest number in stock' },
  maxInStock: { type: INTEGER, description: 'Highest number in stock' },
  ...csvKeys,
} as const satisfies KeyTable;

export type SearchKeys = Keys<typeof searchKeys>;

/** Document 1, Create or update products; Replace a feed. */
export const postKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed to load' },
  mode: { type: oneOf('replace'), description: 'Replaces the whole content of the feed' },
  dryRun: dryRunKey,
} as const satisfies KeyTable;

/** Document 1, Delete products. */
export const deleteKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed to delete from' },
  spId: { ...values, description: 'The advertiser’s ids of the products to delete' },
  deleteAll: { type: BOOLEAN, description: 'Deletes all products of the feed' },
  dryRun: dryRunKey,
} as const satisfies KeyTable;

/** The faults for problems with keys (`docs/decisions.md#p2`). */
export const keyFaults: Partial<KeyFaults> = {
  missing: fault.parametersMissing,
  notNumeric: fault.notNumeric,
  notCommaSeparated: fault.notCommaSeparated,
  notCurrency: fault.currencyNotIso,
};
