import { type Directory } from '../../network/directory';
import { type TransactionFacts } from './transaction-facts';
import { type Surroundings } from './validation';

/** What the directory says of a transaction's program, event and site. */
export function surroundingsOf(
  { programs }: Pick<Directory, 'programs'>,
  { programId, eventId, siteId }: Pick<TransactionFacts, 'programId' | 'eventId' | 'siteId'>,
): Surroundings {
  const program = programs.get(programId);
  const event = program?.events.find(({ id }) => id === eventId);
  return {
    program: program?.status ?? 'unknown',
    invoicesPaid: program?.invoicesPaid === true,
    isConnected: programs.site(siteId) !== undefined && programs.connectionsOf(siteId).has(programId),
    pendingDays: event?.pendingDays,
    autoDeny: event?.autoDeny === true,
  };
}
