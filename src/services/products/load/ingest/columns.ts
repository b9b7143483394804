import { IDENTIFIERS, postedProduct, TEXTS } from '../../../../domain/products/product-fields';
import { type Problem } from '../../../../wire/api/posted';
import { asUpperBound, readDate } from '../../../../wire/date';
import { type Fields } from '../../../../wire/record/record';

/** What is true of the feed that a body is loaded into. */
export interface FeedTerms {
  /** Of its program; empty if that is unknown. */
  readonly currency: string;
  /** When the load began, epoch ms: the sale prices of then count. */
  readonly now: number;
}

/** Between the values of a cell, and between the parts of a value (`docs/decisions.md#p16`). */
export interface CellSeparators {
  readonly value: string;
  readonly part: string;
}

/** Texts of a product, each with what it means and what it is called where it was posted: lists of equal length. */
export interface NamedTexts {
  /** Each is a name of `MEANINGS`, or that of a custom field; undefined if the text is not read. */
  readonly meanings: readonly (string | undefined)[];
  readonly texts: readonly string[];
  readonly names: readonly string[];
}

/** A value that is unusable before its product is checked. */
interface WrongValue {
  readonly path: string;
  readonly value: string;
  readonly expected: string;
  readonly problem: Problem;
}

/** A product in the shape of JSON. */
export interface NamedProduct {
  readonly product: Readonly<Record<string, unknown>>;
  readonly wrong: readonly WrongValue[];
  /** The same texts may be another product at another time. */
  readonly isTimed: boolean;
  /** What the text is called that a field of the product is read from. */
  readonly named: (path: string) => string;
}

/** A product in the shape of JSON, and what is known of its texts where they have names of their own. */
export type ReadProduct = Pick<NamedProduct, 'product'> & {
  readonly [Name in keyof NamedProduct]?: NamedProduct[Name] | undefined;
};

interface ProductDraft {
  readonly product: Record<string, unknown>;
  readonly separators: CellSeparators;
  readonly image: Record<string, string>;
  readonly types: string[];
  readonly shipping: string[];
  readonly fields: { readonly name: string; readonly value: string }[];
  readonly lists: Partial<Record<'name' | 'id' | 'tdCategoryName', readonly string[]>>;
  readonly money: Partial<Record<'price' | 'sale' | 'saleDates' | 'currency', string>>;
  categories: readonly object[];
}

interface Meaning {
  /** The field of a product that it is for. */
  readonly field: string;
  /** Its other names. */
  readonly also?: readonly string[];
  readonly take: (draft: ProductDraft, text: string) => void;
  /** It may be there several times. */
  readonly isList?: true;
  /** It only adds to what others are read into. */
  readonly isDetail?: true;
}

const FIELDS: Fields = postedProduct.fields;
const PLAIN_FIELDS = [
  ...['sourceProductId', 'name', 'description', 'productUrl', 'inStock'],
  ...TEXTS,
  ...IDENTIFIERS,
];
const OTHER_NAMES: Readonly<Partial<Record<string, readonly string[]>>> = {
  sourceProductId: ['TDProductId'],
  name: ['title'],
  productUrl: ['link'],
  weight: ['product_weight'],
};

function plainMeaning(field: string): readonly [string, Meaning] {
  const kind = FIELDS[field]?.kind;
  const isText = kind?.is === 'scalar' && kind.posted.isText === true;
  const take: Meaning['take'] = ({ product }, text) => (product[field] = isText ? text : text.trim());
  return [field, { field, also: OTHER_NAMES[field] ?? [], take }];
}

function money(part: keyof ProductDraft['money'], field: string, ...also: readonly string[]): Meaning {
  return { field, also, take: (draft, text) => (draft.money[part] = text) };
}

/** The name of a category; there may be several. */
const CATEGORY: Meaning = { field: 'categories', isList: true, take: ({ types }, text) => types.push(text) };

