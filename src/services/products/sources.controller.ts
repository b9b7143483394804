import { Body, Controller, Delete, Get, Post } from '@nestjs/common';
import { productFaults as fault } from '../../domain/products/feed';
import { Answer, ListAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { type MakeFault } from '../../kernel/fault';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { operationsById } from '../../wire/api/description';
import { isPosted, type Posted } from '../../wire/api/posted';
import { parsedOr } from '../../wire/bytes';
import { postedFromJson } from '../../wire/json/read';
import { INTEGER, type Keys, type KeyTable } from '../../wire/keys/keys';
import { listOf } from '../../wire/record/record';
import { feedKey } from './keys';
import { ownFeed } from './product.queries';
import { FeedSources, listedSource, postedSource, type SourceVerb } from './sources';

/** Most bytes of a posted source. */
const MAX_BODY = 64 * 1024;

export const SOURCE_BODY = { name: 'PostedFeedSource', kind: postedSource } as const;
export const SOURCES = { name: 'FeedSources', kind: listOf(listedSource, { each: 'source' }) } as const;

/** What operations on sources do, for advertisers and for operators. */
export const SOURCE_TEXTS = {
  list: 'With their states, and when they were fetched last.',
  set:
    'The system fetches the file now, and then regularly, and replaces the feed by it: what it does not have is removed. ' +
    'The file has what may be posted, gzip-compressed or not. One that would remove more than half of the feed is held.',
  remove: 'Its products stay. Does nothing if it has none.',
  fetch: 'Whether or not it is due, and whether or not the file has changed. Answers at once.',
  accept: 'The file is fetched again, and may remove as many products as the one that was held.',
} as const;

/** Raises a fault for what is no JSON object. */
export async function postedSourceIn(body: PostedBody, unusable: MakeFault): Promise<Posted> {
  body.format(['json']);
  const bytes = await body.bytes(MAX_BODY);
  const posted = await parsedOr(unusable, () => postedFromJson(bytes));
  if (isPosted(posted)) return posted;
  throw unusable('the body is not an object: expected feedId, url, every, and maybe format');
}

const FEED = { fid: 1001 } as const;

const sourceKeys = {
  fid: { type: INTEGER, multiple: true, description: 'Only of these feeds' },
} as const satisfies KeyTable;

/** Sources of feeds for advertisers (`docs/decisions.md#p40`). */
export const sourceOperations = operationsById({
  listSources: {
    summary: 'List the sources of the caller’s feeds',
    description: SOURCE_TEXTS.list,
    answer: SOURCES,
  },
  setSource: {
    summary: 'Set the source of a feed',
    description: SOURCE_TEXTS.set,
    body: SOURCE_BODY,
  },
  removeSource: { summary: 'Remove the source of a feed', description: SOURCE_TEXTS.remove, example: FEED },
  fetchSource: {
    summary: 'Fetch the source of a feed now',
    description: SOURCE_TEXTS.fetch,
    example: FEED,
  },
  acceptSource: {
    summary: 'Accept that a file removes more than half of a feed',
    description: SOURCE_TEXTS.accept,
    example: FEED,
  },
});

/** `notThere` and `notHeld` are faults of the key. */
const faults = { notThere: fault.illegalValue, notHeld: fault.illegalValue };

@Controller('/1.0/products/sources')
@Roles(['advertiser'])
@Produces(['json'])
export class SourcesController {
  constructor(
    private readonly sources: FeedSources,
    private readonly follower: FollowedDirectory,
  ) {}

  @Get()
  @ApiOperation(sourceOperations.listSources)
  list(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(sourceKeys) { fid }: Keys<typeof sourceKeys>,
  ): ListAnswer {
    const { directory } = this.follower;
    const feeds =
      fid.length === 0 ? directory.feedsOf(caller) : fid.map((one) => ownFeed(directory, caller, one));
    return ListAnswer.of(sourceOperations.listSources, async () => ({
      items: [await this.sources.list(new Set(feeds.map(({ id }) => id)))],
    }));
  }

  @Post()
  @ApiOperation(sourceOperations.setSource)
  async set(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const posted = await postedSourceIn(body, fault.noParsableContent);
    const setting = this.sources.settingIn(posted, {
      unusable: fault.illegalValue,
      missing: fault.valueNotSet,
      notNumeric: fault.notNumeric,
      malformedUrl: fault.malformedUrl,
    });
    ownFeed(this.follower.directory, caller, setting.feedId);
    return Answer.none(await this.sources.set(setting));
  }

  @Delete()
  @ApiOperation(sourceOperations.removeSource)
  async remove(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(feedKey) { fid }: Keys<typeof feedKey>,
  ): Promise<Answer> {
    return Answer.none(await this.ask(caller, fid, 'remove'));
  }

  @Post('fetch')
  @ApiOperation(sourceOperations.fetchSource)
  async fetch(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(feedKey) { fid }: Keys<typeof feedKey>,
  ): Promise<Answer> {
    return Answer.none(await this.ask(caller, fid, 'request'));
  }

  @Post('accept')
  @ApiOperation(sourceOperations.acceptSource)
  async accept(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(feedKey) { fid }: Keys<typeof feedKey>,
  ): Promise<Answer> {
    return Answer.none(await this.ask(caller, fid, 'accept'));
  }

  private async ask(caller: Caller, fid: number, verb: SourceVerb): ReturnType<FeedSources['ask']> {
    const { id } = ownFeed(this.follower.directory, caller, fid);
    return await this.sources.ask(id, verb, faults);
  }
}
