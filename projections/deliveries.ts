import {
  MATCHED,
  type MatchedEvent,
  type Outcome,
  type PartitionEvent,
  topicOf,
} from '../src/domain/deliveries/delivery-events';
import {
  type ListedDelivery,
  STATES,
  type StoredAttempt,
  type StoredDelivery,
} from '../src/domain/deliveries/stored-delivery';
import { type TopicName } from '../src/domain/subscriptions/subscription';
import {
  allOf,
  type Bounds,
  type Cursor,
  type Filter,
  filtersOn,
  type Found,
  oneAnswer,
  type QueryOptions,
  type Results,
} from '../src/kernel/query';
import { type FieldType, type FieldValue, type ReadStore } from '../src/kernel/read-store';
import { defined, without } from '../src/kernel/values';
import { type Projection } from '../src/projector/projection';
import { searchInParts } from '../src/projector/search-in-parts';

const FIELDS = {
  subscriptionId: 'keyword',
  organisationId: 'number',
  receiver: 'keyword',
  topic: 'keyword',
  subject: 'keyword',
  stateId: 'number',
  /** `STATES` by index: as a number, since it changes. */
  state: 'number',
  /** Epoch ms. */
  at: 'number',
  /** When it was made: since then it is kept. */
  made: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type DeliveryField = keyof typeof FIELDS;

/** Attempts that are listed: the last ones. */
const ATTEMPTS = 20;

type DeliveryChange = Extract<
  MatchedEvent | PartitionEvent,
  { readonly type: 'MessageDue' | 'RedeliveryDue' | 'MessageAttempted' }
>;

/** The state of each message (`docs/decisions.md#n14`); what is sent is read from the delivery log. */
export const deliveries: Projection<StoredDelivery, DeliveryChange> = {
  collection: { name: 'deliveries', version: 7, fields: FIELDS, sorts: ['at'] },
  streams: [MATCHED, 'partition-'],
  acrossStreams: true,
  handles: ['MessageDue', 'RedeliveryDue', 'MessageAttempted'],
  replaces: ['MessageDue'],
  expires: { field: 'made', at: madeAt },
  usesDirectory: false,
  idOf: ({ data }) => data.id,
  fold(before, event) {
    switch (event.type) {
      case 'MessageDue': {
        const facts = factsOf({ ...event.data, topic: topicOf(event.data), matched: event.revision });
        return { ...facts, state: 'due', attempted: 0, attempts: [] };
      }
      case 'RedeliveryDue': {
        const { at: redelivery, cancelledBefore } = event.data;
        const asked = { redelivery, redeliveryDue: event.revision, ...defined({ cancelledBefore }) };
        return before && { ...without(before, 'cancelledBefore'), ...asked };
      }
      case 'MessageAttempted':
        // Its message has expired.
        return before && afterOutcome(before, event.data);
    }
  },
  describe: (document) => ({ document, fields: fieldsOf(document) }),
};

function afterOutcome(before: StoredDelivery, outcome: Outcome): StoredDelivery {
  const { next, at, attempt, error } = outcome;
  const isManual = outcome.isManual === true;
  const isAsked = isManual || outcome.redelivery !== undefined;
  const { redelivery: due = Infinity } = outcome;
  // What becomes of those that were asked for before the last one leaves that asked for.
  const isLast = isAsked && due >= (before.redeliveryDue ?? 0);
  const ended = attempt === undefined ? [] : [attemptOf(outcome)];
  const after = {
    ...factsOf(before),
    attempted: before.attempted + ended.length,
    attempts: [...before.attempts, ...ended].slice(-ATTEMPTS),
    changed: at,
    ...defined({
      rendered: attempt === undefined ? before.rendered : outcome.rendered,
      redelivery: isLast ? undefined : before.redelivery,
      redeliveryDue: isLast ? undefined : before.redeliveryDue,
      cancelledBefore: isLast ? undefined : before.cancelledBefore,
      redelivered: isLast ? (before.redelivery ?? before.redelivered) : before.redelivered,
    }),
  };
  // A redelivery is one attempt in addition to the schedule: unless it succeeds, everything else stays as it is. If it
  // has succeeded, an attempt of the schedule that was under way meanwhile changes nothing.
  const isDecided = outcome.outcome !== 'delivered' && (isManual || before.state === 'delivered');
  if (isDecided)
    return { ...after, state: before.state, ...defined({ next: before.next, reason: before.reason }) };
  const reason = attempt === undefined ? error : undefined;
  const state = outcome.outcome === 'failed' ? 'retrying' : outcome.outcome;
  return { ...after, state, ...defined({ next, reason }) };
}

/** What does not change. */
function factsOf(stored: DeliveryFacts) {
  const { subscriptionId, organisationId, receiver, topic, subject } = stored;
  const { sequence, stateId, at, matched, made, isTest, renderable } = stored;
  return {
    ...{ subscriptionId, organisationId, receiver, topic, subject, sequence, stateId, at, matched },
    ...defined({ made, isTest, renderable }),
  };
}

type DeliveryFacts = Omit<StoredDelivery, 'made' | 'rendered' | 'state' | 'attempted' | 'attempts'> & {
  readonly made?: string | undefined;
};

function attemptOf(outcome: Outcome): StoredAttempt {
  const { attempt = 0, at, ms, status, error, answer, isManual, redelivery } = outcome;
  const isAsked = isManual ?? (redelivery === undefined ? undefined : true);
  return defined({ attempt, at, ms, status, error, answer, isManual: isAsked });
}

function fieldsOf(stored: StoredDelivery): Readonly<Record<DeliveryField, FieldValue>> {
  const { subscriptionId, organisationId, receiver, topic, subject, stateId, state, at } = stored;
  return {
    ...{ subscriptionId, organisationId, receiver, topic, subject, stateId },
    state: STATES.indexOf(state),
    at: Date.parse(at),
    made: madeAt(stored),
  };
}

/** When a message was made, at the latest (epoch ms): those of backfills long after their transition. */
function madeAt({ at, made = at }: StoredDelivery): number {
  return Date.parse(made);
}

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
  readonly at: Bounds;
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
  const query = oneAnswer();
  let after = start;
  for (let seen = 0; ;) {
    const page: Results = await store.search(TARGET, { filter, order, offset: 0, size, after }, query);
    seen += page.found.length;
    found.push(...page.found.map(toDelivery).filter(isWanted));
    const { total, next } = page;
    if (next === undefined) return { found, remaining: 0 };
    if (found.length + size > most) return { found, remaining: Math.max(1, total - seen), next };
    after = next;
  }
}

/** How many messages wait for a receiver: their first attempt or the next one. */
export async function countWaiting(store: ReadStore, receiver: string): Promise<number> {
  const states = (['due', 'retrying'] as const).map((state) => ({ state }));
  return await store.count(TARGET, filterOf({ receiver: [receiver], states, at: {} }));
}

export async function deliveryOf(store: ReadStore, messageId: string): Promise<ListedDelivery | undefined> {
  const [found] = await store.get(TARGET, [messageId]);
  return found && toDelivery(found);
}

function toDelivery({ id, body }: Found): ListedDelivery {
  return { messageId: id, ...(JSON.parse(body) as StoredDelivery) };
}

const { among, between } = filtersOn<DeliveryField>();

function filterOf({ states, at, ...lists }: DeliveryCriteria): Filter {
  const fields = Object.keys(lists) as (keyof typeof lists)[];
  return allOf(
    ...fields.map((field) => among(field, lists[field])),
    states && { any: states.map(stateFilter) },
    between('at', at),
  );
}

function stateFilter({ state, receivers }: StateCriterion): Filter {
  return allOf(among('state', [STATES.indexOf(state)]), among('receiver', receivers));
}
