import { Matcher } from '../../../src/delivery/matching/matcher';
import { type DeliveryRequest, requestStream } from '../../../src/domain/subscriptions/delivery-requests';
import { messageIdOf, receiverIdOf } from '../../../src/domain/subscriptions/receiver-id';
import { type Receiver, type SubscriptionFilter } from '../../../src/domain/subscriptions/subscription';
import { type Topic } from '../../../src/domain/subscriptions/topic';
import { golden } from '../../support/golden';
import { matchedClaims, urls } from './matched-claims';
import { AT, claimTopic, created, DELETED, GET, moved, POST, Recorded, replaced } from './recorded-events';

const claims = matchedClaims();
const { happens, messages, subscribed } = claims;

describe('a message', () => {
  it('is due for each enabled receiver of a subscription of one of the parties (Document 2, Events)', () => {
    subscribed(2, { receivers: [GET, POST], strictOrder: true });
    const [get, post] = [GET, POST].map((receiver) => receiverIdOf('s', receiver)) as [string, string];
    const due = happens('claim-1', moved({ sequence: 7 }));
    const cause = claims.recorded.events.at(-1)!;
    const common = {
      ...{ subscriptionId: 's', organisationId: 2, topic: 'claims', subject: 'claim 1' },
      ...{ sequence: 7, stateId: 1, at: AT },
      ...{ cause: cause.position, strictOrder: true },
    };
    expect(due).toEqual([
      {
        type: 'MessageDue',
        data: {
          ...common,
          id: messageIdOf(cause.id, get),
          receiver: get,
          request: { method: 'GET', url: 'https://a.example/?e=&a=100' },
        },
      },
      {
        type: 'MessageDue',
        data: {
          ...common,
          id: messageIdOf(cause.id, post),
          receiver: post,
          request: {
            method: 'POST',
            url: 'https://b.example/',
            contentType: 'application/json; charset=utf-8',
            body: '{"state":1,"epi":null}',
          },
        },
      },
    ]);
  });

  it('that is too long is due with its reason in place of a request (decisions N10)', () => {
    subscribed(1);
    expect(messages({ attributes: { epi: 'e'.repeat(9000) } })).toEqual([
      expect.objectContaining({ unsendable: 'its URL is longer than 8192 bytes' }),
    ]);
  });

  it('is rendered when it is read, so that those of one event are not in memory together', () => {
    let values = 0;
    const attributes = {
      get epi(): string {
        values += 1;
        return 'e';
      },
    };
    const occurrence: Topic['occurrence'] = (...happened) => ({
      ...claimTopic.occurrence(...happened)!,
      attributes,
    });
    const matcher = new Matcher([{ ...claimTopic, occurrence }]);
    const { recorded } = claims;
    matcher.apply(recorded.append('subscription-s', created(1, { receivers: [GET, POST] })));
    const due = matcher.match(recorded.append('claim-1', moved()))[Symbol.iterator]();
    const [first = 0, second = 0] = [1, 2].map(() => (due.next(), values));
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first);
  });

  it('is due once for equal receivers, if one of them is enabled (decisions N15)', () => {
    const disabled: Receiver = { ...GET, disabled: true };
    subscribed(1, { receivers: [GET, GET] }, 'a');
    subscribed(1, { receivers: [disabled, GET] }, 'b');
    subscribed(1, { receivers: [GET, disabled] }, 'c');
    subscribed(1, { receivers: [disabled, disabled] }, 'd');
    expect(messages().map(({ subscriptionId }) => subscriptionId)).toEqual(['a', 'b', 'c']);
  });

  it('is due once for an organisation that is both parties', () => {
    subscribed(1);
    expect(messages({ parties: [1, 1] })).toHaveLength(1);
  });

  it('has the same id for ever: a hash of event, subscription and receiver (decisions N15)', () => {
    subscribed(1, {}, 'a');
    subscribed(2, {}, 'b');
    const ids = [...messages(), ...messages()].map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    const again = new Matcher([claimTopic]);
    const repeated = claims.recorded.events.flatMap((event) => [...again.match(event)]);
    expect(repeated.map(({ data }) => 'id' in data && data.id)).toEqual(ids);
    expect(ids[0]).toMatch(/^msg_[0-9a-v]{32}$/);
  });

  it('is not due for others, for another topic, or for an event that is no occurrence', () => {
    subscribed(3, {}, 'of another organisation');
    happens('subscription-t', created(1, {}, 'transactions'));
    expect(messages()).toEqual([]);
    subscribed(1, {}, 'of a party');
    expect(happens('claim-1', { type: 'ClaimAmended', data: {} })).toEqual([]);
    expect(happens('claim-1', { type: 'ClaimMoved', data: {} })).toEqual([]);
    expect(happens('transaction-1', moved())).toEqual([]);
    expect(messages()).toHaveLength(1);
  });
});

