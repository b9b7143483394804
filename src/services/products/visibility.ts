import { products, toOffer } from '../../../projections/products';
import { offerId, type Offer } from '../../domain/products/offer';
import { formatPrice } from '../../domain/products/product-fields';
import { type QueryOptions } from '../../kernel/query';
import { type ReadStore } from '../../kernel/read-store';
import { mappedCategory, type PostedCategory } from '../../network/categories/mapped-category';
import { type Suggestion, suggestMappings } from '../../network/categories/suggest-mappings';
import { type Directory } from '../../network/directory';
import { type FeedDefinition } from '../../network/events';
import {
  type Asker,
  type Condition,
  conditionOf,
  connectionCondition,
  type Viewer,
  type Visibility,
  visibilityBy,
} from '../../network/visibility';

/** Categories of a product that are named. */
const MOST = 5;

/**
 * What must hold for publishers to see a product of a feed (`docs/decisions.md#p13`, `#p22`, `#p26`): for any of them,
 * or for a viewer.
 */
export async function productVisibility(
  { store, directory }: { readonly store: ReadStore; readonly directory: Directory },
  { feed, sourceProductId }: { readonly feed: FeedDefinition; readonly sourceProductId: string },
  who: { readonly asker: Asker; readonly viewer?: Viewer | undefined },
  query: QueryOptions = {},
): Promise<Visibility> {
  const target = { collection: products.collection.name };
  const [found] = await store.get(target, [offerId(feed.id, sourceProductId)], query);
  const offer = found && toOffer(found);
  return visibilityBy([
    storedCondition(offer, feed, sourceProductId),
    ...(offer === undefined ? [] : [await mappedCondition(offer, directory, who.asker)]),
    ...(['active', 'visible'] as const).map((flag) => feedCondition(feed, flag, who.asker)),
    connectionCondition(directory, feed.programIds, { viewer: undefined, ...who }),
  ]);
}

function storedCondition(
  offer: Offer | undefined,
  { id }: FeedDefinition,
  sourceProductId: string,
): Condition {
  return conditionOf(
    'stored',
    offer !== undefined,
    offer === undefined
      ? `feed ${id} has no product with the sourceProductId ${sourceProductId}`
      : `${offer.product.name}, ${formatPrice(offer.price)} ${offer.currency ?? ''}, last changed at ` +
          new Date(offer.modified).toISOString(),
    `post it to /1.0/products;fid=${id}; /1.0/products/imports;fid=${id} has what was refused of the last posts`,
  );
}

async function mappedCondition(
  { feedId, mapped, product: { categories } }: Offer,
  directory: Directory,
  asker: Asker,
): Promise<Condition> {
  const texts = categories.slice(0, MOST).map((category, at) => {
    const stored = mapped[at] ?? undefined;
    const now = mappedCategory(category, feedId, directory);
    const follows = stored === now ? '' : ', which searches will follow shortly';
    return now === undefined
      ? `${textOf(category)} is mapped to no category${follows}`
      : `${textOf(category)} is mapped to ${now} (${directory.category(now)?.names['en'] ?? ''})${follows}`;
  });
  const more = categories.length > MOST ? `; and ${categories.length - MOST} more` : '';
  const name = categories.find((category) => category.name !== undefined)?.name;
  const [suggested] = name === undefined ? [] : await suggestMappings(directory, [{ categoryName: name }], 3);
  return conditionOf(
    'mapped',
    mapped.some((id) => id !== null),
    categories.length === 0 ? 'it has no category' : `${texts.join('; ')}${more}`,
    mappingRemedy(asker, feedId, name, suggested?.suggestions ?? []),
  );
}

function textOf({ id, name, tdCategoryName }: PostedCategory): string {
  return name === undefined ? `category ${id ?? tdCategoryName ?? ''}` : `"${name}"`;
}

function mappingRemedy(
  asker: Asker,
  feedId: number,
  name: string | undefined,
  suggestions: readonly Suggestion[],
): string {
  const similar = suggestions.map(({ categoryId, path }) => `${categoryId} (${path})`).join(', ');
  const candidates = similar === '' ? '' : `; similar ones: ${similar}`;
  if (asker === 'owner' || name === undefined)
    return `post it with the id of a category of /1.0/productCategories${candidates}`;
  const category = suggestions[0]?.categoryId ?? '<id>';
  return `affilog mappings map --feed ${feedId} --name ${quoted(name)} --category ${category}${candidates}`;
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

function feedCondition(feed: FeedDefinition, flag: 'active' | 'visible', asker: Asker): Condition {
  return conditionOf(
    `feed ${flag}`,
    feed[flag],
    `"${flag}" of feed ${feed.id} (${feed.name}) is ${String(feed[flag])}`,
    asker === 'operator'
      ? `set it to true in a network file, and import it with \`affilog network import\``
      : 'ask the network to set it to true',
  );
}
