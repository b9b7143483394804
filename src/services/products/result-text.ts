import {
  formatPrice,
  foundOffer,
  foundProduct,
  foundProducts,
  IDENTIFIERS,
  OFFER_TEXTS,
  PRODUCT_TEXTS,
} from '../../domain/products/product-fields';
import { type Format } from '../../wire/api/format';
import { type CsvCell, csvLines, type CsvSeparators } from '../../wire/csv/rows';
import { date, text, wordOf } from '../../wire/record/kinds';
import { jsonList, type ListText, xmlList } from '../../wire/record/list';
import { type AnswerOf, listOf, pick, prefixed, record, type Scalar } from '../../wire/record/record';
import { xmlWriter } from '../../wire/record/document';
import { type XmlElement } from '../../wire/xml/write';
import { productFaults as fault } from '../../domain/products/feed';
import {
  type OutputOffer,
  type OutputProduct,
  type OutputView,
  type PastPrice,
  toJsonProduct,
} from './output';

/** Columns and separators: Document 1, CSV export; `docs/decisions.md#p16`. */
export interface CsvStyle {
  /** Those of `;format=csv` (`docs/decisions.md#p15`), or of `.csv` and `text/csv` (`docs/decisions.md#p14`). */
  readonly columns: 'of the key' | 'of the type';
  readonly separators: CsvSeparators;
  readonly embrace: string;
  /** Columns after the documented ones: what only a key adds (`docs/decisions.md#p16`). */
  readonly added?: readonly AddedColumn[] | undefined;
}

export type AddedColumn = 'priceHistory' | 'sourceProductUrl';

export interface CsvOptions extends CsvStyle {
  readonly dates: OutputView['dates'];
  /** Names of the custom fields that get columns of their own: those of the whole result. */
  readonly customFields?: readonly string[] | undefined;
}

/** Products as lines of CSV, each ended (`docs/decisions.md#p16`). */
interface CsvLayout {
  readonly header: () => string;
  /** A line for each offer; what is not the offer's own is the product's. */
  readonly rows: (product: OutputProduct) => string;
}

/** What the cells of a line are made of. */
interface LineSource {
  readonly product: OutputProduct;
  readonly offer: OutputOffer;
  readonly dates: OutputView['dates'];
  /** Values of the product's custom fields by name; needed for columns of their own only. */
  readonly custom: ReadonlyMap<string, readonly string[]>;
  /** Joins values of a list, or the parts of an image or of the identifiers. */
  readonly list: (values: readonly CsvCell[]) => string;
  /** Joins the parts of one value. */
  readonly parts: (values: readonly CsvCell[]) => string;
}

type MakeCell = (row: LineSource) => CsvCell;

/** All columns of both layouts; those that are no text fields have names of their own, or are made of several. */
const CELLS = {
  ...each(PRODUCT_TEXTS, ({ product }) => product),
  ...each(OFFER_TEXTS, ({ offer }) => offer),
  ...each(IDENTIFIERS, ({ product }) => product.identifiers),
  name: ({ product }) => product.name,
  productImage: ({ product: { productImage: image }, list }) => list([image.url, image.width, image.height]),
  imageUrl: ({ product }) => product.productImage.url,
  height: ({ product }) => product.productImage.height,
  width: ({ product }) => product.productImage.width,
  categories: ({ product, list, parts }) =>
    list(product.categories.map(({ name, id, tdCategoryName }) => parts([name, id, tdCategoryName]))),
  MerchantCategoryName: ({ product, list }) => list(product.categories.map(({ name }) => name)),
  TDCategoryName: ({ product, list }) => list(product.categories.map(({ tdCategoryName }) => tdCategoryName)),
  TDCategoryId: ({ product, list }) => list(product.categories.map(({ id }) => id)),
  description: ({ product }) => product.description,
  language: ({ product }) => product.language,
  groupingId: ({ product }) => product.groupingId,
  inStock: ({ product }) => product.inStock,
  programLogo: ({ product }) => product.programLogo,
  identifiers: ({ product: { identifiers: { ean, upc, isbn, sku, mpn } = {} }, list }) =>
    list([ean, upc, isbn, sku, mpn]),
  fields: ({ product: { fields = [] }, list, parts }) =>
    list(fields.map(({ name, value }) => parts([name, value]))),
  id: ({ offer }) => offer.id,
  feedId: ({ offer }) => offer.feedId,
  TDProductId: ({ offer }) => offer.sourceProductId,
  sourceProductId: ({ offer }) => offer.sourceProductId,
  programName: ({ offer }) => offer.programName,
  productUrl: ({ offer }) => offer.productUrl,
  price: ({ offer }) => formatPrice(offer.price.minor),
  priceValue: ({ offer }) => formatPrice(offer.price.minor),
  currency: ({ offer }) => offer.price.currency,
  priceCurrency: ({ offer }) => offer.price.currency,
  priceHistory: ({ offer, list, parts }) =>
    list((offer.priceHistory ?? []).map(({ price, date }) => parts([price.value, price.currency, date]))),
  sourceProductUrl: ({ offer }) => offer.sourceProductUrl,
  modified: ({ offer }) => offer.modified,
  dateformat: ({ dates }) => dates.toUpperCase(),
  dateFormat: ({ dates }) => dates.toUpperCase(),
} as const satisfies Readonly<Record<string, MakeCell>>;

