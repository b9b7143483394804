import { type Message } from '../../../src/domain/deliveries/delivery-events';
import {
  decideRedelivery,
  isRedeliveredInBulk,
  type RedeliveredMessage,
  withoutCancelled,
} from '../../../src/domain/deliveries/redelivery';
import { type ListedDelivery } from '../../../src/domain/deliveries/stored-delivery';
import { without } from '../../../src/kernel/values';
import { receiverIdOf } from '../../../src/domain/subscriptions/receiver-id';
import { type Receiver, subscriptionDecider } from '../../../src/domain/subscriptions/subscription';

const AT = '2026-03-01T12:00:00.000Z';
const EARLIER = '2026-03-01T11:00:00.000Z';
const LATER = '2026-03-01T13:00:00.000Z';
const RECEIVER: Receiver = { httpMethod: 'GET', receiverUrl: 'https://shop.example/in' };
const receiver = receiverIdOf('s', RECEIVER);

const LISTED: ListedDelivery = {
  ...{ messageId: 'msg_1', subscriptionId: 's', organisationId: 1, receiver, topic: 'transactions' },
  ...{ subject: 't', sequence: 1, stateId: 4, at: EARLIER, matched: 17, state: 'dead' },
  ...{ attempted: 1, attempts: [{ attempt: 1, at: EARLIER }] },
};
const MESSAGE: Message = {
  ...{ id: 'msg_1', subscriptionId: 's', organisationId: 1, receiver, topic: 'transactions' },
  ...{ subject: 't', sequence: 1, stateId: 4, at: EARLIER, cause: '' },
  request: { method: 'GET', url: 'https://shop.example/in' },
};
const ACTIVE = subscriptionDecider.evolve(subscriptionDecider.initial, {
  type: 'SubscriptionCreated',
  data: {
    ...{ at: EARLIER, topic: 'transactions', organisationId: 1 },
    subscription: { filter: { stateIds: [4] }, receivers: [RECEIVER] },
  },
});
const DELETED = subscriptionDecider.evolve(ACTIVE, { type: 'SubscriptionDeleted', data: { at: AT } });
const OTHER: ListedDelivery = { ...LISTED, receiver: 'other' };
const UNSENDABLE: Message = { ...without(MESSAGE, 'request'), unsendable: 'its URL is too long' };
const AWAITING: Message = {
  ...without(MESSAGE, 'request'),
  awaitsRate: { from: 'SEK', to: 'EUR', upTo: '' },
};

const REQUESTED = {
  is: 'requested',
  request: { type: 'RedeliveryRequested', data: { at: AT, receiver, message: 'msg_1', revision: 17 } },
};
const requestedAt = (at: string) => ({
  ...REQUESTED,
  request: { ...REQUESTED.request, data: { ...REQUESTED.request.data, at } },
});
const refused = (because: string, reason: string) => ({ is: 'refused', because, reason });
const REMOVED = refused(
  'no receiver',
  `msg_1: its subscription no longer has the receiver other; it has ${receiver}`,
);
const NOT_KEPT = refused('not kept', 'msg_1: what was sent is no longer kept, so it cannot be sent again');

