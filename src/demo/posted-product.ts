import { type Identifiers, type Product } from '../products/feed';

/** A product in the JSON shape it is posted in (Document 1, Product posted by an advertiser), identifiers directly on it. */
export interface PostedProduct extends Omit<Product, 'identifiers'>, Identifiers {
  readonly sourceProductId: string;
  /** An amount with two decimals at most. */
  readonly price: number;
}
