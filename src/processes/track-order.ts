import { hash } from 'node:crypto';
import { commissionOf, type Terms } from '../network/programs';
import { type Directory } from '../network/directory';
import { execute, lastEvent, load } from '../kernel/decider';
import { defined } from '../kernel/values';
import { type Position, START, streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { reservations } from '../domain/keys/reservation';
import { claimDecider, type FiledClaim } from '../domain/claims/claim';
import { type OrderTransaction, findTracked } from '../domain/claims/screening';
import { APPROVED } from '../domain/claims/statuses';
import { reportedTransaction } from '../domain/transactions/transaction-id';
import { STANDINGS, stateIdOf } from '../domain/transactions/states';
import {
  type Surroundings,
  transactionDecider,
  type TransactionState,
} from '../domain/transactions/transaction';
import { type TransactionFacts } from '../domain/transactions/transaction-facts';
import { type ActionParts } from './automation-runner';

/** An order that a publisher has claimed, as it was approved; amounts are integers (`wire/record/minor-units.ts`). */
interface ApprovedOrder
  extends
    Pick<TransactionFacts, 'programId' | 'siteId' | 'advertiserId' | 'currencyId' | 'eventId'>,
    Pick<TransactionFacts, 'orderNumber' | 'orderValue' | 'timeOfEvent' | 'epi' | 'epi2'> {
  readonly claimId: number;
  readonly publisherId: number;
  /** By default by `terms`: those of the event when the claim was filed (`docs/decisions.md#c6`). */
  readonly publisherCommission?: number;
  readonly terms: Terms;
}

/**
 * The transactions of an advertiser with an order number, with all events up to the position `since` at least. Raises
 * `EngineUnavailable`.
 */
export type OrdersNow = (
  advertiserId: number,
  orderNumber: string,
  since: Position,
) => Promise<readonly OrderTransaction[]>;

interface TrackingParts extends ActionParts {
  /** A position not before the approval of the claim: what was reported before the approval is taken into account. */
  readonly since: Position;
}

/**
 * The stream `claimorder-<hash>` of an order: for which of the claims that were approved for it a transaction is made,
 * by the last event (`ReservationEvent`).
 */
const orderOwners = reservations('claimorder');

/** An order belongs to a program of an advertiser (`docs/decisions.md#c10`), whatever its event. */
function orderKeyOf({ advertiserId, programId, orderNumber }: ApprovedOrder): string {
  return hash('sha256', `${advertiserId}:${programId}:${orderNumber}`);
}

/**
 * Makes a claim a transaction if it is approved and is none yet. Of several claims of one order only the one that has
 * reserved the order makes a transaction, however many processes do this at once; the others find that one. Whoever
 * finds the order reserved for a claim that has no transaction yet finishes that first: its process may have been
 * killed. If that transaction was refused, and another publisher's claim is for the same order, that claim takes the
 * order over.
 */
export async function track(
  id: string | number,
  ordersNow: OrdersNow,
  parts: TrackingParts,
): Promise<{ readonly position?: Position }> {
  const { clock, log, at } = parts;
  const order = await approvedOrder(id, parts);
  if (order === undefined) return {};
  const { claimId } = order;
  const key = orderKeyOf(order);
  for (;;) {
    const { state: seen } = await execute(clock, log, orderOwners, key, { next: { owner: claimId, at }, at });
    const owner = seen?.owner ?? claimId;
    if (owner === claimId) return await trackFirst(order, ordersNow, parts);
    const first = await approvedOrder(owner, parts);
    if (first !== undefined && orderKeyOf(first) === key)
      await trackFirst(first, ordersNow, { ...parts, since: await approvalOf(owner, parts) });
    const tracked = await transactionOf(owner, log);
    const found = tracked && findTracked(order, [tracked]);
    if (found !== undefined) return await recordTracked(claimId, found.transactionId, parts);
    await execute(clock, log, orderOwners, key, { seen, at });
  }
}

/** Tracks the claim that has reserved the order. Repeated by another process, it finds the same transaction. */
async function trackFirst(
  order: ApprovedOrder,
  ordersNow: OrdersNow,
  parts: TrackingParts,
): Promise<{ readonly position?: Position }> {
  const { since } = parts;
  const orders = await ordersNow(order.advertiserId, order.orderNumber, since);
  // Finds what was tracked since the approval, also by this function before it was interrupted.
  const { transactionId } = findTracked(order, orders) ?? (await makeTransaction(order, parts));
  return await recordTracked(order.claimId, transactionId, parts);
}

async function recordTracked(
  claimId: number,
  transactionId: string,
  { clock, log, at }: TrackingParts,
): Promise<{ readonly position?: Position }> {
  return await execute(clock, log, claimDecider, claimId, { do: 'track', at, transactionId });
}

/** The transaction of a claim, as of the end of the log; undefined if there is none. */
async function transactionOf(claimId: number, log: EventLog): Promise<OrderTransaction | undefined> {
  const { state: claim } = await load(log, claimDecider, claimId);
  if (claim.is !== 'filed' || claim.transactionId === undefined) return undefined;
  const { transactionId } = claim;
  const { state } = await load(log, transactionDecider, transactionId);
  if (state.name === 'Unknown') return undefined;
  const { programId, siteId, publisherId } = state.transaction;
  const publisher = publisherId === undefined ? {} : { publisherId };
  return { transactionId, programId, siteId, ...publisher, standing: STANDINGS[stateIdOf(state.name)] };
}

/**
 * The position of the approval of another claim, or `since` if that is later: approved claims do not change until they
 * are tracked.
 */
async function approvalOf(claimId: number, { log, since }: TrackingParts): Promise<Position> {
  const last = await lastEvent(log, streamOf(claimDecider.category, claimId));
  return last !== undefined && last.position > since ? last.position : since;
}

/** A claim that is approved and has no transaction yet. */
async function approvedOrder(
  id: string | number,
  { log, directory }: TrackingParts,
): Promise<ApprovedOrder | undefined> {
  const { state } = await load(log, claimDecider, id);
  if (state.is !== 'filed' || state.statusId !== APPROVED || state.transactionId !== undefined)
    return undefined;
  return orderOf(Number(id), state, directory);
}

/** The claim as it was approved (`docs/decisions.md#c6`, `#c10`). */
function orderOf(
  claimId: number,
  { publisherId, advertiserId, currencyId, claim, ruling, terms, postedAt }: FiledClaim,
  { pastTerms }: Directory,
): ApprovedOrder {
  if (advertiserId === undefined || currencyId === undefined)
    throw new Error('an approved claim has a program');
  const { programId, siteId, eventId, orderNumber, epi, epi2, transactionDate } = claim;
  const publisherCommission = ruling?.expectedCommission ?? claim.expectedCommission;
  return {
    claimId,
    programId,
    siteId,
    publisherId,
    advertiserId,
    currencyId,
    eventId,
    orderNumber,
    orderValue: ruling?.orderValue ?? claim.orderValue,
    ...(publisherCommission === undefined ? {} : { publisherCommission }),
    terms: terms ?? pastTerms.at(programId, eventId, postedAt ?? START) ?? {},
    timeOfEvent: `${transactionDate}T00:00:00.000Z`,
    ...defined({ epi, epi2 }),
  };
}

/**
 * Makes an order a transaction: Tracked, then Tracked_Approved (`docs/decisions.md#c10`). One that exists stays as it
 * is; if it is a refused one of another site, the order becomes another transaction. Raises an error while the program
 * does not exist.
 */
async function makeTransaction(
  { claimId, terms, ...order }: ApprovedOrder,
  parts: TrackingParts,
): Promise<{ readonly transactionId: string }> {
  const transaction = transactionFor(order, terms, parts.directory);
  const first = await report(transaction, terms, parts);
  const { state } = first;
  const isOthers = state.name !== 'Unknown' && state.transaction.siteId !== order.siteId;
  if (!isOthers || STANDINGS[stateIdOf(state.name)] !== 'refused') return first;
  return await report({ ...transaction, claimId }, terms, parts);
}

/** The approval has decided what a report would be validated for: it is approved at once. */
const UNQUESTIONED: Surroundings = {
  program: 'active',
  invoicesPaid: false,
  isConnected: true,
  pendingDays: 0,
  autoDeny: false,
};

async function report(
  transaction: TransactionFacts,
  terms: Terms,
  { clock, log, at }: TrackingParts,
): Promise<{ readonly transactionId: string; readonly state: TransactionState }> {
  const { transactionId } = await reportedTransaction(log, transaction);
  const command = { do: 'report', at, transaction, posted: [], surroundings: UNQUESTIONED, terms } as const;
  const { state } = await execute(clock, log, transactionDecider, transactionId, command);
  return { transactionId, state };
}

function transactionFor(
  { publisherCommission, ...order }: Omit<ApprovedOrder, 'claimId' | 'terms'>,
  terms: Terms,
  directory: Directory,
): TransactionFacts {
  const { programId, eventId, siteId, orderValue } = order;
  const program = directory.program(programId);
  if (program === undefined)
    throw new Error(
      `the approved order ${order.orderNumber} cannot become a transaction: program ${programId} does not exist; ` +
        'define it again',
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
