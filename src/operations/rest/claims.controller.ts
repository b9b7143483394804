import { Controller, Get, Param, Post } from '@nestjs/common';
import { type OutputClaim } from '../../services/claims/answered-fields';
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
import { listPieces } from '../../wire/record/list-text';
import { pageSizeHeader } from '../../wire/keys/page-size';
import { listWriter } from '../../wire/record/list';
import { MOST_LISTED, networkClaims } from '../network-claims';
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
      const { limit = MOST_LISTED, offset = 0, ...criteria } = keys;
      requireAtLeast(1, 'limit', limit);
      requireAtLeast(0, 'offset', offset);
      const surface = { store: this.store, directory: this.follower.directory, now: this.clock.now() };
      const { claims, total } = await networkClaims(surface, criteria, { offset, limit }, query);
      const headers = { 'X-Total-Count': String(total), ...pageSizeHeader(limit, MOST_LISTED) };
      return {
        pieces: listPieces(claimsText(view), claims satisfies AsyncIterable<Iterable<OutputClaim>>),
        headers,
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
      const parts = { log: this.log, store: this.store, directory, now };
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

function requireAtLeast(least: number, key: string, value: number): void {
  if (value < least) throw fault.unusable(`${key}=${value}: expected an integer of at least ${least}`);
}
