import { type Message } from '../../src/domain/deliveries/delivery-events';
import { type DeliveryHistory } from '../support/delivery-history';
import { type Response } from '../support/app';
import { type Effect } from './key-effects';
import { NOW } from './voucher-network';

const HOUR = 3_600_000;
const time = (hours: number): string => new Date(NOW - hours * HOUR).toISOString();
const RECEIVERS = ['0aaaaaaaaaaaaaaa', '1bbbbbbbbbbbbbbb', '2ccccccccccccccc'] as const;
const CLAIM_RECEIVERS = ['3ddddddddddddddd', '4eeeeeeeeeeeeeee'] as const;
const VOUCHER_RECEIVERS = ['5fffffffffffffff', '60aaaaaaaaaaaaaa'] as const;
const PRODUCT_RECEIVERS = ['71bbbbbbbbbbbbbb', '82cccccccccccccc'] as const;
const OTHER = 'f'.repeat(32);

/**
 * Writes what `test/api/keys.test.ts` lists: messages of a subscription, and one of another; returns the id of the
 * first.
 */
export async function writeDeliveries(history: DeliveryHistory, subscriptionId: string): Promise<string> {
  const due = (name: string, message: Partial<Message>) =>
    history.due(name, { subscriptionId, organisationId: 1, ...message });
  const first = await due('d1', { receiver: RECEIVERS[0], stateId: 4, at: time(3) });
  await history.outcome(first, { outcome: 'dead', attempt: 10 });
  await history.outcome(await due('d2', { receiver: RECEIVERS[1], stateId: 6, at: time(2) }), {
    at: time(30),
  });
  await due('d3', { receiver: RECEIVERS[0], stateId: 6, at: time(1) });
  const other = { receiver: RECEIVERS[2], subscriptionId: OTHER, organisationId: 12, at: time(100) };
  await history.outcome(await due('d0', other));
  return first.id;
}

const listed = (answer: Response) => answer.json<readonly Record<string, unknown>[]>();
const subjects = (answer: Response) => listed(answer).map(({ transactionId }) => transactionId);
const claims = (answer: Response) => listed(answer).map(({ claimId }) => claimId);
const vouchers = (answer: Response) => listed(answer).map(({ voucherId }) => voucherId);
const products = (answer: Response) => listed(answer).map(({ productId }) => productId);
const receivers = (answer: Response) => listed(answer).map(({ receiverId }) => receiverId);
const hasNext = ({ headers }: Response) => 'x-next-cursor' in headers;

/** The same of a subscription to claims; returns the id of the first. */
export async function writeClaimDeliveries(
  history: DeliveryHistory,
  subscriptionId: string,
): Promise<string> {
  const own = { subscriptionId, organisationId: 3, topic: 'claims' } as const;
  const first = await history.due('c1', { ...own, receiver: CLAIM_RECEIVERS[0], stateId: 2, at: time(3) });
  await history.outcome(first, { outcome: 'dead', attempt: 10 });
  await history.due('c2', { ...own, receiver: CLAIM_RECEIVERS[1], stateId: 3, at: time(2) });
  await history.due('c3', { ...own, receiver: CLAIM_RECEIVERS[0], stateId: 3, at: time(1) });
  return first.id;
}

/** The same of a subscription to vouchers; returns the id of the first. */
export async function writeVoucherDeliveries(
  history: DeliveryHistory,
  subscriptionId: string,
): Promise<string> {
  const own = { subscriptionId, organisationId: 4, topic: 'vouchers' } as const;
  const first = await history.due('v1', { ...own, receiver: VOUCHER_RECEIVERS[0], stateId: 1, at: time(3) });
  await history.outcome(first, { outcome: 'dead', attempt: 10 });
  await history.due('v2', { ...own, receiver: VOUCHER_RECEIVERS[1], stateId: 3, at: time(2) });
  await history.due('v3', { ...own, receiver: VOUCHER_RECEIVERS[0], stateId: 3, at: time(1) });
  return first.id;
}

/** The same of a subscription to products; returns the id of the first. */
export async function writeProductDeliveries(
  history: DeliveryHistory,
  subscriptionId: string,
): Promise<string> {
  const own = { subscriptionId, organisationId: 5, topic: 'products' } as const;
  const first = await history.due('1-a', { ...own, receiver: PRODUCT_RECEIVERS[0], stateId: 1, at: time(3) });
  await history.outcome(first, { outcome: 'dead', attempt: 10 });
  await history.due('1-b', { ...own, receiver: PRODUCT_RECEIVERS[1], stateId: 3, at: time(2) });
  await history.due('1-c', { ...own, receiver: PRODUCT_RECEIVERS[0], stateId: 3, at: time(1) });
  return first.id;
}

