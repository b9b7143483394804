import { type Projection } from '../src/projector/projection';
import { delistings } from './delistings';
import { feeds } from './feeds';
import { imports } from './imports';
import { priceHistory } from './price-history';
import { products } from './products';
import { subscriptions } from './subscriptions';
import { transactions } from './transactions';
import { vouchers } from './vouchers';

/** All read models. Those with one document per offer are adjacent, so that its id is computed once. */
export const PROJECTIONS: readonly Projection[] = [
  products,
  priceHistory,
  delistings,
  feeds,
  imports,
  vouchers,
  transactions,
  subscriptions,
];
