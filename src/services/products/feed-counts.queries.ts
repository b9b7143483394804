import { categorySets } from '../../../projections/category-sets';
import { type FeedVersion } from '../../../projections/feeds';
import { CategoryTally, type FeedCounts } from '../../network/categories/category-counts';
import { type FollowedDirectory } from '../../network/follower';
import { type ReadStore } from '../../kernel/read-store';
import { type FeedState, type FeedStates } from './feed-states.queries';

/** The counts and the version of a feed, as of its products. */
export interface CountedFeed {
  readonly feedId: number;
  readonly counts: FeedCounts;
  /** Absent until the first load has ended. */
  readonly version?: FeedVersion;
}

const NOTHING: FeedCounts = { products: 0, posted: [], within: new Map() };

/** Counts the products of feeds. Counts are cached until the feed or the category tree changes. */
export class CountedFeeds {
  private readonly known = new Map<number, { readonly key: string; readonly counts: Promise<FeedCounts> }>();

  constructor(
    private readonly store: ReadStore,
    private readonly states: FeedStates,
    private readonly follower: Pick<FollowedDirectory, 'directory'>,
  ) {}

  async of(feedIds: readonly number[]): Promise<readonly CountedFeed[]> {
    const states = await this.states.of(feedIds);
    return await Promise.all(states.map((state) => this.countedFeed(state)));
  }

  private async countedFeed({ feedId, key, stored, version }: FeedState): Promise<CountedFeed> {
    if (stored === undefined) return { feedId, counts: NOTHING };
    const known = this.known.get(feedId);
    const counts = known?.key === key ? known.counts : this.count(feedId, key);
    return { feedId, counts: await counts, ...(version === undefined ? {} : { version }) };
  }

  private count(feedId: number, key: string): Promise<FeedCounts> {
    const counts = this.tally(feedId);
    this.known.set(feedId, { key, counts });
    counts.catch(() => this.known.delete(feedId));
    return counts;
  }

  private async tally(feedId: number): Promise<FeedCounts> {
    const tally = new CategoryTally(this.follower.directory);
    for await (const sets of categorySets(this.store, feedId)) for (const set of sets) tally.add(set);
    return tally.counts();
  }
}
