import { SUBSCRIPTION, type SubscriptionEvent } from '../src/domain/subscriptions/subscription';
import { numberOf } from '../src/kernel/event';
import { type FieldType } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import { type StoredSubscription } from '../src/domain/subscriptions/stored-subscription';

const FIELDS = {
  organisationId: 'keyword',
  topic: 'keyword',
  /** The only site that it is for; empty if it is for all. */
  siteId: 'keyword',
  created: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type SubscriptionField = keyof typeof FIELDS;

type Handled = Extract<
  SubscriptionEvent,
  { readonly type: 'SubscriptionCreated' | 'SubscriptionReplaced' | 'SubscriptionDeleted' }
>;

/** The subscriptions that are not deleted, for lists (Document 2, Endpoints, Subscriptions). */
export const subscriptions: Projection<StoredSubscription, Handled> = {
  collection: { name: 'subscriptions', version: 1, fields: FIELDS, sorts: ['created'] },
  streams: [`${SUBSCRIPTION}-`],
  handles: ['SubscriptionCreated', 'SubscriptionReplaced', 'SubscriptionDeleted'],
  replaces: ['SubscriptionCreated', 'SubscriptionDeleted'],
  idOf: ({ stream }) => stream.slice(SUBSCRIPTION.length + 1),
  fold(stored, event) {
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
