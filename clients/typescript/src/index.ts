export { Affilog } from './affilog.js';
export { type components, type operations, type webhooks } from './openapi.js';
export {
  type Feed,
  type FeedSource,
  type Load,
  type PostedProduct,
  type Product,
  type ProductFile,
} from './products.js';
export { type Changes } from './rest.js';
export { type Claim, type PostedVoucher, type Transaction, type Voucher } from './services.js';
export {
  type ClaimMessage,
  type ClaimSubscription,
  type ProductMessage,
  type Subscription,
  type TransactionMessage,
  type VoucherMessage,
} from './subscriptions.js';
export { AffilogError, type AffilogOptions, type ListedError, type System } from './transport.js';
export { type Message, verifyWebhook, WebhookError } from './webhook.js';
