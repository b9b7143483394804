import { amount, count, date, DOUBLE, integer, text, url } from '../../wire/record/kinds';
import {
  type AnswerOf,
  type Field,
  type Fields,
  listOf,
  only,
  pick,
  prefixed,
  reading,
  record,
  type Scalar,
} from '../../wire/record/record';

/**
 * A posted price in minor units, or undefined if malformed (Document 1, Limits; `docs/decisions.md#p25`): text with
 * no decimals or two and a dot, no sign, no exponent; or a JSON number with at most two decimals, unless another amount
 * is the same number.
 */
export function parsePrice(value: unknown): number | undefined {
  if (typeof value === 'number') {
    const [minor, ...others] = pricesOf(value);
    return value >= 0 && Number.isSafeInteger(minor) && others.length === 0 ? minor : undefined;
  }
  if (typeof value !== 'string' || !/^\d{1,15}(?:\.\d{2})?$/.test(value)) return undefined;
  const minor = Number(value.includes('.') ? value.replace('.', '') : `${value}00`);
  return Number.isSafeInteger(minor) ? minor : undefined;
}

/** The amounts, in minor units, that a number may be: from about 7e13 some are two. */
function pricesOf(value: number): readonly number[] {
  const near = Math.round(value * 100);
  return [near - 1, near, near + 1].filter((minor) => minor / 100 === value);
}

const MAX_PRICE = Number.MAX_SAFE_INTEGER / 100;

/** Minor units as text with two decimals: `1250` is `12.50`. */
export function formatPrice(minor: number): string {
  const cents = minor % 100;
  return `${(minor - cents) / 100}.${cents < 10 ? '0' : ''}${cents}`;
}

/** What messages say is expected in place of an unusable price; in a cell its currency may follow. */
function expectedPrice(value: unknown, isCell = false): string {
  const amount = typeof value === 'string' && /^\d+(?:\.\d{2})?$/.test(value) ? Number(value) : value;
  if (typeof amount === 'number' && amount > MAX_PRICE)
    return `an amount of at most ${formatPrice(Number.MAX_SAFE_INTEGER)}`;
  if (typeof value === 'number' && pricesOf(value).length > 1)
    return 'this amount as text, since a JSON number of this size may be another one';
  return isCell
    ? 'a price such as 12, 12.50 or 12.50 EUR: not negative, with at most two decimals'
    : 'an amount such as 12 or 12.50: not negative, with no decimals or two';
}

/** The body was searched for characters that XML does not allow (`docs/decisions.md#x11`). */
const isSearched = true;
const TEXT = text({ isSearched });
/** A string; an integer stands for its digits (`docs/decisions.md#a11`). */
const CODE = text({ isSearched, orInteger: true, isId: true });
const URL = url({ isSearched, takesSpaces: true });
const PIXELS = count('a number of pixels');
const DIGITS = text({ isSearched, orInteger: true, isTrimmed: true });
const EAN = only(DIGITS, (ean) => /^\d+$/.test(ean), 'digits', 'notNumeric');

/** Bytes (UTF-8) of an id, which every fault of its product and keys contain (`docs/decisions.md#x22`). */
export const MAX_ID = 1000;
const SOURCE_ID = text({ isSearched, orInteger: true, isId: true, maxBytes: MAX_ID });

const readPrice = reading(parsePrice, (value) => expectedPrice(value), 'malformedPrice');
const readCell = reading(parsePrice, (value) => expectedPrice(value, true), 'malformedPrice');

/** No decimals or two (Document 1, Limits), in minor units. Answered with its ISO 4217 code if the feed is known. */
const PRICE: Scalar<number, { readonly minor: number; readonly currency: string }> = {
  is: 'scalar',
  posted: {
    json: { ...DOUBLE, minimum: 0, maximum: MAX_PRICE },
    xsd: { name: 'price', base: 'xs:string', pattern: '\\s*\\d{1,15}(\\.\\d{2})?\\s*' },
    // Only what is called by a name of its own was read from a table or a Google feed.
    read: (value, place, refusals) =>
      (refusals.origin.named === undefined ? readPrice : readCell)(value, place, refusals),
  },
  answered: { json: DOUBLE, xsd: 'xs:decimal', write: ({ minor }) => formatPrice(minor) },
};

