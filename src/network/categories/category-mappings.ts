import { type Directory } from '../directory';
import { type Shape } from '../../wire/api/description';
import { type AnswerOf, listOf, record } from '../../wire/record/record';
import { jsonList, type ListText, type ListView, listWriter } from '../../wire/record/list';
import { integer, text, wordOf } from '../../wire/record/kinds';
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

const MAPPINGS = listOf(mapping, { each: 'categoryMapping' });

/** Document 1, Category mapping status (`docs/decisions.md#p21`, `#x28`). */
export const CATEGORY_MAPPINGS = {
  name: 'CategoryMappings',
  kind: record({
    categoryMappings: { kind: MAPPINGS, description: 'One for each name of a category in a feed' },
  }),
  xml: { file: 'CategoryMappings_v1_0.xsd' },
} as const satisfies Shape;

/** The categories of a feed's products and what each is mapped to, by name. */
export function mappingsOf(
  directory: Directory,
  feedId: number,
  { posted }: FeedCounts,
): Iterable<CategoryMapping> {
  return {
    *[Symbol.iterator]() {
      for (const { name, tdCategoryId, products } of posted)
        yield {
          feedId,
          categoryName: name,
          productCount: products,
          ...(tdCategoryId === undefined ? { state: 'unmapped' } : mappedTo(directory, tdCategoryId)),
        };
    },
  };
}

/** The mappings of feeds, including mapped names that no product has; made when they are iterated. */
export function* listMappings(
  directory: Directory,
  feeds: readonly { readonly feedId: number; readonly counts: FeedCounts }[],
  state?: CategoryMapping['state'],
): Generator<CategoryMapping, undefined> {
  for (const feed of feeds)
    for (const mapping of allOf(directory, feed))
      if (state === undefined || mapping.state === state) yield mapping;
}

function* allOf(
  directory: Directory,
  { feedId, counts }: { readonly feedId: number; readonly counts: FeedCounts },
): Generator<CategoryMapping> {
  yield* mappingsOf(directory, feedId, counts);
  const names = new Set(counts.posted.map(({ name }) => name));
  for (const [categoryName, id] of directory.categories.mappingsOf(feedId))
    if (!names.has(categoryName)) yield { feedId, categoryName, productCount: 0, ...mappedTo(directory, id) };
}

/** The fields of a mapping that describe its target. */
function mappedTo(
  directory: Directory,
  tdCategoryId: string,
): Pick<CategoryMapping, 'state' | 'tdCategoryId' | 'tdCategoryName'> {
  const name = directory.category(tdCategoryId)?.names['en'];
  return { state: 'mapped', tdCategoryId, ...(name === undefined ? {} : { tdCategoryName: name }) };
}

const asXml = listWriter({ kind: MAPPINGS, xml: { file: '', root: 'categoryMappings' } });

/** How a list of mappings is written: in JSON it is in an object. */
export function mappingsText(view: ListView): ListText<CategoryMapping> {
  return view.format === 'xml' ? asXml(view) : jsonList(view, { before: {}, name: 'categoryMappings' });
}
