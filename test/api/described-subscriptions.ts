import { type TestRequest } from '../support/app';
import { XML_UTF8 } from './posted';
import { NOW } from './voucher-network';
import {
  CLAIM_SUBSCRIPTIONS,
  POST_RECEIVER,
  subscription,
  PRODUCT_SUBSCRIPTIONS,
  SUBSCRIPTIONS,
  VOUCHER_SUBSCRIPTIONS,
} from './subscription-network';

const json = (value: unknown) => ({ body: JSON.stringify(value) });

const PERIOD = { minTime: '2026-01-01T00:00:00Z', maxTime: 1_790_000_000_000 };

const RECENT = {
  minTime: new Date(NOW - 24 * 60 * 60 * 1000).toISOString(),
  maxTime: new Date(NOW).toISOString(),
};

/** Every optional part. */
const full = subscription({
  subscriptionName: 'All of it',
  filter: { programIds: [101], siteIds: [1101], eventIds: [301], eventTypeIds: [5], messageTypeIds: [4, 6] },
  receivers: [POST_RECEIVER],
  currencyConversion: { to: 'SEK' },
  customAttribute: {
    tdAttributes: ['siteId'],
    userAttribute: 'mine',
    rules: [{ inputs: ['1101'], output: 'x' }],
  },
  strictOrder: true,
});

/** Requests of each operation; `{id}` and `{receiverId}` are those of a new subscription (`targetWithIds`). */
const TRANSACTION_REQUESTS: readonly (readonly [id: string, target: string, details?: TestRequest])[] = [
  ['createSubscription', SUBSCRIPTIONS, json(full)],
  ['createSubscription', `${SUBSCRIPTIONS}.xml`, json(full)],
  ['createSubscription', `${SUBSCRIPTIONS}.xml`, json({})],
  ['createSubscription', SUBSCRIPTIONS, { headers: XML_UTF8, body: '<subscription/>' }],
  ['listSubscriptions', SUBSCRIPTIONS],
  ['listSubscriptions', `${SUBSCRIPTIONS}.xml`],
  ['listSubscriptions', `${SUBSCRIPTIONS}?jsonp=show`],
  ['getSubscription', `${SUBSCRIPTIONS}/{id}`],
  ['getSubscription', `${SUBSCRIPTIONS}/7`],
  ['replaceSubscription', `${SUBSCRIPTIONS}/{id}`, json(full)],
  ['replaceSubscription', `${SUBSCRIPTIONS}/{id}`, json({})],
  ['deleteSubscription', `${SUBSCRIPTIONS}/{id}`],
  ['deleteSubscription', `${SUBSCRIPTIONS}/7`],
  ['getSubscriptionSecret', `${SUBSCRIPTIONS}/{id}/secret`],
  ['getSubscriptionSecret', `${SUBSCRIPTIONS}/{id}/secret.xml`],
  ['rotateSubscriptionSecret', `${SUBSCRIPTIONS}/{id}/secret/rotations`],
  ['rotateSubscriptionSecret', `${SUBSCRIPTIONS}/{id}/secret/rotations.xml`],
  ['enableSubscriptionReceiver', `${SUBSCRIPTIONS}/{id}/receivers/{receiverId}/enable`],
  ['enableSubscriptionReceiver', `${SUBSCRIPTIONS}/{id}/receivers/7/enable`],
  ['testSubscriptionReceiver', `${SUBSCRIPTIONS}/{id}/receivers/{receiverId}/test`],
  [
    'testSubscriptionReceiver',
    `${SUBSCRIPTIONS}/{id}/receivers/{receiverId}/test`,
    json({ messageTypeId: 8 }),
  ],
  [
    'testSubscriptionReceiver',
    `${SUBSCRIPTIONS}/{id}/receivers/{receiverId}/test`,
    json({ messageTypeId: 9 }),
  ],
  ['listSubscriptionReceivers', `${SUBSCRIPTIONS}/{id}/receivers`],
  ['listSubscriptionReceivers', `${SUBSCRIPTIONS}/{id}/receivers.xml`],
  ['listSubscriptionReceivers', `${SUBSCRIPTIONS}/7/receivers`],
  ['listSubscriptionDeliveries', `${SUBSCRIPTIONS}/{id}/deliveries`],
  ['listSubscriptionDeliveries', `${SUBSCRIPTIONS}/{id}/deliveries.xml;cursor=*;pageSize=1`],
  ['listSubscriptionDeliveries', `${SUBSCRIPTIONS}/{id}/deliveries;state=none`],
  ['getSubscriptionDelivery', `${SUBSCRIPTIONS}/{id}/deliveries/{messageId}`],
  ['getSubscriptionDelivery', `${SUBSCRIPTIONS}/{id}/deliveries/7`],
  ['redeliverSubscriptionMessage', `${SUBSCRIPTIONS}/{id}/deliveries/{messageId}/redeliver`],
  ['redeliverSubscriptionMessage', `${SUBSCRIPTIONS}/{id}/deliveries/{messageId}/redeliver.xml`],
  ['redeliverSubscriptionMessage', `${SUBSCRIPTIONS}/{id}/deliveries/7/redeliver`],
  ['redeliverSubscriptionDeadLetters', `${SUBSCRIPTIONS}/{id}/redeliveries`, json(PERIOD)],
  ['redeliverSubscriptionDeadLetters', `${SUBSCRIPTIONS}/{id}/redeliveries.xml`, json(PERIOD)],
  ['redeliverSubscriptionDeadLetters', `${SUBSCRIPTIONS}/{id}/redeliveries`, json({})],
  [
    'redeliverSubscriptionDeadLetters',
    `${SUBSCRIPTIONS}/{id}/redeliveries`,
    json({ ...PERIOD, state: 'delivered', dryRun: true }),
  ],
  ['cancelSubscriptionRedeliveries', `${SUBSCRIPTIONS}/{id}/redeliveries`],
  ['cancelSubscriptionRedeliveries', `${SUBSCRIPTIONS}/7/redeliveries`],
  ['backfillSubscription', `${SUBSCRIPTIONS}/{id}/backfills`, json(RECENT)],
  ['backfillSubscription', `${SUBSCRIPTIONS}/{id}/backfills.xml`, json({ ...RECENT, dryRun: true })],
  ['backfillSubscription', `${SUBSCRIPTIONS}/{id}/backfills`, json({})],
  ['cancelSubscriptionBackfills', `${SUBSCRIPTIONS}/{id}/backfills`],
  ['cancelSubscriptionBackfills', `${SUBSCRIPTIONS}/7/backfills`],
  ['explainSubscription', `${SUBSCRIPTIONS}/{id}/explain/0`],
  ['explainSubscription', `${SUBSCRIPTIONS}/{id}/explain/{subjectId}`],
];

