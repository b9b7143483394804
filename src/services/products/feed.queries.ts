import { Injectable } from '@nestjs/common';
import { lastImports } from '../../../projections/imports';
import { type FeedDefinition } from '../../network/events';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { type CategoryMapping, mappingsOf } from '../../network/categories/category-mappings';
import { type CategoryTrees, categoryTreesOf } from '../../network/categories/category-tree';
import { WaitForReadModels } from '../../http/wait-for-read-models';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { CountedFeeds } from './feed-counts.queries';
import { type FeedList, toListedFeed } from './feed-list';
import { type ReportedImport } from '../../domain/products/feed-imports';

/** Queries of whole feeds: counts of their products, joined with the directory. */
@Injectable()
export class FeedQueries {
  constructor(
    private readonly counted: CountedFeeds,
    private readonly follower: FollowedDirectory,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly readModels: WaitForReadModels,
  ) {}

  /** Document 1, Category tree: with the products of the caller's feeds. */
  async categoryTrees(caller: Caller, language?: string): Promise<CategoryTrees> {
    const { directory } = this.follower;
    const feeds = await this.counted.of(directory.feedsOf(caller).map(({ id }) => id));
    return categoryTreesOf(
      directory,
      feeds.map(({ counts }) => counts),
      language,
    );
  }

  /** Document 1, Category mapping status; without `state`, both. */
  async mappings(
    feedIds: readonly number[],
    state?: CategoryMapping['state'],
  ): Promise<Iterable<CategoryMapping>> {
    const { directory } = this.follower;
    const feeds = await this.counted.of(feedIds);
    return (function* () {
      for (const { feedId, counts } of feeds)
        for (const mapping of mappingsOf(directory, feedId, counts))
          if (state === undefined || mapping.state === state) yield mapping;
    })();
  }

  /** Document 1, Feed list. */
  async list(feeds: readonly FeedDefinition[]): Promise<FeedList> {
    const { directory } = this.follower;
    const counted = await this.counted.of(feeds.map(({ id }) => id));
    return {
      feeds: feeds.flatMap((feed, at) => {
        const one = counted[at];
        return one === undefined ? [] : [toListedFeed(feed, one, directory)];
      }),
    };
  }

  /** The last posts to a feed. They are not held up for the sake of their report: it waits for them (`docs/decisions.md#x35`). */
  async imports(feedId: number, query: QueryOptions = {}): Promise<AsyncIterable<Iterable<ReportedImport>>> {
    await this.readModels.afterWrite({ position: await this.log.head(), changes: 1 });
    return await lastImports(this.store, feedId, query);
  }
}