const PRODUCT_FILTERS = [
  ['state=dead', ['1-a']],
  [`receiverId=${PRODUCT_RECEIVERS[1]}`, ['1-b']],
  ['productId=1-c', ['1-c']],
  ['changeTypeId=1', ['1-a']],
  [`minTime=${time(1)}`, ['1-c']],
  [`maxTime=${time(2)}`, ['1-b', '1-a']],
  ['pageSize=1', ['1-c']],
] as const;

const VOUCHER_FILTERS = [
  ['state=dead', ['v1']],
  [`receiverId=${VOUCHER_RECEIVERS[1]}`, ['v2']],
  ['voucherId=v3', ['v3']],
  ['changeId=1', ['v1']],
  [`minTime=${time(1)}`, ['v3']],
  [`maxTime=${time(2)}`, ['v2', 'v1']],
  ['pageSize=1', ['v3']],
] as const;

const CLAIM_FILTERS = [
  ['state=dead', ['c1']],
  [`receiverId=${CLAIM_RECEIVERS[1]}`, ['c2']],
  ['claimId=c3', ['c3']],
  ['statusId=2', ['c1']],
  [`minTime=${time(1)}`, ['c3']],
  [`maxTime=${time(2)}`, ['c2', 'c1']],
  ['pageSize=1', ['c3']],
] as const;

/** Keys of both lists of deliveries, and what remains. */
const FILTERS = [
  ['state=dead', ['d1']],
  [`receiverId=${RECEIVERS[1]}`, ['d2']],
  ['transactionId=d3', ['d3']],
  ['messageTypeId=4', ['d1']],
  [`minTime=${time(1)}`, ['d3']],
  ['pageSize=1', ['d3']],
] as const;

/** Operations that page by cursor. */
const OF_PAGES = [
  'listSubscriptionDeliveries',
  'listClaimSubscriptionDeliveries',
  'listVoucherSubscriptionDeliveries',
  'listProductSubscriptionDeliveries',
  'listAnyDeliveries',
  'listAnyReceivers',
] as const;

/** Every key of the operations that list deliveries and receivers (decisions N14). */
export const DELIVERY_EFFECTS: readonly Effect[] = [
  ...FILTERS.flatMap(([sent, remaining]): readonly Effect[] => [
    ['listSubscriptionDeliveries', sent, '', subjects, remaining],
    ['listAnyDeliveries', sent, ';organisationId=1', subjects, remaining],
  ]),
  ...CLAIM_FILTERS.map(([sent, remaining]): Effect => [
    'listClaimSubscriptionDeliveries',
    sent,
    '',
    claims,
    remaining,
  ]),
  ...VOUCHER_FILTERS.map(([sent, remaining]): Effect => [
    'listVoucherSubscriptionDeliveries',
    sent,
    '',
    vouchers,
    remaining,
  ]),
  ...PRODUCT_FILTERS.map(([sent, remaining]): Effect => [
    'listProductSubscriptionDeliveries',
    sent,
    '',
    products,
    remaining,
  ]),
  ['listAnyDeliveries', 'productId=1-c', ';organisationId=5', products, ['1-c']],
  ['listAnyDeliveries', 'changeTypeId=1', ';organisationId=5', products, ['1-a']],
  ['listAnyDeliveries', 'voucherId=v3', ';organisationId=4', vouchers, ['v3']],
  ['listAnyDeliveries', 'changeId=1', ';organisationId=4', vouchers, ['v1']],
  ['listSubscriptionDeliveries', `maxTime=${time(2)}`, '', subjects, ['d2', 'd1']],
  ['listAnyDeliveries', `maxTime=${time(50)}`, '', subjects, ['d0']],
  ['listAnyDeliveries', 'claimId=c3', ';organisationId=3', claims, ['c3']],
  ['listAnyDeliveries', 'statusId=2', ';organisationId=3', claims, ['c1']],
  ['listAnyDeliveries', 'organisationId=12', '', subjects, ['d0']],
  ['listAnyDeliveries', `subscriptionId=${OTHER}`, '', subjects, ['d0']],
  ['listAnyReceivers', 'organisationId=12', '', receivers, [RECEIVERS[2]]],
  ['listAnyReceivers', `subscriptionId=${OTHER}`, '', receivers, [RECEIVERS[2]]],
  ['listAnyReceivers', 'pageSize=1', '', receivers, [RECEIVERS[0]]],
  ...OF_PAGES.map((id): Effect => [id, 'cursor=*', ';pageSize=1', hasNext, true]),
];