/** The order of the parts of a cell `identifiers`. */
const IDENTIFIER_PARTS = ['ean', 'upc', 'isbn', 'sku', 'mpn'] as const;
const UPC_DIGITS = 12;

/** By the names of columns and elements (`docs/decisions.md#p35`). */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ...PLAIN_FIELDS.map(plainMeaning),
  ['price', money('price', 'price', 'priceValue')],
  ['currency', money('currency', 'currency', 'priceCurrency')],
  ['sale_price', money('sale', 'price')],
  ['sale_price_effective_date', money('saleDates', 'sale_price_effective_date')],
  [
    'sourceProductUrl',
    { field: 'productUrl', take: ({ product }, text) => (product.sourceProductUrl = text) },
  ],
  ['productImage', { field: 'productImage', take: takeImage }],
  [
    'imageUrl',
    { field: 'productImage', also: ['image_link'], take: ({ image }, text) => (image.url = text) },
  ],
  ['width', pixels('width')],
  ['height', pixels('height')],
  [
    'categories',
    { field: 'categories', take: (draft, text) => (draft.categories = categoriesIn(text, draft.separators)) },
  ],
  ['MerchantCategoryName', categoryParts('name')],
  ['TDCategoryId', categoryParts('id')],
  ['TDCategoryName', categoryParts('tdCategoryName')],
  ['product_type', CATEGORY],
  ['google_product_category', CATEGORY],
  [
    'identifiers',
    {
      field: 'identifiers',
      take: ({ product, separators }, text) => {
        const parts = text.split(separators.value);
        const isWhole = parts.length === IDENTIFIER_PARTS.length;
        product.identifiers = isWhole
          ? Object.fromEntries(IDENTIFIER_PARTS.map((name, at) => [name, parts[at]]))
          : text;
      },
    },
  ],
  [
    'gtin',
    {
      field: 'ean',
      take: ({ product }, text) => {
        const digits = text.trim();
        product[digits.length === UPC_DIGITS ? 'upc' : 'ean'] = digits;
      },
    },
  ],
  ['shipping', { field: 'shippingCost', isList: true, take: ({ shipping }, text) => shipping.push(text) }],
  [
    'fields',
    {
      field: 'fields',
      take: ({ fields, separators }, text) => fields.push(...customFieldsIn(text, separators)),
    },
  ],
]);

function pixels(side: 'height' | 'width'): Meaning {
  const take: Meaning['take'] = ({ image }, text) => (image[side] = text.trim());
  return { field: 'productImage', isDetail: true, take };
}

function categoryParts(part: keyof ProductDraft['lists']): Meaning {
  const take: Meaning['take'] = ({ lists, separators }, text) => (lists[part] = text.split(separators.value));
  return { field: 'categories', take };
}

/** Attributes of a Google Merchant feed that a product has no field for: custom fields of their names. */
const GOOGLE_FIELDS = [
  ...['additional_image_link', 'mobile_link', 'virtual_model_link', 'lifestyle_image_link', 'video_link'],
  ...['item_group_id', 'color', 'gender', 'age_group', 'material', 'pattern', 'size_type', 'size_system'],
  ...['is_bundle', 'multipack', 'adult', 'energy_efficiency_class', 'min_energy_efficiency_class'],
  ...['max_energy_efficiency_class', 'unit_pricing_measure', 'unit_pricing_base_measure', 'short_title'],
  ...['availability_date', 'expiration_date', 'identifier_exists', 'product_highlight', 'shipping_weight'],
  ...['shipping_length', 'shipping_width', 'shipping_height', 'shipping_label', 'product_length'],
  ...['product_width', 'product_height', 'min_handling_time', 'max_handling_time', 'transit_time_label'],
  ...['custom_label_0', 'custom_label_1', 'custom_label_2', 'custom_label_3', 'custom_label_4'],
  ...['ads_redirect', 'excluded_destination', 'included_destination'],
] as const;

const CUSTOM = '(field)';

/** The id of a product, unless another name is: in a download it is that of the offer. */
export const ID = 'id';

