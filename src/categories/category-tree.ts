import { z } from 'zod';
import { type Directory } from '../directory/directory';
import { type CategoryDefinition } from '../directory/events';
import { type XmlElement } from '../wire/xml-write';
import { type FeedCounts } from './category-counts';

export const categoryNode = z.object({
  /** Language of the name: English if there is no name in the requested language. */
  language: z.string(),
  name: z.string(),
  id: z.string(),
  productCount: z.int(),
  get children() {
    return z.array(categoryNode);
  },
});
type CategoryNode = z.infer<typeof categoryNode>;

/** Document 1, Category tree node (`docs/decisions.md#p20`). */
export const categoryTrees = z.object({ categoryTrees: z.array(categoryNode) });
export type CategoryTrees = z.infer<typeof categoryTrees>;

const ENGLISH = 'en';

/** The whole tree with names in a language and product counts of these feeds; siblings ordered by id. */
export function categoryTreesOf(
  directory: Directory,
  feeds: readonly FeedCounts[],
  language = ENGLISH,
): CategoryTrees {
  const toNode = ({ id, names }: CategoryDefinition): CategoryNode => {
    const used = names[language] === undefined ? ENGLISH : language;
    return {
      language: used,
      name: names[used] ?? '',
      id,
      productCount: feeds.reduce((sum, { within }) => sum + (within.get(id) ?? 0), 0),
      children: directory.childrenOf(id).map(toNode),
    };
  };
  return { categoryTrees: directory.childrenOf(null).map(toNode) };
}

/** The XML form (`docs/decisions.md#p20`). */
export function toXmlTrees({ categoryTrees: roots }: CategoryTrees): XmlElement {
  const toElement = ({ children, ...attributes }: CategoryNode): XmlElement => ({
    $: attributes,
    category: children.map(toElement),
  });
  return { categoryTrees: { category: roots.map(toElement) } };
}