const CASES: readonly [string, Partial<RedeliveredMessage>, owner: object, operator?: object][] = [
  ['is sent again', {}, REQUESTED],
  [
    'of a deleted subscription is not',
    { subscription: DELETED },
    refused('deleted', 'msg_1: its subscription s is deleted'),
  ],
  ['to a receiver that was removed is not', { listed: OTHER }, REMOVED],
  ['that is no longer kept is not', { message: undefined }, NOT_KEPT],
  [
    'without a request is not',
    { message: UNSENDABLE },
    refused('unsendable', 'msg_1 cannot be sent: its URL is too long'),
  ],
  [
    'that waits for a rate is not',
    { message: AWAITING },
    refused('unsendable', 'msg_1 cannot be sent: there is no exchange rate of SEK to EUR'),
  ],
  ['of which several of that are true has the first reason', { listed: OTHER, message: undefined }, REMOVED],
  [
    'that is asked for already is again by operators only',
    { lastRequest: EARLIER },
    { is: 'pending', since: EARLIER },
    REQUESTED,
  ],
  [
    'that is asked for again after it was attempted is again by operators only',
    { listed: { ...LISTED, redelivered: EARLIER }, lastRequest: AT },
    { is: 'pending', since: AT },
    REQUESTED,
  ],
  [
    'that was attempted since is',
    { listed: { ...LISTED, redelivered: EARLIER }, lastRequest: EARLIER },
    REQUESTED,
  ],
  [
    'of which the request was cancelled is, whatever read models show',
    {
      listed: { ...LISTED, redelivery: AT },
      subscription: { ...ACTIVE, redeliveriesCancelled: EARLIER } as typeof ACTIVE,
    },
    requestedAt('2026-03-01T12:00:00.001Z'),
  ],
  [
    'that a process asks for whose clock is behind is, at the time of the message',
    { listed: { ...LISTED, at: LATER } },
    requestedAt(LATER),
  ],
  [
    'that was attempted, by a clock that is behind is, after the request before',
    { listed: { ...LISTED, redelivered: AT }, lastRequest: AT },
    requestedAt('2026-03-01T12:00:00.001Z'),
  ],
  ['that is asked for and no longer kept is not', { lastRequest: EARLIER, message: undefined }, NOT_KEPT],
];

it.each(CASES)('a message %s (decisions N17)', (_, changes, owner, operator = owner) => {
  const known = {
    subscription: ACTIVE,
    listed: LISTED,
    message: MESSAGE,
    lastRequest: undefined,
    ...changes,
  };
  expect(decideRedelivery(known, { at: AT, mayRepeat: false })).toEqual(owner);
  expect(decideRedelivery(known, { at: AT, mayRepeat: true })).toEqual(operator);
});

it.each<[string, Partial<ListedDelivery>, boolean]>([
  ['attempted ones', {}, true],
  ['cancelled ones', { state: 'cancelled', attempts: [] }, true],
  ['those that can be rendered now', { renderable: true, attempts: [] }, true],
  ['no others without an attempt', { attempts: [] }, false],
  ['no tests', { isTest: true }, false],
  ['those that are retried later', { state: 'retrying', next: '2026-03-01T12:01:00.000Z' }, true],
  ['none that is retried within a minute', { state: 'retrying', next: '2026-03-01T12:00:59.999Z' }, false],
])('of a period %s are sent again (decisions N17)', (_, changes, isWanted) => {
  const now = Date.parse('2026-03-01T12:00:00.000Z');
  expect(isRedeliveredInBulk({ ...LISTED, ...changes }, now)).toBe(isWanted);
});

it('of a period those are sent again, to a receiver that rests, that would be retried soon (decisions N17)', () => {
  const due: ListedDelivery = { ...LISTED, state: 'retrying', next: '2026-03-01T12:00:00.000Z' };
  expect(isRedeliveredInBulk(due, undefined)).toBe(true);
});

describe('a redelivery is listed as requested (decisions N17)', () => {
  const created = { createdAt: AT };
  const cancelled = { createdAt: EARLIER, redeliveriesCancelled: AT };

  it.each<[string, Partial<ListedDelivery>, Parameters<typeof withoutCancelled>[1], boolean]>([
    ['unless there is none', {}, created, false],
    ['without a cancellation', { redelivery: EARLIER, cancelledBefore: AT }, created, true],
    ['after the last cancellation', { redelivery: EARLIER, cancelledBefore: AT }, cancelled, true],
    [
      'unless it was before a cancellation',
      { redelivery: LATER, cancelledBefore: EARLIER },
      cancelled,
      false,
    ],
    [
      'after a cancellation that was not read yet',
      { redelivery: AT, cancelledBefore: LATER },
      cancelled,
      true,
    ],
    ['by an older event without a cancellation', { redelivery: EARLIER }, created, true],
    ['by an older event if it is later than that', { redelivery: LATER }, cancelled, true],
    ['by an older event unless it is as late', { redelivery: AT }, cancelled, false],
  ])('%s', (_, changes, subscription, isListed) => {
    const listed = withoutCancelled({ ...LISTED, ...changes }, subscription);
    expect('redelivery' in listed).toBe(isListed);
  });
});
