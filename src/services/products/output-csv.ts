import { type CsvCell, csvLines, type CsvSeparators } from '../../wire/csv/write';
import { productFaults as fault } from './faults';
import { formatPrice, IDENTIFIERS, OFFER_TEXTS, PRODUCT_TEXTS } from '../../domain/products/fields';
import { type OutputOffer, type OutputProduct, type OutputView } from './output';

/** Columns and separators: Document 1, CSV export; `docs/decisions.md#p16`. */
export interface CsvStyle {
  /** Those of `;format=csv` (`docs/decisions.md#p15`), or of `.csv` and `text/csv` (`docs/decisions.md#p14`). */
  readonly columns: 'of the key' | 'of the type';
  readonly separators: CsvSeparators;
  readonly embrace: string;
}

export interface CsvOptions extends CsvStyle {
  readonly dates: OutputView['dates'];
  /** Names of the custom fields that get columns of their own: those of the whole result. */
  readonly customFields?: readonly string[] | undefined;
}

/** Products as lines of CSV, each ended (`docs/decisions.md#p16`). */
export interface CsvLayout {
  readonly header: () => string;
  /** A line for each offer; what is not the offer's own is the product's. */
  readonly rows: (product: OutputProduct) => string;
}

/** What the cells of a line are made of. */
interface Row {
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

type Cell = (row: Row) => CsvCell;

/**
 * All columns of both layouts. Those of text fields and identifiers come from their tables; the others have other names than
 * the fields, or are made of several, so no table of fields describes them.
 */
const CELLS = {
  ...each(
    PRODUCT_TEXTS,
    (name) =>
      ({ product }) =>
        product[name],
  ),
  ...each(
    OFFER_TEXTS,
    (name) =>
      ({ offer }) =>
        offer[name],
  ),
  ...each(
    IDENTIFIERS,
    (name) =>
      ({ product }) =>
        product.identifiers?.[name],
  ),
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
  modified: ({ offer }) => offer.modified,
  dateformat: ({ dates }) => dates.toUpperCase(),
  dateFormat: ({ dates }) => dates.toUpperCase(),
} as const satisfies Readonly<Record<string, Cell>>;

function each<Name extends string>(
  names: readonly Name[],
  cellOf: (name: Name) => Cell,
): Readonly<Record<Name, Cell>> {
  return Object.fromEntries(names.map((name) => [name, cellOf(name)])) as Record<Name, Cell>;
}

type Column = keyof typeof CELLS;

/** The documents fix names and order, which follow no table of fields. */
const COLUMNS: Readonly<Record<CsvStyle['columns'], readonly Column[]>> = {
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
export function csvLayout({ columns, separators, embrace, dates, customFields }: CsvOptions): CsvLayout {
  if (customFields !== undefined && customFields.length > MAX_FLATTENED) {
    throw fault.illegalValue(
      `csvFlattenFields=true: the result has ${customFields.length} custom fields, expected at most ${MAX_FLATTENED}`,
    );
  }
  const line = csvLines(separators, embrace);
  const [, value, part] = separators;
  const list: Row['list'] = (values) => values.join(value);
  const parts: Row['parts'] = (values) => values.join(part);
  const cells = COLUMNS[columns].flatMap((column) => {
    const cell: Cell = CELLS[column];
    if (column !== 'fields' || customFields === undefined) return [{ header: column, cell }];
    return [...customFields.map(customColumn), { header: column, cell: () => undefined }];
  });
  return {
    header: () => line(cells.map(({ header }) => header)),
    rows: (product) => {
      const custom = customFields === undefined ? NONE : customValues(product);
      const rows = product.offers.map((offer): Row => ({ product, offer, dates, custom, list, parts }));
      return rows.map((row) => line(cells.map(({ cell }) => cell(row)))).join('');
    },
  };
}

const NONE: Row['custom'] = new Map();

function customColumn(name: string): { header: string; cell: Cell } {
  return { header: `(field)${name}`, cell: ({ custom, list }) => list(custom.get(name) ?? []) };
}

function customValues({ fields = [] }: OutputProduct): Row['custom'] {
  const values = new Map<string, string[]>();
  for (const { name, value } of fields) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
}