interface TextField extends Field<typeof TEXT> {
  readonly on: 'product' | 'offer';
  /** The search key that compares it, case ignored (`docs/decisions.md#p5`). */
  readonly key?: string | undefined;
}

/** Texts that may be posted, and where an answer has them. */
const TEXT_FIELDS = {
  availability: textOn('offer', 'Availability', 'availability'),
  brand: textOn('product', 'Brand', 'brand'),
  condition: textOn('offer', 'Condition, such as used or new', 'condition'),
  deliveryTime: textOn('offer', 'How long delivery takes', 'deliveryTime'),
  manufacturer: textOn('product', 'Manufacturer', 'manufacturer'),
  model: textOn('product', 'Model', 'model'),
  promoText: textOn('product', 'Promotional text', 'promoText'),
  shippingCost: textOn('offer', 'Cost of delivery: a word or a number', 'shippingCost'),
  shortDescription: textOn('product', 'Short description', undefined),
  size: textOn('product', 'Size', 'size'),
  techSpecs: textOn('product', 'Technical specification', 'techSpec'),
  warranty: textOn('product', 'Warranty', 'warranty'),
  weight: textOn('product', 'Weight with its unit', 'weight'),
} as const satisfies Readonly<Record<string, TextField>>;

function textOn<On extends TextField['on'], const Key extends string | undefined>(
  on: On,
  description: string,
  key: Key,
): Omit<TextField, 'on' | 'key'> & { readonly on: On; readonly key: Key; readonly optional: true } {
  return { kind: TEXT, on, description, key, optional: true };
}

type TextFields = typeof TEXT_FIELDS;
type TextName = keyof TextFields;

/** In the order that events have them in, which fingerprints depend on. */
export const TEXTS = Object.keys(TEXT_FIELDS) as readonly TextName[];

type TextsOn<On> = { [Name in TextName]: TextFields[Name]['on'] extends On ? Name : never }[TextName];
export const PRODUCT_TEXTS = TEXTS.filter(
  (name): name is TextsOn<'product'> => TEXT_FIELDS[name].on === 'product',
);
export const OFFER_TEXTS = TEXTS.filter((name): name is TextsOn<'offer'> => TEXT_FIELDS[name].on === 'offer');

type MatchedText = { [Name in TextName]: TextFields[Name]['key'] extends string ? Name : never }[TextName];
type DescriptiveKey = TextFields[MatchedText]['key'];

/** The keys that compare descriptive fields, and which field each compares. */
export const DESCRIPTIVE: readonly (readonly [key: DescriptiveKey, field: MatchedText])[] = TEXTS.filter(
  (name): name is MatchedText => TEXT_FIELDS[name].key !== undefined,
).map((name) => [TEXT_FIELDS[name].key, name]);

const IDENTIFIER_FIELDS = {
  ean: { kind: EAN, optional: true, description: 'International article number, in digits' },
  sku: { kind: CODE, optional: true, description: 'Stock-keeping unit' },
  upc: { kind: CODE, optional: true, description: 'Universal product code' },
  isbn: { kind: CODE, optional: true, description: 'International standard book number' },
  mpn: { kind: CODE, optional: true, description: 'Part number of the manufacturer' },
} as const;

export const IDENTIFIERS = Object.keys(IDENTIFIER_FIELDS) as readonly (keyof typeof IDENTIFIER_FIELDS)[];

const ATTRIBUTE = { in: 'attribute', optional: true } as const;

