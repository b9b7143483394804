import { type Directory } from '../../directory/directory';
import { type CategoryMapping, mappedTo, mappingsOf } from '../../products/category-mappings';
import { type CountedFeeds } from '../../products/feed-counts';

/** What the categories of feeds are mapped to; also names that are mapped and that no product has. */
export async function listMappings(
  directory: Directory,
  counted: CountedFeeds,
  feedIds: readonly number[],
  state?: CategoryMapping['state'],
): Promise<readonly CategoryMapping[]> {
  const feeds = await counted.of(feedIds);
  return feeds
    .flatMap(({ counts }, at) => {
      const feedId = feedIds[at] ?? NaN;
      const borne = mappingsOf(directory, feedId, counts);
      const names = new Set(borne.map(({ categoryName }) => categoryName));
      const others = [...directory.categories.mappingsOf(feedId)]
        .filter(([name]) => !names.has(name))
        .map(([categoryName, id]) => ({ feedId, categoryName, productCount: 0, ...mappedTo(directory, id) }));
      return [...borne, ...others];
    })
    .filter((mapping) => state === undefined || mapping.state === state);
}
