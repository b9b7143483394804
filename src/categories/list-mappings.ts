import { type Directory } from '../directory/directory';
import { type CategoryMapping, mappedTo, mappingsOf } from './category-mappings';
import { type FeedCounts } from './category-counts';

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