function each<Name extends string>(
  names: readonly Name[],
  of: (row: LineSource) => Readonly<Partial<Record<Name, CsvCell>>> | undefined,
): Readonly<Record<Name, MakeCell>> {
  const cells = names.map((name): [Name, MakeCell] => [name, (row) => of(row)?.[name]]);
  return Object.fromEntries(cells) as Record<Name, MakeCell>;
}

type CellName = keyof typeof CELLS;

/** The documents fix names and order, which follow no table of fields. */
const COLUMNS: Readonly<Record<CsvStyle['columns'], readonly CellName[]>> = {
  'of the type': [
    ...(['name', 'productImage', 'productUrl', 'imageUrl', 'height', 'width', 'categories'] as const),
    ...(['MerchantCategoryName', 'TDCategoryName', 'TDCategoryId', 'TDProductId', 'description'] as const),
    ...(['feedId', 'groupingId', 'id', 'language', 'modified', 'price', 'currency', 'programName'] as const),
    ...(['availability', 'brand', 'condition', 'deliveryTime', 'ean', 'upc', 'isbn', 'mpn', 'sku'] as const),
    ...(['identifiers', 'inStock', 'manufacturer', 'model', 'programLogo', 'promoText'] as const),
    ...(['shippingCost', 'shortDescription', 'size', 'fields', 'warranty', 'weight', 'techSpecs'] as const),
    'dateformat',
  ],
  'of the key': [
    ...(['name', 'productImage', 'description', 'categories', 'fields', 'weight', 'size', 'model'] as const),
    ...(['brand', 'manufacturer', 'techSpecs', 'shortDescription', 'promoText', 'ean', 'upc'] as const),
    ...(['isbn', 'mpn', 'sku', 'feedId', 'productUrl', 'priceValue', 'priceCurrency', 'modified'] as const),
    ...(['dateFormat', 'inStock', 'availability', 'deliveryTime', 'sourceProductId', 'warranty'] as const),
    ...(['condition', 'programLogo', 'programName', 'shippingCost', 'id'] as const),
  ],
};

/** Columns that custom fields may make (`docs/decisions.md#x26`). */
const MAX_FLATTENED = 1000;

/** How products are written in CSV; raises PF_430 for more custom fields than can be columns. */
export function csvLayout({
  columns,
  added = [],
  separators,
  embrace,
  dates,
  customFields,
}: CsvOptions): CsvLayout {
  if (customFields !== undefined && customFields.length > MAX_FLATTENED) {
    throw fault.illegalValue(
      `csvFlattenFields=true: the result has ${customFields.length} custom fields, expected at most ${MAX_FLATTENED}`,
    );
  }
  const line = csvLines(separators, embrace);
  const [, value, part] = separators;
  const list: LineSource['list'] = (values) => values.join(value);
  const parts: LineSource['parts'] = (values) => values.join(part);
  const cells = [...COLUMNS[columns], ...added].flatMap((column) => {
    const cell: MakeCell = CELLS[column];
    if (column !== 'fields' || customFields === undefined) return [{ header: column, cell }];
    return [...customFields.map(customColumn), { header: column, cell: () => undefined }];
  });
  return {
    header: () => line(cells.map(({ header }) => header)),
    rows: (product) => {
      const custom = customFields === undefined ? NONE : customValues(product);
      const rows = product.offers.map((offer): LineSource => ({
        product,
        offer,
        dates,
        custom,
        list,
        parts,
      }));
      return rows.map((row) => line(cells.map(({ cell }) => cell(row)))).join('');
    },
  };
}

const NONE: LineSource['custom'] = new Map();

