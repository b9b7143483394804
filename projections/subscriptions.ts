import {
  SUBSCRIPTION,
  type SubscriptionContent,
  type SubscriptionEvent,
  type TopicName,
} from '../src/domain/subscriptions/subscription';
import { isUsable } from '../src/domain/subscriptions/delivery-requests';
import { numberOf } from '../src/kernel/event';
import { allOf, filtersOn, type Found, type QueryOptions } from '../src/kernel/query';
import { type FieldType, type ReadStore } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import { type PageInParts, searchInParts } from '../src/projector/search-in-parts';

const FIELDS = {
  organisationId: 'keyword',
  topic: 'keyword',
  /** The only site that it is for; empty if it is for all. */
  siteId: 'keyword',
  created: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type SubscriptionField = keyof typeof FIELDS;

type SubscriptionChange = Extract<
  SubscriptionEvent,
  { readonly type: 'SubscriptionCreated' | 'SubscriptionReplaced' | 'SubscriptionDeleted' }
>;

/** The subscriptions that are not deleted, for lists (Document 2, Endpoints, Subscriptions). */
export const subscriptions: Projection<StoredSubscription, SubscriptionChange> = {
  collection: { name: 'subscriptions', version: 2, fields: FIELDS, sorts: ['created'] },
  streams: [`${SUBSCRIPTION}-`],
  handles: ['SubscriptionCreated', 'SubscriptionReplaced', 'SubscriptionDeleted'],
  replaces: ['SubscriptionCreated', 'SubscriptionDeleted'],
  idOf: ({ stream }) => stream.slice(SUBSCRIPTION.length + 1),
  fold(stored, event) {
    // Its list would fail: it is parked.
    if (!isUsable(event)) throw new TypeError(`${event.type} of another program`);
    switch (event.type) {
      case 'SubscriptionCreated': {
        const { topic, organisationId, subscription } = event.data;
        return { topic, organisationId, created: numberOf(event.position), content: subscription };
      }
      case 'SubscriptionReplaced':
        return stored && { ...stored, content: event.data.subscription };
      case 'SubscriptionDeleted':
        return undefined;
    }
  },
  describe: (document) => {
    const { organisationId, topic, created, content } = document;
    const fields = {
      organisationId: String(organisationId),
      topic,
      siteId: String(content.siteId ?? ''),
      created,
    };
    return { document, fields };
  },
};

/** Which subscriptions: with a site, those that are for this site only. */
export interface SubscriptionCriteria {
  readonly organisationId?: number | undefined;
  readonly topic?: TopicName | undefined;
  readonly siteId?: number | undefined;
}

const TARGET = { collection: subscriptions.collection.name };

/** More than an organisation has (`docs/decisions.md#n15`). */
const SIZE = 1000;

/** Subscriptions, oldest first, in batches that are read on demand. */
export async function listSubscriptions(
  store: ReadStore,
  { organisationId, topic, siteId }: SubscriptionCriteria,
  query: QueryOptions = {},
  { offset = 0, size = SIZE }: { readonly offset?: number; readonly size?: number } = {},
): Promise<PageInParts<ListedSubscription>> {
  const { among } = filtersOn<SubscriptionField>();
  const filter = allOf(
    among('organisationId', organisationId === undefined ? undefined : [String(organisationId)]),
    among('topic', topic === undefined ? undefined : [topic]),
    among('siteId', siteId === undefined ? undefined : [String(siteId)]),
  );
  const order = [{ field: 'created' satisfies SubscriptionField }];
  const wanted = { filter, order, offset, size };
  return await searchInParts({ store, target: TARGET, read }, wanted, query);
}

/** The position of the oldest subscription to a topic, as a number; undefined if there is none. */
export async function oldestSubscription(store: ReadStore, topic: TopicName): Promise<number | undefined> {
  const filter = allOf(filtersOn<SubscriptionField>().among('topic', [topic]));
  const wanted = { filter, order: [{ field: 'created' }], offset: 0, size: 1 };
  const { found } = await store.search(TARGET, wanted);
  const [oldest] = found.map(read);
  return oldest?.created;
}

function read({ id, body }: Found): ListedSubscription {
  return { subscriptionId: id, ...(JSON.parse(body) as StoredSubscription) };
}

interface StoredSubscription {
  readonly topic: TopicName;
  readonly organisationId: number;
  /** The position of its creation, as a number: its place in the list. */
  readonly created: number;
  readonly content: SubscriptionContent;
}

export type ListedSubscription = StoredSubscription & { readonly subscriptionId: string };
