import { hash } from 'node:crypto';
import { FEED, type FeedClosing, type FeedEvent } from '../src/domain/products/feed';
import {
  customFieldNames,
  groupingIdOf,
  type Offer,
  offerId,
  type StoredOffer,
} from '../src/domain/products/offer';
import { DESCRIPTIVE, IDENTIFIERS } from '../src/domain/products/product-fields';
import { type ParsedEvent } from '../src/kernel/decider';
import { numberOf, type Position, positionOf } from '../src/kernel/event';
import { allOf, type Filter, filtersOn, type Found, oneAnswer } from '../src/kernel/query';
import { type FieldType, type FieldValue, NoGeneration, type ReadStore } from '../src/kernel/read-store';
import { type CategoryChange, changeKey } from '../src/network/categories/categories';
import { mappedCategory, mappingKeys } from '../src/network/categories/mapped-category';
import { type Projection } from '../src/projector/projection';
import { foldCase, tokensOf } from '../src/wire/words';
import { type CategorySet } from '../src/network/categories/category-counts';

/** Events of one product of a feed. */
export type OfferEvent = Exclude<FeedEvent, FeedClosing>;

export const OFFER_EVENTS = [
  'ProductListed',
  'ProductRevised',
  'ProductRepriced',
  'ProductDelisted',
] as const satisfies readonly OfferEvent['type'][];

export const FEED_STREAMS = [`${FEED}-`] as const;

export function feedIdOf({ stream }: ParsedEvent<FeedEvent>): number {
  return Number(stream.slice(FEED.length + 1));
}

export function offerIdOf(event: ParsedEvent<OfferEvent>): string {
  return offerId(feedIdOf(event), event.data.sourceProductId);
}

/** Keys that match with case ignored (`docs/decisions.md#p5`). */
export const FOLDED_KEYS = [
  ...(['category', 'field'] as const),
  ...DESCRIPTIVE.map(([key]) => key),
] satisfies readonly string[];

const FIELDS = {
  feedId: 'number',
  price: 'number',
  modified: 'number',
  inStock: 'number',
  /** Position of its last change, by an event or by its mapping. */
  changed: 'number',
  /** Position of the last change of its mapping. */
  remapped: 'number',
  /** 1 when it is mapped to a platform category: publishers see no other (`docs/decisions.md#p13`). */
  visible: 'number',
  groupId: 'column',
  /** Equal for products with the same categories and mappings. */
  categorySet: 'column',
  /** Equal for products whose custom fields have the same names; absent without custom fields. */
  fieldNames: 'column',
  spId: 'keyword',
  tdCategoryId: 'keyword',
  /** What its mapping depends on. */
  mapping: 'keyword',
  title: 'words',
  description: 'words',
  ...(Object.fromEntries([...FOLDED_KEYS, ...IDENTIFIERS].map((key) => [key, 'keyword'])) as Readonly<
    Record<(typeof FOLDED_KEYS)[number] | (typeof IDENTIFIERS)[number], 'keyword'>
  >),
} as const satisfies Readonly<Record<string, FieldType>>;

export type ProductField = keyof typeof FIELDS;

/** The offers of all feeds, for searches (Document 1, Search products). */
export const products: Projection<StoredOffer, OfferEvent> = {
  collection: {
    name: 'products',
    version: 8,
    fields: FIELDS,
    partition: 'feedId',
    sorts: ['modified', 'price', 'changed'],
    facets: ['brand', 'tdCategoryId', 'category', 'feedId'],
  },
  streams: FEED_STREAMS,
  takesLoads: true,
  handles: OFFER_EVENTS,
  replaces: ['ProductListed', 'ProductRevised', 'ProductDelisted'],
  idOf: offerIdOf,
  fold(offer, event) {
    const modified = Date.parse(event.data.at);
    const changed = numberOf(event.position);
    switch (event.type) {
      case 'ProductListed':
      case 'ProductRevised': {
        const { sourceProductId, price, currency, product } = event.data;
        const mapping = { mapped: [], remapped: null };
        const feedId = feedIdOf(event);
        return { feedId, sourceProductId, price, currency, modified, changed, ...mapping, product };
      }
      case 'ProductRepriced':
        return (
          offer && { ...offer, price: event.data.price, currency: event.data.currency, modified, changed }
        );
      case 'ProductDelisted':
        return undefined;
    }
  },
  describe(offer, id, directory) {
    const { feedId, product } = offer;
    const mapped = product.categories.map((one) => mappedCategory(one, feedId, directory) ?? null);
    const keys = mappingKeys(product.categories);
    const last = directory.changes.ofMapping(feedId, keys);
    const remapped = last === undefined ? null : ([numberOf(last.position), last.at] as const);
    // The event of the last change is the one that has the price.
    const currency = offer.currency ?? directory.currencies.ofFeed(feedId, positionOf(offer.changed)) ?? '';
    const document = { ...offer, currency, mapped, remapped };
    return { document, fields: fieldsOf(document, id, keys) };
  },
  fanOut: {
    // A category that changed several times is queried once.
    affectedBy: (changes) => ({ any: [...new Map(changes.map(conditionOf)).values()] }),
    streamOf: ({ feedId }) => `${FEED_STREAMS[0]}${feedId}`,
  },
};

