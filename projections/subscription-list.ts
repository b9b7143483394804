import { allOf, filtersOn } from '../src/kernel/filters';
import { type Found, type QueryOptions } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { type PageInParts, searchInParts } from '../src/projector/search-in-parts';
import { type TopicName } from '../src/domain/subscriptions/subscription';
import {
  type ListedSubscription,
  type StoredSubscription,
} from '../src/domain/subscriptions/stored-subscription';
import { type SubscriptionField, subscriptions } from './subscriptions';

/** Which subscriptions: those of an organisation to a topic; with a site, those that are for this site only. */
export interface SubscriptionCriteria {
  readonly organisationId: number;
  readonly topic: TopicName;
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
): Promise<PageInParts<ListedSubscription>> {
  const { among } = filtersOn<SubscriptionField>();
  const filter = allOf(
    among('organisationId', [String(organisationId)]),
    among('topic', [topic]),
    among('siteId', siteId === undefined ? undefined : [String(siteId)]),
  );
  const order = [{ field: 'created' satisfies SubscriptionField }];
  return await searchInParts(
    { store, target: TARGET, read },
    { filter, order, offset: 0, size: SIZE },
    query,
  );
}

function read({ id, body }: Found): ListedSubscription {
  return { subscriptionId: id, ...(JSON.parse(body) as StoredSubscription) };
}
