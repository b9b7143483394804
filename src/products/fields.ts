/** What a field holds; how that looks in JSON, XML and CSV follows from it. */
type Kind =
  | ('text' | 'code' | 'url' | 'integer' | 'price' | 'date')
  | ('image' | 'categories' | 'identifiers' | 'pairs' | 'offers' | 'prices');

/** Where a field sits in answers: identifiers are grouped in JSON, and elements of the product in XML. */
type Place = 'product' | 'offer' | 'identifiers';

interface Further {
  /** Answered with every product or offer, even if it need not be posted. */
  readonly always?: true;
  /** Its attribute in XML, if it is no element. */
  readonly attribute?: string;
  /** In XML it is on each offer too (`docs/decisions.md#p24`). */
  readonly onOfferToo?: true;
  /** The search key that compares it, case ignored (`docs/decisions.md#p5`). */
  readonly key?: string;
}

export interface Field extends Further {
  readonly kind: Kind;
  readonly on: Place;
  readonly posted: 'required' | 'optional' | 'never';
  readonly description: string;
}

/**
 * Every field of a product, posted and answered (Document 1, Resources and their fields). Events hold posted fields in
 * this order, and fingerprints are made of it.
 */
export const FIELDS = {
  sourceProductId: required('text', 'offer', 'The advertiser’s identifier of the product', {
    attribute: 'sourceProductId',
  }),
  name: required('text', 'product', 'Title'),
  description: required('text', 'product', 'Long description'),
  productUrl: required('url', 'offer', 'Page of the product; for publishers, the link that earns commission'),
  price: required('price', 'offer', 'Price in the currency of the program'),
  productImage: required('image', 'product', 'Image'),
  categories: required('categories', 'product', 'Categories of the platform, of the advertiser, or both'),
  availability: optional('text', 'offer', 'Whether it can be had', { key: 'availability' }),
  brand: optional('text', 'product', 'Brand', { key: 'brand' }),
  condition: optional('text', 'offer', 'Condition, such as used or new', { key: 'condition' }),
  deliveryTime: optional('text', 'offer', 'How long delivery takes', { key: 'deliveryTime' }),
  manufacturer: optional('text', 'product', 'Manufacturer', { key: 'manufacturer' }),
  model: optional('text', 'product', 'Model', { key: 'model' }),
  promoText: optional('text', 'product', 'Promotional text', { key: 'promoText' }),
  shippingCost: optional('text', 'offer', 'Cost of delivery: a word or a number', { key: 'shippingCost' }),
  shortDescription: optional('text', 'product', 'Short description'),
  size: optional('text', 'product', 'Size', { key: 'size' }),
  techSpecs: optional('text', 'product', 'Technical specification', { key: 'techSpec' }),
  warranty: optional('text', 'product', 'Warranty', { key: 'warranty', onOfferToo: true }),
  weight: optional('text', 'product', 'Weight with its unit', { key: 'weight' }),
  identifiers: optional('identifiers', 'product', 'Global identifiers'),
  ean: optional('code', 'identifiers', 'International article number, in digits'),
  sku: optional('code', 'identifiers', 'Stock-keeping unit'),
  upc: optional('code', 'identifiers', 'Universal product code'),
  isbn: optional('code', 'identifiers', 'International standard book number'),
  mpn: optional('code', 'identifiers', 'Part number of the manufacturer'),
  inStock: optional('integer', 'product', 'Number of items in stock', { onOfferToo: true }),
  fields: optional('pairs', 'product', 'Custom fields, any number of them'),
  programLogo: answered('url', 'product', 'Logo of the program', { onOfferToo: true }),
  language: answered('text', 'product', 'Language of the feed, ISO 639-1', { attribute: 'language' }),
  groupingId: answered('text', 'product', 'What grouped offers have in common', {
    always: true,
    attribute: 'groupingId',
  }),
  offers: answered('offers', 'product', 'The product in each feed, the cheapest first', { always: true }),
  id: answered('text', 'offer', 'UUID of the offer', { always: true, attribute: 'id' }),
  feedId: answered('integer', 'offer', 'Feed of the offer', { always: true }),
  programName: answered('text', 'offer', 'Program of the feed'),
  sourceProductUrl: answered('url', 'offer', 'Page of the product, where sourceproducturl asks for it'),
  priceHistory: answered('prices', 'offer', 'All prices, the newest first, where priceHistory asks for them'),
  modified: answered('date', 'offer', 'Last modification', { always: true, attribute: 'modifiedDate' }),
} as const satisfies Readonly<Record<string, Field>>;

export type FieldName = keyof typeof FIELDS;

type NamesOf<Like> = {
  [Name in FieldName]: (typeof FIELDS)[Name] extends Like ? Name : never;
}[FieldName];

/** The fields of which all this is said, in the order of the table. */
export function fieldsLike<const Like extends Partial<Field>>(like: Like): readonly NamesOf<Like>[] {
  const aspects = Object.entries(like) as [keyof Field, unknown][];
  const isLike = (name: FieldName): name is NamesOf<Like> => {
    const field: Field = FIELDS[name];
    return aspects.every(([aspect, value]) => field[aspect] === value);
  };
  return (Object.keys(FIELDS) as FieldName[]).filter(isLike);
}

export const IDENTIFIERS = fieldsLike({ kind: 'code' });
/** Plain texts that may be posted. */
export const TEXTS = fieldsLike({ kind: 'text', posted: 'optional' });
/** Those of them that are answered on the product, on its offers. */
export const PRODUCT_TEXTS = fieldsLike({ kind: 'text', posted: 'optional', on: 'product' });
export const OFFER_TEXTS = fieldsLike({ kind: 'text', posted: 'optional', on: 'offer' });

type MatchedField = NamesOf<{ readonly key: string }>;
export type DescriptiveKey = (typeof FIELDS)[MatchedField]['key'];

/** The keys that compare descriptive fields, and which field each compares. */
export const DESCRIPTIVE: readonly (readonly [key: DescriptiveKey, field: MatchedField])[] = TEXTS.filter(
  (field): field is MatchedField => 'key' in FIELDS[field],
).map((field) => [FIELDS[field].key, field]);

interface Described<K extends Kind, On extends Place> {
  readonly kind: K;
  readonly on: On;
  readonly description: string;
}

function required<K extends Kind, On extends Place, const More extends Further>(
  ...[kind, on, description, more]: [K, On, string, More?]
): Described<K, On> & { readonly posted: 'required'; readonly always: true } & More {
  return { kind, on, description, posted: 'required', always: true, ...more } as never;
}

function optional<K extends Kind, On extends Place, const More extends Further>(
  ...[kind, on, description, more]: [K, On, string, More?]
): Described<K, On> & { readonly posted: 'optional' } & More {
  return { kind, on, description, posted: 'optional', ...more } as never;
}

function answered<K extends Kind, On extends Place, const More extends Further>(
  ...[kind, on, description, more]: [K, On, string, More?]
): Described<K, On> & { readonly posted: 'never' } & More {
  return { kind, on, description, posted: 'never', ...more } as never;
}
