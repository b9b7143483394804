import { type XmlElement } from '../wire/xml-write';
import { type OutputOffer, type OutputProduct, type OutputView, type PastPrice } from './output';
import { formatPrice } from './price';

type Dates = OutputView['dates'];

/** Root of a search's answer (Document 1, Product (search and bulk output), XML response shape). */
export function toXmlResult(
  vendor: string,
  totalHits: number,
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
      productHeader: { totalHits },
      products: { product: products.map((product) => toXmlProduct(product, dates)) },
    },
  };
}

/** Optional elements of the common namespace, by their JSON names, in the order they are written. */
const COMMON = [
  'weight',
  'size',
  'model',
  'brand',
  'manufacturer',
  'techSpecs',
  'shortDescription',
  'promoText',
  'warranty',
  'inStock',
  'programLogo',
] as const;

/** Those that clients look for on the offer too (`docs/decisions.md#p24`). */
const ON_OFFER_TOO = ['programLogo', 'inStock', 'warranty'] as const;

function toXmlProduct(product: OutputProduct, dates: Dates): XmlElement {
  const { name, description, productImage, categories, fields = [], identifiers = {}, language } = product;
  return {
    $: { ...(language === undefined ? {} : { language }), groupingId: product.groupingId },
    'ns2:name': name,
    'ns2:description': description,
    'ns2:productImage': { $: { ...sizeOf(productImage) }, _: productImage.url },
    'ns2:categories': { 'ns2:category': categories.map((category) => ({ $: { ...category } })) },
    ...(fields.length === 0
      ? {}
      : {
          'ns2:fields': { 'ns2:field': fields.map((field) => ({ $: { name: field.name }, _: field.value })) },
        }),
    ...prefixed(COMMON, product),
    ...prefixed(['ean', 'upc', 'isbn', 'mpn', 'sku'], identifiers),
    offers: { offer: product.offers.map((offer) => toXmlOffer(offer, product, dates)) },
  };
}

function toXmlOffer(offer: OutputOffer, product: OutputProduct, dateFormat: Dates): XmlElement {
  const { minor, currency } = offer.price;
  return {
    $: { id: offer.id, sourceProductId: offer.sourceProductId, dateFormat, modifiedDate: offer.modified },
    feedId: offer.feedId,
    productUrl: offer.productUrl,
    ...present('programName', offer.programName),
    ...present('sourceProductUrl', offer.sourceProductUrl),
    price: { $: { currency }, _: formatPrice(minor) },
    ...(offer.priceHistory === undefined
      ? {}
      : { priceHistory: { price: offer.priceHistory.map((entry) => toXmlPrice(entry, dateFormat)) } }),
    ...present('availability', offer.availability),
    ...present('deliveryTime', offer.deliveryTime),
    ...present('condition', offer.condition),
    ...present('shippingCost', offer.shippingCost),
    ...(Object.assign({}, ...ON_OFFER_TOO.map((name) => present(name, product[name]))) as XmlElement),
  };
}

function toXmlPrice({ price, date }: PastPrice, dateFormat: Dates): XmlElement {
  return { $: { dateFormat, date, currency: price.currency }, _: price.value };
}

function sizeOf({ width, height }: OutputProduct['productImage']): XmlElement {
  return { ...present('width', width), ...present('height', height) };
}

function prefixed<Key extends string>(
  names: readonly Key[],
  from: Readonly<Partial<Record<Key, string | number>>>,
): XmlElement {
  return Object.fromEntries(
    names.flatMap((name) => (from[name] === undefined ? [] : [[`ns2:${name}`, from[name]]])),
  );
}

function present(name: string, value: string | number | undefined): XmlElement {
  return value === undefined ? {} : { [name]: value };
}
