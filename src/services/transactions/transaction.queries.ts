import { Injectable } from '@nestjs/common';
import {
  listTransactions,
  MOST_TOTALS,
  type TotalsGroups,
  totalTransactions,
  transactions,
  type TransactionCriteria,
  type TransactionPage,
  transactionsById,
  type TransactionTotals,
} from '../../../projections/transactions';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { type OutputTotal, type OutputTransaction } from '../../domain/transactions/transaction-fields';
import { idsWith, onlyOne, TRANSACTION_ID } from '../../domain/transactions/transaction-id';
import { STANDINGS, type StateId, STATES } from '../../domain/transactions/states';
import {
  type ListedTransaction,
  storedAfter,
  type StoredTransaction,
  toOutput,
} from '../../domain/transactions/stored-transaction';
import { TRANSACTION, type TransactionEvent } from '../../domain/transactions/transaction';
import { type FoundList } from '../../http/answer';
import { eventsOnDemand, lastEvent, toDomainEvent } from '../../kernel/decider';
import { NO_STREAM, type Position, positionOf, START, streamOf } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { DirectoryView } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { liveNow } from '../../projector/generations';
import { eachOf } from '../../projector/search-in-parts';
import { type DateFormat } from '../../wire/date';
import { sentAmong } from '../../wire/keys/keys';
import { ListCursors, pageOf } from '../../wire/keys/pages';
import { decimalOf } from '../../wire/record/minor-units';
import {
  amongKeys,
  type FilterKeys,
  GROUP_IDS,
  type HistoryKeys,
  nextSince,
  PERIODS,
  type TotalsKeys,
  type TransactionListKeys,
} from './api';

const listCursors = new ListCursors<TransactionListKeys>({
  presentation: ['pageSize', 'dateOutputFormat', 'format'],
  excluded: ['page', 'since'],
  refuse: fault.content,
});

