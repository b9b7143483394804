import { claimsOfOrder } from '../../../projections/claims';
import { endedLoads, undoingsOf } from '../../../projections/imports';
import { eventsOfOffer } from '../../../projections/price-history';
import { listTransactions } from '../../../projections/transactions';
import { CLAIM, type ClaimEvent } from '../../domain/claims/claim';
import { storedAfter as claimAfter, type StoredClaim } from '../../domain/claims/stored-claim';
import { FEED, type FeedEvent } from '../../domain/products/feed';
import { REFUSALS, type RefusalEvent } from '../../domain/products/feed-refusals';
import { offerId } from '../../domain/products/offer';
import { formatPrice } from '../../domain/products/product-fields';
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
import { VOUCHER, voucherDecider, type VoucherEvent } from '../../domain/vouchers/voucher';
import { eventAt, toFolded } from '../../kernel/decider';
import { type Position, type RecordedEvent, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { eventsOnDemand } from '../../kernel/history';
import { type ReadStore } from '../../kernel/read-store';
import { without } from '../../kernel/without';
import { type Directory } from '../../network/directory';
import {
  type FeedDefinition,
  type FeedInfoEvent,
  type MappingEvent,
  type ProgramEvent,
} from '../../network/events';
import { inParallel } from '../../runtime/concurrency';
import { eachOf } from '../../projector/search-in-parts';
import { toOutput as claimOutput } from '../../services/claims/output';
import { UsageError } from '../command-error';
import { maskedReceivers } from '../log-events';
import { termsText } from '../show-transaction';

/**
 * What a history can be of: where its events are, and how they are folded into what is shown (`docs/decisions.md#x109`).
 */

/** Kinds of things with one id; products are named by their feed, too. */
export const HISTORY_KINDS = ['voucher', 'transaction', 'claim', 'subscription', 'feed', 'program'] as const;

type HistoryKind = (typeof HISTORY_KINDS)[number];

export type HistorySubject =
  | { readonly kind: HistoryKind; readonly id: string }
  | { readonly kind: 'product'; readonly feedId: string; readonly sourceProductId: string };

export type Shown = Readonly<Record<string, unknown>>;

/** Names of fields, those within objects with a dot, and their values: absent where there is none. */
export type Changes = Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;

/** What an event leads to. */
export interface Step {
  readonly by: string;
  /** What is shown in a history; undefined once it is removed. */
  readonly state: Shown | undefined;
  /** What a history leaves out, since it is long. */
  readonly rest?: () => Shown;
  /** Of what is left out. */
  readonly also?: Changes;
}

/** Called with the events in order. */
export type Fold = (event: RecordedEvent) => Step;

export interface Folder {
  readonly title: string;
  readonly events: AsyncIterable<readonly RecordedEvent[]>;
  readonly fold: Fold;
}

export interface HistoryParts {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly directory: Directory;
}

/** There is no such thing, or none at the point that is asked for. */
export class NothingThere extends UsageError {}

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

function integerIn(name: string, sent: string): number {
  if (/^\d{1,15}$/.test(sent)) return Number(sent);
  throw new UsageError(`${name}=${sent.slice(0, 100)}: expected its id, an integer`);
}

function eventIn<Event extends { readonly type: string; readonly data: object }>(recorded: RecordedEvent) {
  return toFolded<Event>(recorded);
}

/** Events of one product that are read at a time, each by itself. */
const AT_ONCE = 16;

/** Where in the stream of its feed its events are is in the read model of its prices (ADR 49). */
async function productFolder(
  { log, store, directory }: HistoryParts,
  { feedId: sent, sourceProductId }: { readonly feedId: string; readonly sourceProductId: string },
  signal?: AbortSignal,
): Promise<Folder> {
  const feedId = integerIn('feed', sent);
  const title = `product ${sourceProductId} of feed ${feedId}`;
  const revisions = await eventsOfOffer(store, offerId(feedId, sourceProductId));
  if (revisions === undefined) throw new NothingThere(`${title}: there are no events of it`);
  const isUndoing = await undoingsOf(store, feedId);
  const owner = ownerOf(directory, directory.feed(feedId));
  const makers = new Map<number, string>();
  let state: Shown | undefined;
  return {
    title,
    events: withMakers(eventsAt(log, streamOf(FEED, feedId), revisions, signal)),
    fold: (recorded) => {
      const by = makers.get(recorded.revision) ?? orOperator(owner);
      const { type, data, position } = eventIn<FeedEvent>(recorded);
      if (type === 'ProductDelisted') state = undefined;
      else if (type !== 'FeedImported' && type !== 'ProductsDeleted') {
        const { price, currency = directory.currencies.ofFeed(feedId, position ?? '') } = data;
        const content = type === 'ProductRepriced' ? state : data.product;
        state = { ...content, price: formatPrice(price), ...(currency === undefined ? {} : { currency }) };
      }
      return { by, state };
    },
  };

  /** An event of a product does not say whose it is, but what ends its load does. */
  async function* withMakers(
    events: AsyncIterable<readonly RecordedEvent[]>,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const batch of events) {
      makers.clear();
      await inParallel(batch, AT_ONCE, async ({ revision }) => {
        const isOfOperator = await isUndoing(revision);
        if (isOfOperator !== undefined) makers.set(revision, isOfOperator ? 'operator' : owner);
      });
      yield batch;
    }
  }
}