/** Fields that are answered as they were posted: on a product the required ones, and the others. */
const REQUIRED = {
  name: { kind: TEXT, required: true, description: 'Title', example: 'Lamp' },
  description: {
    kind: TEXT,
    required: true,
    description: 'Long description',
    example: 'Of glass, for the desk',
  },
  productImage: {
    kind: record(
      {
        url: {
          kind: URL,
          in: 'text',
          required: true,
          description: 'Address of the image',
          example: 'https://img.example/lamp-1.jpg',
        },
        width: { kind: PIXELS, ...ATTRIBUTE, description: 'Pixels' },
        height: { kind: PIXELS, ...ATTRIBUTE, description: 'Pixels' },
      },
      { expected: 'an object with a url' },
    ),
    required: true,
    description: 'Image',
  },
  categories: {
    kind: listOf(
      record({
        id: { kind: CODE, ...ATTRIBUTE, description: 'Category of the platform', example: '221' },
        name: { kind: TEXT, ...ATTRIBUTE, description: 'The advertiser’s own name', example: 'Lamps' },
        tdCategoryName: {
          kind: TEXT,
          ...ATTRIBUTE,
          description: 'Name of the category of the platform, in English',
        },
      }),
      { each: 'category', items: 'objects with an id or a name', isNoneIfEmpty: true },
    ),
    required: true,
    description: 'Categories of the platform, of the advertiser, or both',
  },
} as const satisfies Fields;

const OPTIONAL = {
  identifiers: {
    kind: record(IDENTIFIER_FIELDS, { isNoneIfEmpty: true }),
    optional: true,
    description: 'Global identifiers',
  },
  inStock: { kind: integer(), optional: true, description: 'Number of items in stock' },
  fields: {
    kind: listOf(
      record({
        name: { kind: TEXT, in: 'attribute', required: true, description: 'Name' },
        value: { kind: TEXT, in: 'text', otherwise: '', description: 'Value' },
      }),
      { each: 'field', items: 'objects with a name and a value', isNoneIfEmpty: true },
    ),
    optional: true,
    description: 'Custom fields, any number of them',
  },
} as const satisfies Fields;

const SOURCE_PRODUCT_ID = {
  kind: SOURCE_ID,
  in: 'attribute',
  required: true,
  description: 'The advertiser’s identifier of the product',
  example: 'lamp-1',
} as const;

const PRODUCT_URL = {
  kind: URL,
  required: true,
  description: 'Page of the product; for publishers, the link that earns commission',
  example: 'https://shop.example/lamp-1',
} as const;

/** Document 1, Product posted by an advertiser, in the order that events have fields in. */
export const postedProduct = record(
  prefixed('cm', {
    sourceProductId: SOURCE_PRODUCT_ID,
    name: REQUIRED.name,
    description: REQUIRED.description,
    productUrl: PRODUCT_URL,
    price: { kind: PRICE, required: true, description: 'Price in the currency of the program', example: 12 },
    productImage: REQUIRED.productImage,
    categories: REQUIRED.categories,
    ...TEXT_FIELDS,
    identifiers: OPTIONAL.identifiers,
    ...IDENTIFIER_FIELDS,
    inStock: OPTIONAL.inStock,
    fields: OPTIONAL.fields,
  }),
);

/** Document 1, Product posted by an advertiser, JSON body shape. */
export const postedProducts = record({
  products: {
    kind: listOf(postedProduct, { each: 'product' }),
    required: true,
    description: 'Any number of products',
  },
});

export const pastPrice = record({
  price: {
    kind: record({
      value: { kind: TEXT, description: 'Amount with two decimals' },
      currency: { kind: TEXT, description: 'ISO 4217 code' },
    }),
    description: 'Price',
  },
  date: { kind: date(), description: 'Start of the price' },
});

/** Document 1, Offer object. */
export const foundOffer = record(
  {
    sourceProductId: SOURCE_PRODUCT_ID,
    productUrl: PRODUCT_URL,
    price: { kind: PRICE, description: 'Price in the currency of the program' },
    ...pick(TEXT_FIELDS, OFFER_TEXTS),
    id: { kind: TEXT, description: 'UUID of the offer', example: '1b4e28ba-2fa1-5d32-883f-0016d3cca427' },
    feedId: { kind: integer(), description: 'Feed of the offer' },
    programName: { kind: TEXT, optional: true, description: 'Program of the feed' },
    sourceProductUrl: {
      kind: URL,
      optional: true,
      description: 'Page of the product, where sourceproducturl asks for it',
    },
    priceHistory: {
      kind: listOf(pastPrice, { each: 'price' }),
      optional: true,
      description: 'All prices, the newest first, where priceHistory asks for them',
    },
    modified: { kind: date(), description: 'Last modification' },
  },
  { name: 'Offer' },
);

