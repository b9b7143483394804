import { type PostedCategory } from '../src/network/categories/mapped-category';
import { ean13, type Random, seededRandom } from '../src/demo/catalogue';
import { type PostedProduct } from '../src/demo/products';

export interface GenerateOptions {
  readonly count: number;
  /** Seed of the random generator (default 1). */
  readonly seed?: number;
  /** Approximate length of a product as JSON (default 1,000; at least 600). */
  readonly bytes?: number;
  /** Prefix of every `sourceProductId`, followed by the product's number (default `p`). */
  readonly prefix?: string;
  /** Categories to choose from, one per product (default: 60 advertiser categories). */
  readonly categories?: readonly PostedCategory[];
}

/**
 * Generates products for benchmarks and tests, lazily, so that any number takes little memory. The same options give
 * the same products; a larger count only adds more. Word frequencies follow Zipf's law; the words are meaningless.
 */
export function* generateProducts(options: GenerateOptions): Generator<PostedProduct> {
  const { count, seed = 1, bytes = 1000, prefix = 'p', categories = CATEGORIES } = options;
  const random = seededRandom(seed);
  for (let number = 1; number <= count; number += 1) {
    yield oneProduct(random, `${prefix}${number}`, number, bytes, categories);
  }
}

function oneProduct(
  random: Random,
  sourceProductId: string,
  number: number,
  bytes: number,
  categories: readonly PostedCategory[],
): PostedProduct {
  const brand = BRANDS[zipf(random, BRANDS.length)] ?? '';
  const model = `${capital(word(random))} ${random.between(10, 9999)}`;
  const withoutDescription: Omit<PostedProduct, 'description'> = {
    sourceProductId,
    name: `${brand} ${model} ${text(random, 30)}`,
    productUrl: `https://shop.example/${word(random)}/${sourceProductId}`,
    price: random.between(100, 99_999) / 100,
    productImage: { url: `https://img.example/500/${sourceProductId}.jpg` },
    categories: [random.pick(categories)],
    availability: random.pick(AVAILABILITIES),
    brand,
    condition: random.chance(0.9) ? 'new' : 'used',
    deliveryTime: `${random.between(1, 9)} days`,
    // One in four has the same EAN as the product of the same number with another seed.
    ean: ean13(
      `9${String(number % 4 === 0 ? number : number * 1000 + random.between(1, 999)).padStart(11, '0')}`,
    ),
    sku: `${sourceProductId}-${random.between(100, 999)}`,
    inStock: random.between(0, 500),
    manufacturer: `${brand} Ltd`,
    model,
    shippingCost: random.chance(0.5) ? 'free' : '4.95',
    fields: [
      { name: 'colour', value: random.pick(COLOURS) },
      { name: 'size', value: String(random.between(1, 60)) },
    ],
  };
  const room = bytes - JSON.stringify(withoutDescription).length - ',"description":""'.length;
  return { ...withoutDescription, description: text(random, Math.max(20, room - 3)) };
}

/** Consecutive words of at least `length` characters. */
function text(random: Random, length: number): string {
  const from = PROSE.indexOf(' ', random.between(0, PROSE.length - length - 100)) + 1;
  return capital(PROSE.slice(from, PROSE.indexOf(' ', from + length)));
}

function word(random: Random): string {
  return WORDS[zipf(random, WORDS.length)] ?? '';
}

/** A rank below `count`: the n-th is picked about 1/n as often as the first. */
export function zipf(random: Random, count: number): number {
  return Math.min(count - 1, Math.floor(Math.exp(random.next() * Math.log(count + 1))) - 1);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const AVAILABILITIES = ['in stock', 'out of stock', 'preorder'];
const COLOURS = ['black', 'white', 'red', 'blue', 'green', 'yellow', 'grey', 'brown'];
const CATEGORIES = Array.from({ length: 60 }, (_, at) => ({ name: `Department ${at % 6} > Shelf ${at}` }));

const SYLLABLES = 'ba ce di fo gu la me ni po ru sa te vi wo zu bra cle dri flo gru pla ste tri'.split(' ');
const WORDS = inventWords(5000, 7);
const BRANDS = inventWords(50, 11).map(capital);

/** Different words of two to four syllables. */
export function inventWords(count: number, seed: number): readonly string[] {
  const random = seededRandom(seed);
  const words = new Set<string>();
  while (words.size < count) {
    words.add(Array.from({ length: random.between(2, 4) }, () => random.pick(SYLLABLES)).join(''));
  }
  return [...words];
}

/** 40,000 words that descriptions are cut from. */
const PROSE = prose(40_000, 13);

function prose(words: number, seed: number): string {
  const random = seededRandom(seed);
  return Array.from({ length: words }, () => word(random)).join(' ');
}
