import { type Directory } from '../directory';
import { type CategoryDefinition } from '../events';
import { type Shape } from '../../wire/api/description';
import {
  type AnswerOf,
  type Fields,
  type List,
  listOf,
  record,
  type RecordKind,
} from '../../wire/record/record';
import { integer, text } from '../../wire/record/kinds';
import { type FeedCounts } from './category-counts';

type NodeFields = typeof NAMED & {
  readonly children: { readonly kind: List<RecordKind<NodeFields>>; readonly description: string };
};

const attribute = { in: 'attribute' } as const;

const NAMED = {
  language: {
    kind: text(),
    ...attribute,
    description: 'Of the name: English where there is none in the language asked for',
  },
  name: { kind: text(), ...attribute, description: 'Name' },
  id: { kind: text(), ...attribute, description: 'Id' },
  productCount: { kind: integer(), ...attribute, description: 'Products in it, and in those below it' },
} as const satisfies Fields;

const node: RecordKind<NodeFields> = record(
  {
    ...NAMED,
    children: {
      kind: listOf(() => node, { each: 'category' }),
      in: 'content',
      description: 'The categories directly below it',
    },
  },
  { name: 'CategoryNode' },
);
type CategoryNode = AnswerOf<typeof node>;

/** Document 1, Category tree node (`docs/decisions.md#p20`). */
export const CATEGORY_TREES = {
  name: 'CategoryTrees',
  kind: record({
    categoryTrees: {
      kind: listOf(node, { each: 'category' }),
      description: 'The categories that have none above them',
    },
  }),
  xml: { file: 'CategoryTree_v1_0.xsd' },
} as const satisfies Shape;
export type CategoryTrees = AnswerOf<typeof CATEGORY_TREES.kind>;

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
      children: directory.categories.childrenOf(id).map(toNode),
    };
  };
  return { categoryTrees: directory.categories.childrenOf(null).map(toNode) };
}
