import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ean13 } from '../../src/demo/catalogue';
import { type PostedProduct } from '../../src/demo/products';

/** Path of the real products, which a clone of the project does not contain. */
export const REAL_PRODUCTS = join(__dirname, '../../../shared/data/products.json');
const EXAMPLE = join(__dirname, '../../../shared/network.example.json');
const REAL_CATEGORIES = join(__dirname, '../../../shared/data/categories.json.gz');

export interface RealFeed {
  readonly currency: string;
  readonly language: string;
  /** Unchanged by a round trip through XML. */
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
 * 3,291 real products, distributed alternately to two feeds; every tenth is in both, with the same EAN and another
 * price. Undefined if they do not exist.
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

/** `rate`: 100 units of the original price in the feed's currency. */
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
    // Two in three, so that there are also ungrouped products.
    ...(at % 3 === 1 ? {} : { ean: ean13(`9${String(number).padStart(11, '0')}`) }),
    mpn: `M-${number % 100_000}`,
    fields: [{ name: 'popularity', value: String(popularity) }],
  };
}

/** The name begins with this, by which `npm run test:real` finds it. */
const TAG = 'with real data: ';

/** A test with the real products; if they do not exist, it reports the skipped test and counts none. */
export function testRealProducts(
  name: string,
  run: (feeds: readonly [RealFeed, RealFeed]) => Promise<void> | void,
): void {
  testReal(name, REAL_PRODUCTS, realFeeds, run);
}

/** A test with a published category tree, given its path; skipped if there is none. */
export function testRealCategories(name: string, run: (file: string) => Promise<void>): void {
  testReal(name, REAL_CATEGORIES, () => (existsSync(REAL_CATEGORIES) ? REAL_CATEGORIES : undefined), run);
}

/** A test with the example network file, given its path; skipped if there is none. */
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
  if (real === undefined) process.stderr.write(`skipped, since ${path} does not exist: ${name}\n`);
  else test(TAG + name, async () => run(real));
}
