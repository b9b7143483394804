import { type Directory } from '../directory/directory';
import { type CategoryMapping, mappedTo, mappingsOf } from './category-mappings';
import { type FeedCounts } from './category-counts';

/** What the categories of feeds are mapped to; also names that are mapped and that no product has. */
export function listMappings(
  directory: Directory,
  feeds: readonly { readonly feedId: number; readonly counts: FeedCounts }[],
  state?: CategoryMapping['state'],
): readonly CategoryMapping[] {
  return feeds
    .flatMap(({ feedId, counts }) => {
      const borne = mappingsOf(directory, feedId, counts);
      const names = new Set(borne.map(({ categoryName }) => categoryName));
      const others = [...directory.categories.mappingsOf(feedId)]
        .filter(([name]) => !names.has(name))
        .map(([categoryName, id]) => ({ feedId, categoryName, productCount: 0, ...mappedTo(directory, id) }));
      return [...borne, ...others];
    })
    .filter((mapping) => state === undefined || mapping.state === state);
}
