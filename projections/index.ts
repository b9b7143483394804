import { type Projection } from '../src/projector/projection';
import { changes } from './changes';
import { claimBatches, claims } from './claims';
import { deliveries } from './deliveries';
import { delistings, feedChanges, feeds } from './feeds';
import { imports } from './imports';
import { priceHistory } from './price-history';
import { products } from './products';
import { receiverHealth, receivers } from './receivers';
import { subscriptions } from './subscriptions';
import { transactions } from './transactions';
import { vouchers } from './vouchers';

/** The read models of the domain’s log. Those with a document per offer are adjacent: its id is computed once. */
export const PROJECTIONS: readonly Projection[] = [
  products,
  priceHistory,
  delistings,
  feeds,
  feedChanges,
  imports,
  vouchers,
  transactions,
  subscriptions,
  claims,
  claimBatches,
  changes,
];

export const DELIVERY_PROJECTIONS: readonly Projection[] = [deliveries, receivers, receiverHealth];
