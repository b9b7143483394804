import { namedUuid, type Position } from '../../kernel/event';
import { clickLink } from '../../wire/url';
import { type Identifiers, type Product } from './feed';

/** A product in a feed, as answers need it. Programs, currencies and names of categories are joined when answering. */
export interface StoredOffer {
  readonly feedId: number;
  readonly sourceProductId: string;
  readonly price: number;
  /** Of its price (ISO 4217), when it was posted (`docs/decisions.md#p10`). Empty if it is unknown. */
  readonly currency?: string | undefined;
  /** Last modification, epoch ms. */
  readonly modified: number;
  /** Position of its last event, as a number. */
  readonly changed: number;
  /** The platform category of each of the product's categories, null if it is unmapped. */
  readonly mapped: readonly (string | null)[];
  /** The last change of what it is mapped by: position as a number and time (epoch ms); null if none. */
  readonly remapped: readonly [position: number, at: number] | null;
  readonly product: Product;
}

/** An offer with its platform id, as of a log position. */
export interface Offer extends StoredOffer {
  readonly id: string;
  readonly position: Position;
}

/** The namespace of offer ids; names are `<feedId>:<sourceProductId>`. */
const NAMESPACE = Buffer.from('5c9a7f2e1b4d4e0f9d3a6b8c7e1f2a30', 'hex');

/** The platform's id of an offer (`docs/decisions.md#p11`): made of feed id and sourceProductId, permanent. */
export function offerId(feedId: number, sourceProductId: string): string {
  return namedUuid(NAMESPACE, `${feedId}:${sourceProductId}`);
}

const PRODUCT_ID = /^(\d{1,15})-(.+)$/s;

/** The feed and the sourceProductId in the id of a product as messages have it, `<feedId>-<sourceProductId>`. */
export function productIn(id: string): Pick<StoredOffer, 'feedId' | 'sourceProductId'> | undefined {
  const [, feedId, sourceProductId] = PRODUCT_ID.exec(id) ?? [];
  return sourceProductId === undefined ? undefined : { feedId: Number(feedId), sourceProductId };
}

/** The link by which a publisher earns (`docs/decisions.md#p12`). */
export function productLink(
  trackerUrl: string,
  { programId, siteId }: { readonly programId: number; readonly siteId: number | undefined },
  { feedId, sourceProductId }: Pick<StoredOffer, 'feedId' | 'sourceProductId'>,
  url: string,
): string {
  const product = `${feedId}-${sourceProductId}`;
  return clickLink(trackerUrl, { a: siteId, p: programId, product, ttid: 19, url });
}

/**
 * A product's GTIN as 14 digits: offers of several feeds with the same GTIN are the same product
 * (`docs/decisions.md#p8`). Taken from its ean, else its upc; undefined if neither is a number of 1 to 14 digits that
 * identifies a product beyond its shop (`docs/decisions.md#x9`).
 */
export function gtinOf(identifiers: Identifiers | undefined): string | undefined {
  return normalised(identifiers?.ean) ?? normalised(identifiers?.upc);
}

/** The key that groups offers of the same product: `ean` and the GTIN, or the offer's own id. */
export function groupingIdOf(identifiers: Identifiers | undefined, ownId: string): string {
  const gtin = gtinOf(identifiers);
  return gtin === undefined ? ownId : `ean${gtin}`;
}

function normalised(code: string | undefined): string | undefined {
  const digits = code === undefined ? undefined : /^0*([1-9]\d{0,13})$/.exec(code)?.[1];
  if (digits === undefined || DUMMY.test(digits)) return undefined;
  const gtin = digits.padStart(14, '0');
  const isInStore = digits.length === 8 ? IN_STORE_8.test(digits) : IN_STORE.test(gtin);
  return isInStore ? undefined : gtin;
}

/** One digit, repeated. */
const DUMMY = /^(\d)\1*$/;
/** Numbers that GS1 leaves to each shop: by the prefix of the GTIN-13 after the first of 14 digits, and of a GTIN-8. */
const IN_STORE = /^\d(?:0[24]|2)/;
const IN_STORE_8 = /^2/;

/** The names of all custom fields of some products, in order. */
export function customFieldNames(products: Iterable<Pick<Product, 'fields'>>): readonly string[] {
  const names = new Set<string>();
  for (const { fields = [] } of products) for (const { name } of fields) names.add(name);
  return [...names].sort();
}
