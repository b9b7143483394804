import { receiverIdOf, receiversOf } from '../../../src/domain/subscriptions/receiver-id';
import {
  type ActiveSubscription,
  lastCancelled,
  nextRotation,
  type Receiver,
  type SubscriptionCommand,
  type SubscriptionContent,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../../src/domain/subscriptions/subscription';
import { golden } from '../../support/golden';

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

const hoursLater = (hours: number) => new Date(Date.parse(AT) + hours * 3_600_000).toISOString();
const rotation = (hours: number) => ({ do: 'rotateSecret', at: hoursLater(hours) }) as const;

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
      replacedSecrets: [],
    });
    expect(decide(CREATE, after(CREATE))).toEqual([]);
  });

  it('is replaced as a whole (Document 2, Subscriptions: PUT)', () => {
    const state = after(CREATE, { do: 'replace', at: LATER, subscriptionId: 's', subscription: OTHER });
    expect(state).toMatchObject({ content: OTHER, createdAt: AT });
    expect(decide({ do: 'replace', at: LATER, subscriptionId: 's', subscription: OTHER }, state)).toEqual([]);
  });

  it('cannot be changed once it is deleted, and remembers whose it was', () => {
    const state = after(CREATE, { do: 'delete', at: LATER });
    expect(state).toEqual({ is: 'deleted', organisationId: 11 });
    expect(decide({ do: 'replace', at: LATER, subscriptionId: 's', subscription: OTHER }, state)).toEqual([]);
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

  it('has no receiver disabled that it no longer has: its last attempt was in flight when it was replaced (decisions N8)', () => {
    const receiver = receiverIdOf('s', RECEIVER);
    const disable = {
      do: 'disableReceiver',
      at: LATER,
      subscriptionId: 's',
      receiver,
      reason: 'gone',
    } as const;
    // One would continue the other.
    const others = ['one', 'two'].map((name) => ({
      ...RECEIVER,
      receiverUrl: `https://${name}.example/hook`,
    }));
    const moved = { ...CONTENT, receivers: others };
    const replaced = after(CREATE, { do: 'replace', at: LATER, subscriptionId: 's', subscription: moved });
    expect(decide(disable, replaced)).toEqual([]);
    expect(decide(disable, after(CREATE))).toHaveLength(1);
  });

  it('enables its receivers with a PUT, even one that changes nothing (decisions N8)', () => {
    const receiver = receiverIdOf('s', RECEIVER);
    const state = after(
      CREATE,
      { do: 'disableReceiver', at: AT, receiver, reason: 'failing' },
      { do: 'replace', at: LATER, subscriptionId: 's', subscription: CONTENT },
    );
    expect(state).toMatchObject({ disabledReceivers: {} });
  });

  it('knows until when a secret that was replaced signs (decisions N5)', () => {
    const state = after(CREATE, rotation(0), rotation(1));
    expect(state).toMatchObject({
      secret: { number: 3, since: hoursLater(1) },
      replacedSecrets: [
        { number: 1, until: hoursLater(24) },
        { number: 2, until: hoursLater(25) },
      ],
    });
    expect(after(CREATE, rotation(0), rotation(1), rotation(24))).toMatchObject({
      replacedSecrets: [
        { number: 2, until: hoursLater(25) },
        { number: 3, until: hoursLater(48) },
      ],
    });
  });

  it('replaces its secret at most five times within 24 hours (decisions N5)', () => {
    const five = [0, 1, 2, 3, 4].map(rotation);
    const state = after(CREATE, ...five) as ActiveSubscription;
    expect(decide(rotation(23.9), state)).toEqual([]);
    expect(nextRotation(state, hoursLater(23.9))).toBe(hoursLater(24));
    expect(decide(rotation(24), state)).toHaveLength(1);
    expect(after(CREATE, ...five, rotation(24))).toMatchObject({ secret: { number: 7 } });
    expect(decide(rotation(24.9), after(CREATE, ...five, rotation(24)))).toEqual([]);
    expect(nextRotation(after(CREATE, rotation(0)) as ActiveSubscription, hoursLater(1))).toBeUndefined();
  });

  it('signs with six secrets at most, also if it was rotated more often before that was limited (decisions N5)', () => {
    let state = after(CREATE);
    for (let secret = 2; secret < 10; secret += 1)
      state = subscriptionDecider.evolve(state, { type: 'SecretRotated', data: { at: AT, secret } });
    expect((state as ActiveSubscription).replacedSecrets.map(({ number }) => number)).toEqual([
      4, 5, 6, 7, 8,
    ]);
  });

  it('is created, and has its redeliveries cancelled, at times in the order of the log, whatever clocks say (decisions N17)', () => {
    const times: string[] = [];
    let state = after(CREATE);
    for (const at of [hoursLater(-1), AT, hoursLater(1), AT]) {
      const [event] = decide({ do: 'cancelRedeliveries', at }, state) as [SubscriptionEvent];
      times.push(event.data.at);
      state = subscriptionDecider.evolve(state, event);
      expect(lastCancelled(state as ActiveSubscription)).toBe(event.data.at);
    }
    const millisecondsLater = (ms: number) => hoursLater(ms / 3_600_000);
    const hour = 3_600_000;
    expect(times).toEqual([1, 2, hour, hour + 1].map(millisecondsLater));
  });

  it('is not changed by an unknown event of another program (decisions X103)', () => {
    const foreign = { type: 'Foreign', data: { at: LATER } } as unknown as SubscriptionEvent;
    expect(subscriptionDecider.evolve(after(CREATE), foreign)).toEqual(after(CREATE));
  });

  it('keeps with a PUT what that does not replace, so that nothing before it is read (ADR 35)', () => {
    const cancelled = after(CREATE, rotation(0), { do: 'cancelRedeliveries', at: AT }) as ActiveSubscription;
    const replace = { do: 'replace', at: LATER, subscriptionId: 's', subscription: OTHER } as const;
    const [event] = decide(replace, cancelled) as [SubscriptionEvent];
    expect(subscriptionDecider.supersedes?.(event)).toBe(true);
    expect(subscriptionDecider.evolve(after(CREATE), event)).toEqual(
      subscriptionDecider.evolve(cancelled, event),
    );
    expect(subscriptionDecider.evolve(cancelled, event)).toEqual({ ...cancelled, content: OTHER });
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

describe('a PUT continues receivers (decisions N8)', () => {
  const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((name): Receiver => ({
    httpMethod: 'GET',
    receiverUrl: `https://${name}.example/`,
  })) as [Receiver, Receiver, Receiver, Receiver];
  const a = receiverIdOf('s', A);
  /** The ids of receivers after PUTs, by their hosts. */
  const idsAfter = (...puts: readonly (readonly Receiver[])[]) => {
    const replaces = puts.map((receivers) => {
      const subscription = { ...CONTENT, receivers };
      return { do: 'replace', at: LATER, subscriptionId: 's', subscription } as const;
    });
    const { content } = after(CREATE, ...replaces) as ActiveSubscription;
    return content.receivers.map((one) => receiverIdOf('s', one));
  };
  const [ownB, ownC, ownD] = [B, C, D].map((receiver) => receiverIdOf('s', receiver));

  it('that it names, whatever they are now', () => {
    expect(idsAfter([A, B], [{ ...D, id: a }, B, C])).toEqual([a, ownB, ownC]);
    expect(idsAfter([A, B], [B, { ...C, id: a }], [A, { ...D, id: a }])).toEqual([expect.any(String), a]);
  });

  it('that are equal in method, URL, format and body, else the only one that is left over on both sides', () => {
    expect(idsAfter([A, B], [B, A])).toEqual([ownB, a]);
    expect(idsAfter([A, B], [C, B])).toEqual([a, ownB]);
    expect(idsAfter([A, B], [C, D])).toEqual([ownC, ownD]);
    expect(idsAfter([A], [C, D])).toEqual([ownC, ownD]);
    expect(idsAfter([A, B, C], [C, D])).toEqual([ownC, ownD]);
    expect(idsAfter([A], [C], [D], [D, B])).toEqual([receiverIdOf('s', RECEIVER), ownB]);
  });

  it('and has those tried at once that it changes, even if they rest (decisions N7)', () => {
    const before = after(CREATE, {
      ...{ do: 'replace', at: LATER, subscriptionId: 's' },
      subscription: { ...CONTENT, receivers: [A, B] },
    } as const);
    const subscription = { ...OTHER, receivers: [B, { ...C, id: a }, D] };
    const events = decide({ do: 'replace', at: LATER, subscriptionId: 's', subscription }, before);
    expect(events.map(({ type }) => type)).toEqual(['SubscriptionReplaced', 'ProbeRequested']);
    expect(events[1]?.data).toEqual({ at: LATER, receiver: a });
  });

  it('and gives a new receiver an id that no other one has', () => {
    const [changed, fresh] = idsAfter([A, B], [{ ...C, id: a }, B], [C, A, B]);
    expect(changed).toBe(a);
    expect(fresh).toMatch(/^[0-9a-v]{16}$/);
    expect([a, ownB, ownC]).not.toContain(fresh);
  });

  it('and stays without an event if nothing changes, and with one of several that are equal', () => {
    const put = (...receivers: readonly Receiver[]): SubscriptionCommand => {
      const subscription = { ...CONTENT, receivers };
      return { do: 'replace', at: LATER, subscriptionId: 's', subscription };
    };
    const state = after(CREATE, put(A), put(C));
    expect(decide(put(C), state)).toEqual([]);
    expect(decide(put({ ...C, id: receiverIdOf('s', RECEIVER) }), state)).toEqual([]);
    expect(
      idsAfter(
        [A, B],
        [
          { ...C, id: a },
          { ...C, id: ownB! },
        ],
      ),
    ).toEqual([a, a]);
  });
});

it('is the same after its state was repeated in events that supersede what is before them (ADR 35)', () => {
  const receiver = receiverIdOf('s', RECEIVER);
  const state = after(
    CREATE,
    { do: 'replace', at: AT, subscriptionId: 's', subscription: OTHER },
    rotation(1),
    rotation(2),
    { do: 'cancelRedeliveries', at: hoursLater(3) },
    { do: 'disableReceiver', at: hoursLater(4), receiver, reason: 'failing' },
    { do: 'disableReceiver', at: hoursLater(5), receiver: 'other', reason: 'gone' },
  );
  const [first, ...others] = decide({ do: 'restate', at: LATER }, state);
  expect(subscriptionDecider.supersedes?.(first!)).toBe(true);
  const created = after(CREATE);
  expect(
    [first!, ...others].reduce((before, event) => subscriptionDecider.evolve(before, event), created),
  ).toEqual(state);
});

it.each([
  'SubscriptionCreated',
  'SubscriptionReplaced',
  'SubscriptionReplaced-continued',
  'SubscriptionReplaced-kept',
  'SubscriptionDeleted',
  'ReceiverDisabled',
  'ReceiverEnabled',
  'SecretRotated',
  'TestRequested',
  'ProbeRequested',
  'RedeliveryRequested',
  'RedeliveriesCancelled',
  'MessageRequested',
  'BackfillsCancelled',
] as const)('%s is read as it was first stored', (type) => {
  const [name, variant] = type.split('-') as [SubscriptionEvent['type'], string?];
  const { stream, event } = golden<SubscriptionEvent>(name, variant === undefined ? '' : `-${variant}`);
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
    'SubscriptionReplaced-continued': { content: { receivers: [{ id: '0123456789abcdef' }] } },
    'SubscriptionReplaced-kept': {
      content: { filter: { stateIds: [1] } },
      secret: { number: 3, since: '2026-03-01T11:00:00.000Z' },
      replacedSecrets: [{ number: 2, until: '2026-03-02T11:00:00.000Z' }],
      redeliveriesCancelled: '2026-03-01T10:00:00.000Z',
    },
    SubscriptionDeleted: { is: 'deleted' },
    ReceiverDisabled: { disabledReceivers: { '0123456789abcdef': { reason: 'failing' } } },
    ReceiverEnabled: { disabledReceivers: {} },
    SecretRotated: { secret: { number: 2 } },
    TestRequested: start,
    ProbeRequested: start,
    RedeliveryRequested: start,
    MessageRequested: start,
    BackfillsCancelled: start,
    RedeliveriesCancelled: { redeliveriesCancelled: '2026-03-01T12:00:00.000Z' },
  };
  expect(state).toMatchObject(expected[type]);
});
