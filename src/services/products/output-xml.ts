import { listOf, pick, prefixed, record, type Scalar } from '../../wire/record/record';
import { date, text, wordOf } from '../../wire/record/kinds';
import { type XmlElement } from '../../wire/xml/write';
import {
  formatPrice,
  foundOffer,
  foundProduct,
  foundProducts,
  IDENTIFIERS,
  OFFER_TEXTS,
  PRODUCT_TEXTS,
} from '../../domain/products/fields';
import { type OutputOffer, type OutputProduct, type OutputView, type PastPrice } from './output';

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
  identifiers: {
    ...identifiers,
    kind: record(prefixed('ns2', identifiers.kind.fields)),
    in: 'content',
  },
  offers: { ...PRODUCT.offers, kind: listOf(xmlOffer, { each: 'offer' }) },
});

/** Document 1, Product (search and bulk output), XML response shape: other places and another order than in JSON. */
export const xmlResult = record({
  productHeader: foundProducts.fields.productHeader,
  products: { ...foundProducts.fields.products, kind: listOf(xmlProduct, { each: 'product' }) },
  removed: foundProducts.fields.removed,
});

type Dates = OutputView['dates'];

/** Of the root element of a document in the output namespace. */
export function rootAttributes(vendor: string): Readonly<Record<string, string>> {
  return {
    version: '3.0',
    xmlns: `urn:com:${vendor}:pf:model:xml:output`,
    'xmlns:ns2': `urn:com:${vendor}:pf:model:xml:common`,
  };
}

/** Root of a search's answer (Document 1, Product (search and bulk output), XML response shape). */
export function toXmlResult(
  vendor: string,
  productHeader: { readonly totalHits: number; readonly nextCursor?: string },
  products: readonly OutputProduct[],
  dates: Dates,
): XmlElement {
  return {
    result: {
      $: rootAttributes(vendor),
      productHeader: { ...productHeader },
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

/**
 * What is being put together, by hand: the tables would take three times as long (ADR 15). Millions are, and spreading many small
 * objects into one takes longer than all the rest.
 */
type Draft = Record<string, XmlElement[string]>;

/** A product as an element `product` of such a result. */
export function toXmlProduct(product: OutputProduct, dates: Dates): XmlElement {
  const { name, description, productImage, categories, fields = [], identifiers = {}, language } = product;
  const element: Draft = {
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
  const element: Draft = {
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

type Values<Name extends string> = Readonly<Partial<Record<Name, string | number>>>;

/** Adds the elements of those fields that are there. */
function choose<Name extends string>(elements: Elements<Name>, from: Values<Name>, into: Draft): void {
  for (const [field, element] of elements) {
    const value = from[field];
    if (value !== undefined) into[element] = value;
  }
}