/** Of what both may do, if events do not tell who has done it. */
function orOperator(owner: string): string {
  return `${owner} or operator`;
}

async function* eventsAt(
  log: EventLog,
  stream: string,
  revisions: Iterable<number>,
  signal?: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[]> {
  const all = [...revisions];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    signal?.throwIfAborted();
    const read = await inParallel(all.slice(from, from + AT_ONCE), AT_ONCE, async (revision) => {
      const events: RecordedEvent[] = [];
      for await (const batch of log.readStream(stream, { from: revision, limit: 1 })) events.push(...batch);
      return events.filter((event) => event.revision === revision);
    });
    yield read.flat();
  }
}

function ownerOf(directory: Directory, feed: FeedDefinition | undefined): string {
  const owner = feed && directory.program(feed.programIds[0] ?? NaN)?.organisationId;
  return owner === undefined ? 'advertiser' : `advertiser ${owner}`;
}

function voucherFold(directory: Directory): Fold {
  let state = voucherDecider.initial;
  return (recorded) => {
    state = voucherDecider.evolve(state, eventIn<VoucherEvent>(recorded));
    if (state.status === 'unknown') return { by: 'unknown', state: undefined };
    const owner = directory.program(state.programId)?.organisationId;
    const by = owner === undefined ? 'advertiser' : `advertiser ${owner}`;
    if (state.status !== 'published') return { by, state: undefined };
    const { voucher, currency, programId, sourceId } = state;
    const code =
      'currency' in currency
        ? currency.currency
        : directory.currencies.ofProgram(programId, currency.postedAt);
    const known = {
      ...(sourceId === undefined ? {} : { sourceId }),
      ...(code === undefined ? {} : { currencyId: code }),
    };
    return { by, state: { programId, ...known, ...voucher } };
  };
}

/** Reasons of rulings that the system gives. */
const BY_SYSTEM: readonly unknown[] = [3, 4];

function transactionFold(): Fold {
  let stored: StoredTransaction | undefined;
  return (recorded) => {
    const event = eventIn<TransactionEvent>(recorded);
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
  const ids = legacy.map(({ transactionId }) => transactionId);
  if (ids.length === 0) {
    const criteria = { among: { orderNumber: [id] }, timeOfEvent: {}, changed: {}, approved: {} };
    const page = { orderBy: 'timeOfEvent', descending: false, offset: 0, size: NAMED } as const;
    const found = await listTransactions(store, criteria, page);
    for await (const batch of eachOf(found, ({ transactionId }) => transactionId)) ids.push(...batch);
  }
  return onlyOf(ids, `transaction ${id.slice(0, 300)}`, [
    'transactionId',
    'a transactionId, a legacyTransactionId, or an order number',
  ]);
}

/** By its id, or the order number if there is one claim with it: an integer that is the id of a claim is meant as that. */
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
    const event = eventIn<ClaimEvent>(recorded);
    const origin = (stored = claimAfter(stored, event) ?? stored)?.origin;
    const by = whoClaimed(event, origin?.publisherId, origin?.advertiserId);
    if (event.type === 'ClaimWithdrawn' || stored === undefined) return { by, state: undefined };
    const { transactionId } = stored;
    const output = claimOutput({ claimId, ...stored }, directory, new Date(event.data.at));
    return { by, state: { ...output, ...(transactionId === undefined ? {} : { transactionId }) } };
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
    const event = eventIn<SubscriptionEvent>(recorded);
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
  const statuses: Partial<Record<ProgramEvent['type'], string>> = {
    ProgramActivated: 'active',
    ProgramPaused: 'paused',
    ProgramClosed: 'closed',
  };
  return (recorded) => {
    const { type, data } = eventIn<ProgramEvent>(recorded);
    if (type === 'ProgramRemoved') state = undefined;
    else if (type === 'ProgramDefined')
      state = { ...without(data, 'at'), status: state?.['status'] ?? 'active' };
    else state = state && { ...state, status: statuses[type] ?? state['status'] };
    return { by: 'operator', state };
  };
}

