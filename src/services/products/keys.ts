import { FACET_NAMES, type FacetName, type WantedFacets } from '../../../projections/product-search';
import { type CsvSeparators } from '../../wire/csv/rows';
import { type DateFormat } from '../../wire/date';
import {
  BOOLEAN,
  CURRENCY,
  DATE,
  dryRunKey,
  INTEGER,
  INTEGERS,
  type KeyFaults,
  type Keys,
  type KeyTable,
  type KeyType,
  LANGUAGE,
  NUMBER,
  oneOf,
  TEXT,
  TEXTS,
  until,
} from '../../wire/keys/keys';
import { atLeast, ListCursors } from '../../wire/keys/pages';
import { SINCE } from './download/joined-facts';
import { type ColumnMapping, type ColumnOptions, EXPECTED_MAPPING, mappingIn } from './load/ingest/feed-body';
import { tokensOf } from '../../wire/words';
import { productFaults as fault } from '../../domain/products/feed';
import { type AddedColumn, type CsvStyle } from './result-text';

/** A character that may separate or embrace: no line end, and one that parsers take for one character. */
const USABLE = '[^\\r\\n\\ud800-\\udfff]';

const SEPARATORS: KeyType<CsvSeparators> = {
  expected:
    'three different characters, none of them a line end or beyond U+FFFF; a semicolon is written %3B in an address',
  problem: 'unusable',
  read: (text) => {
    const [, column = '', value = '', part = ''] = THREE.exec(text) ?? [];
    return new Set([column, value, part]).size === 3 ? [column, value, part] : undefined;
  },
};
const THREE = new RegExp(`^(${USABLE})(${USABLE})(${USABLE})$`);

const EMBRACE: KeyType<string> = {
  expected: 'one character, no line end and none beyond U+FFFF',
  problem: 'unusable',
  read: (text) => (ONE.test(text) ? text : undefined),
};
const ONE = new RegExp(`^${USABLE}$`);

/** Document 1, CSV export: the keys beside those of what is exported. */
export const csvKeys = {
  format: {
    type: oneOf('csv', 'json', 'xml'),
    beyondJson: true,
    description: 'Format of the answer; overrides the extension',
  },
  csvSeparators: {
    beyondJson: true,
    type: SEPARATORS,
    description: 'Between columns, values of a cell, parts of a value; by default ,;:',
  },
  csvEmbrace: {
    beyondJson: true,
    type: EMBRACE,
    description: 'What each cell of CSV is embraced by; by default a double quote',
  },
  csvFlattenFields: {
    type: BOOLEAN,
    beyondJson: true,
    description: 'Gives each custom field a column of its own',
  },
} as const satisfies KeyTable;

interface AddingKeys {
  readonly priceHistory?: boolean | undefined;
  readonly sourceproducturl?: boolean | readonly boolean[] | undefined;
}

/** The CSV style that the keys ask for. Raises PF_430 if the embrace is also a separator. */
export function csvStyleOf({
  format,
  csvSeparators,
  csvEmbrace,
  priceHistory,
  sourceproducturl,
}: Keys<typeof csvKeys> & AddingKeys): CsvStyle {
  const separators = csvSeparators ?? [',', ';', ':'];
  const embrace = csvEmbrace ?? '"';
  if (separators.includes(embrace)) {
    const given = csvEmbrace === undefined ? `csvSeparators=${separators.join('')}` : `csvEmbrace=${embrace}`;
    throw fault.illegalValue(
      `${given}: expected separators and an embrace that differ: the separators are ${separators.join(' ')}, the ` +
        `embrace is ${embrace}`,
    );
  }
  const added: AddedColumn[] = [];
  if (priceHistory === true) added.push('priceHistory');
  if ([sourceproducturl].flat().includes(true)) added.push('sourceProductUrl');
  return { columns: format === 'csv' ? 'of the key' : 'of the type', separators, embrace, added };
}

