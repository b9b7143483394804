/**
 * A feed's stream, `feed-22`: what has become of its products.
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */

import { type PostedCategory } from '../categories/mapped-category';
import { type IDENTIFIERS, type TEXTS } from './fields';

type Texts<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** A product as its events hold it: posted fields by the document's names, in one fixed order of keys. */
export interface Product extends Texts<(typeof TEXTS)[number]> {
  readonly name: string;
  readonly description: string;
  readonly productUrl: string;
  readonly productImage: { readonly url: string; readonly width?: number; readonly height?: number };
  readonly categories: readonly PostedCategory[];
  readonly identifiers?: Identifiers;
  readonly inStock?: number;
  readonly fields?: readonly { readonly name: string; readonly value: string }[];
}

export type Identifiers = Texts<(typeof IDENTIFIERS)[number]>;

/** `price` in minor units (cents); `at` an ISO 8601 instant. */
export type FeedEvent =
  | { readonly type: 'ProductListed'; readonly data: ProductContent }
  | { readonly type: 'ProductRevised'; readonly data: ProductContent }
  | {
      readonly type: 'ProductRepriced';
      readonly data: { readonly sourceProductId: string; readonly price: number; readonly at: string };
    }
  | {
      readonly type: 'ProductDelisted';
      readonly data: { readonly sourceProductId: string; readonly at: string };
    }
  | FeedClosing;

/** Ends a load, or a deletion: what it has changed is whole from here on (`docs/decisions.md#x62`). */
export type FeedClosing =
  | { readonly type: 'FeedImported'; readonly data: FeedImport }
  | {
      readonly type: 'ProductsDeleted';
      readonly data: { readonly removed: number; readonly at: string };
    };

/** `product` comes last, so that a reader who needs the rest only can stop before it. */
interface ProductContent {
  readonly sourceProductId: string;
  readonly price: number;
  readonly at: string;
  readonly product: Product;
}

/** What stands beside an event about a product, in its `meta`; in events of early versions it may be missing. */
export interface ProductMeta {
  /** Digest of the content, in events that hold it. */
  readonly content?: string;
  /** Revision in the stream from which on, up to this event, all were written by the same load or deletion. */
  readonly first: number;
}

/** What a load did; `at`: when it ended. */
export interface FeedImport {
  readonly importId: string;
  readonly mode: 'update' | 'replace';
  readonly at: string;
  readonly durationMs: number;
  readonly new: number;
  readonly revised: number;
  readonly repriced: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly refused: number;
  /** At most 1,000 of them. */
  readonly faults: readonly {
    readonly code: string;
    readonly sourceProductId?: string;
    readonly message: string;
  }[];
  /** How many there are beyond these, if any. */
  readonly moreFaults?: number;
}

/** The category of a feed's stream. */
export const FEED = 'feed';