type EventOfFeed = FeedEvent | FeedInfoEvent | MappingEvent | RefusalEvent;

/** Definition, loads, deletions, refused posts and mappings; not its products, of which loads have the counts. */
function feedFolder({ log, store, directory }: HistoryParts, feedId: number, signal?: AbortSignal): Folder {
  const ofStream = (category: string) => eventsOnDemand(log, streamOf(category, feedId), { signal });
  const owner = ownerOf(directory, directory.feed(feedId));
  const mapped = new Map<string, string>();
  const changed: (readonly [name: string, categoryId: string | undefined])[] = [];
  let state: Shown | undefined;
  /** All mappings as of now, whenever it is called. */
  const mappingsNow = (): (() => Shown) => {
    const { length } = changed;
    return () => {
      const mappings = new Map<string, string>();
      for (const [name, categoryId] of changed.slice(0, length))
        if (categoryId === undefined) mappings.delete(name);
        else mappings.set(name, categoryId);
      return { mappings: Object.fromEntries(mappings) };
    };
  };
  const map = (name: string, categoryId: string | undefined): Changes => {
    const before = mapped.get(name);
    if (categoryId === undefined) mapped.delete(name);
    else mapped.set(name, categoryId);
    changed.push([name, categoryId]);
    state = { ...state, mappings: mapped.size };
    return { [`mappings.${name}`]: { ...(before && { before }), ...(categoryId && { after: categoryId }) } };
  };
  return {
    title: `feed ${feedId}`,
    events: merged(['feedinfo', 'mapping', REFUSALS].map(ofStream), loadsOf()),
    fold: (recorded) => {
      const event = eventIn<EventOfFeed>(recorded);
      switch (event.type) {
        case 'FeedDefined':
          state = { ...state, ...without(event.data, 'at') };
          break;
        case 'FeedRemoved':
          state = undefined;
          break;
        case 'CategoryMapped':
        case 'CategoryUnmapped': {
          const categoryId = 'categoryId' in event.data ? event.data.categoryId : undefined;
          const also = map(event.data.name, categoryId);
          return { by: 'operator', state, rest: mappingsNow(), also };
        }
        case 'FeedImported':
        case 'ProductsDeleted':
        case 'FeedImportRefused':
          state = { ...state, ...loaded(state?.['products'], event) };
          return {
            by: event.type === 'FeedImported' && event.data.restores !== undefined ? 'operator' : owner,
            state,
            rest: mappingsNow(),
          };
        default:
          break;
      }
      return { by: 'operator', state, rest: mappingsNow() };
    },
  };

  async function* loadsOf(): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const revisions of endedLoads(store, feedId))
      yield* eventsAt(log, streamOf(FEED, feedId), revisions, signal);
  }
}

/** The load, and how many products there are then. */
function loaded(
  products: unknown,
  event: Extract<EventOfFeed, { readonly type: 'FeedImported' | 'FeedImportRefused' | 'ProductsDeleted' }>,
): Shown {
  const before = typeof products === 'number' ? products : 0;
  const { importId } = event.data;
  const id = importId === undefined ? {} : { importId };
  if (event.type === 'ProductsDeleted')
    return {
      products: before - event.data.removed,
      lastLoad: { ...id, mode: 'delete', removed: event.data.removed },
    };
  const { mode, faults } = event.data;
  if (event.type === 'FeedImportRefused') return { lastRefused: { ...id, mode, reason: faults[0]?.message } };
  const load = without(event.data, 'at', 'faults', 'ignoredFields');
  return { products: before + load.new - load.removed, lastLoad: load };
}

/** Events of several streams in the order of the log, one by one. */
async function* merged(
  streams: readonly AsyncIterable<readonly RecordedEvent[]>[],
  last: AsyncIterable<readonly RecordedEvent[]>,
): AsyncGenerator<readonly RecordedEvent[]> {
  const heads = await Promise.all(
    [...streams, last].map(async (stream) => {
      const events = eachEvent(stream);
      return { events, next: await events.next() };
    }),
  );
  for (;;) {
    const left = heads.filter(({ next }) => next.done !== true);
    left.sort((a, b) => (positionOfHead(a.next) < positionOfHead(b.next) ? -1 : 1));
    const [first] = left;
    if (first === undefined || first.next.done === true) return;
    yield [first.next.value];
    first.next = await first.events.next();
  }
}

function positionOfHead({ value }: IteratorResult<RecordedEvent, undefined>): Position {
  return value?.position ?? '';
}

async function* eachEvent(
  batches: AsyncIterable<readonly RecordedEvent[]>,
): AsyncGenerator<RecordedEvent, undefined> {
  for await (const batch of batches) yield* batch;
}
