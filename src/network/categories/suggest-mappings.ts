import { type Directory } from '../directory';
import { CategorySuggester, type Suggestion } from './suggest';
import { mapInSlices } from '../../runtime/slices';
import { type CategoryMapping } from './category-mappings';

/** Suggested categories for a name, best first. */
export interface SuggestedMapping extends Pick<CategoryMapping, 'categoryName'> {
  readonly feedId?: number;
  readonly productCount?: number;
  readonly suggestions: readonly Suggestion[];
}

/** Maximum names per answer; those with the most products are used. */
const MAX_NAMES = 1000;

const suggesters = new WeakMap<
  Directory,
  { readonly treeChanged: string; readonly suggester: Promise<CategorySuggester> }
>();

/** Suggests up to `most` categories for each unmapped name. */
export async function suggestMappings(
  directory: Directory,
  names: Iterable<Pick<CategoryMapping, 'categoryName'> & Partial<CategoryMapping>>,
  most: number,
): Promise<readonly SuggestedMapping[]> {
  const suggester = await suggesterOf(directory);
  const selected = [...names]
    .filter(({ state }) => state !== 'mapped')
    .toSorted((a, b) => (b.productCount ?? 0) - (a.productCount ?? 0))
    .slice(0, MAX_NAMES);
  return await mapInSlices(selected, ({ feedId, categoryName, productCount }) => ({
    ...(feedId === undefined ? {} : { feedId }),
    categoryName,
    ...(productCount === undefined ? {} : { productCount }),
    suggestions: suggester.suggest(categoryName, most),
  }));
}

/** Cached until the tree changes. */
async function suggesterOf(directory: Directory): Promise<CategorySuggester> {
  const { treeChanged } = directory;
  const cached = suggesters.get(directory);
  if (cached?.treeChanged === treeChanged) return await cached.suggester;
  const created = CategorySuggester.of(directory.categories.all());
  suggesters.set(directory, { treeChanged, suggester: created });
  return await created;
}
