import { imports } from './imports';
import { priceHistory } from './price-history';
import { products } from './products';
import { type Projection } from '../src/projector/projection';
import { vouchers } from './vouchers';

/** Every read model there is. */
export const PROJECTIONS: readonly Projection[] = [products, priceHistory, imports, vouchers];
