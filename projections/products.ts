import { hash } from 'node:crypto';
import { type CategoryChange } from '../src/directory/categories';
import { type Filter, type Found } from '../src/kernel/query';
import { type FieldType, type FieldValue } from '../src/kernel/read-store';
import { changeKey, mappedCategory, mappingKeys } from '../src/categories/mapped-category';
import { DESCRIPTIVE, IDENTIFIERS } from '../src/products/fields';
import { groupingIdOf, type Offer, type StoredOffer } from '../src/products/offer';
import { customFieldNames } from '../src/products/output-csv';
import { foldCase, wordsOf } from '../src/wire/words';
import { FEED_STREAMS, feedIdOf, OFFER_EVENTS, type OfferEvent, offerOf } from './offer-events';
import { type Projection } from '../src/projector/projection';

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
  /** 1 when it is mapped to a platform category: publishers see no other (`docs/decisions.md#p13`). */
  visible: 'number',
  groupId: 'column',
  /** One for all products with the same categories, each mapped to the same. */
  categorySet: 'column',
  /** One for all products with custom fields of the same names; absent where there are none. */
  fieldNames: 'column',
  spId: 'keyword',
  tdCategoryId: 'keyword',
  /** What its mapping hangs on. */
  mapping: 'keyword',
  title: 'words',
  description: 'words',
  ...(Object.fromEntries([...FOLDED_KEYS, ...IDENTIFIERS].map((key) => [key, 'keyword'])) as Readonly<
    Record<(typeof FOLDED_KEYS)[number] | (typeof IDENTIFIERS)[number], 'keyword'>
  >),
} as const satisfies Readonly<Record<string, FieldType>>;

export type ProductField = keyof typeof FIELDS;

/** The offers of all feeds, to be searched (Document 1, Search products). */
export const products: Projection<StoredOffer, OfferEvent> = {
  collection: {
    name: 'products',
    version: 3,
    fields: FIELDS,
    partition: 'feedId',
    sorts: ['price', 'modified'],
  },
  streams: FEED_STREAMS,
  handles: OFFER_EVENTS,
  replaces: ['ProductListed', 'ProductRevised', 'ProductDelisted'],
  idOf: offerOf,
  fold(offer, event) {
    const { data } = event;
    const modified = Date.parse(data.at);
    switch (event.type) {
      case 'ProductListed':
      case 'ProductRevised': {
        const { sourceProductId, price, product } = event.data;
        return { feedId: feedIdOf(event), sourceProductId, price, modified, mapped: [], product };
      }
      case 'ProductRepriced':
        return offer && { ...offer, price: event.data.price, modified };
      case 'ProductDelisted':
        return undefined;
    }
  },
  describe(offer, id, directory) {
    const mapped = offer.product.categories.map(
      (category) => mappedCategory(category, offer.feedId, directory) ?? null,
    );
    const document = { ...offer, mapped };
    return { document, fields: fieldsOf(document, id) };
  },
  fanOut: {
    // A category that was changed often is asked for once.
    affectedBy: (changes) => ({
      any: [...new Map(changes.map(conditionOf)).values()],
    }),
    streamOf: ({ feedId }) => `${FEED_STREAMS[0]}${feedId}`,
  },
};

/** What products bear that a change concerns, and what this condition is known by among others. */
function conditionOf(change: CategoryChange): readonly [key: string, condition: Filter] {
  const key = changeKey(change);
  const hangsOnIt = { field: 'mapping', in: [key] };
  return change.posted === 'name'
    ? [`${change.feedId} ${key}`, { all: [{ field: 'feedId', in: [change.feedId] }, hangsOnIt] }]
    : [key, hangsOnIt];
}

/** An offer as a query finds it. */
export function toOffer({ id, version, body }: Found): Offer {
  return { id, position: version, ...(JSON.parse(body) as StoredOffer) };
}

/** Short, since every product bears it, and long enough for no two of a feed ever to be the same. */
function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url').slice(0, 16);
}

function fieldsOf(
  { feedId, sourceProductId, price, modified, mapped, product }: StoredOffer,
  id: string,
): Record<string, FieldValue> {
  const { identifiers, inStock, categories } = product;
  const tdCategoryId = [...new Set(mapped.filter((category) => category !== null))];
  const fields: Partial<Record<ProductField, FieldValue>> = {
    feedId,
    price,
    modified,
    visible: tdCategoryId.length > 0 ? 1 : 0,
    groupId: groupingIdOf(identifiers, id),
    categorySet: digest([categories, mapped]),
    spId: sourceProductId,
    tdCategoryId,
    mapping: mappingKeys(categories),
    category: categories.flatMap(({ name }) => (name === undefined ? [] : foldCase(name))),
    title: wordsOf(product.name),
    description: wordsOf(product.description),
  };
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