/** A custom field: name, equals sign, value (`docs/decisions.md#x22`). */
const CUSTOM_FIELD: KeyType<string> = {
  expected: 'a name, an equals sign and a value',
  problem: 'unusable',
  read: (text) => (text.lastIndexOf('=') > 0 ? text : undefined),
};

/** Anything but `iso8601` means milliseconds (Document 1, Search products; `docs/decisions.md#a2`). */
const DATE_FORMAT: KeyType<DateFormat> = {
  expected: 'iso8601 or epoch',
  schema: { type: 'string', enum: ['iso8601', 'epoch'] },
  problem: 'unusable',
  read: (text) => (text.trim().toLowerCase() === 'iso8601' ? 'iso8601' : 'epoch'),
  takesAll: true,
};

/** Most UTF-16 units of a text that is completed (`docs/decisions.md#p34`). */
const MAX_SUGGEST = 100;

const SUGGEST: KeyType<string> = {
  expected: `a text of at most ${MAX_SUGGEST} characters with a letter or digit`,
  schema: { type: 'string', maxLength: MAX_SUGGEST },
  problem: 'unusable',
  read: (text) => (text.length <= MAX_SUGGEST && tokensOf(text).length > 0 ? text : undefined),
};

/** Price bounds of a facet. */
const MAX_BOUNDS = 20;

/** Names, and for ranges of prices the bounds (`docs/decisions.md#p31`): `brand,priceRange(10,50,100)`. */
const FACETS: KeyType<WantedFacets> = {
  expected:
    `some of ${FACET_NAMES.join(', ').replace('priceRange', 'priceRange(10,50,100)')}, separated by commas; ` +
    `price bounds ascend, are at most ${MAX_BOUNDS}, and have at most two decimals`,
  problem: 'unusable',
  read: (text) => {
    const names = new Set<FacetName>();
    let priceBounds: readonly number[] = [];
    let rest = text;
    do {
      const [part = '', word = '', bounds] = ONE_FACET.exec(rest) ?? [];
      const name = FACET_NAMES.find((one) => one.toLowerCase() === word.toLowerCase());
      if (part === '' || name === undefined || (name === 'priceRange') !== (bounds !== undefined))
        return undefined;
      if (bounds !== undefined) {
        const found = boundsIn(bounds);
        if (found === undefined || names.has(name)) return undefined;
        priceBounds = found;
      }
      names.add(name);
      rest = rest.slice(part.length);
    } while (rest !== '');
    return { names: FACET_NAMES.filter((name) => names.has(name)), priceBounds };
  },
};
const ONE_FACET = /^\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*(?:,(?=.)|$)/is;

/** In minor units; undefined if they are unusable. */
function boundsIn(text: string): readonly number[] | undefined {
  const bounds = text.split(',').map((bound) => {
    const [, major, minor = ''] = PRICE_BOUND.exec(bound) ?? [];
    return major === undefined ? NaN : Number(`${major}${minor.padEnd(2, '0')}`);
  });
  const isAscending = bounds.every((bound, at) => bound > (bounds[at - 1] ?? -1));
  return bounds.length <= MAX_BOUNDS && isAscending ? bounds : undefined;
}
const PRICE_BOUND = /^\s*(\d{1,13})(?:\.(\d{1,2}))?\s*$/;

