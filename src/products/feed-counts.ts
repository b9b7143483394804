import { type FollowedDirectory } from '../directory/follower';
import { type Position } from '../kernel/event';
import { type CategorySet, CategoryTally, type FeedCounts } from '../categories/category-counts';
import { type FeedVersion, type FeedVersions } from './feed-version';

/** What is read of a feed's products. */
export interface CountedProducts {
  /** The position that reads show; undefined as long as nothing can be read. */
  readonly position: () => Promise<Position | undefined>;
  readonly sets: (feedId: number) => AsyncIterable<readonly CategorySet[]>;
}

/** A feed as it can be read at present. */
export interface CountedFeed {
  readonly feedId: number;
  readonly counts: FeedCounts;
  /** Absent until the first load has ended. */
  readonly version?: FeedVersion;
}

const NOTHING: FeedCounts = { products: 0, posted: [], within: new Map() };

/** Counts the products of feeds, a feed again only when it, or the category tree, has changed since. */
export class CountedFeeds {
  private readonly known = new Map<
    number,
    { readonly state: string; readonly counts: Promise<FeedCounts> }
  >();

  constructor(
    private readonly products: CountedProducts,
    private readonly versions: FeedVersions,
    private readonly follower: Pick<FollowedDirectory, 'directory'>,
  ) {}

  async of(feedIds: readonly number[]): Promise<readonly CountedFeed[]> {
    const position = await this.products.position();
    if (position === undefined) return feedIds.map((feedId) => ({ feedId, counts: NOTHING }));
    return await Promise.all(feedIds.map((feedId) => this.at(feedId, position)));
  }

  private async at(feedId: number, position: Position): Promise<CountedFeed> {
    const shown = await this.versions.at(feedId, position);
    if (shown === undefined) return { feedId, counts: NOTHING };
    const { content, ...version } = shown;
    const { treeChanged } = this.follower.directory;
    // What the tree's last change means for products may still be on its way into the read model.
    const state = [content, treeChanged, position < treeChanged ? position : ''].join();
    const known = this.known.get(feedId);
    if (known?.state === state) return { feedId, ...version, counts: await known.counts };
    const counts = this.count(feedId);
    this.known.set(feedId, { state, counts });
    counts.catch(() => this.known.delete(feedId));
    return { feedId, ...version, counts: await counts };
  }

  private async count(feedId: number): Promise<FeedCounts> {
    const tally = new CategoryTally(this.follower.directory);
    for await (const sets of this.products.sets(feedId)) for (const set of sets) tally.add(set);
    return tally.counts();
  }
}