const NAMES: ReadonlyMap<string, string> = new Map([
  [ID, ID],
  ...GOOGLE_FIELDS.map((name) => [plain(name), CUSTOM + name] as const),
  ...[...MEANINGS].flatMap(([name, { also = [] }]) =>
    [name, ...also].map((spelling) => [plain(spelling), name] as const),
  ),
]);

/** Names are compared without case, underscores, hyphens and spaces. */
export function plain(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '');
}

/** What columns and elements may be called, for messages. */
export const READABLE_NAMES: readonly string[] = [...MEANINGS.keys(), `${CUSTOM}NAME`];

/** What a column or element of this name means; undefined if it is not read. `id` is to be resolved by `together`. */
export function meaningOf(name: string): string | undefined {
  if (name.startsWith(CUSTOM) && name.length > CUSTOM.length) return name;
  return NAMES.get(plain(name));
}

/** The meanings of all columns together: what others of them repeat is not read. */
export function together(meanings: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const product = meanings.includes('sourceProductId') ? undefined : 'sourceProductId';
  const isRepeated = IDENTIFIER_PARTS.every((part) => meanings.includes(part));
  return meanings.map((name) => {
    if (name === ID) return product;
    return name === 'identifiers' && isRepeated ? undefined : name;
  });
}

/** Whether texts of this meaning may be there several times. */
export function isListed(meaning: string): boolean {
  return meaning.startsWith(CUSTOM) || MEANINGS.get(meaning)?.isList === true;
}

/** Required fields that nothing is read into, and the names of what would be. */
export function missingAmong(
  meanings: readonly (string | undefined)[],
): readonly { readonly field: string; readonly names: readonly string[] }[] {
  const isDetail = (name: string): boolean => MEANINGS.get(name)?.isDetail === true;
  const found = new Set(
    meanings.map((name) => (name === undefined || isDetail(name) ? undefined : fieldOf(name))),
  );
  return Object.entries(FIELDS)
    .filter(([field, { required }]) => required === true && !found.has(field))
    .map(([field]) => ({
      field,
      names: [
        ...[...MEANINGS].flatMap(([name, one]) =>
          one.field === field && !isDetail(name) ? [name, ...(one.also ?? [])] : [],
        ),
        ...(field === 'sourceProductId' ? [ID] : []),
      ],
    }));
}

function fieldOf(meaning: string): string {
  return meaning.startsWith(CUSTOM) ? 'fields' : (MEANINGS.get(meaning)?.field ?? meaning);
}

/** Puts together the product that texts mean; empty texts are absent. It is not checked. */
export function productOf(named: NamedTexts, separators: CellSeparators, terms: FeedTerms): NamedProduct {
  const draft: ProductDraft = {
    product: {},
    separators,
    image: {},
    types: [],
    shipping: [],
    fields: [],
    lists: {},
    money: {},
    categories: [],
  };
  const { meanings, texts } = named;
  for (let at = 0; at < texts.length; at += 1) {
    const meaning = meanings[at];
    const text = texts[at];
    if (meaning === undefined || text === undefined || text === '') continue;
    const known = MEANINGS.get(meaning);
    if (known !== undefined) known.take(draft, text);
    else draft.fields.push({ name: meaning.slice(CUSTOM.length), value: text });
  }
  const { product, fields, shipping, image } = draft;
  if (product.sourceProductUrl !== undefined) {
    product.productUrl = product.sourceProductUrl;
    delete product.sourceProductUrl;
  }
  if (image.url !== undefined) product.productImage = image;
  if (fields.length > 0) product.fields = fields;
  product.categories = categoriesOf(draft);
  if (shipping.length > 0) product.shippingCost = shippingCost(shipping, terms);
  const price = priceOf(draft.money, terms);
  product.price = price.amount;
  return {
    product,
    wrong: price.wrong,
    isTimed: draft.money.saleDates !== undefined,
    named: (path) => nameFor(path, named, price.isSale),
  };
}

