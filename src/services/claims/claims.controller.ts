import { Body, Controller, Delete, Get, Module, Param, Post } from '@nestjs/common';
import { type Screening } from '../../domain/claims/claim';
import { claimFaultTable, claimFaults as fault } from '../../domain/claims/faults';
import { LAST_LEGACY_STATUS, STATUSES, type StatusId } from '../../domain/claims/statuses';
import { Answer, type FoundList, ListAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { defineService } from '../../http/service';
import { VisibleWrites } from '../../http/visible-writes';
import { ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { type Caller } from '../../network/organisations';
import { OrderSearch } from '../../processes/order-search';
import { Clock } from '../../runtime/clock';
import { INTEGER, type Keys, type KeyTable } from '../../wire/keys/keys';
import { ClaimQueries, legacyListKeys, listKeys } from './claim.queries';
import {
  CLAIM_FORMATS,
  postedClaim,
  postedLegacyRuling,
  postedList,
  postedRevision,
  postedRuling,
  UPDATE_FORMATS,
} from './claims-body';
import { ClaimCommands } from './commands';
import { claimSchemas, claimApi as api } from './api';
import {
  type OutputCheck,
  type OutputClaim,
  type OutputLegacyClaim,
  type OutputStatus,
  toLegacyOutput,
} from './output';

const deletionKeys = {
  versionNo: { type: INTEGER, required: true, description: 'The latest version of the claim' },
} as const satisfies KeyTable;

/** Claims on the current path (Document 3, Endpoints; beyond it `docs/decisions.md#c13`). */
@Controller('/1.0/claims')
class ClaimsController {
  constructor(
    private readonly commands: ClaimCommands,
    private readonly queries: ClaimQueries,
  ) {}

  @Post()
  @ApiOperation(api.createClaims)
  @Roles(['publisher'])
  async create(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const posted = await postedList('claims', body, CLAIM_FORMATS, postedClaim);
    return Answer.none(await this.commands.create(posted, caller), 200);
  }

  @Post('check')
  @ApiOperation(api.checkClaims)
  @Roles(['publisher'])
  async check(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const posted = await postedList('claims', body, CLAIM_FORMATS, postedClaim);
    const screenings = await this.commands.check(posted, caller);
    return Answer.of(api.checkClaims, screenings.map(toCheck));
  }

  @Get()
  @ApiOperation(api.listClaims)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv'])
  list(@CurrentCaller() caller: Caller, @MatrixKeys(listKeys) keys: Keys<typeof listKeys>): ListAnswer {
    return ListAnswer.of(api.listClaims, (query) => this.queries.list(keys, caller, query), keys);
  }

  @Delete(':id')
  @ApiOperation(api.deleteClaim)
  @Roles(['publisher'])
  async delete(
    @CurrentCaller() caller: Caller,
    @Param('id') sent: string,
    @MatrixKeys(deletionKeys) { versionNo }: Keys<typeof deletionKeys>,
  ): Promise<Answer> {
    return Answer.none(await this.commands.delete(claimIdIn(sent), versionNo, caller), 200);
  }

  @Get(':id/versions')
  @ApiOperation(api.listClaimVersions)
  @Roles(['advertiser', 'publisher'])
  versions(@CurrentCaller() caller: Caller, @Param('id') sent: string): ListAnswer {
    return ListAnswer.of(api.listClaimVersions, async (query) => ({
      items: await this.queries.versions(claimIdIn(sent), caller, query),
    }));
  }
}

/** Raises UTS_260 for what is no id. */
function claimIdIn(sent: string): number {
  if (/^\d{1,15}$/.test(sent)) return Number(sent);
  throw fault.notNumeric(`claimId=${sent.slice(0, 100)}: expected the id of a claim, an integer`);
}

function toCheck({ statusId, message }: Screening): OutputCheck {
  const { name: statusName, state: statusState } = STATUSES[statusId];
  return defined({ statusId, statusName, statusState, statusMessage: message });
}

/** Updates of claims, by role (Document 3, Endpoints: Current paths). */
@Controller('/1.0/claimUpdates')
class ClaimUpdatesController {
  constructor(private readonly commands: ClaimCommands) {}

  @Post()
  @ApiOperation(api.updateClaims)
  @Roles(['advertiser', 'publisher'])
  async update(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const isRuling = caller.kind === 'advertiser';
    const kind = isRuling ? postedRuling : postedRevision;
    const posted = await postedList('claimUpdates', body, UPDATE_FORMATS, kind);
    const { commands } = this;
    const updating = isRuling ? commands.rule(posted, caller) : commands.revise(posted, caller);
    return Answer.none(await updating, 200);
  }
}

/** Document 3, Endpoints: Legacy advertiser paths. */
@Controller('/1.0/uts')
class LegacyClaimsController {
  constructor(
    private readonly commands: ClaimCommands,
    private readonly queries: ClaimQueries,
  ) {}

  @Get('claims')
  @ApiOperation(api.listLegacyClaims)
  @Roles(['advertiser'])
  list(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(legacyListKeys) keys: Keys<typeof legacyListKeys>,
  ): ListAnswer {
    return ListAnswer.of(api.listLegacyClaims, async (query) => {
      const { items, ...page } = await this.queries.list(keys, caller, query);
      return { items: legacy(items), ...page };
    });
  }

  /** Success is an empty error list (Document 3, Errors). */
  @Post('claimUpdates')
  @ApiOperation(api.updateLegacyClaims)
  @Roles(['advertiser'])
  async update(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const posted = await postedList('claimUpdates', body, UPDATE_FORMATS, postedLegacyRuling);
    const { position } = await this.commands.rule(posted, caller, true);
    return Answer.errors([], { position });
  }
}

async function* legacy(claims: FoundList<OutputClaim>['items']): AsyncGenerator<Iterable<OutputLegacyClaim>> {
  for await (const some of claims) yield [...some].map(toLegacyOutput);
}

const ALL = Object.entries(STATUSES).map(([id, status]): OutputStatus => {
  const { name: statusName, state: statusState } = status;
  const statusId = Number(id) as StatusId;
  return { statusId, statusName, statusState, requireStatusMessage: 'needsMessage' in status };
});
const LEGACY = ALL.filter(({ statusId }) => statusId <= LAST_LEGACY_STATUS);

/** Document 3, Endpoints: the statuses, on both paths. */
@Controller('/1.0')
class ClaimStatusesController {
  @Get('claimStatuses')
  @ApiOperation(api.listClaimStatuses)
  @Roles(['advertiser', 'publisher'])
  list(): Answer {
    return Answer.of(api.listClaimStatuses, ALL);
  }

  @Get('uts/claimStatuses')
  @ApiOperation(api.listLegacyClaimStatuses)
  @Roles(['advertiser'])
  listLegacy(): Answer {
    return Answer.of(api.listLegacyClaimStatuses, LEGACY);
  }
}

export const claimService = defineService({
  system: 'CLAIMS',
  modules: ['claims', 'claimUpdates', 'claimStatuses'],
  legacyPrefixes: ['uts'],
  namespace: '/1.0/uts',
  bareErrors: ['DELETE'],
  followsAccept: true,
  description: {
    title: 'Claims',
    description:
      'Claims of publishers for transactions that were not tracked: filing, approving, rejecting, listing.',
    faults: claimFaultTable,
    schemas: claimSchemas,
    errorSchema: 'ClaimErrors_v1_0.xsd',
  },
  faults: {
    unusable: fault.illegalValue,
    // `docs/decisions.md#c1`
    notAdmitted: { advertiser: fault.publishersOnly, publisher: fault.tokenType, operator: fault.tokenType },
    tokenTwice: fault.tokenRequest,
    unexpected: fault.unexpected,
    notFound: fault.badUrl,
    keys: {
      missing: fault.missingParameter,
      notNumeric: fault.notNumeric,
      notDate: fault.notDate,
      notCommaSeparated: fault.notCommaSeparated,
    },
    body: { type: fault.contentType, syntax: fault.contentTypeSyntax, charset: fault.encoding },
  },
});

@Module({
  controllers: [ClaimsController, ClaimUpdatesController, ClaimStatusesController, LegacyClaimsController],
  providers: [
    ClaimCommands,
    ClaimQueries,
    VisibleWrites,
    {
      provide: OrderSearch,
      useFactory: (clock: Clock, store: ReadStore) => OrderSearch.over(clock, store),
      inject: [Clock, ReadStore],
    },
  ],
})
export class ClaimsModule {}