/** What callers may read of transactions (`docs/decisions.md#t6`). */
@Injectable()
export class TransactionQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly follower: DirectoryView,
  ) {}

  async list(
    keys: TransactionListKeys,
    caller: Caller,
    query: QueryOptions = {},
  ): Promise<FoundList<OutputTransaction>> {
    const page = {
      orderBy: keys.orderBy ?? 'timeOfEvent',
      descending: keys.sortOrder !== 'asc',
      ...pageOf(keys, fault.content),
      after: listCursors.read(keys),
    } as const;
    const criteria = criteriaOf(keys, caller);
    const dates = keys.dateOutputFormat ?? 'iso8601';
    const { since } = keys;
    const { found, ...links } =
      since === undefined
        ? await this.page(keys, criteria, page, query)
        : await this.changed({ ...keys, since }, criteria, page.size, query);
    const items = eachOf(found, (listed) => toOutput(listed, dates));
    return { items, total: found.total, requested: keys.pageSize, ...links };
  }

  private async page(
    keys: TransactionListKeys,
    criteria: TransactionCriteria,
    page: TransactionPage,
    query: QueryOptions,
  ) {
    const found = await listTransactions(this.store, criteria, page, undefined, query);
    return { found, nextCursor: listCursors.next(keys, found) };
  }

  /** What has changed after a log position, in the order of the log; what changes meanwhile is on a later page. */
  private async changed(
    keys: TransactionListKeys & { readonly since: Position },
    criteria: TransactionCriteria,
    size: number,
    query: QueryOptions,
  ) {
    for (const name of ['page', 'orderBy', 'sortOrder'] as const)
      if (keys[name] !== undefined)
        throw fault.content(`${name}=${keys[name]}: cannot be combined with since`);
    const { since } = keys;
    const { target, position: until } = await liveNow(this.store, transactions.collection);
    // A position beyond the end belongs to a log that has been moved (`docs/decisions.md#x51`).
    const isOfThisLog = since <= until || since <= (await this.log.head());
    const after = isOfThisLog ? since : START;
    const page = { orderBy: 'position', descending: false, offset: 0, size, after: null } as const;
    // What is behind the checkpoint may be there in part.
    const found = await listTransactions(this.store, { ...criteria, after, until }, page, target, query);
    if (found.next === undefined) return { found, headers: nextSince(after > until ? after : until) };
    const [last] = found.next.keys;
    if (typeof last !== 'number') throw new Error('positions are numbers');
    return { found, headers: nextSince(positionOf(last)) };
  }

  /** In the order of their periods, then of their ids, currencies and states. */
  async totals(keys: TotalsKeys, caller: Caller, query: QueryOptions = {}): Promise<FoundList<OutputTotal>> {
    const groups = groupsOf(keys);
    const criteria = criteriaOf(keys, caller);
    const totals = await totalTransactions(this.store, criteria, groups, query);
    if (totals === undefined)
      throw fault.content(
        `groupBy=${keys.groupBy.join(',')}: more than ${MOST_TOTALS} combinations with currency and state; expected ` +
          'fewer: group by less, or send keys that select fewer transactions',
      );
    return { items: [reported(totals, groups)] };
  }

  /** Raises CON_500 unless the caller may see it, CON_550 if the id names several. */
  async one(id: string, caller: Caller, dates: DateFormat): Promise<OutputTransaction> {
    return toOutput(await this.visible(id, caller), dates);
  }

  /** Its state after each event, oldest first, or a page of them. Raises CON_500 and CON_550 as `one` does. */
  async history(
    id: string,
    caller: Caller,
    { pageSize, page, dateOutputFormat = 'iso8601' }: HistoryKeys,
    { signal }: QueryOptions = {},
  ): Promise<FoundList<OutputTransaction>> {
    if (page !== undefined && pageSize === undefined)
      throw fault.content(`page=${page}: expected together with pageSize`);
    const asked = pageSize === undefined ? undefined : pageOf({ pageSize, page }, fault.content);
    const first = asked?.offset ?? 0;
    const { transactionId } = await this.visible(id, caller);
    const last = await lastEvent(this.log, streamOf(TRANSACTION, transactionId));
    const total = (last?.revision ?? NO_STREAM) + 1;
    const to = Math.min(total, first + (asked?.size ?? total));
    const items = this.states(transactionId, [first, to], dateOutputFormat, signal);
    return { items, total, requested: pageSize };
  }

  /** After the events from revision `first` to before `to`. An amendment has what the events before it have. */
  private async *states(
    transactionId: string,
    [first, to]: readonly [number, number],
    dates: DateFormat,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Iterable<OutputTransaction>> {
    if (first >= to) return;
    let stored: StoredTransaction | undefined;
    for await (const batch of eventsOnDemand(this.log, streamOf(TRANSACTION, transactionId), { to, signal }))
      yield (function* () {
        for (const recorded of batch) {
          stored = storedAfter(stored, toDomainEvent(recorded) as TransactionEvent, recorded.revision);
          if (recorded.revision >= first) yield toOutput({ transactionId, ...stored }, dates);
        }
      })();
  }

  /** By either of its ids. */
  private async visible(id: string, caller: Caller): Promise<ListedTransaction> {
    const { directory } = this.follower;
    const ids = TRANSACTION_ID.test(id) ? [id] : idsWith(id, directory.programs);
    const found = await transactionsById(this.store, ids);
    const visible = found.filter((one) => mayRead(caller, one));
    const only = onlyOne(id, visible);
    if (only !== undefined) return only;
    throw fault.unknownTransaction(`${id}: you have no such transaction`);
  }
}

function mayRead(caller: Caller, { transaction }: ListedTransaction): boolean {
  switch (caller.kind) {
    case 'operator':
      return true;
    case 'advertiser':
      return transaction.advertiserId === caller.organisationId;
    case 'publisher':
      return (
        transaction.publisherId === caller.organisationId &&
        (caller.siteId === undefined || caller.siteId === transaction.siteId)
      );
  }
}

const AMONG = Object.keys(amongKeys) as (keyof typeof amongKeys)[];

