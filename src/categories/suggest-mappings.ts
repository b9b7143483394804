import { type Directory } from '../directory/directory';
import { CategorySuggester, type Suggestion } from './suggest';
import { mapInSlices } from '../kernel/slices';
import { type CategoryMapping } from './category-mappings';

/** What a name may mean, the best first. */
export interface SuggestedMapping extends Pick<CategoryMapping, 'categoryName'> {
  readonly feedId?: number;
  readonly productCount?: number;
  readonly suggestions: readonly Suggestion[];
}

/** Names of one answer: those of most products. */
const MOST_NAMES = 1000;

const suggesters = new WeakMap<
  Directory,
  { readonly treeChanged: string; readonly of: Promise<CategorySuggester> }
>();

/** Categories for the unmapped names of feeds, or for any name, `most` for each. */
export async function suggestMappings(
  directory: Directory,
  names: readonly (Pick<CategoryMapping, 'categoryName'> & Partial<CategoryMapping>)[],
  most: number,
): Promise<readonly SuggestedMapping[]> {
  const suggester = await suggesterOf(directory);
  const foremost = names
    .filter(({ state }) => state !== 'mapped')
    .toSorted((a, b) => (b.productCount ?? 0) - (a.productCount ?? 0))
    .slice(0, MOST_NAMES);
  return await mapInSlices(foremost, ({ feedId, categoryName, productCount }) => ({
    ...(feedId === undefined ? {} : { feedId }),
    categoryName,
    ...(productCount === undefined ? {} : { productCount }),
    suggestions: suggester.suggest(categoryName, most),
  }));
}

/** Made again when the tree has changed. */
async function suggesterOf(directory: Directory): Promise<CategorySuggester> {
  const { treeChanged } = directory;
  const known = suggesters.get(directory);
  if (known?.treeChanged === treeChanged) return await known.of;
  const of = CategorySuggester.of(directory.categories.all());
  suggesters.set(directory, { treeChanged, of });
  return await of;
}
