import {
  approvalsDueBy,
  batchesUnfinishedBy,
  claimBatches,
  claims,
  unscreened,
  untracked,
} from '../../projections/claims';
import {
  pausedOutside,
  periodsEndedBy,
  transactionsOfOrders,
  transactions,
} from '../../projections/transactions';
import { turnedBy, vouchers } from '../../projections/vouchers';
import { claimBatchDecider, claimDecider } from '../domain/claims/claim';
import { ClaimWriter } from '../domain/claims/claim-writer';
import { AWAITING_APPROVAL, CANNOT_VALIDATE, COMMISSION_MISMATCH } from '../domain/claims/statuses';
import { type StoredClaim } from '../domain/claims/stored-claim';
import { STATES } from '../domain/transactions/states';
import { storedPeriod, type StoredTransaction } from '../domain/transactions/stored-transaction';
import {
  surroundingsOf,
  transactionDecider,
  type TransactionState,
} from '../domain/transactions/transaction';
import { voucherDecider } from '../domain/vouchers/voucher';
import { execute, load, type StateAt } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { EngineUnavailable } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { PositionWait } from '../projector/wait';
import { type Clock } from '../runtime/clock';
import { type ActionParts, type Automation } from './automation-runner';
import { OrderSearch, screenAll } from './order-search';
import { feedChangesOver } from './record-changes';
import { type OrdersNow, track } from './track-order';

/** How long the read model of transactions may take to include what was reported before a claim was approved (ms). */
const REACH_MS = 5_000;

/** The automations of all domains. */
export function automationsOver(clock: Clock, store: ReadStore, trackerUrl?: string): readonly Automation[] {
  const wait = new PositionWait(clock, store, [transactions]);
  return [
    ...transactionAutomations,
    voucherTurns,
    feedChangesOver(clock, store, trackerUrl),
    ...claimAutomations({
      clock,
      store,
      ordersNow: async (advertiserId, orderNumber, since) => {
        // Not the end of the log, which may be ahead of the read model all the time.
        if (!(await wait.until(since, REACH_MS)))
          throw new EngineUnavailable('the read model of transactions is behind the log');
        const orders = await transactionsOfOrders(store, { advertiserId, orderNumbers: [orderNumber] });
        return orders.get(orderNumber) ?? [];
      },
    }),
  ];
}

/** The automatic transitions (`docs/decisions.md#t4`). */
export const transactionAutomations: readonly Automation[] = [
  {
    name: 'ends of pending periods',
    projection: transactions,
    orderBy: 'due',
    due: (now) => [periodsEndedBy(now)],
    act: ({ id, body }, { clock, log, at }) => {
      const cached = stateOf(JSON.parse(body) as StoredTransaction);
      return execute(clock, log, transactionDecider, id, { do: 'endPeriod', at }, cached);
    },
  },
  {
    name: 'transactions of programs that are no longer paused',
    projection: transactions,
    orderBy: 'pausedProgramId',
    due: (_, { programs }) => {
      const paused = [...programs.all()].filter(({ status }) => status === 'paused');
      return pausedOutside(paused.map(({ id }) => id));
    },
    act: ({ id, body }, { clock, log, directory, at }) => {
      const stored = JSON.parse(body) as StoredTransaction;
      const surroundings = surroundingsOf(directory, stored.transaction);
      return execute(
        clock,
        log,
        transactionDecider,
        id,
        { do: 'validate', at, surroundings },
        stateOf(stored),
      );
    },
  },
];

/** What time alone shows and hides is an event, of which subscribers are notified (`docs/decisions.md#n18`). */
export const voucherTurns: Automation = {
  name: 'vouchers that time alone shows or hides',
  projection: vouchers,
  orderBy: 'turnsAt',
  due: (now) => [turnedBy(now)],
  act: ({ id }, { clock, log, at }) => execute(clock, log, voucherDecider, id, { do: 'turn', at }),
};

/**
 * The state of a Paused or Pending transaction that was not amended. Of any other the stream is ahead of this revision:
 * the append conflicts, and `execute` loads the stream.
 */
function stateOf(stored: StoredTransaction): StateAt<TransactionState> {
  const { messageTypeId, transaction, sequenceNumber } = stored;
  const changed = new Date(stored.changed).toISOString();
  const { name } = STATES[messageTypeId];
  const period = storedPeriod(stored);
  const state = {
    name,
    reported: transaction,
    transaction,
    changed,
    ...(period === undefined ? {} : { period }),
  };
  return { state, revision: sequenceNumber - 1 };
}

interface ClaimAutomationParts {
  readonly clock: Clock;
  readonly store: ReadStore;
  readonly ordersNow: OrdersNow;
}

const MISMATCH = { statusId: COMMISSION_MISMATCH } as const;

/** What the system does with claims by itself. */
export function claimAutomations({ clock, store, ordersNow }: ClaimAutomationParts): readonly Automation[] {
  const search = OrderSearch.over(clock, store);
  return [
    {
      name: 'claims that could not be validated',
      projection: claims,
      orderBy: 'unscreened',
      due: () => [unscreened()],
      act: async ({ id, body }, { clock, log, directory, at }) => {
        const { version, claim, origin } = JSON.parse(body) as StoredClaim;
        const claimed = { publisherId: origin.publisherId, claim };
        const screened = await screenAll([claimed], { search, directory, now: new Date(at) });
        const found = screened[0]?.screening ?? { statusId: CANNOT_VALIDATE };
        // What is expected cannot be compared with what the program pays in another currency: an operator decides.
        const isComparable =
          claim.expectedCommission === undefined ||
          directory.program(claim.programId)?.currency === origin.currencyId;
        const screening = found.statusId === AWAITING_APPROVAL && !isComparable ? MISMATCH : found;
        return await execute(clock, log, claimDecider, id, { do: 'screen', at, version, screening });
      },
    },
    {
      name: 'automatic approvals of claims',
      projection: claims,
      orderBy: 'autoApproveAt',
      due: (now) => [approvalsDueBy(now)],
      act: ({ id }, { clock, log, at }) => execute(clock, log, claimDecider, id, { do: 'autoApprove', at }),
    },
    {
      name: 'approved claims that become transactions',
      projection: claims,
      orderBy: 'untracked',
      due: () => [untracked()],
      act: ({ id, version }, parts) => track(id, ordersNow, { ...parts, since: version }),
    },
    {
      name: 'posts of claims that were interrupted',
      projection: claimBatches,
      orderBy: 'accepted',
      due: (now) => [batchesUnfinishedBy(now)],
      act: async ({ id }, parts) => await finished(parts, Number(id)),
    },
  ];
}

async function finished(
  { clock, log }: ActionParts,
  batch: number,
): Promise<{ readonly position?: Position }> {
  const { state } = await load(log, claimBatchDecider, batch);
  return state.is === 'accepted' ? await new ClaimWriter(clock, log).finish(batch, state) : {};
}
