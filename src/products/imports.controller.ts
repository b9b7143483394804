import { Controller, Get } from '@nestjs/common';
import { lastImports } from '../../projections/imports';
import { FollowedDirectory } from '../directory/follower';
import { type Caller } from '../directory/organisations';
import { Answer } from '../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Roles } from '../http/decorators';
import { WaitForReadModels } from '../http/wait-for-read-models';
import { EventLog } from '../kernel/event-log';
import { ReadStore } from '../kernel/read-store';
import { type Keys } from '../wire/keys';
import { importKeys } from './feed-keys';
import { toXmlImports } from './import-report';
import { productOperations as operations } from './operations';
import { ownFeed } from './queries';

/** What has become of the last posts to a feed (`docs/decisions.md#p30`). */
@Controller('/1.0/products/imports')
export class ImportsController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly readModels: WaitForReadModels,
    private readonly follower: FollowedDirectory,
  ) {}

  @Get()
  @ApiOperation(operations.listImports)
  @Roles(['advertiser'])
  async report(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(importKeys) { fid }: Keys<typeof importKeys>,
  ): Promise<Answer> {
    // Posts are not held up for the sake of their report: it waits for them (`docs/decisions.md#x35`).
    await this.readModels.afterWrite({ position: await this.log.head(), changes: 1 });
    const imports = await lastImports(this.store, ownFeed(this.follower.directory, caller, fid).id);
    return Answer.of({ imports }, toXmlImports);
  }
}