/** Document 1, Search products and CSV export: the query keys (for `token` and `jsonp` see `src/http`). */
export const searchKeys = {
  q: { ...TEXTS, description: 'Words to find in title and description' },
  prefix: {
    type: BOOLEAN,
    description:
      'Finds words that begin with the last word of each value of q, at most 20, as one types: lam finds Lampe',
  },
  fuzzy: {
    type: BOOLEAN,
    description:
      'Corrects one wrong letter of words of q, from five letters on, that no product has: the answer says which. In JSON ' +
      'and XML',
  },
  suggest: {
    type: SUGGEST,
    description: 'Adds names and brands that a text may be the beginning of, whatever q is. In JSON and XML',
  },
  fid: { ...INTEGERS, requiredByDefault: true, description: 'Feeds to search' },
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
  category: { ...TEXTS, description: 'Category name of the advertiser' },
  brand: { ...TEXTS, aliases: ['brands'], description: 'Brand' },
  spId: { ...TEXTS, description: 'The advertiser’s id of the product' },
  tdId: { ...TEXTS, description: 'The platform’s id of the offer' },
  ean: { ...TEXTS, description: 'International article number' },
  mpn: { ...TEXTS, description: 'Manufacturer part number' },
  sku: { ...TEXTS, description: 'Stock-keeping unit' },
  upc: { ...TEXTS, description: 'Universal product code' },
  isbn: { ...TEXTS, description: 'International standard book number' },
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
  facets: {
    type: FACETS,
    description:
      'Counts by value within the offers found: brand, tdCategoryId, category, feed, priceRange(10,50,100) with bounds of ' +
      'your own; several are separated by commas. In JSON and XML',
  },
  groupOffersByProduct: { type: BOOLEAN, description: 'Groups the offers of the same product' },
  priceHistory: { type: BOOLEAN, description: 'Adds all earlier prices' },
  dateOutputFormat: { type: DATE_FORMAT, description: 'Dates as ISO 8601 instead of milliseconds' },
  availability: { ...TEXTS, description: 'Availability' },
  condition: { ...TEXTS, description: 'Condition' },
  model: { ...TEXTS, description: 'Model' },
  manufacturer: { ...TEXTS, description: 'Manufacturer' },
  shippingCost: { ...TEXTS, description: 'Shipping cost' },
  promoText: { ...TEXTS, description: 'Promotional text' },
  warranty: { ...TEXTS, description: 'Warranty' },
  deliveryTime: { ...TEXTS, description: 'Delivery time' },
  weight: { ...TEXTS, description: 'Weight' },
  size: { ...TEXTS, description: 'Size' },
  techSpec: { ...TEXTS, description: 'Technical specification' },
  minInStock: { type: INTEGER, description: 'Lowest number in stock' },
  maxInStock: { type: INTEGER, description: 'Highest number in stock' },
  ...csvKeys,
} as const satisfies KeyTable;

export type SearchKeys = Keys<typeof searchKeys>;

const MAPPING: KeyType<ColumnMapping> = {
  expected: EXPECTED_MAPPING,
  problem: 'unusable',
  read: (text) => mappingIn(text, ':'),
};

/** Document 1, Create or update products; Replace a feed. */
export const postKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed to load' },
  mode: { type: oneOf('replace'), description: 'Replaces the whole content of the feed' },
  dryRun: dryRunKey,
  map: {
    type: MAPPING,
    multiple: true,
    beyondJson: true,
    description: 'Reads columns of CSV as if they had other names: name:title,price:Preis',
  },
  csvSeparators: {
    beyondJson: true,
    type: SEPARATORS,
    description:
      'Between columns, values of a cell, parts of a value; by default that of the header, a semicolon, a colon',
  },
  csvEmbrace: {
    beyondJson: true,
    type: EMBRACE,
    description: 'What cells of CSV are embraced by; by default a double quote',
  },
} as const satisfies KeyTable;

/** How the keys have CSV read. Raises PF_430 for characters that are not ASCII, or not different. */
export function columnsOf({ map, csvSeparators, csvEmbrace }: Keys<typeof postKeys>): ColumnOptions {
  const [column = ','] = csvSeparators ?? [];
  for (const [name, character] of Object.entries({ csvSeparators: column, csvEmbrace: csvEmbrace ?? '"' }))
    if (character > '\u007f')
      throw fault.illegalValue(`${name}: expected ${character} to be a character of ASCII`);
  // Raises PF_430 if they are not different.
  csvStyleOf({ format: undefined, csvSeparators, csvEmbrace, csvFlattenFields: undefined });
  return { map, separators: csvSeparators, embrace: csvEmbrace };
}

