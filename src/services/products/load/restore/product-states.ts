import { NO_STREAM } from '../../../../kernel/event';
import { type ProductChange } from '../../../../domain/products/feed';
import { currencyCode, currencyOfCode } from '../../../../domain/products/fingerprints';

/** Digits of a digest that are compared: 52 bits, which a number has. */
const DIGITS = 13;

/** States of numbered products in columns, about 23 bytes each, outside the JavaScript heap. */
export class ProductStates {
  private listed = new Uint8Array(512);
  /** Minor units. */
  private prices = new Float64Array(512);
  private currencies = new Uint16Array(512);
  private digests = new Float64Array(512);
  private contents = new Int32Array(512);

  isListed(product: number): boolean {
    return this.listed[product] === 1;
  }

  priceOf(product: number): number {
    return this.prices[product] ?? 0;
  }

  /** Of its price, ISO 4217; empty if it is unknown. */
  currencyOf(product: number): string {
    return currencyOfCode(this.currencies[product] ?? 0);
  }

  /** Revision of the event that holds its content. */
  contentRevision(product: number): number {
    return this.contents[product] ?? NO_STREAM;
  }

  /** Applies the change that the event of a revision records. */
  apply(product: number, change: ProductChange, revision: number): void {
    this.reserve(product + 1);
    this.listed[product] = change.type === 'ProductDelisted' ? 0 : 1;
    if ('price' in change) {
      this.prices[product] = change.price;
      this.currencies[product] = currencyCode(change.currency);
    }
    if (!('content' in change)) return;
    this.digests[product] = Number.parseInt(change.content.slice(0, DIGITS), 16);
    this.contents[product] = revision;
  }

  /** Takes over the state that a product has in another table. */
  copy(product: number, from: ProductStates): void {
    this.reserve(product + 1);
    this.listed[product] = from.listed[product] ?? 0;
    this.prices[product] = from.prices[product] ?? 0;
    this.currencies[product] = from.currencies[product] ?? 0;
    this.digests[product] = from.digests[product] ?? 0;
    this.contents[product] = from.contents[product] ?? 0;
  }

  /** How a product has to change to be as in another table; undefined if it is. */
  difference(product: number, wanted: ProductStates): Difference | undefined {
    if (!wanted.isListed(product)) return this.isListed(product) ? 'removed' : undefined;
    if (!this.isListed(product)) return 'new';
    if (this.digests[product] !== wanted.digests[product]) return 'revised';
    const isPriced =
      this.prices[product] === wanted.prices[product] &&
      this.currencies[product] === wanted.currencies[product];
    return isPriced ? undefined : 'repriced';
  }

  private reserve(length: number): void {
    if (length <= this.listed.length) return;
    const size = 2 * length;
    this.listed = grown(this.listed, new Uint8Array(size));
    this.prices = grown(this.prices, new Float64Array(size));
    this.currencies = grown(this.currencies, new Uint16Array(size));
    this.digests = grown(this.digests, new Float64Array(size));
    this.contents = grown(this.contents, new Int32Array(size));
  }
}

/** By the names of the load report. */
export type Difference = 'new' | 'revised' | 'repriced' | 'removed';

export function grown<Column extends Uint8Array | Uint16Array | Int32Array | Float64Array>(
  from: Column,
  into: Column,
): Column {
  into.set(from);
  return into;
}
