import { Body, Controller, Delete, Get, Post } from '@nestjs/common';
import { Answer, ListAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { FeedSources, type SourceVerb } from '../../services/products/sources';
import {
  postedSourceIn,
  SOURCE_BODY,
  SOURCE_TEXTS,
  SOURCES,
} from '../../services/products/sources.controller';
import { operationsById } from '../../wire/api/description';
import { INTEGER, type Keys, type KeyTable } from '../../wire/keys/keys';
import { type ActionName } from '../actions';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON, REQUIRED_REASON } from './operator-service';

const FEED = { fid: 1001 } as const;

const listKeys = {
  fid: { type: INTEGER, multiple: true, description: 'Only of these feeds' },
} as const satisfies KeyTable;

const feedKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed' },
  ...REASON,
} as const satisfies KeyTable;
type FeedKeys = Keys<typeof feedKeys>;

const acceptKeys = { ...feedKeys, ...REQUIRED_REASON } as const satisfies KeyTable;

/** Sources of any feed (`docs/decisions.md#p40`). */
export const anySourceOperations = operationsById({
  listAnySources: {
    summary: 'List the sources of all feeds',
    description: SOURCE_TEXTS.list,
    example: { fid: [1001] },
    answer: SOURCES,
  },
  setAnySource: {
    summary: 'Set the source of any feed',
    description: SOURCE_TEXTS.set,
    body: SOURCE_BODY,
  },
  removeAnySource: {
    summary: 'Remove the source of any feed',
    description: SOURCE_TEXTS.remove,
    example: FEED,
  },
  fetchAnySource: {
    summary: 'Fetch the source of any feed now',
    description: SOURCE_TEXTS.fetch,
    example: FEED,
  },
  acceptAnySource: {
    summary: 'Accept that a file removes more than half of any feed',
    description: SOURCE_TEXTS.accept,
    example: { ...FEED, reason: 'half of the range was sold' },
  },
});

const faults = { notThere: fault.notFound, notHeld: fault.conflict };

/** The same functions as `affilog feeds source`. */
@Controller('/ops/1.0/sources')
@Roles(['operator'])
@Produces(['json'])
export class AnySourcesController {
  constructor(
    private readonly actions: OperatorActions,
    private readonly sources: FeedSources,
    private readonly follower: FollowedDirectory,
  ) {}

  @Get()
  @ApiOperation(anySourceOperations.listAnySources)
  list(@MatrixKeys(listKeys) { fid }: Keys<typeof listKeys>): ListAnswer {
    const { programs } = this.follower.directory;
    const feeds =
      fid.length === 0 ? [...programs.allFeeds()].map(({ id }) => id) : fid.map((id) => this.feed(id));
    return ListAnswer.of(anySourceOperations.listAnySources, async () => ({
      items: [await this.sources.list(new Set(feeds))],
    }));
  }

  @Post()
  @ApiOperation(anySourceOperations.setAnySource)
  async set(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(REASON) { reason }: Keys<typeof REASON>,
    @Body() body: PostedBody,
  ): Promise<Answer> {
    const posted = await postedSourceIn(body, fault.unusable);
    const setting = this.sources.settingIn(posted, { unusable: fault.unusable });
    const feed = this.feed(setting.feedId);
    const set = this.actions.of(caller, 'feeds source set', { feed, reason }, ({ log }) =>
      this.sources.set(setting, log),
    );
    return Answer.none(await set);
  }

  @Delete()
  @ApiOperation(anySourceOperations.removeAnySource)
  async remove(@CurrentCaller() caller: Caller, @MatrixKeys(feedKeys) keys: FeedKeys): Promise<Answer> {
    return Answer.none(await this.ask(caller, keys, 'feeds source remove', 'remove'));
  }

  @Post('fetch')
  @ApiOperation(anySourceOperations.fetchAnySource)
  async fetch(@CurrentCaller() caller: Caller, @MatrixKeys(feedKeys) keys: FeedKeys): Promise<Answer> {
    return Answer.none(await this.ask(caller, keys, 'feeds source fetch', 'request'));
  }

  @Post('accept')
  @ApiOperation(anySourceOperations.acceptAnySource)
  async accept(@CurrentCaller() caller: Caller, @MatrixKeys(acceptKeys) keys: FeedKeys): Promise<Answer> {
    return Answer.none(await this.ask(caller, keys, 'feeds source accept', 'accept'));
  }

  private async ask(
    caller: Caller,
    { fid, reason }: FeedKeys,
    action: ActionName,
    verb: SourceVerb,
  ): ReturnType<FeedSources['ask']> {
    const feed = this.feed(fid);
    return await this.actions.of(caller, action, { feed, reason }, ({ log }) =>
      this.sources.ask(feed, verb, faults, log),
    );
  }

  private feed(id: number): number {
    if (this.follower.directory.feed(id) !== undefined) return id;
    throw fault.notFound(`fid=${id}: expected the id of a feed`);
  }
}
