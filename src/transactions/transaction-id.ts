import { hash } from 'node:crypto';
import { type TransactionFacts } from './transaction-facts';

type Key = Pick<TransactionFacts, 'orderNumber' | 'eventId' | 'advertiserId' | 'claimId'>;

/** Document 2, Message attributes: order number, event id and advertiser id joined by underscores; `docs/decisions.md#c10`. */
export function legacyIdOf({ orderNumber, eventId, advertiserId, claimId }: Key): string {
  const legacyId = `${orderNumber}_${eventId}_${advertiserId}`;
  return claimId === undefined ? legacyId : `${legacyId}_claim${claimId}`;
}

/** The id of the transaction with a legacy id, and of its stream (`docs/decisions.md#t1`): 32 hexadecimal digits. */
export function transactionIdOf(legacyId: string): string {
  return hash('sha256', legacyId).slice(0, 32);
}

export const TRANSACTION_ID = /^[0-9a-f]{32}$/;
