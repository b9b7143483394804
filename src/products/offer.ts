import { type Position } from '../kernel/event';
import { type Product } from './feed';

/**
 * A product in a feed, as answers need it; programs, currencies and the names of categories are joined when
 * answering.
 */
export interface StoredOffer {
  readonly feedId: number;
  readonly sourceProductId: string;
  /** Minor units. */
  readonly price: number;
  /** Last modification, epoch ms. */
  readonly modified: number;
  /** For each of the product's categories the platform category it is mapped to, or null. */
  readonly mapped: readonly (string | null)[];
  readonly product: Product;
}

/** An offer with the platform's id of it, as the log has it at a position. */
export interface Offer extends StoredOffer {
  readonly id: string;
  readonly position: Position;
}
