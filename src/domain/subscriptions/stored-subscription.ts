import { type SubscriptionContent, type TopicName } from './subscription';

/** A subscription as its read model stores it. */
export interface StoredSubscription {
  readonly topic: TopicName;
  readonly organisationId: number;
  /** The position of its creation, as a number: its place in the list. */
  readonly created: number;
  readonly content: SubscriptionContent;
}

export type ListedSubscription = StoredSubscription & { readonly subscriptionId: string };
