import { priceHistory } from './price-history';
import { products } from './products';
import { type Projection } from './projection';

/** Every read model there is. */
export const PROJECTIONS: readonly Projection[] = [products, priceHistory];
