import { products } from '../projections/products';
import { ean13, seededRandom } from '../src/demo/catalogue';
import { type StoredOffer, offerId } from '../src/domain/products/offer';
import { type Document } from '../src/kernel/read-store';
import { type Directory } from '../src/network/directory';
import { capital, inventWords, zipf } from './generate';
import { CATEGORIES } from './products';

/** Words of a product: those of its title, then those of its description. */
export const WORDS = { title: 8, product: 64 } as const;

export const VOCABULARY = inventWords(20_000, 17);
export const BRANDS = inventWords(2_500, 19).map(capital);
export const COLOURS = ['black', 'white', 'red', 'blue', 'green', 'yellow', 'grey', 'brown'] as const;
export const PRICES = { least: 100, most: 99_999 } as const;

const START = Date.UTC(2026, 0, 1);

/**
 * The products of some feeds in memory, as numbers: those of the first feed first. The same sizes give the same
 * products. Words follow Zipf's law; on average two products have the same EAN, one in eight has none.
 */
export class Catalogue {
  /** How many products there are. */
  readonly size: number;
  /** `WORDS.product` numbers of words per product. */
  readonly words: Uint16Array;
  /** In cents. */
  readonly prices: Uint32Array;
  /** Epoch ms. */
  readonly modified: Float64Array;
  readonly categories: Uint8Array;
  readonly brands: Uint16Array;
  readonly colours: Uint8Array;
  /** The number that an EAN is made of; 0 for none. */
  readonly eans: Uint32Array;
  private readonly feeds: Uint16Array;

  /** `sizes`: the number of products of each feed, from feed 1 on. */
  constructor(sizes: readonly number[]) {
    const size = sizes.reduce((sum, one) => sum + one, 0);
    const random = seededRandom(size);
    this.size = size;
    this.words = Uint16Array.from({ length: size * WORDS.product }, () => zipf(random, VOCABULARY.length));
    this.prices = Uint32Array.from({ length: size }, () => random.between(PRICES.least, PRICES.most));
    this.modified = Float64Array.from({ length: size }, () => START + random.between(0, 100_000) * 1000);
    this.categories = Uint8Array.from({ length: size }, () => random.between(0, CATEGORIES.length - 1));
    this.brands = Uint16Array.from({ length: size }, () => zipf(random, BRANDS.length));
    this.colours = Uint8Array.from({ length: size }, () => random.between(0, COLOURS.length - 1));
    this.eans = Uint32Array.from({ length: size }, () =>
      random.chance(1 / 8) ? 0 : random.between(1, Math.ceil(size / 2)),
    );
    this.feeds = new Uint16Array(size);
    let start = 0;
    for (const [at, count] of sizes.entries()) {
      this.feeds.fill(at + 1, start, start + count);
      start += count;
    }
  }

  /** The `sourceProductId` of a product. */
  nameOf(product: number): string {
    return `p${product}`;
  }

  /** The id of its offer. */
  idOf(product: number): string {
    return offerId(this.feeds[product] ?? 0, this.nameOf(product));
  }

  eanOf(product: number): string {
    return ean13(`9${String(this.eans[product]).padStart(11, '0')}`);
  }

  /** The words of a product's title. */
  titleOf(product: number): Uint16Array {
    return this.words.subarray(product * WORDS.product, product * WORDS.product + WORDS.title);
  }

  /** As the read model has it. */
  documentOf(product: number, directory: Directory): Document {
    const start = product * WORDS.product;
    const text = (from: number, to: number): string =>
      capital(
        Array.from(this.words.subarray(start + from, start + to), (word) => VOCABULARY[word]).join(' '),
      );
    const name = this.nameOf(product);
    const offer: StoredOffer = {
      feedId: this.feeds[product] ?? 0,
      sourceProductId: name,
      price: this.prices[product] ?? 0,
      currency: 'EUR',
      modified: this.modified[product] ?? 0,
      changed: product + 1,
      mapped: [],
      remapped: null,
      product: {
        name: text(0, WORDS.title),
        description: text(WORDS.title, WORDS.product),
        productUrl: `https://shop.example/products/${name}`,
        productImage: { url: `https://img.example/500/${name}.jpg` },
        categories: [CATEGORIES[this.categories[product] ?? 0] ?? {}],
        brand: BRANDS[this.brands[product] ?? 0] ?? '',
        availability: 'in stock',
        ...(this.eans[product] === 0 ? {} : { identifiers: { ean: this.eanOf(product) } }),
        fields: [{ name: 'colour', value: COLOURS[this.colours[product] ?? 0] ?? '' }],
      },
    };
    const id = this.idOf(product);
    const { document, fields } = products.describe(offer, id, directory);
    return { id, fields, body: JSON.stringify(document) };
  }
}
