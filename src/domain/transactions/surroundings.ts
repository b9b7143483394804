import { type Directory } from '../../network/directory';
import { type Trigger } from './states';
import { type TransactionFacts } from './transaction-facts';

/** What the directory says of a transaction's program, event and site when it is decided (`docs/decisions.md#t3`). */
export interface Surroundings {
  readonly program: 'active' | 'paused' | 'closed' | 'unknown';
  /** Of a closed program: its invoices were paid. */
  readonly invoicesPaid: boolean;
  readonly isConnected: boolean;
  /** Of the event; undefined if the program does not have it. */
  readonly pendingDays: number | undefined;
  /** At the end of the pending period the system denies rather than approves. */
  readonly autoDeny: boolean;
}

/** What moves a Tracked or Paused transaction on; `failures` are those of its validation. */
export function triggerOf(
  from: 'Tracked' | 'Paused',
  reasons: readonly string[],
  { program, invoicesPaid, pendingDays = 0 }: Surroundings,
): Trigger {
  if (from === 'Paused' && program === 'paused') return 'program is paused';
  if (from === 'Paused' && program === 'closed' && !invoicesPaid) return 'program is closed without payment';
  if (reasons.length > 0) return 'fails validation';
  if (program === 'paused') return 'program is paused';
  return pendingDays > 0 ? 'event has a pending period' : 'event has no pending period';
}

/** The validation tests (`docs/decisions.md#t3`). */
export function failuresOf(
  from: 'Tracked' | 'Paused',
  { timeOfEvent, timeOfVisit = timeOfEvent }: TransactionFacts,
  { program, isConnected, pendingDays }: Surroundings,
): readonly string[] {
  const tests = [
    [program === 'unknown', 'the program was removed'],
    [program === 'closed' && from === 'Tracked', 'the program is closed'],
    [pendingDays === undefined && program !== 'unknown', 'the program does not have the event'],
    [!isConnected, 'the site is not connected to the program'],
    [Date.parse(timeOfVisit) > Date.parse(timeOfEvent), 'timeOfVisit is later than timeOfEvent'],
  ] as const;
  return tests.filter(([isFailed]) => isFailed).map(([, reason]) => reason);
}

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
