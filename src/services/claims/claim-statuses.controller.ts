import { Controller, Get } from '@nestjs/common';
import { Answer } from '../../http/answer';
import { ApiOperation, Roles } from '../../http/decorators';
import { documentWriter } from '../../wire/record/document';
import { type OutputStatus } from './answered-fields';
import { claimOperations as operations, STATUSES_LIST } from './operations';
import { LAST_LEGACY_STATUS, type StatusId, STATUSES } from '../../domain/claims/statuses';

const toXml = documentWriter(STATUSES_LIST);

const ALL = Object.entries(STATUSES).map(([id, status]): OutputStatus => {
  const { name: statusName, state: statusState } = status;
  return {
    statusId: Number(id) as StatusId,
    statusName,
    statusState,
    requireStatusMessage: 'needsMessage' in status,
  };
});
const LEGACY = ALL.filter(({ statusId }) => statusId <= LAST_LEGACY_STATUS);

/** Document 3, Endpoints: the statuses, on both paths. */
@Controller('/1.0')
export class ClaimStatusesController {
  @Get('claimStatuses')
  @ApiOperation(operations.listClaimStatuses)
  @Roles(['advertiser', 'publisher'])
  list(): Answer {
    return Answer.of(ALL, toXml);
  }

  @Get('uts/claimStatuses')
  @ApiOperation(operations.listLegacyClaimStatuses)
  @Roles(['advertiser'])
  listLegacy(): Answer {
    return Answer.of(LEGACY, toXml);
  }
}