describe('a filter (Document 2, Subscription)', () => {
  const fits = {
    programIds: [5, 1],
    siteIds: [10, 11],
    eventIds: [100],
    eventTypeIds: [9, 4],
    stateIds: [3, 1],
  } satisfies SubscriptionFilter;
  const fitsNot = {
    programIds: [5],
    siteIds: [11],
    eventIds: [101, 102],
    eventTypeIds: [9],
    stateIds: [3],
  } satisfies SubscriptionFilter;
  const names = Object.keys(fits) as (keyof typeof fits)[];

  it.each(names)('%s selects what it lists', (name) => {
    subscribed(1, { filter: { stateIds: [1], [name]: fits[name] } }, 'fits');
    subscribed(1, { filter: { stateIds: [1], [name]: fitsNot[name] } }, 'does not');
    expect(messages().map(({ subscriptionId }) => subscriptionId)).toEqual(['fits']);
  });

  it('selects what all of its lists select', () => {
    for (let chosen = 0; chosen < 2 ** names.length; chosen += 1) {
      const filter = Object.fromEntries(
        names.map((name, at) => [name, (chosen >> at) % 2 === 0 ? fits[name] : fitsNot[name]]),
      );
      subscribed(1, { filter: filter as unknown as SubscriptionFilter }, `${chosen}`);
    }
    expect(messages().map(({ subscriptionId }) => subscriptionId)).toEqual(['0']);
  });

  it('by event type excludes what has none', () => {
    subscribed(1, { filter: { stateIds: [1], eventTypeIds: [4] } });
    const withoutType = { ...moved().data, eventTypeId: undefined };
    expect(happens('claim-1', { type: 'ClaimMoved', data: withoutType })).toEqual([]);
  });

  it('is of the site of the token too (decisions N11)', () => {
    subscribed(1, { siteId: 10 }, 'of the site');
    subscribed(1, { siteId: 11 }, 'of another');
    expect(messages().map(({ subscriptionId }) => subscriptionId)).toEqual(['of the site']);
  });
});

describe('what is disabled (decisions N8)', () => {
  it('by the owner gets no messages', () => {
    subscribed(1, { disabled: true }, 'all');
    subscribed(1, { receivers: [{ ...GET, disabled: true }, POST] }, 'one');
    expect(urls(messages())).toEqual(['https://b.example/']);
  });

  it('by the system gets messages, which are held', () => {
    subscribed(1);
    const receiver = receiverIdOf('s', GET);
    happens('subscription-s', { type: 'ReceiverDisabled', data: { at: AT, receiver, reason: 'gone' } });
    expect(messages()).toHaveLength(1);
  });

  it('is what a replacement says, from then on', () => {
    subscribed(1, { disabled: true });
    expect(messages()).toEqual([]);
    happens('subscription-s', replaced({ receivers: [POST] }));
    expect(urls(messages())).toEqual(['https://b.example/']);
    happens('subscription-s', DELETED);
    expect(messages()).toEqual([]);
    happens('subscription-s', replaced({}));
    expect(messages()).toEqual([]);
  });
});

