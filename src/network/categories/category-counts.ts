import { type Shape } from '../../wire/api/description';
import { integer, text, wordOf } from '../../wire/record/kinds';
import {
  type AnswerOf,
  type Fields,
  type List,
  listOf,
  record,
  type RecordKind,
} from '../../wire/record/record';
import { type Directory } from '../directory';
import { type CategoryDefinition } from '../events';
import { type PostedCategory } from './mapped-category';
import { jsonList, type ListText, type ListView, listWriter } from '../../wire/record/list';

/** A combination of posted categories, what each is mapped to (or null), and the number of products that have it. */
export interface CategorySet {
  readonly categories: readonly PostedCategory[];
  readonly mapped: readonly (string | null)[];
  readonly products: number;
}

/** A posted category and the number of products that have it. */
interface PostedCount {
  /** The advertiser's name; if there is none, the platform name or id it was posted with (`docs/decisions.md#x28`). */
  readonly name: string;
  /** The platform category that it is mapped to. */
  readonly tdCategoryId?: string;
  readonly products: number;
}

export interface FeedCounts {
  readonly products: number;
  /** By name; a name mapped to several categories has one entry for each. */
  readonly posted: readonly PostedCount[];
  /** Mapped products in each platform category including its descendants, counted once (`docs/decisions.md#p20`). */
  readonly within: ReadonlyMap<string, number>;
}

export class CategoryTally {
  private products = 0;
  private readonly posted = new Map<
    string,
    { name: string; tdCategoryId: string | null; products: number }
  >();
  private readonly within = new Map<string, number>();

  constructor(private readonly directory: Directory) {}

  add({ categories, mapped, products }: CategorySet): void {
    this.products += products;
    const rows = new Set(categories.map((category, at) => this.rowOf(category, mapped[at] ?? null)));
    for (const row of rows) row.products += products;
    for (const id of this.withAncestors(mapped)) this.within.set(id, (this.within.get(id) ?? 0) + products);
  }

  counts(): FeedCounts {
    const posted = [...this.posted.values()]
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      .map(({ tdCategoryId, ...row }) => ({ ...row, ...(tdCategoryId === null ? {} : { tdCategoryId }) }));
    return { products: this.products, posted, within: this.within };
  }

  private rowOf({ id, name, tdCategoryName }: PostedCategory, tdCategoryId: string | null) {
    const label = name ?? tdCategoryName ?? id ?? '';
    const key = `${tdCategoryId ?? ''}/${label}`;
    const row = this.posted.get(key) ?? { name: label, tdCategoryId, products: 0 };
    this.posted.set(key, row);
    return row;
  }

  private withAncestors(mapped: CategorySet['mapped']): ReadonlySet<string> {
    const found = new Set<string>();
    for (let id of mapped) {
      while (id !== null && !found.has(id)) {
        const category = this.directory.category(id);
        if (category === undefined) break;
        found.add(id);
        id = category.parentId;
      }
    }
    return found;
  }
}

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