/** Document 1, Product (search and bulk output). */
export const foundProduct = record(
  {
    ...REQUIRED,
    ...pick(TEXT_FIELDS, PRODUCT_TEXTS),
    ...OPTIONAL,
    programLogo: {
      kind: URL,
      optional: true,
      description: 'Logo of the program',
      example: 'https://lindner.example/logo.png',
    },
    language: { kind: TEXT, optional: true, description: 'Language of the feed, ISO 639-1' },
    groupingId: { kind: TEXT, description: 'What grouped offers have in common' },
    offers: {
      kind: listOf(foundOffer, { each: 'offer' }),
      description: 'The product in each feed, the cheapest first',
    },
  },
  { name: 'Product' },
);

const COUNT = {
  kind: integer(),
  in: 'attribute',
  description: 'Number of offers found that have it',
} as const;

function valuesOf<K extends Scalar<unknown, never>>(kind: K, description: string) {
  return listOf(
    record({
      value: { kind, in: 'text', description },
      name: { kind: TEXT, in: 'attribute', optional: true, description: 'Its name' },
      count: COUNT,
    }),
    { each: 'value', most: 20 },
  );
}

/** Counts within the products found (`docs/decisions.md#p31`). */
const facets = record(
  {
    brand: {
      kind: valuesOf(TEXT, 'Brand, case ignored: in small letters'),
      optional: true,
      description: 'Brands',
    },
    tdCategoryId: {
      kind: valuesOf(TEXT, 'Id of the category'),
      optional: true,
      description: 'Categories of the platform that products are mapped to, without those above',
    },
    category: {
      kind: valuesOf(TEXT, 'Name of the category, case ignored: in small letters'),
      optional: true,
      description: 'Categories of the advertisers',
    },
    priceRange: {
      kind: listOf(
        record({
          from: { kind: amount(), ...ATTRIBUTE, description: 'Lowest price; absent in the first range' },
          to: { kind: amount(), ...ATTRIBUTE, description: 'Prices are below it; absent in the last range' },
          count: COUNT,
        }),
        { each: 'range', most: 21 },
      ),
      optional: true,
      description: 'Ranges of prices, in the currencies of the programs',
    },
    feed: { kind: valuesOf(integer(), 'Id of the feed'), optional: true, description: 'Feeds' },
  },
  { name: 'Facets' },
);

export type OutputFacets = AnswerOf<typeof facets>;

/** Document 1, Product (search and bulk output), JSON response shape. */
export const foundProducts = record({
  productHeader: {
    kind: record({
      totalHits: { kind: integer(), description: 'Number of products found' },
      nextCursor: { kind: TEXT, optional: true, description: 'Key `cursor` of the next page' },
      corrections: {
        kind: listOf(
          record({
            word: { kind: TEXT, in: 'attribute', description: 'Word of q, without case and accents' },
            replacements: {
              kind: listOf(TEXT, { each: 'replacement', most: 10 }),
              in: 'content',
              description: 'Words that were looked for instead',
            },
          }),
          { each: 'correction', most: 10 },
        ),
        optional: true,
        description: 'With fuzzy=true: words of q that no product has, and what was looked for instead',
      },
      suggestions: {
        kind: record({
          names: {
            kind: listOf(TEXT, { each: 'name', most: 10 }),
            description: 'Names of products that have all words of the text, the newest first',
          },
          brands: {
            kind: valuesOf(TEXT, 'Brand, case ignored: in small letters'),
            description: 'Brands that begin with the text, those of most offers first',
          },
        }),
        optional: true,
        description: 'What the text of the key `suggest` may be the beginning of',
      },
      facets: {
        kind: facets,
        optional: true,
        description:
          'How many of the offers found have each value, for those of the key `facets`: most first',
      },
    }),
    description: 'The search as a whole',
  },
  products: { kind: listOf(foundProduct, { each: 'product' }), description: 'A page of the products found' },
  removed: {
    kind: listOf(TEXT, { each: 'sourceProductId' }),
    optional: true,
    description: 'Products that are no longer in the feed',
  },
});
