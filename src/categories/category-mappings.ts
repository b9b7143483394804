import { type Directory } from '../directory/directory';
import { type Shape } from '../wire/description';
import { type AnswerOf, listOf, record } from '../wire/record';
import { documentWriter } from '../wire/record-document';
import { integer, text, wordOf } from '../wire/record-kinds';
import { type FeedCounts } from './category-counts';

const attribute = { in: 'attribute' } as const;

const mapping = record({
  feedId: { kind: integer(), ...attribute, description: 'Id of the feed' },
  categoryName: { kind: text(), ...attribute, description: 'The advertiser’s name' },
  productCount: { kind: integer(), ...attribute, description: 'Products that have it' },
  state: { kind: wordOf('mapped', 'unmapped'), ...attribute, description: 'Whether it is mapped' },
  tdCategoryId: {
    kind: text(),
    ...attribute,
    optional: true,
    description: 'The platform category that it is mapped to',
  },
  tdCategoryName: { kind: text(), ...attribute, optional: true, description: 'Its name in English' },
});
export type CategoryMapping = AnswerOf<typeof mapping>;

/** Document 1, Category mapping status (`docs/decisions.md#p21`, `#x28`). */
export const CATEGORY_MAPPINGS = {
  name: 'CategoryMappings',
  kind: record({
    categoryMappings: {
      kind: listOf(mapping, { each: 'categoryMapping' }),
      description: 'One for each name of a category in a feed',
    },
  }),
  xml: { file: 'CategoryMappings_v1_0.xsd' },
} as const satisfies Shape;

/** The categories of a feed's products and what each is mapped to, by name. */
export function mappingsOf(
  directory: Directory,
  feedId: number,
  { posted }: FeedCounts,
): readonly CategoryMapping[] {
  return posted.map(({ name, tdCategoryId, products }) => ({
    feedId,
    categoryName: name,
    productCount: products,
    ...(tdCategoryId === undefined ? { state: 'unmapped' } : mappedTo(directory, tdCategoryId)),
  }));
}

/** The mappings of feeds, including mapped names that no product has. */
export function listMappings(
  directory: Directory,
  feeds: readonly { readonly feedId: number; readonly counts: FeedCounts }[],
  state?: CategoryMapping['state'],
): readonly CategoryMapping[] {
  return feeds
    .flatMap(({ feedId, counts }) => {
      const used = mappingsOf(directory, feedId, counts);
      const names = new Set(used.map(({ categoryName }) => categoryName));
      const unused = [...directory.categories.mappingsOf(feedId)]
        .filter(([name]) => !names.has(name))
        .map(([categoryName, id]) => ({ feedId, categoryName, productCount: 0, ...mappedTo(directory, id) }));
      return [...used, ...unused];
    })
    .filter((mapping) => state === undefined || mapping.state === state);
}

/** The fields of a mapping that describe its target. */
function mappedTo(
  directory: Directory,
  tdCategoryId: string,
): Pick<CategoryMapping, 'state' | 'tdCategoryId' | 'tdCategoryName'> {
  const name = directory.category(tdCategoryId)?.names['en'];
  return { state: 'mapped', tdCategoryId, ...(name === undefined ? {} : { tdCategoryName: name }) };
}

export const toXmlMappings = documentWriter(CATEGORY_MAPPINGS);
