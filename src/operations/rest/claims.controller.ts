import { Controller, Get, Param, Post } from '@nestjs/common';
import { type OutputClaim } from '../../services/claims/output';
import { CLAIMS } from '../../services/claims/operations';
import { rejectionOf, reviewClaim, type ReviewRequest } from '../../services/claims/review';
import { FollowedDirectory } from '../../network/follower';
import { Answer } from '../../http/answer';
import { Clock } from '../../http/clock';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { WaitForReadModels } from '../../http/wait-for-read-models';
import { EventLog } from '../../kernel/event-log';
import { Fault } from '../../kernel/fault';
import { ReadStore } from '../../kernel/read-store';
import { type Keys } from '../../wire/keys/keys';
import { listPieces, listWriter } from '../../wire/record/list';
import { atLeast, pageHeaders, sizeOf } from '../../wire/keys/pages';
import { OrderSearch } from '../../processes/order-search';
import { networkClaims } from '../network-claims';
import {
  networkClaimKeys,
  type NetworkClaimKeys,
  networkClaimOperations as operations,
  rejectKeys,
  releaseKeys,
} from './claims.operations';
import { opsFaults as fault } from './ops-service';

const claimsText = listWriter(CLAIMS);

/** Claims that are pending at the network, for operators (`docs/decisions.md#c14`): the same functions as `affilog claims`. */
@Controller('/ops/1.0/claims')
export class NetworkClaimsController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly readModels: WaitForReadModels,
    private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation(operations.list)
  @Roles(['operator'])
  @Produces(['json'])
  list(@MatrixKeys(networkClaimKeys) keys: NetworkClaimKeys): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      const { limit, offset = 0, ...criteria } = keys;
      const page = {
        limit: sizeOf('limit', limit, fault.unusable),
        offset: atLeast(0, 'offset', offset, fault.unusable),
      };
      const surface = { store: this.store, directory: this.follower.directory, now: this.clock.now() };
      const { claims, total } = await networkClaims(surface, criteria, page, query);
      return {
        pieces: listPieces(claimsText(view), claims satisfies AsyncIterable<Iterable<OutputClaim>>),
        headers: pageHeaders({ total, requested: limit }),
      };
    });
  }

  @Post(':id/release')
  @ApiOperation(operations.release)
  @Roles(['operator'])
  @Produces(['json'])
  async release(
    @Param('id') id: string,
    @MatrixKeys(releaseKeys) { versionNo: version }: Keys<typeof releaseKeys>,
  ): Promise<Answer> {
    return await this.review(() => ({ claimId: claimIdIn(id), version, statusId: 2 }));
  }

  @Post(':id/reject')
  @ApiOperation(operations.reject)
  @Roles(['operator'])
  @Produces(['json'])
  async reject(
    @Param('id') id: string,
    @MatrixKeys(rejectKeys) { versionNo: version, statusId, message }: Keys<typeof rejectKeys>,
  ): Promise<Answer> {
    return await this.review(() => ({ claimId: claimIdIn(id), version, ...rejectionOf(statusId, message) }));
  }

  private async review(requested: () => ReviewRequest): Promise<Answer> {
    try {
      const now = this.clock.now();
      const { directory } = this.follower;
      const parts = { log: this.log, search: OrderSearch.over(this.store), directory, now };
      const { position } = await reviewClaim(requested(), parts);
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