/** The keys, limited to what the caller may see: a publisher what was reported while the site was its own. */
function criteriaOf(keys: FilterKeys, caller: Caller): TransactionCriteria {
  const { minTimeOfEvent, maxTimeOfEvent, minChanged, maxChanged } = keys;
  const { kind, organisationId, siteId: ofToken } = caller;
  const isOfSite = kind === 'publisher' && ofToken !== undefined;
  return {
    among: {
      ...sentAmong(AMONG, keys),
      ...(kind === 'advertiser' ? { advertiserId: [organisationId] } : {}),
      ...(kind === 'publisher' ? { publisherId: [organisationId] } : {}),
      ...(isOfSite
        ? { siteId: keys.siteId.length === 0 || keys.siteId.includes(ofToken) ? [ofToken] : [] }
        : {}),
    },
    timeOfEvent: { min: minTimeOfEvent, max: maxTimeOfEvent },
    changed: { min: minChanged, max: maxChanged },
    approved: { min: keys.minApproved, max: keys.maxApproved },
  };
}

interface ReportGroups extends TotalsGroups {
  readonly byState: boolean;
}

function groupsOf({ groupBy, periodOf }: TotalsKeys): ReportGroups {
  const [every, other] = PERIODS.filter((period) => groupBy.includes(period));
  if (other !== undefined)
    throw fault.content(`groupBy=${groupBy.join(',')}: expected at most one of ${PERIODS.join(', ')}`);
  if (every === undefined && periodOf !== undefined)
    throw fault.content(`periodOf=${periodOf}: expected together with ${PERIODS.join(', ')} in groupBy`);
  return {
    by: GROUP_IDS.filter((name) => groupBy.includes(name)),
    period: every && { of: periodOf ?? 'timeOfEvent', every },
    byState: groupBy.length === 0 || groupBy.includes('state'),
  };
}

/** A line for each combination; those that differ in nothing but the state become one unless it is asked for. */
function reported(totals: readonly TransactionTotals[], groups: ReportGroups): readonly OutputTotal[] {
  const lines = new Map<
    string,
    { readonly key: readonly (string | number)[]; readonly totals: TransactionTotals[] }
  >();
  for (const one of totals) {
    const { period = '', ids, currencyId, messageTypeId } = one;
    const key = [
      period,
      ...GROUP_IDS.map((name) => ids[name] ?? 0),
      currencyId,
      groups.byState ? messageTypeId : 0,
    ];
    const line = lines.get(key.join());
    if (line === undefined) lines.set(key.join(), { key, totals: [one] });
    else line.totals.push(one);
  }
  return [...lines.values()]
    .sort((a, b) => compareKeys(a.key, b.key))
    .map((line) => lineOf(line.totals, groups));
}

function compareKeys(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  const [left = 0, right = 0] = [a[at], b[at]];
  return left === right ? 0 : left < right ? -1 : 1;
}

function lineOf(totals: readonly TransactionTotals[], { period, byState }: ReportGroups): OutputTotal {
  const [first] = totals;
  if (first === undefined) throw new Error('a line has totals');
  const { currencyId } = first;
  const sumOf = (name: 'approvalTime' | 'count' | (typeof SUMMED)[number], of = totals): number =>
    of.reduce((sum, one) => sum + one[name], 0);
  const standing = (is: (typeof STANDINGS)[StateId]) =>
    totals.filter(({ messageTypeId }) => STANDINGS[messageTypeId as StateId] === is);
  const accepted = standing('accepted');
  const [approved, refused] = [sumOf('count', accepted), sumOf('count', standing('refused'))];
  const state = first.messageTypeId as StateId;
  const [orderValue, publisherCommission, tdCommission] = SUMMED.map((name) =>
    decimalOf(sumOf(name), currencyId),
  );
  return {
    ...(period === undefined ? {} : { period: first.period ?? '', periodOf: period.of }),
    ...first.ids,
    currencyId,
    ...(byState ? { messageTypeId: state, stateName: STATES[state].name } : {}),
    count: sumOf('count'),
    orderValue: orderValue ?? 0,
    publisherCommission: publisherCommission ?? 0,
    tdCommission: tdCommission ?? 0,
    ...(byState ? {} : { approved, refused }),
    ...(byState || approved + refused === 0 ? {} : { approvalRate: rateOf(approved, approved + refused) }),
    ...(approved === 0
      ? {}
      : { secondsToApproval: Math.round(sumOf('approvalTime', accepted) / approved / 1000) }),
  };
}

const SUMMED = ['orderValue', 'publisherCommission', 'tdCommission'] as const;

/** With four decimals. */
function rateOf(part: number, whole: number): number {
  return Math.round((part / whole) * 10_000) / 10_000;
}
