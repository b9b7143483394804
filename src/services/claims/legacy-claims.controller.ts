import { Body, Controller, Get, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type FastifyReply } from 'fastify';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { PostedBody } from '../../http/posted-body';
import { type Keys } from '../../wire/keys/keys';
import { listPieces } from '../../wire/record/list-text';
import { listWriter } from '../../wire/record/list';
import { type OutputClaim, type OutputLegacyClaim } from './answered-fields';
import { postedList, UPDATE_FORMATS } from './claim-body';
import { pageHeaders } from '../../wire/keys/pages';
import { ClaimQueries } from './claim.queries';
import { RuleOnClaims } from './commands';
import { ignoredIn } from './list-check';
import { fromLegacy, legacyListKeys } from './list-keys';
import { claimOperations as operations, LEGACY_CLAIMS } from './operations';
import { toLegacyOutput } from './output';
import { postedLegacyRuling } from './posted-fields';
import { checkLegacyRulings } from './posted-rulings';

const claimsText = listWriter(LEGACY_CLAIMS);

/** Document 3, Endpoints: Legacy advertiser paths. */
@Controller('/1.0/uts')
export class LegacyClaimsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: ClaimQueries,
  ) {}

  @Get('claims')
  @ApiOperation(operations.listLegacyClaims)
  @Roles(['advertiser'])
  list(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(legacyListKeys) keys: Keys<typeof legacyListKeys>,
  ): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      const { claims, total } = await this.queries.list(fromLegacy(keys), caller, query);
      const headers = pageHeaders({ total, requested: keys.limit });
      return { pieces: listPieces(claimsText(view), legacy(claims)), headers };
    });
  }

  /** Success is an empty error list (Document 3, Errors). */
  @Post('claimUpdates')
  @ApiOperation(operations.updateLegacyClaims)
  @Roles(['advertiser'])
  async update(
    @CurrentCaller() caller: Caller,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const posted = await postedList('claimUpdates', body, UPDATE_FORMATS);
    reply.headers(ignoredIn(posted, postedLegacyRuling));
    const { position } = await this.commands.execute(new RuleOnClaims(checkLegacyRulings(posted), caller));
    return Answer.errors([], { position });
  }
}

async function* legacy(
  claims: AsyncIterable<Iterable<OutputClaim>>,
): AsyncGenerator<Iterable<OutputLegacyClaim>> {
  for await (const some of claims) yield [...some].map(toLegacyOutput);
}
