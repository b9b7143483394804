import { commissionOf, type Terms } from '../network/commission';
import { type Directory } from '../network/directory';
import { execute, load } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { reportedTransaction } from '../domain/transactions/find-transaction';
import { STANDINGS, stateIdOf } from '../domain/transactions/states';
import { transactionDecider, type TransactionState } from '../domain/transactions/transaction';
import { type TransactionFacts } from '../domain/transactions/transaction-facts';
import { type Surroundings } from '../domain/transactions/validation';

/** An order that a publisher has claimed, as it was approved; amounts are integers (`wire/minor-units.ts`). */
export interface ClaimedOrder {
  readonly claimId: number;
  readonly programId: number;
  readonly siteId: number;
  readonly publisherId: number;
  readonly advertiserId: number;
  readonly currencyId: string;
  readonly eventId: number;
  readonly orderNumber: string;
  readonly orderValue: number;
  /** By default by `terms`: those of the event when the claim was filed. */
  readonly publisherCommission?: number;
  readonly terms: Terms;
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

interface ClaimedTransaction {
  readonly transactionId: string;
  readonly programId: number;
  readonly siteId: number;
  readonly publisherId?: number;
  readonly standing: (typeof STANDINGS)[keyof typeof STANDINGS];
}

interface Tracked {
  readonly transactionId: string;
  readonly position?: Position;
}

/**
 * Makes a claimed order a transaction: Tracked, then Tracked_Approved (`docs/decisions.md#c10`). One that exists stays as it is;
 * if it is a refused one of another site, the order becomes another transaction. Raises an error while the program does not
 * exist.
 */
export async function trackClaimedOrder(
  log: EventLog,
  directory: Directory,
  { claimId, terms, ...order }: ClaimedOrder,
  at: string,
): Promise<Tracked> {
  const transaction = factsOf(order, terms, directory);
  const { tracked, state } = await track(log, transaction, terms, at);
  const isOthers = state.name !== 'Unknown' && state.transaction.siteId !== order.siteId;
  if (!isOthers || STANDINGS[stateIdOf(state.name)] !== 'refused') return tracked;
  return (await track(log, { ...transaction, claimId }, terms, at)).tracked;
}

/** A transaction as claims see it, as of the end of the log; undefined if there is none. */
export async function claimedTransaction(
  log: EventLog,
  transactionId: string,
): Promise<ClaimedTransaction | undefined> {
  const { state } = await load(log, transactionDecider, transactionId);
  if (state.name === 'Unknown') return undefined;
  const { programId, siteId, publisherId } = state.transaction;
  const publisher = publisherId === undefined ? {} : { publisherId };
  return { transactionId, programId, siteId, ...publisher, standing: STANDINGS[stateIdOf(state.name)] };
}

async function track(
  log: EventLog,
  transaction: TransactionFacts,
  terms: Terms,
  at: string,
): Promise<{ readonly tracked: Tracked; readonly state: TransactionState }> {
  const { transactionId } = await reportedTransaction(log, transaction);
  const command = { do: 'report', at, transaction, posted: [], surroundings: APPROVED, terms } as const;
  const { position, state } = await execute(log, transactionDecider, transactionId, command);
  return { tracked: { transactionId, ...(position === undefined ? {} : { position }) }, state };
}

function factsOf(
  { publisherCommission, ...order }: Omit<ClaimedOrder, 'claimId' | 'terms'>,
  terms: Terms,
  directory: Directory,
): TransactionFacts {
  const { programId, eventId, siteId, orderValue } = order;
  const program = directory.program(programId);
  if (program === undefined)
    throw new Error(
      `the approved order ${order.orderNumber} cannot become a transaction: program ${programId} does not exist; define it again`,
    );
  const event = program.events.find(({ id }) => id === eventId);
  return {
    ...order,
    programCountry: program.country,
    siteName: directory.programs.site(siteId)?.name ?? '',
    eventTypeId: event?.kind === 'lead' ? 4 : 5,
    publisherCommission: publisherCommission ?? commissionOf(terms, orderValue, order.currencyId),
    tdCommission: 0,
  };
}
