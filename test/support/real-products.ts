import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ean13, type PostedProduct } from '../../src/demo/generate';

/** Where the real products lie, if they are there: a clone of the project alone has none. */
export const REAL_PRODUCTS = join(__dirname, '../../../shared/data/products.json');
const EXAMPLE = join(__dirname, '../../../shared/network.example.json');
const REAL_CATEGORIES = join(__dirname, '../../../shared/data/categories.json.gz');

export interface RealFeed {
  readonly currency: string;
  readonly language: string;
  /** Unchanged by a way through XML. */
  readonly products: readonly PostedProduct[];
}

interface RealProduct {
  readonly name: string;
  readonly description: string;
  readonly brand: string;
  readonly categories: readonly string[];
  readonly price: number;
  readonly image: string;
  readonly popularity: number;
}

/**
 * 3,291 real products as two feeds, one after the other to the first and the second; every tenth stands in both,
 * with the same EAN and another price. Undefined when they are not there.
 */
export function realFeeds(): readonly [RealFeed, RealFeed] | undefined {
  if (!existsSync(REAL_PRODUCTS)) return undefined;
  const products = JSON.parse(readFileSync(REAL_PRODUCTS, 'utf8')) as readonly RealProduct[];
  const first: PostedProduct[] = [];
  const second: PostedProduct[] = [];
  for (const [at, product] of products.entries()) {
    if (at % 2 === 0 || at % 10 === 5) first.push(posted(product, at, 100));
    if (at % 2 === 1 || at % 10 === 0) second.push(posted(product, at, 1130));
  }
  return [
    { currency: 'EUR', language: 'en', products: first },
    { currency: 'SEK', language: 'sv', products: second },
  ];
}

/** `rate`: what 100 of the price it has here are in the feed's currency. */
function posted(product: RealProduct, at: number, rate: number): PostedProduct {
  const { name, description, brand, categories, price, image, popularity } = product;
  const number = createHash('sha256').update(name).digest().readUIntBE(0, 5) % 10 ** 11;
  return {
    sourceProductId: `real-${at}`,
    name,
    description: description === '' ? name : description,
    productUrl: `https://shop.example/products/${at}`,
    productImage: { url: image },
    price: Math.round(price * rate) / 100,
    categories: categories.map((category) => ({ name: category })),
    brand,
    availability: popularity > 5000 ? 'in stock' : 'ships within a week',
    inStock: popularity % 100,
    // Two in three, so that there are products that stand alone.
    ...(at % 3 === 1 ? {} : { ean: ean13(`2${String(number).padStart(11, '0')}`) }),
    mpn: `M-${number % 100_000}`,
    fields: [{ name: 'popularity', value: String(popularity) }],
  };
}

/** A test over the real products; where they are not there, what is left out is said and no test is counted. */
export function testRealProducts(
  name: string,
  run: (feeds: readonly [RealFeed, RealFeed]) => Promise<void> | void,
): void {
  testReal(name, REAL_PRODUCTS, realFeeds, run);
}

/** A test over a published tree of categories, which it is given the path of; left out where there is none. */
export function testRealCategories(name: string, run: (file: string) => Promise<void>): void {
  testReal(name, REAL_CATEGORIES, () => (existsSync(REAL_CATEGORIES) ? REAL_CATEGORIES : undefined), run);
}

/** A test over the network file that is given as an example, which it is given the path of; left out where there is none. */
export function testNetworkExample(name: string, run: (file: string) => Promise<void>): void {
  testReal(name, EXAMPLE, () => (existsSync(EXAMPLE) ? EXAMPLE : undefined), run);
}

function testReal<T>(
  name: string,
  path: string,
  found: () => T | undefined,
  run: (real: T) => Promise<void> | void,
): void {
  const real = found();
  if (real === undefined) process.stderr.write(`left out, since there is no ${path}: ${name}\n`);
  else test(name, async () => run(real), 300_000);
}
