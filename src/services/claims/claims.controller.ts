import { Body, Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type FastifyReply } from 'fastify';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { PostedBody } from '../../http/posted-body';
import { INTEGER } from '../../wire/keys/types';
import { type Keys, type KeyTable } from '../../wire/keys/keys';
import { listPieces } from '../../wire/record/list-text';
import { documentWriter } from '../../wire/record/document';
import { listWriter } from '../../wire/record/list';
import { type OutputCheck } from './answered-fields';
import { type Screening } from '../../domain/claims/claim';
import { CLAIM_FORMATS, postedList } from './claim-body';
import { pageHeaders } from '../../wire/keys/pages';
import { ClaimQueries } from './claim.queries';
import { CheckClaims, CreateClaims, DeleteClaim, RefuseClaims } from './commands';
import { claimFaults as fault, RefusedItems } from '../../domain/claims/faults';
import { listKeys } from './list-keys';
import { ignoredIn } from './list-check';
import { CHECKS, claimOperations as operations, CLAIMS, VERSIONS } from './operations';
import { type CheckedClaim, checkClaims } from './posted-claims';
import { postedClaim } from './posted-fields';
import { STATUSES } from '../../domain/claims/statuses';

const deletionKeys = {
  versionNo: { type: INTEGER, required: true, description: 'The latest version of the claim' },
} as const satisfies KeyTable;

const claimsText = listWriter(CLAIMS);
const checksToXml = documentWriter(CHECKS);
const versionsText = listWriter(VERSIONS);

/** Claims on the current path (Document 3, Endpoints; beyond it `docs/decisions.md#c13`). */
@Controller('/1.0/claims')
export class ClaimsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: ClaimQueries,
    private readonly follower: FollowedDirectory,
  ) {}

  @Post()
  @ApiOperation(operations.createClaims)
  @Roles(['publisher'])
  async create(
    @CurrentCaller() caller: Caller,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const claims = await this.claimsIn(body, caller, reply);
    const { position } = await this.commands.execute(new CreateClaims(claims, caller));
    return new Answer('none', { position });
  }

  @Post('check')
  @ApiOperation(operations.checkClaims)
  @Roles(['publisher'])
  async check(
    @CurrentCaller() caller: Caller,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const claims = await this.claimsIn(body, caller, reply);
    const screenings = await this.commands.execute(new CheckClaims(claims, caller));
    return Answer.of(screenings.map(toCheck), checksToXml);
  }

  @Get()
  @ApiOperation(operations.listClaims)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv'])
  list(@CurrentCaller() caller: Caller, @MatrixKeys(listKeys) keys: Keys<typeof listKeys>): ListAnswer {
    return new ListAnswer(
      async ({ view, query }) => {
        const { claims, total } = await this.queries.list(keys, caller, query);
        const headers = pageHeaders({ total, requested: keys.limit });
        return { pieces: listPieces(claimsText(view), claims), headers };
      },
      { format: keys.format },
    );
  }

  @Delete(':id')
  @ApiOperation(operations.deleteClaim)
  @Roles(['publisher'])
  async delete(
    @CurrentCaller() caller: Caller,
    @Param('id') sent: string,
    @MatrixKeys(deletionKeys) { versionNo }: Keys<typeof deletionKeys>,
  ): Promise<Answer> {
    const command = new DeleteClaim(claimIdIn(sent), versionNo, caller);
    const { position } = await this.commands.execute(command);
    return new Answer('none', { position });
  }

  @Get(':id/versions')
  @ApiOperation(operations.listClaimVersions)
  @Roles(['advertiser', 'publisher'])
  versions(@CurrentCaller() caller: Caller, @Param('id') sent: string): ListAnswer {
    return new ListAnswer(async ({ view, query }) => ({
      pieces: listPieces(versionsText(view), await this.queries.versions(claimIdIn(sent), caller, query)),
    }));
  }

  /** Names unknown fields in a header, whatever else is wrong with the body. */
  private async claimsIn(
    body: PostedBody,
    caller: Caller,
    reply: FastifyReply,
  ): Promise<readonly CheckedClaim[]> {
    const posted = await postedList('claims', body, CLAIM_FORMATS);
    reply.headers(ignoredIn(posted, postedClaim));
    try {
      return checkClaims(posted, { directory: this.follower.directory, caller });
    } catch (error) {
      if (error instanceof RefusedItems)
        return await this.commands.execute(new RefuseClaims('claims', error, caller));
      throw error;
    }
  }
}

/** Raises UTS_260 for what is no id. */
function claimIdIn(sent: string): number {
  if (/^\d{1,15}$/.test(sent)) return Number(sent);
  throw fault.notNumeric(`claimId=${sent.slice(0, 100)}: expected the id of a claim, an integer`);
}

function toCheck({ statusId, message }: Screening): OutputCheck {
  const { name, state } = STATUSES[statusId];
  const statusMessage = message === undefined ? {} : { statusMessage: message };
  return { statusId, statusName: name, statusState: state, ...statusMessage };
}
