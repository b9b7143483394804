import { Module } from '@nestjs/common';
import { defineService } from '../../http/service';
import { ReadStore } from '../../kernel/read-store';
import { OrderSearch } from '../../processes/order-search';
import { VisibleWrites } from '../../http/visible-writes';
import { Clock } from '../../runtime/clock';
import { ClaimQueries } from './claim.queries';
import {
  ClaimsController,
  ClaimStatusesController,
  ClaimUpdatesController,
  LegacyClaimsController,
} from './claims.controller';
import { claimHandlers } from './commands';
import { claimFaults as fault, claimFaultTable } from '../../domain/claims/faults';
import { claimSchemas } from './operations';

/** The claims service (Document 3). */
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
    ...claimHandlers,
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
