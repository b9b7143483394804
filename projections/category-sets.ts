import { type Position } from '../src/kernel/event';
import { allOf, filtersOn, oneAnswer } from '../src/kernel/query';
import { NoGeneration, type ReadStore } from '../src/kernel/read-store';
import { type StoredOffer } from '../src/domain/products/offer';
import { type CategorySet } from '../src/network/categories/category-counts';
import { type ProductField, products } from './products';

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