/** A filter for the products that a change affects, and a key that identifies the filter. */
function conditionOf(change: CategoryChange): readonly [key: string, condition: Filter] {
  const key = changeKey(change);
  const dependent = { field: 'mapping', in: [key] };
  return change.posted === 'name'
    ? [`${change.feedId} ${key}`, { all: [{ field: 'feedId', in: [change.feedId] }, dependent] }]
    : [key, dependent];
}

/** The offer of a query's result. */
export function toOffer({ id, version, body }: Found): Offer {
  return { id, position: version, ...(JSON.parse(body) as StoredOffer) };
}

/** Most feeds have far fewer sets of categories, and of names of custom fields. */
const CACHED = 10_000;
const digests = new Map<string, string>();

/** Short, since every product has it, and long enough to avoid collisions within a feed. */
function digest(value: unknown): string {
  const text = JSON.stringify(value);
  let found = digests.get(text);
  if (found === undefined) {
    found = hash('sha256', text, 'base64url').slice(0, 16);
    if (digests.size >= CACHED) digests.clear();
    digests.set(text, found);
  }
  return found;
}

function fieldsOf(
  { feedId, sourceProductId, price, modified, changed, mapped, remapped, product }: StoredOffer,
  id: string,
  mapping: readonly string[],
): Record<string, FieldValue> {
  const { identifiers, inStock, categories } = product;
  const tdCategoryId = [...new Set(mapped.filter((category) => category !== null))];
  const fields: Partial<Record<ProductField, FieldValue>> = {
    feedId,
    price,
    modified,
    changed: Math.max(changed, remapped?.[0] ?? 0),
    visible: tdCategoryId.length > 0 ? 1 : 0,
    groupId: groupingIdOf(identifiers, id),
    categorySet: digest([categories, mapped]),
    spId: sourceProductId,
    tdCategoryId,
    mapping,
    category: categories.flatMap(({ name }) => (name === undefined ? [] : foldCase(name))),
    title: tokensOf(product.name),
    description: tokensOf(product.description),
  };
  if (remapped !== null) [fields.remapped] = remapped;
  if (inStock !== undefined) fields.inStock = inStock;
  if (product.fields !== undefined && product.fields.length > 0) {
    fields.fieldNames = digest(customFieldNames([product]));
    fields.field = product.fields.map(({ name, value }) => foldCase(`${name}=${value}`));
  }
  for (const [key, field] of DESCRIPTIVE) {
    const value = product[field];
    if (value !== undefined) fields[key] = foldCase(value);
  }
  for (const key of IDENTIFIERS) {
    const value = identifiers?.[key];
    if (value !== undefined) fields[key] = value;
  }
  return fields;
}

/** Sets per query: each comes with a whole product. */
const AT_ONCE = 2_000;

const TARGET = { collection: products.collection.name };

const { among } = filtersOn<ProductField>();

/** Distinct sets of categories of a feed’s products, each counted once; only those mapped to one of `categoryIds`. */
export async function* categorySets(
  store: ReadStore,
  feedId: number,
  categoryIds?: readonly string[],
): AsyncGenerator<readonly CategorySet[]> {
  const wanted = {
    filter: allOf(among('feedId', [feedId]), among('tdCategoryId', categoryIds)),
    groupBy: 'categorySet' satisfies ProductField,
    size: AT_ONCE,
  };
  await store.refresh(TARGET);
  const query = oneAnswer();
  for (let next: { readonly after?: string } | undefined = {}; next !== undefined;) {
    const answer = await store.countGroups(TARGET, { ...wanted, ...next }, query);
    yield answer.groups.map(({ count, one }) => {
      const offer = JSON.parse(one.body) as StoredOffer;
      return { categories: offer.product.categories, mapped: offer.mapped, products: count };
    });
    next = answer.next === undefined ? undefined : { after: answer.next };
  }
}

/** The position that queries of products have reached; undefined while no generation is live. */
export async function productsPosition(store: ReadStore): Promise<Position | undefined> {
  try {
    return await store.checkpoint(TARGET);
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}
