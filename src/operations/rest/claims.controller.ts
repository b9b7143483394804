import { Controller, Get, Param, Post } from '@nestjs/common';
import { Answer, ListAnswer } from '../../http/answer';
import { Clock } from '../../runtime/clock';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { WaitForReadModels } from '../../http/visible-writes';
import { Fault } from '../../kernel/fault';
import { ReadStore } from '../../kernel/read-store';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { OrderSearch } from '../../processes/order-search';
import { CLAIMS } from '../../services/claims/api';
import { operationsById } from '../../wire/api/description';
import { type Keys, type KeyTable, INTEGER, TEXT } from '../../wire/keys/keys';
import { atLeast, PAGE_HEADERS, sizeKey, sizeOf } from '../../wire/keys/pages';
import { PastViews } from '../as-of';
import { networkClaims, rejectionOf, reviewClaim, type ReviewRequest } from '../network-claims';
import { type ActionName } from '../actions';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON } from './operator-service';

const ids = { type: INTEGER, multiple: true } as const;

const networkClaimKeys = {
  statusId: { ...ids, description: 'Statuses; by default those that operators decide, 100 and 105' },
  programId: { ...ids, description: 'Programs' },
  claimId: { ...ids, description: 'Ids of claims' },
  asOf: { type: TEXT, description: 'Name of read models as of a time: the claims of then' },
  offset: { type: INTEGER, description: 'Claims to skip' },
  limit: sizeKey('Number of claims'),
} as const satisfies KeyTable;

type NetworkClaimKeys = Keys<typeof networkClaimKeys>;

const releaseKeys = {
  versionNo: { type: INTEGER, required: true, description: 'The latest version of the claim' },
  ...REASON,
} as const satisfies KeyTable;

const rejectKeys = {
  ...releaseKeys,
  statusId: { type: INTEGER, required: true, description: 'A status that rejects, such as 211' },
  message: { type: TEXT, description: 'Message for its publisher; required of 111 and 201' },
} as const satisfies KeyTable;

/** Of the demonstration, where both are pending. */
const [TO_RELEASE, TO_REJECT] = [17, 18];

const claimId = (example: number) => ({ id: { type: INTEGER, description: 'Id of the claim', example } });

/** Claims that are pending at the network, for operators (`docs/decisions.md#c14`). */
export const networkClaimOperations = operationsById({
  listNetworkClaims: {
    summary: 'List the claims that operators decide',
    description: 'Those that are pending at the network, or in any other statuses; the oldest first.',
    example: { limit: 3 },
    answer: CLAIMS,
    sends: PAGE_HEADERS,
  },
  releaseClaim: {
    summary: 'Release a claim to its advertiser',
    description: 'A claim of status 100 or 105 awaits approval then.',
    example: { versionNo: 0 },
    path: claimId(TO_RELEASE),
  },
  rejectClaim: {
    summary: 'Reject a claim',
    description: 'A claim of status 100 or 105.',
    example: { versionNo: 0, statusId: 211 },
    path: claimId(TO_REJECT),
  },
});

/** What operators do with claims (`docs/decisions.md#c14`): the same functions as `affilog claims`. */
@Controller('/ops/1.0/claims')
@Roles(['operator'])
@Produces(['json'])
export class NetworkClaimsController {
  constructor(
    private readonly actions: OperatorActions,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly readModels: WaitForReadModels,
    private readonly clock: Clock,
    private readonly views: PastViews,
  ) {}

  @Get()
  @ApiOperation(networkClaimOperations.listNetworkClaims)
  list(@MatrixKeys(networkClaimKeys) keys: NetworkClaimKeys): ListAnswer {
    return ListAnswer.of(networkClaimOperations.listNetworkClaims, async (query) => {
      const { limit, offset = 0, asOf, ...criteria } = keys;
      const page = {
        limit: sizeOf('limit', limit, fault.unusable),
        offset: atLeast(0, 'offset', offset, fault.unusable),
      };
      const present = { store: this.store, directory: this.follower.directory, now: this.clock.now() };
      const parts = asOf === undefined ? present : await this.views.of(asOf, 'claims');
      const { claims, total } = await networkClaims(parts, criteria, page, query);
      return { items: claims, total, requested: limit };
    });
  }

  @Post(':id/release')
  @ApiOperation(networkClaimOperations.releaseClaim)
  async release(
    @Param('id') id: string,
    @MatrixKeys(releaseKeys) { versionNo: version, reason }: Keys<typeof releaseKeys>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    return await this.review(caller, 'claims release', { claimId: id, version, reason }, () => ({
      claimId: claimIdIn(id),
      version,
      statusId: 2,
    }));
  }

  @Post(':id/reject')
  @ApiOperation(networkClaimOperations.rejectClaim)
  async reject(
    @Param('id') id: string,
    @MatrixKeys(rejectKeys) { versionNo: version, statusId, message, reason }: Keys<typeof rejectKeys>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const asked = { claimId: id, version, status: statusId, message, reason };
    return await this.review(caller, 'claims reject', asked, () => ({
      claimId: claimIdIn(id),
      version,
      ...rejectionOf(statusId, message),
    }));
  }

  private async review(
    caller: Caller,
    action: ActionName,
    asked: Parameters<OperatorActions['of']>[2],
    requested: () => ReviewRequest,
  ): Promise<Answer> {
    try {
      const now = this.clock.now();
      const { directory } = this.follower;
      const search = OrderSearch.over(this.clock, this.store);
      const { position } = await this.actions.of(caller, action, asked, async ({ log }) =>
        reviewClaim(requested(), { clock: this.clock, log, search, directory, now }),
      );
      if (position === undefined) throw new Error('a review appends an event');
      await this.readModels.afterWrite({ position, changes: 1 });
      return Answer.none({ position });
    } catch (error) {
      throw error instanceof Fault ? ofOperators(error) : error;
    }
  }
}

/** Codes of operators are the HTTP status. */
function ofOperators({ status, message }: Fault): Fault {
  if (status === 404) return fault.notFound(message);
  return status === 409 ? fault.conflict(message) : fault.unusable(message);
}

function claimIdIn(sent: string): number {
  if (/^\d{1,15}$/.test(sent)) return Number(sent);
  throw fault.unusable(`claimId=${sent.slice(0, 100)}: expected the id of a claim, an integer`);
}
