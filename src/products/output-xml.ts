import { type AnswerOf, listOf, prefixed, record, type Scalar } from '../wire/record';
import { date, text, wordOf } from '../wire/record-kinds';
import { xmlWriter } from '../wire/record-xml';
import { type XmlElement } from '../wire/xml-write';
import { foundOffer, foundProduct, foundProducts, OFFER_TEXTS, pick, PRODUCT_TEXTS } from './fields';
import { type OutputProduct, type OutputView, type PastPrice } from './output';
import { formatPrice } from './price';

const { identifiers, ...PRODUCT } = foundProduct.fields;
const OFFER = foundOffer.fields;

/** Minor units. */
const AMOUNT: Scalar<string, number> = {
  ...text(),
  answered: {
    json: { type: 'string' },
    xsd: { name: 'price', base: 'xs:string', pattern: '\\d+\\.\\d{2}' },
    write: formatPrice,
  },
};
const CURRENCY = { kind: text(), in: 'attribute', description: 'ISO 4217 code' } as const;
const DATE_FORMAT = {
  kind: wordOf('epoch', 'iso8601'),
  in: 'attribute',
  description: 'Format of the dates',
} as const;

const xmlPrice = record({
  currency: CURRENCY,
  minor: { kind: AMOUNT, in: 'text', description: 'Amount with two decimals' },
});

const xmlPastPrice = record({
  dateFormat: DATE_FORMAT,
  date: { kind: date(), in: 'attribute', description: 'Start of the price' },
  currency: CURRENCY,
  value: { kind: text(), in: 'text', description: 'Amount with two decimals' },
});

const xmlOffer = record({
  id: { ...OFFER.id, in: 'attribute' },
  sourceProductId: OFFER.sourceProductId,
  dateFormat: DATE_FORMAT,
  modifiedDate: { ...OFFER.modified, in: 'attribute' },
  feedId: OFFER.feedId,
  productUrl: OFFER.productUrl,
  programName: OFFER.programName,
  sourceProductUrl: OFFER.sourceProductUrl,
  price: { ...OFFER.price, kind: xmlPrice },
  priceHistory: { ...OFFER.priceHistory, kind: listOf(xmlPastPrice, { each: 'price' }) },
  ...pick(OFFER, OFFER_TEXTS),
  // Fields of the product that are on each offer too (`docs/decisions.md#p24`).
  ...pick(PRODUCT, ['warranty', 'inStock', 'programLogo']),
});

const COMMON = {
  ...pick(PRODUCT, ['name', 'description', 'productImage', 'categories', 'fields']),
  ...pick(PRODUCT, PRODUCT_TEXTS),
  ...pick(PRODUCT, ['inStock', 'programLogo']),
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

const toHeader = xmlWriter(foundProducts.fields.productHeader.kind);
const toProduct = xmlWriter(xmlProduct);

/** Root of a search's answer. */
export function toXmlResult(
  vendor: string,
  productHeader: { readonly totalHits: number; readonly nextCursor?: string },
  products: readonly OutputProduct[],
  dates: Dates,
): XmlElement {
  return {
    result: {
      $: {
        version: '3.0',
        xmlns: `urn:com:${vendor}:pf:model:xml:output`,
        'xmlns:ns2': `urn:com:${vendor}:pf:model:xml:common`,
      },
      productHeader: toHeader(productHeader),
      products: { product: products.map((product) => toXmlProduct(product, dates)) },
    },
  };
}

/** A product as an element `product` of such a result. */
export function toXmlProduct(product: OutputProduct, dates: Dates): XmlElement {
  const { warranty, inStock, programLogo } = product;
  const ofProduct = {
    dateFormat: dates,
    ...(warranty !== undefined && { warranty }),
    ...(inStock !== undefined && { inStock }),
    ...(programLogo !== undefined && { programLogo }),
  };
  const offers = product.offers.map(({ priceHistory, ...offer }) => ({
    ...offer,
    ...ofProduct,
    modifiedDate: offer.modified,
    ...(priceHistory && { priceHistory: priceHistory.map((entry) => toXmlPrice(entry, dates)) }),
  }));
  return toProduct({ ...product, offers });
}

function toXmlPrice({ price, date: since }: PastPrice, dateFormat: Dates): AnswerOf<typeof xmlPastPrice> {
  return { dateFormat, date: since, ...price };
}
