import { randomInt, randomUUID } from 'node:crypto';
import { type DomainEvent, lastEvent, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, streamOf } from '../../src/kernel/event';
import { receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { type Response, type TestApp } from '../support/app';
import { golden } from '../support/golden';
import { type AppDeliveries } from '../support/app-deliveries';
import { CLAIM_TOKENS } from './claim-network';
import { type ConversionClient, CONVERSION_NETWORK, CONVERSION_TOKENS } from './transaction-network';
import { FEEDS, TOKENS } from './network';
import { NOW, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';

export const SUBSCRIPTIONS = '/1.0/conversions/subscriptions';
export const CLAIM_SUBSCRIPTIONS = '/1.0/claims/subscriptions';
export const VOUCHER_SUBSCRIPTIONS = '/1.0/vouchers/subscriptions';
export const PRODUCT_SUBSCRIPTIONS = '/1.0/products/subscriptions';

/** A subscription as it is answered. */
export type Copy = Readonly<Record<string, unknown>> & { readonly subscriptionId: string };

export const GET_RECEIVER = {
  httpMethod: 'GET',
  receiverUrl: 'https://shop.example/told?order=${orderNumber}&value=${orderValue}#${epi}',
} as const;

const VOUCHER_RECEIVER = {
  httpMethod: 'GET',
  receiverUrl: 'https://shop.example/v?id=${voucherId}',
} as const;

const PRODUCT_RECEIVER = {
  httpMethod: 'GET',
  receiverUrl: 'https://shop.example/p?id=${productId}',
} as const;

export const POST_RECEIVER = {
  httpMethod: 'POST',
  receiverUrl: 'https://shop.example:8443/messages',
  receiverBody: '{"order": "${orderNumber}", "value": ${orderValue}}',
  receiverFormat: 'JSON',
} as const;

/** The least of a subscription; a field that is undefined is not posted. */
export function subscription(changes: object = {}): Record<string, unknown> {
  return { filter: { messageTypeIds: [4, 6] }, receivers: [GET_RECEIVER], ...changes };
}

/** With one receiver that has these changes. */
export const withReceiver = (changes: object, base: object = POST_RECEIVER) =>
  subscription({ receivers: [{ ...base, ...changes }] });

/** A copy as answers have it: switches that were not set are false, and receivers have ids. */
export function copyOf(posted: Record<string, unknown>): Record<string, unknown> {
  const receivers = posted['receivers'] as readonly object[];
  return {
    ...posted,
    receivers: receivers.map((receiver) => ({
      ...{ disabled: false, receiverId: expect.any(String) as unknown },
      ...receiver,
    })),
    disabled: posted['disabled'] ?? false,
  };
}

/** Requests to a test's application, as one of the clients. */
export function subscriptionClientOf(app: () => TestApp) {
  const send = (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    as: ConversionClient,
    body?: unknown,
  ): Promise<Response> =>
    app().request(method, `${SUBSCRIPTIONS}${path}`, {
      token: CONVERSION_TOKENS[as],
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    send,
    post: (body: unknown, as: ConversionClient = 'nord') => send('POST', '', as, body),
    put: (id: string, body: unknown, as: ConversionClient = 'nord') => send('PUT', `/${id}`, as, body),
    remove: (id: string, as: ConversionClient = 'nord') => send('DELETE', `/${id}`, as),
    get: (path: string, as: ConversionClient = 'nord') => send('GET', path, as),
    /** Posts a subscription that has to be taken. */
    create: async (changes: object = {}, as: ConversionClient = 'nord'): Promise<Copy> => {
      const answer = await send('POST', '', as, subscription(changes));
      expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
      return answer.json<Copy>();
    },
    /** The ids of a list. */
    ids: async (as: ConversionClient = 'nord'): Promise<readonly string[]> => {
      const answer = await send('GET', '', as);
      return answer.json<readonly Copy[]>().map(({ subscriptionId }) => subscriptionId);
    },
  };
}

/** Subscriptions of each kind, by their path: the least that is posted, the token, and an event of a subject. */
const KINDS = {
  [SUBSCRIPTIONS]: {
    token: CONVERSION_TOKENS.nord,
    posted: subscription(),
    ...{ category: 'transaction', event: 'TransactionTracked' },
  },
  [CLAIM_SUBSCRIPTIONS]: {
    token: CLAIM_TOKENS.nord,
    posted: subscription({ filter: { statusIds: [2, 3] } }),
    ...{ category: 'claim', event: 'ClaimScreened' },
  },
  [VOUCHER_SUBSCRIPTIONS]: {
    token: VOUCHER_TOKENS.nord,
    posted: { filter: { changeIds: [1, 3] }, receivers: [VOUCHER_RECEIVER] },
    ...{ category: 'voucher', event: 'VoucherShown' },
  },
  [PRODUCT_SUBSCRIPTIONS]: {
    token: TOKENS.nord,
    posted: { filter: { changeTypeIds: [1, 3] }, receivers: [PRODUCT_RECEIVER] },
    ...{ category: 'feedchanges', event: 'FeedChangesRecorded' },
  },
} as const;

type SubscriptionPath = keyof typeof KINDS;

/** The path of subscriptions that a path is below; undefined: none. */
export function subscriptionsAt(path: string): SubscriptionPath | undefined {
  return (Object.keys(KINDS) as SubscriptionPath[]).find((one) => path.startsWith(one));
}

/** Creates a subscription of `nord` and returns its id. */
export async function createSubscription(app: TestApp, path: SubscriptionPath): Promise<string> {
  const { token, posted } = KINDS[path];
  const answer = await app.post(path, { token, body: JSON.stringify(posted) });
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  return answer.json<Copy>().subscriptionId;
}

const OTHER_RECEIVERS: Partial<Record<SubscriptionPath, Parameters<typeof receiverIdOf>[1]>> = {
  [VOUCHER_SUBSCRIPTIONS]: VOUCHER_RECEIVER,
  [PRODUCT_SUBSCRIPTIONS]: PRODUCT_RECEIVER,
};

/** Subscriptions that several targets share, by their paths: an organisation has at most 100. */
const sharedIds = new WeakMap<TestApp, Map<SubscriptionPath, string>>();

/**
 * A target with the ids of a new subscription of `nord`, of its receiver, and of a message to it in the place of
 * `{id}`, `{receiverId}` and `{messageId}`.
 */
export async function targetWithIds(
  app: TestApp,
  target: string,
  deliveries: AppDeliveries,
): Promise<string> {
  if (!/\{(id|messageId)\}/.test(target)) return target;
  const kind = subscriptionsAt(target) ?? SUBSCRIPTIONS;
  const isShared = /\{id\}\/(?!secret\/rotations)|^\/ops\//.test(target);
  const shared = sharedIds.get(app) ?? new Map<SubscriptionPath, string>();
  sharedIds.set(app, shared);
  const subscriptionId = (isShared ? shared.get(kind) : undefined) ?? (await createSubscription(app, kind));
  if (isShared) shared.set(kind, subscriptionId);
  const receiver = OTHER_RECEIVERS[kind] ?? GET_RECEIVER;
  const receiverId = receiverIdOf(subscriptionId, receiver);
  const subjectId = target.includes('{subjectId}') ? await subjectOf(app, kind) : '';
  const whole = target
    .replace('{id}', subscriptionId)
    .replace('{receiverId}', receiverId)
    .replace('{subjectId}', subjectId);
  if (!/deliveries|receivers/.test(whole)) return whole;
  const own = { subscriptionId, organisationId: 1, receiver: receiverId };
  const due = await deliveries.history.due(subscriptionId, { ...own, at: new Date(NOW).toISOString() });
  await deliveries.history.outcome(due, { outcome: 'failed', error: 'timeout', answer: 'no', next: due.at });
  await deliveries.settled();
  return whole.replace('{messageId}', due.id);
}

/**
 * A new transaction, claim or voucher, or a change of a feed, that `nord` is a party of, as
 * subscriptions need it; returns its id.
 */
async function subjectOf(app: TestApp, path: SubscriptionPath): Promise<string> {
  if (path === PRODUCT_SUBSCRIPTIONS) return await feedOfChange(app);
  const { category, event: type } = KINDS[path];
  const { event } = golden<DomainEvent>(type);
  const data = event.data as { readonly transaction?: object };
  const own = { ...data, advertiserId: 1, programId: 101 };
  const isTransaction = category === 'transaction';
  if (isTransaction) Object.assign(own, { transaction: { ...data.transaction, advertiserId: 1 } });
  const id = isTransaction ? randomUUID().replaceAll('-', '') : String(randomInt(1e9, 1e10));
  const stream = streamOf(category, id);
  // Read models are not to show it, since it has no beginning.
  await app.engines.log.append(stream, NO_STREAM, [
    toNewEvent({ type: event.type, data: own }, randomUUID()),
  ]);
  return id;
}

/** One application for the tests of a file. */
export const subscriptionWorld = () => worldOf(CONVERSION_NETWORK, subscriptionClientOf);

/** A feed of `nord` of which a change is recorded. */
export async function feedOfChange({ engines: { log } }: TestApp): Promise<string> {
  const stream = streamOf(KINDS[PRODUCT_SUBSCRIPTIONS].category, FEEDS.german);
  const { event } = golden<DomainEvent>('FeedChangesRecorded', '-load');
  const revision = (await lastEvent(log, stream))?.revision ?? NO_STREAM;
  await log.append(stream, revision, [toNewEvent(event, randomUUID())]);
  return String(FEEDS.german);
}
