import { categorySets, productsPosition } from '../../projections/category-sets';
import { type FollowedDirectory } from '../directory/follower';
import { type ReadStore } from '../kernel/read-store';
import { CountedFeeds } from './feed-counts';
import { type FeedVersions } from './feed-version';

/** Counts the products of feeds in a read store. */
export function countedFeeds(
  store: ReadStore,
  versions: FeedVersions,
  follower: Pick<FollowedDirectory, 'directory'>,
): CountedFeeds {
  const products = {
    position: () => productsPosition(store),
    sets: (feedId: number) => categorySets(store, feedId),
  };
  return new CountedFeeds(products, versions, follower);
}
