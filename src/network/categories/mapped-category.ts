import { changeKey } from './categories';
import { type Directory } from '../directory';

/** `id`: platform category; `name`: the advertiser's own name; at least one of the two is present. */
export interface PostedCategory {
  readonly id?: string;
  readonly name?: string;
  readonly tdCategoryName?: string;
}

/**
 * The platform category that a posted category is mapped to, if any (`docs/decisions.md#p13`): the existing category
 * with its id; else the only one whose name in any language is its tdCategoryName; else the feed's mapping of its name.
 */
export function mappedCategory(
  { id, name, tdCategoryName }: PostedCategory,
  feedId: number,
  directory: Directory,
): string | undefined {
  if (id !== undefined && directory.category(id) !== undefined) return id;
  if (tdCategoryName !== undefined) {
    const [only, ...others] = directory.categories.named(tdCategoryName);
    if (only !== undefined && others.length === 0) return only.id;
  }
  return name === undefined ? undefined : directory.mappingOf(feedId, name);
}

/** The keys that a product's mapping depends on: the `changeKey` of each id and name it was posted with. */
export function mappingKeys(categories: readonly PostedCategory[]): readonly string[] {
  const keys = new Set<string>();
  for (const { id, name, tdCategoryName } of categories) {
    if (id !== undefined) keys.add(changeKey({ posted: 'id', value: id }));
    if (tdCategoryName !== undefined)
      keys.add(changeKey({ posted: 'tdCategoryName', value: tdCategoryName }));
    // The feed is not part of the key: the query filters by it.
    if (name !== undefined) keys.add(changeKey({ posted: 'name', value: name }));
  }
  return [...keys];
}