/** Document 1, Delete products. */
export const deleteKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed to delete from' },
  spId: { ...TEXTS, description: 'The advertiser’s ids of the products to delete' },
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

/** The cursors of searches (`docs/decisions.md#p28`, `#x53`). */
export const searchCursors = new ListCursors<SearchKeys>({
  presentation: [
    ...(Object.keys(csvKeys) as (keyof typeof csvKeys)[]),
    'pageSize',
    'facets',
    'suggest',
    'sourceproducturl',
    'priceHistory',
    'dateOutputFormat',
  ],
  excluded: ['page', 'limit', 'csvFlattenFields'],
  refuse: fault.illegalValue,
});

/** Document 1, Category tree. */
export const categoryKeys = {
  language: { type: LANGUAGE, description: 'Language of the names; English without it' },
} as const satisfies KeyTable;

/** Document 1, Category mapping status. */
export const mappingKeys = {
  fid: { ...INTEGERS, required: true, description: 'Feeds to list' },
  state: { type: oneOf('unmapped', 'mapped'), description: 'Only categories of this state' },
  format: {
    type: oneOf('json', 'xml'),
    beyondJson: true,
    description: 'Format of the answer; overrides the extension',
  },
} as const satisfies KeyTable;

/** Document 1, Feed last-updated time; the load report (`docs/decisions.md#p30`). */
export const feedKey = {
  fid: { type: INTEGER, required: true, description: 'Id of the feed' },
} as const satisfies KeyTable;

/** `docs/decisions.md#x110`. */
export const visibilityKeys = {
  ...feedKey,
  spId: { type: TEXT, required: true, description: 'The advertiser’s id of the product' },
} as const satisfies KeyTable;

/** Document 1, Feed list. */
export const feedKeys = {
  programId: { ...INTEGERS, description: 'Only feeds of these programs' },
} as const satisfies KeyTable;

/** Document 1, Bulk download of a feed; beyond it `docs/decisions.md#p10`, `#p16`, `#p17`, `#p28`. */
export const downloadKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed to download' },
  sourceproducturl: {
    type: BOOLEAN,
    description: 'Adds the advertiser’s URL without tracking, for publishers',
  },
  page: { type: INTEGER, description: 'Page of the feed, from 1' },
  pageSize: { type: INTEGER, description: 'Products on a page, 100 if not given' },
  priceHistory: { type: BOOLEAN, description: 'Adds all earlier prices' },
  dateOutputFormat: { type: DATE_FORMAT, description: 'Dates as ISO 8601 instead of milliseconds' },
  compress: { type: oneOf('gz'), description: 'Compresses the answer even without Accept-Encoding' },
  since: {
    type: SINCE,
    description: 'Only what has changed since: a date, or the X-Next-Since of the last answer',
  },
  ...csvKeys,
} as const satisfies KeyTable;

export type DownloadKeys = Keys<typeof downloadKeys>;

/** Products on a page whose size is not given. */
const PAGE_SIZE = 100;

/** The page asked for, from 1, and its size (`docs/decisions.md#p17`, `#x50`); undefined: all. Raises PF_430. */
export function pageOf({ page, pageSize, since }: DownloadKeys): { page: number; size: number } | undefined {
  for (const [name, value] of Object.entries({ page, pageSize })) {
    if (value === undefined) continue;
    const hint = name === 'page' ? ', pages start at 1' : '';
    atLeast(1, name, value, (message) => fault.illegalValue(`${message}${hint}`));
    if (since !== undefined) throw fault.illegalValue(`${name}=${value}: cannot be combined with since`);
  }
  if (page === undefined && pageSize === undefined) return undefined;
  return { page: page ?? 1, size: pageSize ?? PAGE_SIZE };
}