describe.each([
  ['in the stream of its requests', 'deliveryrequests-s'],
  ['in old logs in that of the subscription', 'subscription-s'],
])('what an organisation asks for, %s (decisions N14)', (_, stream) => {
  it('is a test of a receiver: a message about an example, whatever the filter', () => {
    const data = { at: AT, day: '2026-03-01', rates: { USD: 1.125 } };
    happens('exchange-rates', { type: 'ExchangeRatesPublished', data });
    subscribed(1, { receivers: [GET, POST], currencyConversion: { to: 'USD' }, filter: { stateIds: [9] } });
    const receiver = receiverIdOf('s', GET);
    const request = { at: '2026-03-05T00:00:00.000Z', receiver, stateId: 4 };
    const due = happens(stream, { type: 'TestRequested', data: request });
    const { id, position } = claims.recorded.events.at(-1)!;
    expect(due).toEqual([
      {
        type: 'MessageDue',
        data: {
          ...{ id: messageIdOf(id, receiver), subscriptionId: 's', organisationId: 1, receiver },
          ...{
            topic: 'claims',
            subject: `test-${id}`,
            sequence: 1,
            stateId: 4,
            at: '2026-03-05T00:00:00.000Z',
            cause: position,
          },
          request: { method: 'GET', url: 'https://a.example/?e=&a=14.06' },
          conversion: { from: 'EUR', to: 'USD', rate: 1.125, day: '2026-03-01' },
          isTest: true,
        },
      },
    ]);
  });

  it('is nothing for a receiver that is gone, or that its owner has disabled', () => {
    subscribed(1, { receivers: [{ ...GET, disabled: true }] });
    for (const receiver of [GET, POST].map((one) => receiverIdOf('s', one)))
      expect(happens(stream, { type: 'TestRequested', data: { at: AT, receiver, stateId: 1 } })).toEqual([]);
  });

  it('is a probe of a receiver that rests (decisions N14)', () => {
    subscribed(1);
    const data = { at: AT, receiver: 'r' };
    expect(happens(stream, { type: 'ProbeRequested', data })).toEqual([
      { type: 'ProbeDue', data: { subscriptionId: 's', organisationId: 1, ...data } },
    ]);
    expect(golden('ProbeDue').event).toMatchObject({ type: 'ProbeDue', data: { at: AT } });
  });

  it('is a message once more, with its old id, and what was cancelled before it (decisions N17)', () => {
    subscribed(1, { disabled: true });
    const data = { at: AT, receiver: 'r', message: 'msg_1', revision: 17 };
    const due = { id: 'msg_1', subscriptionId: 's', organisationId: 1, receiver: 'r', revision: 17, at: AT };
    const after = (cancelledBefore: string) => [{ type: 'RedeliveryDue', data: { ...due, cancelledBefore } }];
    expect(happens(stream, { type: 'RedeliveryRequested', data })).toEqual(after(AT));
    const cancelledAt = '2027-03-01T12:00:00.000Z';
    happens('subscription-s', { type: 'RedeliveriesCancelled', data: { at: cancelledAt } });
    expect(happens(stream, { type: 'RedeliveryRequested', data })).toEqual(after(cancelledAt));
    happens('subscription-s', DELETED);
    expect(happens(stream, { type: 'RedeliveryRequested', data })).toEqual([]);
  });
});

it.each(['TestRequested', 'ProbeRequested', 'RedeliveryRequested', 'MessageRequested'] as const)(
  '%s is read as it was first stored, in either stream (test/golden)',
  (type) => {
    const asked = ['', '-ownStream'].map((variant) => golden<DeliveryRequest>(type, variant));
    expect(asked.map(({ stream }) => stream)).toEqual(['subscription-7f3c', requestStream('7f3c')]);
    const due = asked.map(({ stream, event }) => {
      const [recorded, matcher] = [new Recorded(), new Matcher([claimTopic])];
      const receivers = [{ ...GET, id: event.data.receiver }];
      matcher.apply(recorded.append('subscription-7f3c', created(1, { receivers })));
      return Array.from(matcher.match(recorded.append(stream, event)), ({ data }) => data);
    });
    expect(due[1]).toHaveLength(1);
    expect(due[1]).toMatchObject([{ subscriptionId: '7f3c', receiver: '0123456789abcdef' }]);
    expect(due[0]).toHaveLength(1);
  },
);
