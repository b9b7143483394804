import { allOf, filtersOn } from '../src/kernel/filters';
import { type Cursor, type Filter, type Found, type QueryOptions, type Results } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { searchInParts } from '../src/projector/search-in-parts';
import { type ListedDelivery, STATES, type StoredDelivery } from '../src/domain/deliveries/stored-delivery';
import { type TopicName } from '../src/domain/subscriptions/subscription';
import { deliveries, type DeliveryField } from './deliveries';

export type DeliveryState = (typeof STATES)[number];

/** Which deliveries: checked keys, limited to what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface DeliveryCriteria {
  readonly subscriptionId?: readonly string[] | undefined;
  readonly organisationId?: readonly number[] | undefined;
  readonly receiver?: readonly string[] | undefined;
  readonly topic?: readonly TopicName[] | undefined;
  readonly subject?: readonly string[] | undefined;
  readonly stateId?: readonly number[] | undefined;
  /** Those in one of these states, each to one of the receivers if it names some. */
  readonly states?: readonly StateCriterion[] | undefined;
  readonly at: { readonly min?: number | undefined; readonly max?: number | undefined };
}

export interface StateCriterion {
  readonly state: DeliveryState;
  readonly receivers?: readonly string[];
}

const TARGET = { collection: deliveries.collection.name };

/** Deliveries in batches that are read on demand, newest first, the number of all, and the cursor of the next page. */
export async function listDeliveries(
  store: ReadStore,
  criteria: DeliveryCriteria,
  { size, after }: { readonly size: number; readonly after?: Cursor | null | undefined },
  query: QueryOptions = {},
) {
  const order = [{ field: 'at' satisfies DeliveryField, descending: true }];
  const paged = after === undefined ? { offset: 0 } : { offset: 0, after };
  const wanted = { filter: filterOf(criteria), order, size, ...paged };
  return await searchInParts({ store, target: TARGET, read: toDelivery }, wanted, query);
}

/** Deliveries, oldest first, and how many others there may be after the last one, and where these begin. */
export interface OldestDeliveries {
  readonly found: readonly ListedDelivery[];
  readonly remaining: number;
  readonly next?: Cursor;
}

const OLDEST_PAGE = 1000;

/** The first deliveries after `start` that are wanted: `most` at most, by pages of a thousand. */
export async function oldestDeliveries(
  store: ReadStore,
  criteria: DeliveryCriteria,
  { most, start }: { readonly most: number; readonly start: Cursor | null },
  isWanted: (listed: ListedDelivery) => boolean,
): Promise<OldestDeliveries> {
  const filter = filterOf(criteria);
  const order = [{ field: 'at' satisfies DeliveryField }];
  const found: ListedDelivery[] = [];
  const size = Math.min(OLDEST_PAGE, most);
  let after = start;
  for (let seen = 0; ;) {
    const page: Results = await store.search(TARGET, { filter, order, offset: 0, size, after });
    seen += page.found.length;
    found.push(...page.found.map(toDelivery).filter(isWanted));
    const { total, next } = page;
    if (next === undefined) return { found, remaining: 0 };
    if (found.length + size > most) return { found, remaining: Math.max(1, total - seen), next };
    after = next;
  }
}

/** One delivery; undefined if there is none. */
export async function deliveryOf(store: ReadStore, messageId: string): Promise<ListedDelivery | undefined> {
  const [found] = await store.get(TARGET, [messageId]);
  return found && toDelivery(found);
}

function toDelivery({ id, body }: Found): ListedDelivery {
  return { messageId: id, ...(JSON.parse(body) as StoredDelivery) };
}

const { among, between } = filtersOn<DeliveryField>();

function filterOf({ states, at, ...lists }: DeliveryCriteria): Filter {
  const { subscriptionId, organisationId, receiver, topic, subject, stateId } = lists;
  return allOf(
    among('subscriptionId', subscriptionId),
    among('organisationId', organisationId),
    among('receiver', receiver),
    among('topic', topic),
    among('subject', subject),
    among('stateId', stateId),
    states && { any: states.map(stateFilter) },
    between('at', at),
  );
}

function stateFilter({ state, receivers }: StateCriterion): Filter {
  return allOf(among('state', [STATES.indexOf(state)]), among('receiver', receivers));
}
