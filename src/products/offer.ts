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
  /** Position of its last event, as a number. */
  readonly changed: number;
  /** For each of the product's categories the platform category it is mapped to, or null. */
  readonly mapped: readonly (string | null)[];
  /** The last change of what it is mapped by: position as a number and time (epoch ms); null if there was none. */
  readonly remapped: readonly [position: number, at: number] | null;
  readonly product: Product;
}

/** An offer with the platform's id of it, as the log has it at a position. */
export interface Offer extends StoredOffer {
  readonly id: string;
  readonly position: Position;
}

/** The names of all custom fields of some products, in order. */
export function customFieldNames(products: Iterable<Pick<Product, 'fields'>>): readonly string[] {
  const names = new Set<string>();
  for (const { fields = [] } of products) for (const { name } of fields) names.add(name);
  return [...names].sort();
}
