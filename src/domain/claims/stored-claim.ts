import { defined } from '../../kernel/values';
import { type ClaimContent, type ClaimEvent, type ClaimOrigin, inMemory, programFacts } from './claim';
import { APPROVED, AWAITING_APPROVAL, CANNOT_VALIDATE, type StatusId } from './statuses';

/** A document of the read model. Times in epoch ms, amounts are integers (`wire/record/minor-units.ts`). */
export interface StoredClaim {
  readonly origin: ClaimOrigin;
  readonly version: number;
  readonly claim: ClaimContent;
  readonly status: StoredStatus;
  readonly created: number;
  /** The last event that its parties can see: all but `ClaimTracked`. */
  readonly lastChanged: number;
  /** What the approval has corrected. */
  readonly adjusted?: { readonly orderValue?: number; readonly expectedCommission?: number };
  readonly transactionId?: string;
}

interface StoredStatus {
  readonly id: StatusId;
  readonly message?: string;
  readonly since: number;
  /** While it awaits approval. */
  readonly autoApproveAt?: number;
}

export interface ListedClaim extends StoredClaim {
  readonly claimId: number;
}

/** The document after an event; undefined if the claim is withdrawn. */
export function storedAfter(before: StoredClaim | undefined, stored: ClaimEvent): StoredClaim | undefined {
  const event = inMemory(stored);
  const at = Date.parse(event.data.at);
  if (event.type === 'ClaimFiled') {
    const { publisherId, claim } = event.data;
    const origin = { publisherId, ...programFacts(event.data) };
    return { origin, version: 0, claim, status: { id: 1, since: at }, created: at, lastChanged: at };
  }
  if (before === undefined) return undefined;
  switch (event.type) {
    case 'ClaimScreened': {
      const { statusId, message, autoApproveAt } = event.data;
      const due = autoApproveAt === undefined ? {} : { autoApproveAt: Date.parse(autoApproveAt) };
      return { ...before, status: { ...entered(before, statusId, at, message), ...due }, lastChanged: at };
    }
    case 'ClaimRevised': {
      const { version, claim } = event.data;
      const origin = { publisherId: before.origin.publisherId, ...programFacts(event.data) };
      return { ...before, origin, version, claim, lastChanged: at };
    }
    case 'ClaimRuled': {
      const { version, statusId, message, orderValue, expectedCommission } = event.data;
      const adjusted = defined({ orderValue, expectedCommission });
      const status = entered(before, statusId, at, message);
      return { ...before, version, status, adjusted, lastChanged: at };
    }
    case 'ClaimTracked':
      return { ...before, transactionId: event.data.transactionId };
    case 'ClaimKeyReclaimed':
      return before;
    case 'ClaimWithdrawn':
      return undefined;
  }
}

function entered(
  { status }: StoredClaim,
  id: StatusId,
  at: number,
  message: string | undefined,
): StoredStatus {
  const since = id === status.id ? status.since : at;
  return { id, since, ...(message === undefined ? {} : { message }) };
}

/** What the system has to do with a claim, each with a time in epoch ms; absent if it has not to be done. */
interface ClaimWork {
  /** When it is approved automatically (`docs/decisions.md#c11`). */
  readonly autoApproveAt?: number;
  /** When it was last screened without a result: it has to be screened again (`docs/decisions.md#c5`). */
  readonly unscreened?: number;
  /** When it was approved: it has to become a transaction (`docs/decisions.md#c10`). */
  readonly untracked?: number;
}

export function workOn({ status, lastChanged, transactionId }: StoredClaim): ClaimWork {
  const { id, since, autoApproveAt } = status;
  if (id === AWAITING_APPROVAL) return autoApproveAt === undefined ? {} : { autoApproveAt };
  if (id === CANNOT_VALIDATE) return { unscreened: lastChanged };
  return id === APPROVED && transactionId === undefined ? { untracked: since } : {};
}
