import { claimsOfOrder } from '../../../projections/claims';
import { transactionsOfOrder } from '../../../projections/transactions';
import { CLAIM, type ClaimEvent } from '../../domain/claims/claim';
import { productIn } from '../../domain/products/offer';
import { storedAfter as claimAfter, type StoredClaim } from '../../domain/claims/stored-claim';
import {
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
} from '../../domain/subscriptions/subscription';
import { TRANSACTION_ID, transactionsWith } from '../../domain/transactions/transaction-id';
import { STATES } from '../../domain/transactions/states';
import {
  storedAfter as transactionAfter,
  type StoredTransaction,
} from '../../domain/transactions/stored-transaction';
import { TRANSACTION, type TransactionEvent } from '../../domain/transactions/transaction';
import { AMOUNTS, postedValue } from '../../domain/transactions/transaction-facts';
import { isVersion, VOUCHER, voucherDecider, type VoucherEvent } from '../../domain/vouchers/voucher';
import { eventAt, eventsOnDemand, toFolded } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { defined, without } from '../../kernel/values';
import { type Directory } from '../../network/directory';
import { type ProgramEvent, STATUS_AFTER } from '../../network/events';
import { toOutput as claimOutput } from '../../services/claims/output';
import { NothingThere, UsageError } from '../command-error';
import { maskedReceivers } from '../log-events';
import { termsText } from '../show-transaction';
import { feedFolder, productFolder } from './feeds';
import {
  advertiserOf,
  type Fold,
  type Folder,
  type HistoryParts,
  integerIn,
  orOperator,
  type Shown,
} from './folder';

/** Kinds of things with one id; products are named by their feed, too. */
export const HISTORY_KINDS = ['voucher', 'transaction', 'claim', 'subscription', 'feed', 'program'] as const;

type HistoryKind = (typeof HISTORY_KINDS)[number];

export type HistorySubject =
  | { readonly kind: HistoryKind; readonly id: string }
  | { readonly kind: 'product'; readonly feedId: string; readonly sourceProductId: string };

/**
 * A product by its feed and its sourceProductId, or by `<feedId>-<sourceProductId>`, as messages
 * have it. Raises `UsageError`.
 */
export function productNamed(
  feed: string,
  sourceProductId?: string,
): HistorySubject & { readonly kind: 'product' } {
  if (sourceProductId !== undefined) return { kind: 'product', feedId: feed, sourceProductId };
  const product = productIn(feed);
  if (product === undefined)
    throw new UsageError(
      `product ${feed.slice(0, 300)}: expected its feed and sourceProductId, or <feedId>-<sourceProductId>`,
    );
  return { kind: 'product', feedId: String(product.feedId), sourceProductId: product.sourceProductId };
}

export async function folderOf(
  parts: HistoryParts,
  subject: HistorySubject,
  signal: AbortSignal | undefined,
): Promise<Folder> {
  if (subject.kind === 'product') return await productFolder(parts, subject, signal);
  const { kind, id } = subject;
  if (kind === 'feed') return feedFolder(parts, integerIn('feed', id), signal);
  const { log, directory } = parts;
  const ofStream = (category: string, named: number | string, fold: Fold): Folder => ({
    title: `${kind} ${named}`,
    events: eventsOnDemand(log, streamOf(category, named), { signal }),
    fold,
  });
  switch (kind) {
    case 'voucher':
      return ofStream(VOUCHER, integerIn(kind, id), voucherFold(directory));
    case 'transaction': {
      const transactionId = await transactionNamed(parts, id);
      return ofStream(TRANSACTION, transactionId, transactionFold());
    }
    case 'claim': {
      const claimId = await claimNamed(parts, id);
      return ofStream(CLAIM, claimId, claimFold(claimId, directory));
    }
    case 'subscription':
      return ofStream(SUBSCRIPTION, id, subscriptionFold(directory));
    case 'program':
      return ofStream('program', integerIn(kind, id), programFold());
  }
}

function voucherFold(directory: Directory): Fold {
  let state = voucherDecider.initial;
  return (recorded) => {
    const event = toFolded<VoucherEvent>(recorded);
    state = voucherDecider.evolve(state, event);
    if (state.status === 'unknown') return { by: 'unknown', state: undefined };
    const by = isVersion(event) ? advertiserOf(directory, state.programId) : 'system';
    if (state.status !== 'published') return { by, state: undefined };
    const { voucher, currency, programId, sourceId } = state;
    const code =
      'currency' in currency
        ? currency.currency
        : directory.currencies.ofProgram(programId, currency.postedAt);
    return { by, state: { programId, ...defined({ sourceId, currencyId: code }), ...voucher } };
  };
}

/** Reasons of rulings that the system gives. */
const BY_SYSTEM: readonly unknown[] = [3, 4];

function transactionFold(): Fold {
  let stored: StoredTransaction | undefined;
  return (recorded) => {
    const event = toFolded<TransactionEvent>(recorded);
    stored = transactionAfter(stored, event, recorded.revision);
    const { transaction, messageTypeId, approved, terms, ...others } = without(
      stored,
      'changed',
      'sequenceNumber',
    );
    const state = {
      stateName: STATES[messageTypeId].name,
      messageTypeId,
      ...transaction,
      ...Object.fromEntries(
        AMOUNTS.filter((name) => name in transaction).map((name) => [name, postedValue(transaction, name)]),
      ),
      ...others,
      ...(approved === undefined ? {} : { approved: new Date(approved).toISOString() }),
      ...(terms === undefined ? {} : { terms: termsText(terms) }),
    };
    return { by: whoMoved(event, transaction.advertiserId), state };
  };
}