/** A price that does not apply, since a sale price does; and a sale price that does not. */
const [REGULAR, SALE] = ['price.regular', 'sale_price'] as const;

/** `column Preis (price)`: what the text is called, and the field of the product. */
function nameFor(path: string, { meanings, names, texts }: NamedTexts, isSale: boolean): string {
  const field = path === SALE ? 'price' : (path.split(/[.[]/)[0] ?? path);
  const of = (at: number): string => meanings[at] ?? '';
  const isSaleFirst = path === SALE || (isSale && path !== REGULAR);
  const rank = (at: number): number => Number((of(at) === 'sale_price') !== isSaleFirst);
  const at = [...names.keys()]
    .filter((one) => fieldOf(of(one)) === field && (texts[one] ?? '') !== '')
    .sort((one, other) => rank(one) - rank(other));
  const name = names[at[0] ?? names.findIndex((_, one) => fieldOf(of(one)) === field)];
  if (name === undefined) return path;
  const meant = path === REGULAR ? field : path;
  return plain(name) === plain(meant) ? `column ${name}` : `column ${name} (${meant})`;
}

interface FoundPrice {
  readonly amount: string | undefined;
  readonly isSale: boolean;
  readonly wrong: readonly WrongValue[];
}

/** The present price. All prices must be in the program's currency, named beside the amount or by itself. */
function priceOf({ price, sale, saleDates, currency }: ProductDraft['money'], terms: FeedTerms): FoundPrice {
  const wrong: WrongValue[] = [];
  let isSale = sale !== undefined;
  if (sale !== undefined && saleDates !== undefined) {
    const during = isWithin(saleDates, terms.now);
    const expected =
      'two times of ISO 8601, separated by a slash, such as 2026-06-01T00:00Z/2026-06-30T23:59Z';
    if (during === undefined)
      wrong.push({ path: 'sale_price_effective_date', value: saleDates, expected, problem: 'notDate' });
    isSale = during ?? true;
  }
  const own = terms.currency;
  const isOther = (one: string | undefined): one is string =>
    one !== undefined && own !== '' && one.trim().toUpperCase() !== own;
  const amountOf = (text: string | undefined, path: string): string | undefined => {
    const [, amount = text?.trim(), beside] = MONEY.exec(text?.trim() ?? '') ?? [];
    const expected = `a price in ${own}, the currency of the program`;
    if (isOther(beside)) wrong.push({ path, value: text ?? '', expected, problem: 'malformedPrice' });
    return amount && withPoint(amount);
  };
  const dated = wrong.length;
  const regular = amountOf(price, isSale ? REGULAR : 'price');
  const reduced = amountOf(sale, isSale ? 'price' : SALE);
  if (wrong.length === dated && isOther(currency)) {
    const expected = `${own}, the currency of the program`;
    wrong.push({ path: 'currency', value: currency, expected, problem: 'malformedPrice' });
  }
  return { amount: isSale ? reduced : regular, isSale, wrong };
}

/** An amount and what follows it, which should be a code of ISO 4217: `12.99 EUR`. */
const MONEY = /^([\d.,]+) *([A-Za-z]{3})$/;

/**
 * An amount as tables of shops write it, with a decimal comma or groups of thousands, as it is posted: `1.299,5` is
 * `1299.50`. What could mean two amounts, such as `1,299`, stays as it is.
 */
function withPoint(amount: string): string {
  // As most are written.
  if (/^\d+\.\d\d$/.test(amount)) return amount;
  const [, whole, decimals = ''] = DECIMAL_COMMA.exec(amount) ?? DECIMAL_POINT.exec(amount) ?? [];
  return whole === undefined ? amount : `${whole.replaceAll(/[.,]/g, '')}.${decimals.padEnd(2, '0')}`;
}

const DECIMAL_COMMA = /^(\d+|\d{1,3}(?:\.\d{3})+),(\d{1,2})$/;
const DECIMAL_POINT = /^(\d+|\d{1,3}(?:,\d{3})+)\.(\d{1,2})$/;

/** Whether a time is within `from/to`; undefined if that is no interval. A time without an offset is in UTC. */
function isWithin(interval: string, time: number): boolean | undefined {
  const [begin = '', end = '', ...others] = interval.split('/').map((text) => text.trim());
  const from = readDate(begin) ?? readDate(`${begin}Z`);
  const to = asUpperBound(end, readDate(end) ?? readDate(`${end}Z`));
  if (from === undefined || to === undefined || others.length > 0) return undefined;
  return from <= time && time <= to;
}

/** A cell `url;width;height`, or the URL alone. */
function takeImage({ product, separators: { value } }: ProductDraft, text: string): void {
  const parts = text.split(value);
  const [width = '', height = ''] = parts.slice(-2).map((part) => part.trim());
  const isWhole = parts.length >= 3 && /^\d*$/.test(width) && /^\d*$/.test(height);
  const whole = { url: parts.slice(0, -2).join(value), width, height };
  product.productImage = isWhole ? whole : { url: text };
}

/**
 * Categories `name:id:tdCategoryName` of a cell; if none of them has an id in digits between two separators, each
 * value is a name.
 */
function categoriesIn(text: string, { value, part }: CellSeparators): readonly object[] {
  const found: object[] = [];
  let name = '';
  let isWhole = false;
  const values = text.split(value);
  for (const [at, one] of values.entries()) {
    const whole = categoryIn(`${name}${one}`, part);
    if (whole !== undefined) {
      isWhole = true;
      name = '';
      found.push(whole);
    } else if (at === values.length - 1) {
      if (isWhole) found.push({ name: `${name}${one}` });
    } else name += `${one}${value}`;
  }
  return isWhole ? found : values.map((one) => ({ name: one }));
}

/** A name may have separators in it; an id and the platform's name do not. */
function categoryIn(text: string, part: string): object | undefined {
  const parts = text.split(part);
  const [id = '', tdCategoryName = ''] = parts.slice(-2);
  if (parts.length < 3 || !/^\d*$/.test(id)) return undefined;
  return { name: parts.slice(0, -2).join(part), id, tdCategoryName };
}

function categoriesOf({ categories, lists, types }: ProductDraft): readonly object[] {
  if (categories.length > 0) return categories;
  const [only, ...others] = types;
  if (only !== undefined && others.length === 0 && Object.keys(lists).length === 0) return [{ name: only }];
  const length = Math.max(...Object.values(lists).map((list) => list.length), 0);
  const listed = Array.from({ length }, (_, at) =>
    Object.fromEntries(Object.entries(lists).map(([part, list]) => [part, list[at] ?? ''])),
  );
  return [...listed, ...[...new Set(types)].map((name) => ({ name }))];
}

/** Custom fields `name:value` of a cell. What has no part separator continues the value before it. */
function customFieldsIn(text: string, { value, part }: CellSeparators): ProductDraft['fields'] {
  const found: { name: string; value: string }[] = [];
  for (const one of text.split(value)) {
    const at = one.indexOf(part);
    const last = found.at(-1);
    if (at > 0) found.push({ name: one.slice(0, at), value: one.slice(at + part.length) });
    else if (last !== undefined) last.value += `${value}${one}`;
    // Refused, since nothing says what it is the value of.
    else found.push({ name: '', value: one });
  }
  return found;
}

/** A single cost is an amount, `4.95` of `DE:::4.95 EUR`; several are as they were sent. */
function shippingCost(shipping: readonly string[], { currency }: FeedTerms): string {
  const [only = '', ...others] = shipping;
  if (others.length > 0 || only.includes(',')) return shipping.join(', ');
  const cost = only.slice(only.lastIndexOf(':') + 1).trim();
  const [, amount, beside] = MONEY.exec(cost) ?? [];
  return amount !== undefined && beside?.toUpperCase() === currency ? amount : cost;
}
