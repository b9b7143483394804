import { type Directory } from '../directory/directory';
import { execute } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { commissionOf } from './commission';
import { transactionDecider } from './transaction';
import { type TransactionFacts } from './transaction-facts';
import { legacyIdOf, transactionIdOf } from './transaction-id';
import { type Surroundings } from './validation';

/** An order that a publisher has claimed, as it was approved; amounts are hundredths. */
export interface ClaimedOrder {
  readonly programId: number;
  readonly siteId: number;
  readonly publisherId: number;
  readonly eventId: number;
  readonly orderNumber: string;
  readonly orderValue: number;
  /** By default that of the event. */
  readonly publisherCommission?: number;
  /** ISO 8601. */
  readonly timeOfEvent: string;
  readonly epi?: string;
  readonly epi2?: string;
}

/** The approval has decided what a report would be validated for: it is approved at once. */
const APPROVED: Surroundings = {
  program: 'active',
  invoicesPaid: false,
  isConnected: true,
  pendingDays: 0,
  autoDeny: false,
};

/**
 * Makes a claimed order a transaction: Tracked, then Tracked_Approved (`docs/decisions.md#c10`). One that exists stays as it is. Raises
 * an error while the program does not exist.
 */
export async function trackClaimedOrder(
  log: EventLog,
  directory: Directory,
  order: ClaimedOrder,
  at: string,
): Promise<{ readonly transactionId: string; readonly position?: Position }> {
  const transaction = factsOf(order, directory);
  const transactionId = transactionIdOf(legacyIdOf(transaction));
  const command = { do: 'report', at, transaction, posted: [], surroundings: APPROVED } as const;
  const { position } = await execute(log, transactionDecider, transactionId, command);
  return { transactionId, ...(position === undefined ? {} : { position }) };
}

function factsOf({ publisherCommission, ...order }: ClaimedOrder, directory: Directory): TransactionFacts {
  const { programId, eventId, siteId, orderValue } = order;
  const program = directory.program(programId);
  if (program === undefined)
    throw new Error(
      `the approved order ${order.orderNumber} cannot become a transaction: program ${programId} does not exist; define it again`,
    );
  const event = program.events.find(({ id }) => id === eventId);
  return {
    ...order,
    advertiserId: program.organisationId,
    programCountry: program.country,
    siteName: directory.programs.site(siteId)?.name ?? '',
    eventTypeId: event?.kind === 'lead' ? 4 : 5,
    currencyId: program.currency,
    publisherCommission: publisherCommission ?? (event === undefined ? 0 : commissionOf(event, orderValue)),
    tdCommission: 0,
  };
}
