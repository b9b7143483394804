export {
  Affilog,
  type Changes,
  type Claim,
  type Feed,
  type Load,
  type Product,
  type Subscription,
} from './affilog.js';
export { type PostedProduct, type PostedVoucher, type Transaction, type Voucher } from './affilog.js';
export { AffilogError, type AffilogOptions, type ListedError, type System } from './transport.js';
export { type Message, verifyWebhook, WebhookError } from './webhook.js';
export { type components, type operations, type webhooks } from './openapi.js';
export { type ClaimMessage, type TransactionMessage, type VoucherMessage } from './affilog.js';
