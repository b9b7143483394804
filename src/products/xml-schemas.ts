import { type Parts, type Schema, type SchemaFiles, type XsdType } from '../wire/xsd';
import { type Field, type FieldName, FIELDS, fieldsLike, IDENTIFIERS, OFFER_TEXTS } from './fields';
import { feedSchemas } from './feed-schemas';
import { COMMON, ON_OFFER_TOO } from './output-xml';

const FILES = {
  common: 'ProductsFeedCommon_v3_0.xsd',
  input: 'ProductsFeedInput_v3_0.xsd',
  output: 'ProductsFeedOutput_v3_0.xsd',
} as const;

/** The XML schemas of products (Document 1, Product; `docs/decisions.md#p24`). */
export const productSchemas: SchemaFiles = (vendor) => {
  const namespaceOf = (part: keyof typeof FILES) => `urn:com:${vendor}:pf:model:xml:${part}`;
  const common = { namespace: namespaceOf('common'), file: FILES.common };
  return {
    [FILES.common]: { ...COMMON_SCHEMA, namespace: common.namespace },
    [FILES.input]: { ...INPUT_SCHEMA, namespace: namespaceOf('input'), imports: { cm: common } },
    [FILES.output]: { ...OUTPUT_SCHEMA, namespace: namespaceOf('output'), imports: { ns2: common } },
    ...feedSchemas,
  };
};

/** What an element of each kind holds in XML; of the others there are none. */
const TYPES: Readonly<Partial<Record<Field['kind'], string | XsdType>>> = {
  text: 'xs:string',
  code: 'xs:string',
  url: 'xs:string',
  integer: 'xs:integer',
  price: 'price',
  image: {
    text: 'xs:string',
    attributes: { 'width?': 'xs:nonNegativeInteger', 'height?': 'xs:nonNegativeInteger' },
  },
  categories: {
    sequence: {
      'category*': {
        attributes: { 'id?': 'xs:string', 'name?': 'xs:string', 'tdCategoryName?': 'xs:string' },
      },
    },
  },
  pairs: { sequence: { 'field*': { text: 'xs:string', attributes: { name: 'xs:string' } } } },
  identifiers: {
    all: Object.fromEntries(IDENTIFIERS.map((name) => [`${name}?`, 'xs:string'])),
  },
};

function typeOf(name: FieldName): string | XsdType {
  return TYPES[FIELDS[name].kind] ?? 'xs:string';
}

const names = Object.keys(FIELDS) as FieldName[];
const isElement = (name: FieldName): boolean => !('attribute' in FIELDS[name]);
const isPosted = (name: FieldName): boolean => FIELDS[name].posted !== 'never';

/** No decimals or two (Document 1, Limits). */
const PRICE = { base: 'xs:string', pattern: '\\s*\\d{1,15}(\\.\\d{2})?\\s*' };

const COMMON_SCHEMA: Schema = {
  simpleTypes: { price: PRICE },
  elements: Object.fromEntries(
    names
      .filter((name) => isElement(name) && (isPosted(name) || FIELDS[name].on === 'product'))
      .filter((name) => name !== 'offers')
      .map((name) => [name, typeOf(name)]),
  ),
};

/** References to elements of the common namespace; only the required ones must be there. */
function common(prefix: string, fields: readonly FieldName[]): Parts {
  const isRequired = (name: FieldName) => FIELDS[name].posted === 'required';
  return Object.fromEntries(
    fields.map((name) => [`${prefix}:${name}${isRequired(name) ? '' : '?'}`, typeOf(name)]),
  );
}

const INPUT_SCHEMA: Schema = {
  simpleTypes: { version: { base: 'xs:string', pattern: '3(\\.\\d+)*' } },
  elements: {
    products: {
      attributes: { 'version?': 'version' },
      sequence: {
        'product*': {
          attributes: { sourceProductId: 'xs:string' },
          all: common(
            'cm',
            names.filter((name) => isElement(name) && isPosted(name)),
          ),
        },
      },
    },
  },
};

const dates = { dateFormat: 'dateFormat' };

const OFFER: XsdType = {
  attributes: { id: 'xs:string', sourceProductId: 'xs:string', ...dates, modifiedDate: 'date' },
  sequence: {
    feedId: 'xs:integer',
    productUrl: 'xs:string',
    'programName?': 'xs:string',
    'sourceProductUrl?': 'xs:string',
    price: { text: 'price', attributes: { currency: 'xs:string' } },
    'priceHistory?': {
      sequence: {
        'price*': { text: 'price', attributes: { ...dates, date: 'date', currency: 'xs:string' } },
      },
    },
    ...Object.fromEntries([...OFFER_TEXTS, ...ON_OFFER_TOO].map((name) => [`${name}?`, typeOf(name)])),
  },
};

const OUTPUT_SCHEMA: Schema = {
  simpleTypes: {
    price: { base: 'xs:string', pattern: '\\d+\\.\\d{2}' },
    dateFormat: { base: 'xs:string', pattern: 'epoch|iso8601' },
    date: { union: ['xs:integer', 'xs:dateTime'] },
  },
  elements: {
    result: {
      attributes: { version: 'xs:string' },
      sequence: {
        productHeader: { sequence: { totalHits: 'xs:integer', 'nextCursor?': 'xs:string' } },
        products: {
          sequence: {
            'product*': {
              attributes: { 'language?': 'xs:string', groupingId: 'xs:string' },
              sequence: {
                ...common('ns2', fieldsLike({ on: 'product', posted: 'required' })),
                ...common('ns2', ['fields', ...COMMON, ...IDENTIFIERS]),
                offers: { sequence: { 'offer*': OFFER } },
              },
            },
          },
        },
        'removed?': { sequence: { 'sourceProductId*': 'xs:string' } },
      },
    },
  },
};
