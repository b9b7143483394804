import { z } from 'zod';
import { type Directory } from '../directory/directory';
import { type CategoryDefinition } from '../directory/events';
import { type XmlElement } from '../wire/xml-write';
import { type FeedCounts } from './category-counts';

export const categoryNode = z.object({
  /** Of the name: English where there is none in the language asked for. */
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

/** The whole tree, named in a language, with the products of these feeds; siblings in the order of their ids. */
export function categoryTreesOf(
  directory: Directory,
  feeds: readonly FeedCounts[],
  language = ENGLISH,
): CategoryTrees {
  const toNode = ({ id, names }: CategoryDefinition): CategoryNode => {
    const shown = names[language] === undefined ? ENGLISH : language;
    return {
      language: shown,
      name: names[shown] ?? '',
      id,
      productCount: feeds.reduce((sum, { within }) => sum + (within.get(id) ?? 0), 0),
      children: directory.childrenOf(id).map(toNode),
    };
  };
  return { categoryTrees: directory.childrenOf(null).map(toNode) };
}

/** The same as XML has it (`docs/decisions.md#p20`). */
export function toXmlTrees({ categoryTrees: roots }: CategoryTrees): XmlElement {
  const toElement = ({ children, ...attributes }: CategoryNode): XmlElement => ({
    $: attributes,
    category: children.map(toElement),
  });
  return { categoryTrees: { category: roots.map(toElement) } };
}
