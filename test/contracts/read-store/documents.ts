import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  type CollectionSpec,
  type Document,
  type FieldValue,
  MAX_TEXT,
} from '../../../src/kernel/read-store';
import { offerId } from '../../../src/domain/products/offer';
import { tokensOf } from '../../../src/wire/words';
import { REAL_PRODUCTS } from '../../support/real-products';

/** Each type of field, a partition, and sorts. */
export const OFFERS: CollectionSpec = {
  name: 'test-offers',
  version: 1,
  fields: {
    feedId: 'number',
    price: 'number',
    modified: 'number',
    stock: 'number',
    groupId: 'column',
    brand: 'keyword',
    tags: 'keyword',
    label: 'text',
    title: 'words',
    description: 'words',
  },
  partition: 'feedId',
  sorts: ['modified', 'price'],
  facets: ['feedId', 'stock', 'brand', 'tags'],
};

/** The same without a partition, and with the sorts in another order. */
export const LOOSE: CollectionSpec = {
  name: 'test-loose',
  version: 1,
  fields: OFFERS.fields,
  sorts: ['price', 'modified'],
  facets: ['feedId', 'stock', 'brand', 'tags'],
};

export const FEEDS = [1, 2, 7, 40];
const WORDS = ['red', 'shoe', 'shoes', 'run', 'runner', 'für', '東京', 'x_1', '2', 'данные', '𝒳'];
/** Values that differ in nothing but case, blanks, quotes or length, and some beyond ASCII. */
const VALUES = [
  'Acme',
  'acme',
  'ACME',
  ' acme',
  'ac me',
  '',
  'a"b',
  "a'b",
  'a~b',
  'AND',
  'red OR blue',
  'NEAR(a b)',
  'a*',
  'ä',
  'a\u0308',
  '東京',
  '😀',
  'tab\tand\nline',
  'x'.repeat(64),
  'x'.repeat(65),
  'y'.repeat(200),
  'y'.repeat(201),
  '~~a',
  '\u0001a',
  'x'.repeat(40_000),
  `${'x'.repeat(39_999)}y`,
];

const value = fc.constantFrom(...VALUES);
/** Values that some engine would cut or hash, and some whose order differs in UTF-16. */
const LABELS = [
  ...VALUES.filter(({ length }) => length <= MAX_TEXT),
  'x'.repeat(MAX_TEXT),
  `${'x'.repeat(MAX_TEXT - 1)}y`,
  '\u0001a',
  '\uffee',
];
const words = fc.array(fc.constantFrom(...WORDS), { maxLength: 6 });

const fields = fc.record(
  {
    feedId: fc.constantFrom(...FEEDS),
    price: fc.integer({ min: -3, max: 12 }),
    modified: fc.constantFrom(0, 1_776_000_000_000, 1_776_000_000_001, Number.MAX_SAFE_INTEGER),
    stock: fc.integer({ min: 0, max: 3 }),
    groupId: fc.constantFrom('g1', 'G1', 'g2', 'g 3', 'g4'),
    brand: value,
    tags: fc.array(value, { maxLength: 3 }),
    label: fc.constantFrom(...LABELS),
    title: words,
    description: words,
  },
  { requiredKeys: ['feedId', 'groupId'] },
);

/** Some hundred documents that have much in common, the same ones each time. */
export function generatedDocuments(count = 400): Document[] {
  return fc.sample(fields, { numRuns: count, seed: 4 }).map((fields, index) => ({
    id: offerId(1, String(index)),
    fields: withoutUndefined(fields),
    body: JSON.stringify({ index, text: 'ü "quoted" \u0000' }),
  }));
}

/** The real products as documents; undefined where they are not there. */
export function realDocuments(): Document[] | undefined {
  if (!existsSync(REAL_PRODUCTS)) return undefined;
  const products = JSON.parse(readFileSync(REAL_PRODUCTS, 'utf8')) as readonly {
    readonly name: string;
    readonly description: string;
    readonly brand: string;
    readonly categories: readonly string[];
    readonly price: number;
    readonly popularity: number;
  }[];
  return products.map((product, index) => ({
    id: offerId(FEEDS[index % FEEDS.length]!, String(index)),
    fields: {
      feedId: FEEDS[index % FEEDS.length]!,
      price: Math.round(product.price * 100),
      modified: product.popularity - (product.popularity % 100),
      ...(index % 3 === 0 ? {} : { stock: product.popularity % 100 }),
      groupId: `${product.brand} ${product.categories.at(-1) ?? ''}`,
      brand: product.brand,
      tags: product.categories,
      label: product.name,
      title: tokensOf(product.name),
      description: tokensOf(product.description),
    },
    body: JSON.stringify(product),
  }));
}

function withoutUndefined(
  fields: Readonly<Record<string, FieldValue | undefined>>,
): Record<string, FieldValue> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, FieldValue] => entry[1] !== undefined),
  );
}
