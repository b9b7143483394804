import { Controller, Get, Param } from '@nestjs/common';
import { type FeedDefinition } from '../../network/events';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Roles } from '../../http/decorators';
import { INTEGER, type Keys } from '../../wire/keys/keys';
import { mappingsText } from '../../network/categories/category-mappings';
import { CATEGORY_TREES } from '../../network/categories/category-tree';
import { FeedQueries, toXmlFeeds } from './feed.queries';
import { productFaults as fault } from '../../domain/products/faults';
import { categoryKeys, feedKey, feedKeys, mappingKeys } from './keys';
import { importsText } from '../../domain/products/feed-imports';
import { productOperations as operations } from './operations';
import { ownFeed, ProductSettings } from './product.queries';

/** Document 1: category tree, category mapping status, feed list; beyond it the load report. */
@Controller('/1.0')
export class FeedsController {
  constructor(
    private readonly queries: FeedQueries,
    private readonly follower: FollowedDirectory,
    private readonly settings: ProductSettings,
  ) {}

  @Get('productCategories')
  @ApiOperation(operations.getCategoryTree)
  @Roles(['advertiser', 'publisher'])
  categories(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(categoryKeys) { language }: Keys<typeof categoryKeys>,
  ): QueuedAnswer {
    return new QueuedAnswer(async () =>
      Answer.of(CATEGORY_TREES, await this.queries.categoryTrees(caller, language)),
    );
  }

  @Get('categoryMappings')
  @ApiOperation(operations.listCategoryMappings)
  @Roles(['advertiser'])
  mappings(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(mappingKeys) { fid, state, format }: Keys<typeof mappingKeys>,
  ): ListAnswer {
    const feedIds = [...new Set(fid)].map((id) => ownFeed(this.follower.directory, caller, id).id);
    const find = async () => ({ items: [await this.queries.mappings(feedIds, state)] });
    return ListAnswer.written(mappingsText, find, { format });
  }

  @Get('productFeeds')
  @ApiOperation(operations.listFeeds)
  @Roles(['publisher'])
  feeds(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(feedKeys) { programId }: Keys<typeof feedKeys>,
  ): QueuedAnswer {
    return this.list(this.follower.directory.feedsOf(caller), programId);
  }

  @Get('productFeeds/:feedId')
  @ApiOperation(operations.getFeed)
  @Roles(['publisher'])
  feed(
    @CurrentCaller() caller: Caller,
    @Param('feedId') feedId: string,
    @MatrixKeys(feedKeys) { programId }: Keys<typeof feedKeys>,
  ): QueuedAnswer {
    const id = INTEGER.read(feedId);
    if (id === undefined)
      throw fault.notNumeric(`/productFeeds/${feedId}: expected ${INTEGER.expected}, the id of a feed`);
    return this.list([ownFeed(this.follower.directory, caller, id)], programId);
  }

  /** Results of the last posts to a feed (`docs/decisions.md#p30`). */
  @Get('products/imports')
  @ApiOperation(operations.listImports)
  @Roles(['advertiser'])
  imports(@CurrentCaller() caller: Caller, @MatrixKeys(feedKey) { fid }: Keys<typeof feedKey>): ListAnswer {
    const { id } = ownFeed(this.follower.directory, caller, fid);
    return ListAnswer.written(importsText, async (query) => ({
      items: await this.queries.imports(id, query),
    }));
  }

  /** Those that belong to one of these programs, if any are named. */
  private list(feeds: readonly FeedDefinition[], programIds: readonly number[]): QueuedAnswer {
    const asked = feeds.filter(
      (feed) => programIds.length === 0 || feed.programIds.some((id) => programIds.includes(id)),
    );
    const { vendor } = this.settings;
    return new QueuedAnswer(async () => {
      const list = await this.queries.list(asked);
      return new Answer({ json: () => list, xml: () => toXmlFeeds(list, vendor) });
    });
  }
}
