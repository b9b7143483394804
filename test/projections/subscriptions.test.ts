import { subscriptions } from '../../projections/subscriptions';
import { TOPICS } from '../../src/domain/topics';
import { toOutput } from '../../src/services/subscriptions/subscription.queries';

const CREATED = {
  type: 'SubscriptionCreated',
  revision: 0,
  position: '0000000000000000001',
  stream: 'subscription-x',
} as const;
const data = (subscription: unknown) =>
  ({ at: '2026-03-01T12:00:00Z', topic: 'transactions', organisationId: 1, subscription }) as never;

it.each([
  ['no content', null],
  ['no filter', { receivers: [] }],
  ['receivers that are none', { filter: { stateIds: [4] }, receivers: [null] }],
  ['a list of receivers that is none', { filter: { stateIds: [4] }, receivers: {} }],
])('a subscription with %s is parked: the list of all others would fail (decisions X103)', (_, content) => {
  expect(() => subscriptions.fold(undefined, { ...CREATED, data: data(content) })).toThrow(
    'SubscriptionCreated of another program',
  );
});

it('a subscription of ours is listed', () => {
  const content = { filter: { stateIds: [4] }, receivers: [] };
  const stored = subscriptions.fold(undefined, { ...CREATED, data: data(content) });
  expect(toOutput(TOPICS.transactions, 'x', stored!.content).receivers).toEqual([]);
});
