import { open } from 'node:fs/promises';

/**
 * Products to measure with: about 1 KB each as JSON, the same ones in every run. Words are as unevenly spread as
 * in a language (the nth most frequent one is n times as rare as the first), so that full text has its common,
 * middling and rare words.
 */
export interface BenchProduct {
  readonly sourceProductId: string;
  readonly name: string;
  readonly description: string;
  readonly productUrl: string;
  readonly price: number;
  readonly productImage: { readonly url: string; readonly width: number; readonly height: number };
  readonly categories: readonly { readonly name: string }[];
  readonly brand: string;
  readonly condition: string;
  readonly availability: string;
  readonly deliveryTime: string;
  readonly ean: string;
  readonly sku: string;
  readonly inStock: number;
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

export type BodyFormat = 'json' | 'xml';

const VOCABULARY = 20_000;

/** The category of a product is one of these: `category 0`, `category 1`, ... */
export const CATEGORIES = 40;
/** So is its brand: `Brand 0`, ... */
export const BRANDS = 500;

/** The nth product, from 0. */
export function productAt(index: number): BenchProduct {
  const random = randomFrom(index);
  const below = (bound: number): number => Math.floor(random() * bound);
  const sourceProductId = `SKU-${String(index).padStart(8, '0')}`;
  return {
    sourceProductId,
    name: text(random, 7),
    description: text(random, 68),
    productUrl: `https://shop.example/products/${sourceProductId}`,
    price: below(100_000) / 100,
    productImage: { url: `https://images.shop.example/${sourceProductId}.jpg`, width: 500, height: 300 },
    categories: [{ name: `category ${below(CATEGORIES)}` }],
    brand: `Brand ${below(BRANDS)}`,
    condition: below(10) === 0 ? 'used' : 'new',
    availability: below(4) === 0 ? 'on request' : 'in stock',
    deliveryTime: `${1 + below(14)} days`,
    // Two products in a row bear the same one, so that there is something to group.
    ean: String(4_000_000_000_000 + Math.floor(index / 2)),
    sku: sourceProductId,
    inStock: below(500),
    fields: [
      { name: 'Colour', value: wordAt(below(24)) },
      { name: 'Series', value: wordAt(below(VOCABULARY)) },
    ],
  };
}

/** The nth most frequent word, from 0. */
export function wordAt(rank: number): string {
  return WORDS[rank] ?? '';
}

/** The body of a post of so many products, piece by piece. */
export function* bodyOf(format: BodyFormat, count: number): Generator<string> {
  yield format === 'json' ? '{"products":[' : XML_START;
  for (let at = 0; at < count; at += PIECE) {
    let piece = '';
    for (let index = at; index < Math.min(at + PIECE, count); index += 1) {
      const product = productAt(index);
      if (format === 'xml') piece += toXml(product);
      else piece += `${index === 0 ? '' : ','}\n${JSON.stringify(product)}`;
    }
    yield piece;
  }
  yield format === 'json' ? '\n]}' : '</products>';
}

/** Writes such a body to a file. */
export async function writeBody(path: string, format: BodyFormat, count: number): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for (const piece of bodyOf(format, count)) await file.appendFile(piece);
  } finally {
    await file.close();
  }
}

const PIECE = 500;

const XML_START = `<?xml version="1.0" encoding="UTF-8"?>
<products version="3.0" xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common">`;

/** Nothing in these products needs to be escaped. */
function toXml({ sourceProductId, productImage, categories, fields, ...simple }: BenchProduct): string {
  const children = Object.entries(simple).map(([name, value]) => `<cm:${name}>${value}</cm:${name}>`);
  const category = categories.map(({ name }) => `<cm:category name="${name}"/>`);
  const field = fields.map(({ name, value }) => `<cm:field name="${name}">${value}</cm:field>`);
  return `
<product sourceProductId="${sourceProductId}"><cm:productImage>${productImage.url}</cm:productImage>${children.join('')}<cm:categories>${category.join('')}</cm:categories><cm:fields>${field.join('')}</cm:fields></product>`;
}

const SYLLABLES = [
  'ka',
  'lo',
  'mi',
  'ne',
  'ru',
  'sta',
  'ven',
  'dor',
  'pil',
  'ge',
  'tor',
  'ba',
  'xi',
  'fen',
  'ul',
  'sho',
];

const WORDS = Array.from({ length: VOCABULARY }, (_, rank) => {
  let word = '';
  for (let rest = rank + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    word = `${SYLLABLES[rest % SYLLABLES.length] ?? ''}${word}`;
  }
  return word;
});

function text(random: () => number, words: number): string {
  let said = wordOf(random);
  for (let word = 1; word < words; word += 1) said += ` ${wordOf(random)}`;
  return said;
}

function wordOf(random: () => number): string {
  return wordAt(Math.floor(VOCABULARY ** random()) - 1);
}

/** Numbers below 1 that look random and are the same for the same seed (splitmix32). */
function randomFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x85ebca6b);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
