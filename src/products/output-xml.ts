import { type XmlElement } from '../wire/xml-write';
import { fieldsLike, IDENTIFIERS, OFFER_TEXTS, PRODUCT_TEXTS } from './fields';
import { type OutputOffer, type OutputProduct, type OutputView, type PastPrice } from './output';
import { formatPrice } from './price';

type Dates = OutputView['dates'];

/** Root of a search's answer (Document 1, Product (search and bulk output), XML response shape). */
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
      productHeader: { ...productHeader },
      products: { product: products.map((product) => toXmlProduct(product, dates)) },
    },
  };
}

/** Optional elements of the common namespace, in the order they are written. */
export const COMMON = [...PRODUCT_TEXTS, 'inStock', 'programLogo'] as const;

export const ON_OFFER_TOO = fieldsLike({ onOfferToo: true });

/** Fields and the elements they become: names put together once, not for each product. */
type Elements<Name extends string> = readonly (readonly [field: Name, element: string])[];

const COMMON_ELEMENTS = elementsOf(COMMON, 'ns2:');
const IDENTIFIER_ELEMENTS = elementsOf(IDENTIFIERS, 'ns2:');
const OFFER_ELEMENTS = elementsOf(OFFER_TEXTS);
const ON_OFFER_TOO_ELEMENTS = elementsOf(ON_OFFER_TOO);

function elementsOf<Name extends string>(names: readonly Name[], prefix = ''): Elements<Name> {
  return names.map((name) => [name, `${prefix}${name}`]);
}

/** What is being put together: millions are, and spreading many small objects into one takes longer than all the rest. */
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
    feedId: offer.feedId,
    productUrl: offer.productUrl,
    programName: offer.programName,
    sourceProductUrl: offer.sourceProductUrl,
    price: { $: { currency }, _: formatPrice(minor) },
  };
  if (offer.priceHistory !== undefined)
    element['priceHistory'] = { price: offer.priceHistory.map((entry) => toXmlPrice(entry, dateFormat)) };
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
