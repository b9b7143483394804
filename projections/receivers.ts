import { isDeepStrictEqual } from 'node:util';
import {
  MATCHED,
  type MatchedEvent,
  type Outcome,
  type PartitionEvent,
} from '../src/domain/deliveries/delivery-events';
import { afterOutcome, afterProbeRequest, type Health, HEALTHY } from '../src/domain/deliveries/health';
import {
  type ReceiverAttempt,
  type ReceiverDay,
  type ReceiverTotals,
} from '../src/domain/deliveries/stored-delivery';
import {
  allOf,
  type Cursor,
  filtersOn,
  type Found,
  type GroupSearch,
  type QueryOptions,
} from '../src/kernel/query';
import { type FieldType, type ReadStore } from '../src/kernel/read-store';
import { defined } from '../src/kernel/values';
import { type Projection } from '../src/projector/projection';

const HEALTH_FIELDS = {
  /** The last attempt, epoch ms. */
  at: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export interface StoredHealth {
  readonly at: string;
  readonly health: Health;
}

type HealthChange = Extract<
  MatchedEvent | PartitionEvent,
  { readonly type: 'MessageAttempted' | 'ProbeDue' }
>;

/**
 * How long (ms) a receiver without attempts keeps its health here. Rests last up to 15 minutes and retries wait up to
 * 29 hours; without a limit, a rebuild would not know what live read models have from events that have expired.
 */
const REMEMBERED_MS = 2 * 24 * 60 * 60 * 1000;

/** The health of each receiver, by its id, folded from the outcomes that senders fold too (`docs/decisions.md#n7`). */
export const receiverHealth: Projection<StoredHealth, HealthChange> = {
  collection: { name: 'receiver-health', version: 2, fields: HEALTH_FIELDS, sorts: [] },
  streams: [MATCHED, 'partition-'],
  acrossStreams: true,
  handles: ['MessageAttempted', 'ProbeDue'],
  expires: { field: 'at', at: ({ at }) => Date.parse(at) },
  usesDirectory: false,
  idOf: ({ data: { receiver } }) => receiver,
  fold(before, { type, data }) {
    if (type === 'ProbeDue') return before && afterProbe(before, Date.parse(data.at));
    const isRecent = before !== undefined && Date.parse(data.at) - Date.parse(before.at) <= REMEMBERED_MS;
    const known = isRecent ? before.health : HEALTHY;
    const health = afterOutcome(known, data);
    // Not by identity: a document that was stored meanwhile has a copy.
    return isDeepStrictEqual(health, known) ? before : { at: data.at, health };
  },
  describe: (document) => ({ document, fields: { at: Date.parse(document.at) } }),
};

function afterProbe(before: StoredHealth, at: number): StoredHealth {
  const health = afterProbeRequest(before.health, at);
  return health === before.health ? before : { ...before, health };
}

const FIELDS = {
  receiver: 'column',
  subscriptionId: 'keyword',
  organisationId: 'number',
  /** The start of the day, epoch ms. */
  at: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type ReceiverField = keyof typeof FIELDS;

type ReceiverChange = Extract<PartitionEvent, { readonly type: 'MessageAttempted' }>;

/** Deliveries to each receiver by day (`docs/decisions.md#n14`); days expire as the delivery log does. */
export const receivers: Projection<ReceiverDay, ReceiverChange> = {
  collection: { name: 'receivers', version: 1, fields: FIELDS, sorts: ['at'] },
  streams: ['partition-'],
  handles: ['MessageAttempted'],
  expires: { field: 'at', at: ({ day }) => Date.parse(day) },
  usesDirectory: false,
  idOf: ({ data: { receiver, at } }) => `${receiver} ${dayOf(at)}`,
  fold: (before, { data }) => dayAfter(before ?? newDay(data), data),
  describe: (document) => {
    const { receiver, subscriptionId, organisationId, day } = document;
    return { document, fields: { receiver, subscriptionId, organisationId, at: Date.parse(day) } };
  },
};

function dayOf(at: string): string {
  return at.slice(0, 10);
}

function newDay({ receiver, subscriptionId, organisationId, at }: Outcome): ReceiverDay {
  const counts = { attempts: 0, failed: 0, delivered: 0, dead: 0 };
  return { receiver, subscriptionId, organisationId, day: dayOf(at), ...counts };
}

function dayAfter(before: ReceiverDay, outcome: Outcome): ReceiverDay {
  const { at, attempt, outcome: kind } = outcome;
  const { receiver, subscriptionId, organisationId, day } = before;
  const isSuccess = kind === 'delivered';
  const isFailure = attempt !== undefined && !isSuccess;
  const failingSince = isSuccess ? undefined : (before.failingSince ?? (isFailure ? at : undefined));
  const lastSuccess = isSuccess ? attemptOf(outcome) : before.lastSuccess;
  const lastFailure = isFailure ? attemptOf(outcome) : before.lastFailure;
  return {
    ...{ receiver, subscriptionId, organisationId, day },
    attempts: before.attempts + (attempt === undefined ? 0 : 1),
    failed: before.failed + (isFailure ? 1 : 0),
    delivered: before.delivered + (isSuccess ? 1 : 0),
    dead: before.dead + (kind === 'dead' ? 1 : 0),
    ...defined({ lastSuccess, lastFailure, failingSince }),
  };
}

function attemptOf({ at, status, error }: Outcome): ReceiverAttempt {
  return defined({ at, status, error });
}

/** Most days that are kept, with the present one. */
const DAYS = 367;

const TARGET = { collection: receivers.collection.name };
const NEWEST_FIRST = { field: 'at' satisfies ReceiverField, descending: true } as const;

/** The totals of some receivers, by id; those without any attempt are missing. */
export async function totalsOfReceivers(
  store: ReadStore,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReceiverTotals>> {
  const filter = { field: 'receiver' satisfies ReceiverField, in: ids };
  const size = Math.max(1, ids.length) * DAYS;
  const { found } = await store.search(TARGET, { filter, order: [NEWEST_FIRST], offset: 0, size });
  const totals = new Map<string, ReceiverTotals>();
  for (const day of found.map(toDay)) {
    const newer = totals.get(day.receiver);
    totals.set(day.receiver, newer === undefined ? day : sumOf(newer, day));
  }
  return totals;
}

const HEALTH = { collection: receiverHealth.collection.name };

/** Until when receivers rest (epoch ms), by id; without those that do not at `now` (`docs/decisions.md#n7`). */
export async function restingUntil(
  store: ReadStore,
  ids: Iterable<string>,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const found = await store.get(HEALTH, [...new Set(ids)]);
  const resting = new Map<string, number>();
  for (const { id, body } of found) {
    const until = (JSON.parse(body) as StoredHealth).health.rest?.until;
    if (until !== undefined && until > now) resting.set(id, until);
  }
  return resting;
}

export interface ReceiverCriteria {
  readonly subscriptionId?: readonly string[] | undefined;
  readonly organisationId?: readonly number[] | undefined;
}

/** A page of all receivers to which anything was sent, the most recently used first. */
export async function listReceivers(
  store: ReadStore,
  { subscriptionId, organisationId }: ReceiverCriteria,
  { size, after }: { readonly size: number; readonly after?: Cursor | null | undefined },
  query: QueryOptions = {},
) {
  const { among } = filtersOn<ReceiverField>();
  const wanted: GroupSearch = {
    filter: allOf(among('subscriptionId', subscriptionId), among('organisationId', organisationId)),
    groupBy: 'receiver' satisfies ReceiverField,
    within: [NEWEST_FIRST],
    order: [{ by: 'greatest', ...NEWEST_FIRST }],
    members: DAYS,
    ...(after === undefined ? { offset: 0, size } : { offset: 0, size, after }),
  };
  const { groups, ...paged } = await store.searchGroups(TARGET, wanted, query);
  const receivers = groups.flatMap(([newest, ...older]) =>
    newest === undefined ? [] : older.map(toDay).reduce<ReceiverTotals>(sumOf, toDay(newest)),
  );
  return { ...paged, receivers };
}

function toDay({ body }: Found): ReceiverDay {
  return JSON.parse(body) as ReceiverDay;
}

function sumOf(newer: ReceiverTotals, day: ReceiverDay): ReceiverTotals {
  const lastSuccess = newer.lastSuccess ?? day.lastSuccess;
  const lastFailure = newer.lastFailure ?? day.lastFailure;
  // Nothing has succeeded since the older failure, so the receiver has failed since then.
  const failingSince =
    newer.lastSuccess === undefined ? (day.failingSince ?? newer.failingSince) : newer.failingSince;
  const { receiver, subscriptionId, organisationId } = newer;
  return {
    ...{ receiver, subscriptionId, organisationId },
    attempts: newer.attempts + day.attempts,
    failed: newer.failed + day.failed,
    delivered: newer.delivered + day.delivered,
    dead: newer.dead + day.dead,
    ...defined({ lastSuccess, lastFailure, failingSince }),
  };
}
