import { type Identifiers, type Product } from '../products/feed';

/** A product as posted in JSON (Document 1, Product posted by an advertiser). */
export interface PostedProduct extends Omit<Product, 'identifiers'>, Identifiers {
  readonly sourceProductId: string;
  /** An amount with at most two decimals. */
  readonly price: number;
}
