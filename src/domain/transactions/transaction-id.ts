import { hash } from 'node:crypto';
import { type Programs } from '../../network/programs';
import { type TransactionFacts } from './transaction-facts';

type Key = Pick<TransactionFacts, 'orderNumber' | 'eventId' | 'advertiserId' | 'claimId'>;

/** Order number, event id and advertiser id (Document 2, Message attributes; `docs/decisions.md#c10`). */
export function legacyIdOf({ orderNumber, eventId, advertiserId, claimId }: Key): string {
  const legacyId = `${orderNumber}_${eventId}_${advertiserId}`;
  return claimId === undefined ? legacyId : `${legacyId}_claim${claimId}`;
}

/** The id of a program’s transaction, and of its stream (`docs/decisions.md#t1`): 32 hexadecimal digits. */
export function transactionIdOf(legacyId: string, programId: number): string {
  return digest(`${legacyId}_program${programId}`);
}

/** The id of a transaction that was stored when ids did not have the program yet. */
export function formerIdOf(legacyId: string): string {
  return digest(legacyId);
}

export const TRANSACTION_ID = /^[0-9a-f]{32}$/;

const LEGACY_ID = /_(?<eventId>\d{1,16})_(?<advertiserId>\d{1,16})(_claim\d+)?$/;

/**
 * All ids that a transaction with a legacy id can have: one for each program that the advertiser ever had the event in.
 */
export function idsWith(legacyId: string, programs: Pick<Programs, 'everWithEvent'>): readonly string[] {
  const { eventId, advertiserId } = LEGACY_ID.exec(legacyId)?.groups ?? {};
  const programIds = programs.everWithEvent(Number(advertiserId), Number(eventId));
  return [formerIdOf(legacyId), ...[...programIds].map((id) => transactionIdOf(legacyId, id))];
}

function digest(text: string): string {
  return hash('sha256', text).slice(0, 32);
}
