import { allOf, filtersOn } from '../src/kernel/filters';
import { type Cursor, type Found, type QueryOptions } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { type ReceiverDay, type ReceiverTotals } from '../src/domain/deliveries/stored-delivery';
import { receiverHealth, type StoredHealth } from './receiver-health';
import { receivers, type ReceiverField } from './receivers';

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
  const { found } = await store.search(TARGET, {
    filter,
    order: [NEWEST_FIRST],
    offset: 0,
    size: Math.max(1, ids.length) * DAYS,
  });
  const totals = new Map<string, ReceiverTotals>();
  for (const day of found.map(toDay)) {
    const newer = totals.get(day.receiver);
    totals.set(day.receiver, newer === undefined ? day : sumOf(newer, day));
  }
  return totals;
}

const HEALTH = { collection: receiverHealth.collection.name };

/** Until when (epoch ms) some receivers rest after `now`, by id; those that do not rest are missing (`docs/decisions.md#n7`). */
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
): Promise<{
  readonly receivers: readonly ReceiverTotals[];
  readonly total: number;
  readonly next?: Cursor;
}> {
  const { among } = filtersOn<ReceiverField>();
  const { groups, ...paged } = await store.searchGroups(
    TARGET,
    {
      filter: allOf(among('subscriptionId', subscriptionId), among('organisationId', organisationId)),
      groupBy: 'receiver' satisfies ReceiverField,
      within: [NEWEST_FIRST],
      order: [{ by: 'greatest', ...NEWEST_FIRST }],
      members: DAYS,
      offset: 0,
      size,
      ...(after === undefined ? {} : { after }),
    },
    query,
  );
  return {
    ...paged,
    receivers: groups.flatMap(([newest, ...older]) =>
      newest === undefined ? [] : older.map(toDay).reduce<ReceiverTotals>(sumOf, toDay(newest)),
    ),
  };
}

function toDay({ body }: Found): ReceiverDay {
  return JSON.parse(body) as ReceiverDay;
}

/** The days of a receiver together. */
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
    ...(lastSuccess === undefined ? {} : { lastSuccess }),
    ...(lastFailure === undefined ? {} : { lastFailure }),
    ...(failingSince === undefined ? {} : { failingSince }),
  };
}