function customColumn(name: string): { header: string; cell: MakeCell } {
  return { header: `(field)${name}`, cell: ({ custom, list }) => list(custom.get(name) ?? []) };
}

function customValues({ fields = [] }: OutputProduct): LineSource['custom'] {
  const values = new Map<string, string[]>();
  for (const { name, value } of fields) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
}

const { identifiers, ...PRODUCT } = foundProduct.fields;
const OFFER = foundOffer.fields;

const TEXT = text();
const AMOUNT: Scalar<string, string> = {
  ...TEXT,
  answered: { ...TEXT.answered, xsd: { name: 'price', base: 'xs:string', pattern: '\\d+\\.\\d{2}' } },
};
const DATE_FORMAT = {
  kind: wordOf('epoch', 'iso8601'),
  in: 'attribute',
  description: 'Format of the dates',
} as const;

/** Of an offer, which has the currency, or of its history; a posted one has no attributes. */
const xmlPrice = record({
  dateFormat: { ...DATE_FORMAT, optional: true },
  date: { kind: date(), in: 'attribute', optional: true, description: 'Start of the price' },
  currency: { kind: TEXT, in: 'attribute', optional: true, description: 'ISO 4217 code' },
  value: { kind: AMOUNT, in: 'text', description: 'Amount with two decimals' },
});

/** Fields of the product that are on each offer too (`docs/decisions.md#p24`). */
const ON_OFFER_TOO = ['warranty', 'inStock', 'programLogo'] as const;

const OFFER_LINKS = {
  ...pick(OFFER, ['feedId', 'productUrl', 'programName', 'sourceProductUrl']),
  price: { ...OFFER.price, kind: xmlPrice },
};

const xmlOffer = record({
  id: { ...OFFER.id, in: 'attribute' },
  sourceProductId: OFFER.sourceProductId,
  dateFormat: DATE_FORMAT,
  modifiedDate: { ...OFFER.modified, in: 'attribute' },
  ...prefixed('ns2', OFFER_LINKS),
  priceHistory: { ...OFFER.priceHistory, kind: listOf(xmlPrice, { each: 'ns2:price' }) },
  ...prefixed('ns2', { ...pick(OFFER, OFFER_TEXTS), ...pick(PRODUCT, ON_OFFER_TOO) }),
});

/** Elements of the common namespace that only answers have, or whose attributes only answers have. */
export const ANSWERED_COMMON = { ...OFFER_LINKS, programLogo: PRODUCT.programLogo };

/** Optional elements of the common namespace, in the order they are written. */
const OPTIONAL = [...PRODUCT_TEXTS, 'inStock', 'programLogo'] as const;

const COMMON = {
  ...pick(PRODUCT, ['name', 'description', 'productImage', 'categories', 'fields']),
  ...pick(PRODUCT, OPTIONAL),
};

const xmlProduct = record({
  language: { ...PRODUCT.language, in: 'attribute' },
  groupingId: { ...PRODUCT.groupingId, in: 'attribute' },
  ...prefixed('ns2', COMMON),
  identifiers: { ...identifiers, kind: record(prefixed('ns2', identifiers.kind.fields)), in: 'content' },
  offers: { ...PRODUCT.offers, kind: listOf(xmlOffer, { each: 'offer' }) },
});

/** Document 1, Product (search and bulk output), XML response shape: other places and another order than in JSON. */
export const xmlResult = record({
  productHeader: foundProducts.fields.productHeader,
  products: { ...foundProducts.fields.products, kind: listOf(xmlProduct, { each: 'product' }) },
  removed: foundProducts.fields.removed,
});

type Dates = OutputView['dates'];

type ProductHeader = AnswerOf<typeof HEADER>;
const HEADER = foundProducts.fields.productHeader.kind;
const writeHeader = xmlWriter(HEADER);

/** Of the root element of a document in the output namespace. */
export function rootAttributes(vendor: string): Readonly<Record<string, string>> {
  return {
    version: '3.0',
    xmlns: `urn:com:${vendor}:pf:model:xml:output`,
    'xmlns:ns2': `urn:com:${vendor}:pf:model:xml:common`,
  };
}

/** Root of a search's answer (Document 1, Product (search and bulk output), XML response shape). */
function toXmlResult(
  vendor: string,
  productHeader: ProductHeader,
  products: readonly OutputProduct[],
  dates: Dates,
): XmlElement {
  return {
    result: {
      $: rootAttributes(vendor),
      productHeader: writeHeader(productHeader),
      products: { product: products.map((product) => toXmlProduct(product, dates)) },
    },
  };
}