const AS_CLAIMS = [
  ['messageTypeIds', 'statusIds'],
  ['messageTypeId', 'statusId'],
  ['"eventTypeIds":[5],', ''],
  ['[301]', '[17]'],
  ['[4,6]', '[2,3]'],
  ['["siteId"]', '["affiliateSiteId"]'],
  [':8}', ':3}'],
  [':9}', ':203}'],
] as const;

const AS_VOUCHERS = [
  ['messageTypeIds', 'changeIds'],
  ['messageTypeId', 'changeId'],
  ['"eventTypeIds":[5]', '"voucherTypeIds":[4],"languageIds":["de"],"keywords":["lamp"]'],
  ['"eventIds":[301],', ''],
  ['[4,6]', '[1,3]'],
  ['${orderNumber}', '${title}'],
  ['${orderValue}', '${voucherId}'],
  ['["siteId"]', '["programId"]'],
  [':8}', ':3}'],
  [':9}', ':4}'],
] as const;

const AS_PRODUCTS = [
  ['messageTypeIds', 'changeTypeIds'],
  ['messageTypeId', 'changeTypeId'],
  ['"eventTypeIds":[5]', '"tdCategoryIds":[1],"keywords":["lamp"],"minFallPercent":10'],
  ['"eventIds":[301],', ''],
  ['[4,6]', '[1,3]'],
  ['${orderNumber}', '${name}'],
  ['${orderValue}', '${price}'],
  ['["siteId"]', '["programId"]'],
  [':8}', ':3}'],
  [':9}', ':4}'],
] as const;

/** The same of subscriptions of another kind. */
function requestsOf(
  kind: string,
  path: string,
  names: readonly (readonly [from: string, to: string])[],
): typeof TRANSACTION_REQUESTS {
  return TRANSACTION_REQUESTS.map(([id, target, details = {}]) => {
    const { body } = details;
    const posted = names.reduce((text, [from, to]) => text.replace(from, () => to), String(body));
    return [
      id.replace('Subscription', `${kind}Subscription`),
      target.replace(SUBSCRIPTIONS, path),
      body === undefined ? details : { ...details, body: posted },
    ];
  });
}

/** Those of all kinds, and those about the deliveries of all. */
export const SUBSCRIPTION_REQUESTS: typeof TRANSACTION_REQUESTS = [
  ...TRANSACTION_REQUESTS,
  ...requestsOf('Claim', CLAIM_SUBSCRIPTIONS, AS_CLAIMS),
  ...requestsOf('Voucher', VOUCHER_SUBSCRIPTIONS, AS_VOUCHERS),
  ...requestsOf('Product', PRODUCT_SUBSCRIPTIONS, AS_PRODUCTS),
  ['listAnyDeliveries', '/ops/1.0/deliveries'],
  ['listAnyDeliveries', '/ops/1.0/deliveries;pageSize=0'],
  ['listAnyReceivers', '/ops/1.0/receivers'],
  ['listAnyReceivers', '/ops/1.0/receivers;cursor=x'],
];
