import { z } from 'zod';
import { type Directory } from '../directory/directory';
import { type XmlElement } from '../wire/xml-write';
import { type FeedCounts } from './category-counts';

const mapping = z.object({
  feedId: z.int(),
  /** The advertiser's name (`docs/decisions.md#x28`). */
  categoryName: z.string(),
  productCount: z.int(),
  state: z.enum(['mapped', 'unmapped']),
  /** If mapped: the platform category, and its name in English. */
  tdCategoryId: z.string().optional(),
  tdCategoryName: z.string().optional(),
});
export type CategoryMapping = z.infer<typeof mapping>;

/** Document 1, Category mapping status (`docs/decisions.md#p21`). */
export const categoryMappings = z.object({ categoryMappings: z.array(mapping) });

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

/** The fields of a mapping that describe its target. */
export function mappedTo(
  directory: Directory,
  tdCategoryId: string,
): Pick<CategoryMapping, 'state' | 'tdCategoryId' | 'tdCategoryName'> {
  const name = directory.category(tdCategoryId)?.names['en'];
  return { state: 'mapped', tdCategoryId, ...(name === undefined ? {} : { tdCategoryName: name }) };
}

/** The XML form. */
export function toXmlMappings(mappings: readonly CategoryMapping[]): XmlElement {
  return { categoryMappings: { categoryMapping: mappings.map((attributes) => ({ $: attributes })) } };
}