/** Events do not say by which token they were requested. */
function whoMoved({ type, data }: TransactionEvent, advertiserId: number): string {
  const requested = orOperator(`advertiser ${advertiserId}`);
  switch (type) {
    case 'TransactionTracked':
    case 'TransactionAmended':
      return requested;
    case 'TransactionPendingApproved':
    case 'TransactionDeleted':
      return BY_SYSTEM.includes(data.deniedReasonId) ? 'system' : requested;
    case 'TransactionPaid':
      return 'operator';
    case 'TransactionInvalidated':
    case 'TransactionPaused':
    case 'TransactionBecamePending':
    case 'TransactionTrackedApproved':
    case 'TransactionPausedDeleted':
      return 'system';
  }
}

/** By its id, its legacy id, or the order number if there is one transaction with it. */
async function transactionNamed({ log, store, directory }: HistoryParts, id: string): Promise<string> {
  if (TRANSACTION_ID.test(id)) return id;
  const legacy = await transactionsWith(log, directory.programs, id);
  const named = legacy.map(({ transactionId }) => transactionId);
  const ids = named.length > 0 ? named : await transactionsOfOrder(store, id, NAMED);
  return onlyOf(ids, `transaction ${id.slice(0, 300)}`, [
    'transactionId',
    'a transactionId, a legacyTransactionId, or an order number',
  ]);
}

/** By its id, or the order number if there is one claim with it. The id of a claim is not taken for an order number. */
async function claimNamed({ log, store }: HistoryParts, id: string): Promise<number> {
  if (CLAIM_ID.test(id) && (await eventAt(log, streamOf(CLAIM, Number(id)), 0)) !== undefined)
    return Number(id);
  const ids = await claimsOfOrder(store, id, NAMED);
  return onlyOf(ids, `claim ${id.slice(0, 300)}`, ['claimId', 'a claimId, or the order number of a claim']);
}

const CLAIM_ID = /^\d{1,15}$/;

/** Transactions and claims of an order that a message names. */
const NAMED = 20;

function onlyOf<Id>(ids: readonly Id[], sent: string, [name, expected]: readonly [string, string]): Id {
  const [only, ...others] = ids;
  if (only === undefined) throw new NothingThere(`${sent}: expected ${expected}`);
  if (others.length > 0)
    throw new UsageError(`${sent}: it names several; expected one of the ${name}s ${ids.join(', ')}`);
  return only;
}

function claimFold(claimId: number, directory: Directory): Fold {
  let stored: StoredClaim | undefined;
  return (recorded) => {
    const event = toFolded<ClaimEvent>(recorded);
    const origin = (stored = claimAfter(stored, event) ?? stored)?.origin;
    const by = whoClaimed(event, origin?.publisherId, origin?.advertiserId);
    if (event.type === 'ClaimWithdrawn' || stored === undefined) return { by, state: undefined };
    const { transactionId } = stored;
    const output = claimOutput({ claimId, ...stored }, directory, new Date(event.data.at));
    return { by, state: { ...output, ...defined({ transactionId }) } };
  };
}

function whoClaimed({ type, data }: ClaimEvent, publisherId = NaN, advertiserId = NaN): string {
  const of = (kind: string, id: number) => (Number.isNaN(id) ? kind : `${kind} ${id}`);
  switch (type) {
    case 'ClaimFiled':
    case 'ClaimRevised':
    case 'ClaimWithdrawn':
      return of('publisher', publisherId);
    case 'ClaimScreened':
      return data.by ?? 'system';
    case 'ClaimRuled':
      return data.by === 'advertiser' ? of('advertiser', advertiserId) : data.by;
    case 'ClaimTracked':
    case 'ClaimKeyReclaimed':
      return 'system';
  }
}

function subscriptionFold(directory: Directory): Fold {
  let state = subscriptionDecider.initial;
  return (recorded) => {
    const event = toFolded<SubscriptionEvent>(recorded);
    state = subscriptionDecider.evolve(state, event);
    if (state.is === 'unknown') return { by: 'unknown', state: undefined };
    const { organisationId } = state;
    const kind = directory.organisations.get(organisationId)?.kind ?? 'organisation';
    const by = whoSubscribed(event, `${kind} ${organisationId}`);
    if (state.is === 'deleted') return { by, state: undefined };
    const { content, ...others } = without(state, 'is');
    const receivers = maskedReceivers(content.receivers);
    return { by, state: { ...others, ...content, receivers } };
  };
}

function whoSubscribed({ type }: SubscriptionEvent, owner: string): string {
  switch (type) {
    case 'ReceiverDisabled':
      return 'system';
    // `affilog notifications enable|test|redeliver` appends them too.
    case 'ReceiverEnabled':
    case 'ProbeRequested':
    case 'TestRequested':
    case 'RedeliveryRequested':
      return orOperator(owner);
    default:
      return owner;
  }
}

function programFold(): Fold {
  let state: Shown | undefined;
  return (recorded) => {
    const { type, data } = toFolded<ProgramEvent>(recorded);
    if (type === 'ProgramRemoved') state = undefined;
    else if (type === 'ProgramDefined')
      state = { ...without(data, 'at'), status: state?.['status'] ?? 'active' };
    else state = state && { ...state, status: type in STATUS_AFTER ? STATUS_AFTER[type] : state['status'] };
    return { by: 'operator', state };
  };
}
