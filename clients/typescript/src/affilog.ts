import { Products } from './products.js';
import { Rest } from './rest.js';
import { Claims, Transactions, Vouchers } from './services.js';
import { Subscriptions } from './subscriptions.js';
import { type AffilogOptions, Transport } from './transport.js';

/** A network: each service by its name. Errors are raised as `AffilogError`. */
export class Affilog {
  readonly products: Products;
  readonly vouchers: Vouchers;
  readonly transactions: Transactions;
  readonly claims: Claims;
  /** To messages about transactions. */
  readonly subscriptions: Subscriptions<'Subscription'>;
  /** To messages about claims. */
  readonly claimSubscriptions: Subscriptions<'ClaimSubscription'>;
  /** To messages about vouchers. */
  readonly voucherSubscriptions: Subscriptions<'VoucherSubscription'>;
  /** To messages about products. */
  readonly productSubscriptions: Subscriptions<'ProductSubscription'>;

  constructor(options: AffilogOptions) {
    const transport = new Transport(options);
    const products = new Rest(transport, 'PRODUCTS');
    const vouchers = new Rest(transport, 'VOUCHERS');
    const conversions = new Rest(transport, 'CONVERSIONS');
    const claims = new Rest(transport, 'CLAIMS');
    this.products = new Products(products);
    this.vouchers = new Vouchers(vouchers);
    this.transactions = new Transactions(conversions);
    this.claims = new Claims(claims);
    this.subscriptions = new Subscriptions(conversions, '/1.0/conversions/subscriptions');
    this.claimSubscriptions = new Subscriptions(claims, '/1.0/claims/subscriptions');
    this.voucherSubscriptions = new Subscriptions(vouchers, '/1.0/vouchers/subscriptions');
    this.productSubscriptions = new Subscriptions(products, '/1.0/products/subscriptions');
  }
}
