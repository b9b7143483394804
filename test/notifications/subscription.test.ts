import { receiverIdOf, receiversOf } from '../../src/notifications/receiver-id';
import {
  type ActiveSubscription,
  type Receiver,
  type SubscriptionCommand,
  type SubscriptionContent,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../src/notifications/subscription';
import { golden } from '../support/golden';

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-02T12:00:00.000Z';
const RECEIVER: Receiver = { httpMethod: 'GET', receiverUrl: 'https://shop.example/in?id=${transactionId}' };
const CONTENT: SubscriptionContent = { filter: { stateIds: [4] }, receivers: [RECEIVER] };
const OTHER: SubscriptionContent = { filter: { stateIds: [5, 6] }, receivers: [RECEIVER] };
const CREATE = {
  do: 'create',
  at: AT,
  topic: 'transactions',
  organisationId: 11,
  subscription: CONTENT,
} as const;

function after(...commands: readonly SubscriptionCommand[]): SubscriptionState {
  return commands.reduce(
    (state, command) =>
      decide(command, state).reduce((before, event) => subscriptionDecider.evolve(before, event), state),
    subscriptionDecider.initial,
  );
}

function decide(command: SubscriptionCommand, state: SubscriptionState): readonly SubscriptionEvent[] {
  return subscriptionDecider.decide(command, state);
}

describe('a subscription (Document 2, Subscription)', () => {
  it('is created once', () => {
    expect(after(CREATE)).toEqual({
      is: 'active',
      topic: 'transactions',
      organisationId: 11,
      createdAt: AT,
      content: CONTENT,
      disabledReceivers: {},
      secret: { number: 1, since: AT },
    });
    expect(decide(CREATE, after(CREATE))).toEqual([]);
  });

  it('is replaced as a whole (Document 2, Subscriptions: PUT)', () => {
    const state = after(CREATE, { do: 'replace', at: LATER, subscription: OTHER });
    expect(state).toMatchObject({ content: OTHER, createdAt: AT });
    expect(decide({ do: 'replace', at: LATER, subscription: OTHER }, state)).toEqual([]);
  });

  it('cannot be changed once it is deleted, and remembers whose it was', () => {
    const state = after(CREATE, { do: 'delete', at: LATER });
    expect(state).toEqual({ is: 'deleted', organisationId: 11 });
    expect(decide({ do: 'replace', at: LATER, subscription: OTHER }, state)).toEqual([]);
    expect(decide(CREATE, state)).toEqual([]);
  });

  it('does nothing before it is created', () => {
    expect(decide({ do: 'delete', at: AT }, { is: 'unknown' })).toEqual([]);
  });

  it('has receivers that the system disables, and its owner enables again (decisions N8)', () => {
    const receiver = receiverIdOf('s', RECEIVER);
    const disable = { do: 'disableReceiver', at: LATER, receiver, reason: 'gone' } as const;
    const disabled = after(CREATE, disable);
    expect(disabled).toMatchObject({ disabledReceivers: { [receiver]: { at: LATER, reason: 'gone' } } });
    expect(decide(disable, disabled)).toEqual([]);
    const enable = { do: 'enableReceiver', at: LATER, receiver } as const;
    expect(after(CREATE, disable, enable)).toMatchObject({ disabledReceivers: {} });
    expect(decide(enable, after(CREATE))).toEqual([]);
  });

  it('enables its receivers with a PUT, even one that changes nothing (decisions N8)', () => {
    const receiver = receiverIdOf('s', RECEIVER);
    const state = after(
      CREATE,
      { do: 'disableReceiver', at: AT, receiver, reason: 'failing' },
      { do: 'replace', at: LATER, subscription: CONTENT },
    );
    expect(state).toMatchObject({ disabledReceivers: {} });
  });

  it('counts the rotations of its secret (decisions N5)', () => {
    const state = after(CREATE, { do: 'rotateSecret', at: LATER }, { do: 'rotateSecret', at: LATER });
    expect(state).toMatchObject({ secret: { number: 3, since: LATER } });
  });

  it('records tests and redeliveries, which do not change it (decisions N14)', () => {
    const test = { do: 'test', at: LATER, receiver: 'r', stateId: 4 } as const;
    const again = { do: 'redeliver', at: LATER, receiver: 'r', message: 'msg_1', revision: 3 } as const;
    expect(decide(test, after(CREATE))).toHaveLength(1);
    expect(decide(again, after(CREATE))).toHaveLength(1);
    expect(after(CREATE, test, again)).toEqual(after(CREATE));
  });

  it('has one receiver for those that are equal (decisions N15)', () => {
    const post: Receiver = {
      httpMethod: 'POST',
      receiverUrl: 'https://shop.example/in',
      receiverBody: '${orderNumber}',
      receiverFormat: 'custom',
    };
    const receivers = [
      RECEIVER,
      post,
      { ...RECEIVER, disabled: true as const },
      { ...post, receiverBody: 'x' },
    ];
    expect(receiversOf('s', { ...CONTENT, receivers }).size).toBe(3);
    expect([...receiversOf('s', CONTENT).keys()]).not.toEqual([...receiversOf('t', CONTENT).keys()]);
    for (const id of receiversOf('s', { ...CONTENT, receivers }).keys()) expect(id).toMatch(/^[0-9a-v]{16}$/);
  });
});

it.each([
  'SubscriptionCreated',
  'SubscriptionReplaced',
  'SubscriptionDeleted',
  'ReceiverDisabled',
  'ReceiverEnabled',
  'SecretRotated',
  'TestRequested',
  'RedeliveryRequested',
] as const)('%s is read as it was first stored', (type) => {
  const { stream, event } = golden<SubscriptionEvent>(type);
  expect(stream).toMatch(/^subscription-/);
  const start: ActiveSubscription = after(CREATE) as ActiveSubscription;
  const state = subscriptionDecider.evolve(type === 'SubscriptionCreated' ? { is: 'unknown' } : start, event);
  const expected: Record<typeof type, object> = {
    SubscriptionCreated: {
      organisationId: 11,
      topic: 'transactions',
      content: {
        subscriptionName: 'Sales to our CRM',
        siteId: 1101,
        filter: { programIds: [101], siteIds: [1101], eventIds: [301], eventTypeIds: [5], stateIds: [4, 6] },
        receivers: [{ httpMethod: 'GET' }, { httpMethod: 'POST', receiverFormat: 'JSON', disabled: true }],
        currencyConversion: { to: 'SEK' },
        customAttribute: { userAttribute: 'shop', rules: [{ inputs: ['101'], output: 'lamps' }] },
        disabled: true,
        strictOrder: true,
      },
    },
    SubscriptionReplaced: { content: { filter: { stateIds: [1] } } },
    SubscriptionDeleted: { is: 'deleted' },
    ReceiverDisabled: { disabledReceivers: { '0123456789abcdef': { reason: 'failing' } } },
    ReceiverEnabled: { disabledReceivers: {} },
    SecretRotated: { secret: { number: 2 } },
    TestRequested: start,
    RedeliveryRequested: start,
  };
  expect(state).toMatchObject(expected[type]);
});