/** Fields and the elements they become: names put together once, not for each product. */
type Elements<Name extends string> = readonly (readonly [field: Name, element: string])[];

const COMMON_ELEMENTS = elementsOf(OPTIONAL);
const IDENTIFIER_ELEMENTS = elementsOf(IDENTIFIERS);
const OFFER_ELEMENTS = elementsOf(OFFER_TEXTS);
const ON_OFFER_TOO_ELEMENTS = elementsOf(ON_OFFER_TOO);

function elementsOf<Name extends string>(names: readonly Name[]): Elements<Name> {
  return names.map((name) => [name, `ns2:${name}`]);
}

/** Put together by hand, without spreading: by the tables it would take three times as long (ADR 15). */
type ElementDraft = Record<string, XmlElement[string]>;

/** A product as an element `product` of such a result. */
function toXmlProduct(product: OutputProduct, dates: Dates): XmlElement {
  const { name, description, productImage, categories, fields = [], identifiers = {}, language } = product;
  const element: ElementDraft = {
    $: { language, groupingId: product.groupingId },
    'ns2:name': name,
    'ns2:description': description,
    'ns2:productImage': {
      $: { width: productImage.width, height: productImage.height },
      _: productImage.url,
    },
    'ns2:categories': {
      'ns2:category': categories.map(({ id, name, tdCategoryName }) => ({ $: { id, name, tdCategoryName } })),
    },
  };
  if (fields.length > 0)
    element['ns2:fields'] = {
      'ns2:field': fields.map((field) => ({ $: { name: field.name }, _: field.value })),
    };
  choose(COMMON_ELEMENTS, product, element);
  choose(IDENTIFIER_ELEMENTS, identifiers, element);
  element['offers'] = { offer: product.offers.map((offer) => toXmlOffer(offer, product, dates)) };
  return element;
}

function toXmlOffer(offer: OutputOffer, product: OutputProduct, dateFormat: Dates): XmlElement {
  const { minor, currency } = offer.price;
  const element: ElementDraft = {
    $: { id: offer.id, sourceProductId: offer.sourceProductId, dateFormat, modifiedDate: offer.modified },
    'ns2:feedId': offer.feedId,
    'ns2:productUrl': offer.productUrl,
    'ns2:programName': offer.programName,
    'ns2:sourceProductUrl': offer.sourceProductUrl,
    'ns2:price': { $: { currency }, _: formatPrice(minor) },
  };
  if (offer.priceHistory !== undefined)
    element['priceHistory'] = {
      'ns2:price': offer.priceHistory.map((entry) => toXmlPrice(entry, dateFormat)),
    };
  choose(OFFER_ELEMENTS, offer, element);
  choose(ON_OFFER_TOO_ELEMENTS, product, element);
  return element;
}

function toXmlPrice({ price, date }: PastPrice, dateFormat: Dates): XmlElement {
  return { $: { dateFormat, date, currency: price.currency }, _: price.value };
}

type CellValues<Name extends string> = Readonly<Partial<Record<Name, string | number>>>;

function choose<Name extends string>(
  elements: Elements<Name>,
  from: CellValues<Name>,
  into: ElementDraft,
): void {
  for (const [field, element] of elements) {
    const value = from[field];
    if (value !== undefined) into[element] = value;
  }
}

interface ResultOptions {
  readonly vendor: string;
  readonly productHeader: ProductHeader;
  readonly dates: OutputView['dates'];
  readonly style: CsvStyle;
  readonly customFields?: readonly string[] | undefined;
}

/** Writes the result of a search (Document 1, Product (search and bulk output); CSV export). */
export function resultText(
  view: { readonly format: Format; readonly pretty: boolean },
  { vendor, productHeader, dates, style, customFields }: ResultOptions,
): ListText<OutputProduct> {
  if (view.format === 'csv') {
    const { header, rows } = csvLayout({ ...style, dates, customFields });
    return { empty: header(), head: header(), item: rows, foot: '' };
  }
  if (view.format === 'xml') {
    const list = { list: 'products', item: 'product', depth: 1 };
    const text = xmlList(view, toXmlResult(vendor, productHeader, [], dates), list);
    return { ...text, item: (product, isFirst) => text.item(toXmlProduct(product, dates), isFirst) };
  }
  const text = jsonList(view, { before: { productHeader }, name: 'products' });
  return { ...text, item: (product, isFirst) => text.item(toJsonProduct(product), isFirst) };
}
