import { claimTopic } from './claims/topic';
import { productTopic } from './products/topic';
import { type TopicName } from './subscriptions/subscription';
import { type SubscriptionTopic } from './subscriptions/topic';
import { transactionTopic } from './transactions/topic';
import { voucherTopic } from './vouchers/topic';

/** What subscriptions can be about: a further domain describes its own, and is listed here. */
export const TOPICS: Readonly<Record<TopicName, SubscriptionTopic>> = {
  transactions: transactionTopic,
  claims: claimTopic,
  vouchers: voucherTopic,
  products: productTopic,
};
