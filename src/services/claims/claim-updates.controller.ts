import { Body, Controller, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type FastifyReply } from 'fastify';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { postedList, UPDATE_FORMATS } from './claim-body';
import { RefuseClaims, ReviseClaims, RuleOnClaims } from './commands';
import { RefusedItems } from '../../domain/claims/faults';
import { ignoredIn } from './list-check';
import { claimOperations as operations } from './operations';
import { checkRevisions } from './posted-claims';
import { postedRevision, postedRuling } from './posted-fields';
import { checkRulings } from './posted-rulings';

/** Updates of claims, by role (Document 3, Endpoints: Current paths). */
@Controller('/1.0/claimUpdates')
export class ClaimUpdatesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly follower: FollowedDirectory,
  ) {}

  @Post()
  @ApiOperation(operations.updateClaims)
  @Roles(['advertiser', 'publisher'])
  async update(
    @CurrentCaller() caller: Caller,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const posted = await postedList('claimUpdates', body, UPDATE_FORMATS);
    const isRuling = caller.kind === 'advertiser';
    reply.headers(ignoredIn(posted, isRuling ? postedRuling : postedRevision));
    const { directory } = this.follower;
    try {
      const command = isRuling
        ? new RuleOnClaims(checkRulings(posted), caller)
        : new ReviseClaims(checkRevisions(posted, { directory, caller }), caller);
      const { position } = await this.commands.execute(command);
      return new Answer('none', { position });
    } catch (error) {
      if (isRuling || !(error instanceof RefusedItems)) throw error;
      return await this.commands.execute(new RefuseClaims('claimUpdates', error, caller));
    }
  }
}
