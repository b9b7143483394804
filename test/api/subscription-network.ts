import { randomInt, randomUUID } from 'node:crypto';
import { type DomainEvent, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, streamOf } from '../../src/kernel/event';
import { receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { type Response, type TestApp } from '../support/app';
import { golden } from '../support/golden';
import { type AppDeliveries } from '../support/app-deliveries';
import { CLAIM_TOKENS } from './claim-network';
import { type ConversionClient, CONVERSION_NETWORK, CONVERSION_TOKENS } from './transaction-network';
import { NOW } from './voucher-network';
import { worldOf } from './world';

export const SUBSCRIPTIONS = '/1.0/conversions/subscriptions';
export const CLAIM_SUBSCRIPTIONS = '/1.0/claims/subscriptions';

/** A subscription as it is answered. */
export type Copy = Readonly<Record<string, unknown>> & { readonly subscriptionId: string };

export const GET_RECEIVER = {
  httpMethod: 'GET',
  receiverUrl: 'https://shop.example/told?order=${orderNumber}&value=${orderValue}#${epi}',
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

/** Subscriptions that several targets share, by whether they are to claims: an organisation has at most 100. */
const sharedIds = new WeakMap<TestApp, Map<boolean, string>>();

async function createFor(app: TestApp, isClaims: boolean): Promise<string> {
  if (isClaims) return await createClaimSubscription(app);
  return (await subscriptionClientOf(() => app).create()).subscriptionId;
}

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
  const isClaims = target.startsWith(CLAIM_SUBSCRIPTIONS);
  const isShared = /redeliveries|explain|backfills|^\/ops\//.test(target);
  const shared = sharedIds.get(app) ?? new Map<boolean, string>();
  sharedIds.set(app, shared);
  const subscriptionId = (isShared ? shared.get(isClaims) : undefined) ?? (await createFor(app, isClaims));
  if (isShared) shared.set(isClaims, subscriptionId);
  const receiverId = receiverIdOf(subscriptionId, GET_RECEIVER);
  const subjectId = target.includes('{subjectId}') ? await subjectOf(app, target) : '';
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

/** A new transaction, or claim, that `nord` is a party of, as the target needs it; returns its id. */
async function subjectOf(app: TestApp, target: string): Promise<string> {
  const isClaim = target.startsWith(CLAIM_SUBSCRIPTIONS);
  const { event } = golden<DomainEvent>(isClaim ? 'ClaimScreened' : 'TransactionTracked');
  const data = event.data as { readonly transaction?: object };
  const transaction = data.transaction && { ...data.transaction, advertiserId: 1 };
  const own = isClaim ? { ...data, advertiserId: 1 } : { ...data, transaction };
  const id = isClaim ? String(randomInt(1e9, 1e10)) : randomUUID().replaceAll('-', '');
  const stream = streamOf(isClaim ? 'claim' : 'transaction', id);
  // Read models are not to show it, since it has no beginning.
  await app.engines.log.append(stream, NO_STREAM, [
    toNewEvent({ type: event.type, data: own }, randomUUID()),
  ]);
  return id;
}

/** Creates a subscription of `nord` to claims and returns its id. */
export async function createClaimSubscription(app: TestApp): Promise<string> {
  const body = JSON.stringify(subscription({ filter: { statusIds: [2, 3] } }));
  const answer = await app.post(CLAIM_SUBSCRIPTIONS, { token: CLAIM_TOKENS.nord, body });
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  return answer.json<Copy>().subscriptionId;
}

/** One application for the tests of a file. */
export const subscriptionWorld = () => worldOf(CONVERSION_NETWORK, subscriptionClientOf);
