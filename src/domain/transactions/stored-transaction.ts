import { type Terms } from '../../network/commission';
import { endOf, type Period, STATE_OF, type TransactionEvent } from './transaction';
import { factsIn, type TransactionFacts } from './transaction-facts';
import { type DeniedReasonId, stateIdOf, type StateId } from './states';

/** A document of the read model: the last event, and the attributes that only some states have. */
export interface StoredTransaction {
  readonly messageTypeId: StateId;
  readonly transaction: TransactionFacts;
  /** Epoch ms of the last event. */
  readonly changed: number;
  /** The number of the event that entered the state, from 1 (`docs/decisions.md#n1`). */
  readonly sequenceNumber: number;
  readonly autoApproveDate?: string;
  readonly autoDenyDate?: string;
  readonly pendingStatusDateChanged?: string;
  readonly deniedReasonId?: DeniedReasonId;
  readonly paymentId?: number;
  /** While Tracked: as recorded with the report. */
  readonly terms?: Terms;
  /** It stays Tracked until its advertiser has it validated. */
  readonly isHeld?: true;
  /** Why it is Invalid. */
  readonly reasons?: readonly string[];
  /** When it was approved (epoch ms): also once it is Paid, or Deleted after its approval. */
  readonly approved?: number;
}

/** With the log position of its last event (`numberOf`), as the read model stores it. */
export interface PositionedTransaction extends StoredTransaction {
  readonly position: number;
}

export interface ListedTransaction extends StoredTransaction {
  readonly transactionId: string;
}

/** The document after an event, a new object; `revision` is that of the event in its stream. */
export function storedAfter(
  before: StoredTransaction | undefined,
  { type, data }: TransactionEvent,
  revision: number,
): StoredTransaction {
  if (type === 'TransactionAmended' && before !== undefined)
    return { ...before, transaction: factsIn(data), changed: Date.parse(data.at) };
  const { at, transaction, decimals, ...attributes } = data;
  const approved = APPROVALS.has(type)
    ? Date.parse(at)
    : AFTER_APPROVAL.has(type)
      ? before?.approved
      : undefined;
  return {
    messageTypeId: stateIdOf(STATE_OF[type]),
    transaction: factsIn({ transaction, ...(decimals === undefined ? {} : { decimals }) }),
    changed: Date.parse(at),
    sequenceNumber: revision + 1,
    ...attributes,
    ...(approved === undefined ? {} : { approved }),
  };
}

const APPROVALS: ReadonlySet<TransactionEvent['type']> = new Set([
  'TransactionTrackedApproved',
  'TransactionPendingApproved',
]);

/** They keep the time of an approval, all other events of a state but amendments replace what was before. */
export const AFTER_APPROVAL: ReadonlySet<TransactionEvent['type']> = new Set([
  'TransactionDeleted',
  'TransactionPaid',
]);

/** When the system has to end the pending period, in epoch ms; undefined in other states. */
export function dueOf(stored: StoredTransaction): number | undefined {
  const period = stored.messageTypeId === stateIdOf('Pending') ? periodOf(stored) : undefined;
  return period && endOf(period);
}

/** The pending period, once there was one. */
export function periodOf({ autoApproveDate, autoDenyDate }: StoredTransaction): Period | undefined {
  if (autoDenyDate !== undefined) return { autoDenyDate };
  return autoApproveDate === undefined ? undefined : { autoApproveDate };
}
