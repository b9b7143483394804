import { claimBatches } from '../../projections/claim-batches';
import { approvalsDueBy, batchesUnfinishedBy, claims, unscreened, untracked } from '../../projections/claims';
import { type Automation } from './automation';
import { execute, load } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { claimDecider } from '../domain/claims/claim';
import { claimBatchDecider } from '../domain/claims/claim-batch';
import { ClaimWriter } from '../domain/claims/claim-writer';
import { OrderSearch } from './order-search';
import { screenAll } from './screen-all';
import { AWAITING_APPROVAL, CANNOT_VALIDATE, COMMISSION_MISMATCH } from '../domain/claims/statuses';
import { type StoredClaim } from '../domain/claims/stored-claim';
import { type OrdersNow, track } from './track-order';

/** What the automations need. */
interface ClaimAutomationParts {
  readonly store: ReadStore;
  readonly ordersNow: OrdersNow;
}

const MISMATCH = { statusId: COMMISSION_MISMATCH } as const;

/** What the system does with claims by itself. */
export function claimAutomations({ store, ordersNow }: ClaimAutomationParts): readonly Automation[] {
  const search = OrderSearch.over(store);
  return [
    {
      name: 'claims that could not be validated',
      projection: claims,
      orderBy: 'unscreened',
      due: () => [unscreened()],
      act: async ({ id, body }, { log, directory, at }) => {
        const { version, claim, origin } = JSON.parse(body) as StoredClaim;
        const claimed = { publisherId: origin.publisherId, claim };
        const screened = await screenAll([claimed], { search, directory, now: new Date(at) });
        const found = screened[0]?.screening ?? { statusId: CANNOT_VALIDATE };
        // What is expected cannot be compared with what the program pays in another currency: an operator decides.
        const isComparable =
          claim.expectedCommission === undefined ||
          directory.program(claim.programId)?.currency === origin.currencyId;
        const screening = found.statusId === AWAITING_APPROVAL && !isComparable ? MISMATCH : found;
        return await execute(log, claimDecider, id, { do: 'screen', at, version, screening });
      },
    },
    {
      name: 'automatic approvals of claims',
      projection: claims,
      orderBy: 'autoApproveAt',
      due: (now) => [approvalsDueBy(now)],
      act: ({ id }, { log, at }) => execute(log, claimDecider, id, { do: 'autoApprove', at }),
    },
    {
      name: 'approved claims that become transactions',
      projection: claims,
      orderBy: 'untracked',
      due: () => [untracked()],
      act: ({ id, version }, context) => track(id, ordersNow, { ...context, since: version }),
    },
    {
      name: 'posts of claims that were interrupted',
      projection: claimBatches,
      orderBy: 'accepted',
      due: (now) => [batchesUnfinishedBy(now)],
      act: async ({ id }, { log }) => await finished(log, Number(id)),
    },
  ];
}

async function finished(log: EventLog, batch: number): Promise<{ readonly position?: Position }> {
  const { state } = await load(log, claimBatchDecider, batch);
  return state.is === 'accepted' ? await new ClaimWriter(log).finish(batch, state) : {};
}
