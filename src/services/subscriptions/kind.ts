import { type TopicName } from '../../domain/subscriptions/subscription';
import { type Topic } from '../../domain/subscriptions/topic';

/** Integer ids that have names. */
type Named = Readonly<Record<number, { readonly name: string }>>;

/** Where subscriptions to a topic differ from those to another: everything else is the same for all. */
export interface SubscriptionKind {
  readonly topic: TopicName;
  /** That topic: what messages are made of. */
  readonly source: Topic;
  /** Path of the subscriptions: `/1.0/conversions/subscriptions`. */
  readonly path: string;
  /** What one is called in names of operations, of schemas and in OpenAPI: `Subscription`. */
  readonly name: string;
  /** What comes before other names there: empty, or `Claim`. */
  readonly prefix: string;
  /** What messages are about: `transaction`. */
  readonly subject: string;
  /** The field with its id: `transactionId`. */
  readonly subjectField: string;
  /** The states to be notified of, and the field of the filter that selects them. */
  readonly states: {
    readonly field: string;
    readonly ids: Named;
    /** Those that advertisers may not select. */
    readonly notForAdvertisers: readonly number[];
  };
  /** Types of events that a filter may select; absent if what messages are about has none. */
  readonly eventTypes?: Named;
  /** Names of the attributes that may be placeholders. */
  readonly attributes: readonly string[];
  /** For the description: states to select, and a body with placeholders. */
  readonly example: { readonly states: readonly number[]; readonly receiverBody: string };
}
