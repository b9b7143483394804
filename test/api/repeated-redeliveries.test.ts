import { randomUUID } from 'node:crypto';
import { Matcher } from '../../src/delivery/matching/matcher';
import { toNewEvent } from '../../src/kernel/decider';
import { START } from '../../src/kernel/event';
import {
  type DeliveryRequest,
  isUsable,
  requestStream,
} from '../../src/domain/subscriptions/delivery-requests';
import { redeliver } from '../../src/operations/notifications';
import { transactionTopic } from '../../src/domain/transactions/topic';
import { streamOf } from '../contracts/event-log/events';
import { at, deliveryWorld, type Due, type Json, type Sample } from './delivery-samples';
import { OTHER_TOKENS } from './network';
import { GET_RECEIVER, POST_RECEIVER, subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { NOW } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();
const MINUTE = 60_000;
const PERIOD = { minTime: at(0), maxTime: at(9) };

/** Dead letters of a new subscription, which reads show. */
async function deadLetters(
  count: number,
): Promise<{ readonly sample: Sample; readonly dead: readonly Due[] }> {
  const sample = await sampleOf();
  const dead: Due[] = [];
  for (let n = 0; n < count; n += 1) {
    const message = await sample.due(`m${n}`, { at: at(1 + n / 100) });
    await history().outcome(message, { outcome: 'dead', attempt: 10 });
    dead.push(message);
  }
  await settled();
  return { sample, dead };
}

/** What the matcher and the sender do with a request: the redelivery is attempted, and fails. */
async function fails(message: Due, requestedAt: number): Promise<void> {
  await history().redeliver(message, timeOf(requestedAt));
  await history().outcome(message, { outcome: 'failed', attempt: 1, isManual: true, at: timeOf(NOW) });
}

const timeOf = (ms: number) => new Date(ms).toISOString();

/** Messages that were asked for, and when. */
async function requestsOf({ id }: Sample): Promise<readonly Json[]> {
  const events = await streamOf(world.app.engines.log, requestStream(id));
  return events
    .filter(({ type }) => type === 'RedeliveryRequested')
    .map(({ data }) => JSON.parse(data) as Json)
    .map(({ message, at: time }) => ({ message, at: time }));
}

describe('a redelivery that is asked for is not asked for again until it is attempted (decisions N17)', () => {
  test('by a second request before reads show the first one: it is answered with the time of the first', async () => {
    const { sample, dead } = await deadLetters(1);
    const [message] = dead as [Due];
    await sample.post(`/deliveries/${message.id}/redeliver`);
    world.passTo(NOW + MINUTE);
    const again = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect([again.statusCode, again.json<Json>()['redeliveryRequested']]).toEqual([202, timeOf(NOW)]);
    expect(again.headers['x-log-position']).toBe(await world.app.engines.log.head());
    expect(await requestsOf(sample)).toEqual([{ message: message.id, at: timeOf(NOW) }]);
  });

  test('by a second request once reads show the first one', async () => {
    const { sample, dead } = await deadLetters(1);
    const [message] = dead as [Due];
    await sample.post(`/deliveries/${message.id}/redeliver`);
    await history().redeliver(message, timeOf(NOW));
    await settled();
    world.passTo(NOW + MINUTE);
    const again = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect(again.json<Json>()['redeliveryRequested']).toBe(timeOf(NOW));
    expect(await requestsOf(sample)).toHaveLength(1);
  });

  test('by the same period, sent twice, nor one by one before', async () => {
    const { sample, dead } = await deadLetters(5);
    await sample.post(`/deliveries/${dead[2]!.id}/redeliver`);
    const answers = [await sample.post('/redeliveries', PERIOD), await sample.post('/redeliveries', PERIOD)];
    expect(answers.map((answer) => [answer.statusCode, answer.json<Json>()])).toEqual([
      [202, { requested: 4, remaining: 0 }],
      [202, { requested: 0, remaining: 0 }],
    ]);
    for (const { headers } of answers) expect(headers['x-log-position']).toMatch(/^\d+$/);
    const asked = (await requestsOf(sample)).map(({ message }) => message);
    expect(asked).toEqual([2, 0, 1, 3, 4].map((n) => dead[n]!.id));
  });

  test('by a request after one of two that operators have made was attempted', async () => {
    const { sample, dead } = await deadLetters(1);
    const [message] = dead as [Due];
    const asked = [NOW - MINUTE, NOW];
    const due: number[] = [];
    for (const time of asked) {
      await redeliver(world.app.engines, message.id, new Date(time));
      due.push(await history().redeliver(message, timeOf(time)));
    }
    await history().outcome(message, {
      ...{ outcome: 'failed', attempt: 1, at: timeOf(NOW) },
      ...{ isManual: true, redelivery: due[0] },
    });
    await settled();
    world.passTo(NOW + MINUTE);
    const again = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect([again.statusCode, again.json<Json>()['redeliveryRequested']]).toEqual([202, timeOf(NOW)]);
    expect(await requestsOf(sample)).toHaveLength(2);
  });

  test('by a request after thousands of other requests', async () => {
    const { sample, dead } = await deadLetters(2);
    await sample.post(`/deliveries/${dead[1]!.id}/redeliver`);
    const { log } = world.app.engines;
    const test: DeliveryRequest = {
      type: 'TestRequested',
      data: { at: timeOf(NOW), receiver: dead[0]!.receiver, stateId: 4 },
    };
    for (let revision = 0; revision < 2_400; revision += 400) {
      const events = Array.from({ length: 400 }, () => toNewEvent(test, randomUUID()));
      await log.append(requestStream(sample.id), revision, events);
    }
    const answer = await sample.post('/redeliveries', PERIOD);
    expect(answer.json()).toEqual({ requested: 1, remaining: 0 });
    expect((await requestsOf(sample)).map(({ message }) => message)).toEqual([dead[1]!.id, dead[0]!.id]);
  });

  test('by requests of old, in the stream of the subscription, unless they were cancelled there', async () => {
    const { sample, dead } = await deadLetters(3);
    const [one, two, three] = dead as [Due, Due, Due];
    const { log } = world.app.engines;
    const asked = ({ id: message, receiver, revision }: Due, time: string) =>
      toNewEvent(
        { type: 'RedeliveryRequested', data: { at: time, receiver, message, revision } },
        randomUUID(),
      );
    const cancelled = toNewEvent({ type: 'RedeliveriesCancelled', data: { at: at(1.5) } }, randomUUID());
    const events = [asked(one, at(1.2)), cancelled, asked(two, at(2))];
    await log.append(`subscription-${sample.id}`, 0, events);
    const again = await sample.post(`/deliveries/${two.id}/redeliver`);
    expect([again.statusCode, again.json<Json>()['redeliveryRequested']]).toEqual([202, at(2)]);
    expect((await sample.post('/redeliveries', PERIOD)).json()).toEqual({ requested: 2, remaining: 0 });
    expect((await requestsOf(sample)).map(({ message }) => message)).toEqual([one.id, three.id]);
    await world.send('DELETE', `/${sample.id}/redeliveries`, 'nord');
    expect((await sample.post('/redeliveries', PERIOD)).json()).toEqual({ requested: 3, remaining: 0 });
  });

  test('by requests of old before a receiver was disabled, which is recorded long after the attempt (ADR 35)', async () => {
    const { sample, dead } = await deadLetters(2);
    const [one] = dead as [Due];
    const { id: message, receiver, revision } = one;
    const events = [
      { type: 'RedeliveryRequested', data: { at: at(2), receiver, message, revision } },
      { type: 'ReceiverDisabled', data: { at: at(-5), receiver: 'other', reason: 'failing' } },
    ];
    await world.app.engines.log.append(
      `subscription-${sample.id}`,
      0,
      events.map((event) => toNewEvent(event, randomUUID())),
    );
    const again = await sample.post(`/deliveries/${message}/redeliver`);
    expect([again.statusCode, again.json<Json>()['redeliveryRequested']]).toEqual([202, at(2)]);
    expect((await sample.post('/redeliveries', PERIOD)).json()).toEqual({ requested: 1, remaining: 0 });
  });

  test('by eight requests at once in two processes', async () => {
    const { sample, dead } = await deadLetters(40);
    const other = await world.app.again();
    const elsewhere = (path: string, body?: object) =>
      other.inject({
        method: 'POST',
        url: `${SUBSCRIPTIONS}/${sample.id}${path}?token=${CONVERSION_TOKENS.nord}`,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
    const eight = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? sample.post.bind(sample) : elsewhere));
    const single = `/deliveries/${dead[0]!.id}/redeliver`;
    const singles = await Promise.all(eight.map((post) => post(single)));
    expect(new Set(singles.map(({ statusCode }) => statusCode))).toEqual(new Set([202]));
    expect(await requestsOf(sample)).toHaveLength(1);

    const periods = await Promise.all(eight.map((post) => post('/redeliveries', PERIOD)));
    await other.close();
    const requested = periods.map((answer) => answer.json<{ readonly requested: number }>().requested);
    expect(requested.reduce((sum, count) => sum + count, 0)).toBe(39);
    const asked = (await requestsOf(sample)).map(({ message }) => message);
    expect([asked.length, new Set(asked)]).toEqual([40, new Set(dead.map(({ id }) => id))]);
  });

  test('and then it is asked for again, each time that it has failed', async () => {
    const { sample, dead } = await deadLetters(2);
    const [one, two] = dead as [Due, Due];
    for (const round of [0, 1, 2]) {
      const now = NOW + round * MINUTE;
      world.passTo(now);
      const path = `/deliveries/${one.id}/redeliver`;
      const first = round === 1 ? await sample.post('/redeliveries', PERIOD) : await sample.post(path);
      expect(first.statusCode).toBe(202);
      await sample.post(path);
      await fails(one, now);
      await settled();
    }
    expect(await requestsOf(sample)).toEqual([
      { message: one.id, at: timeOf(NOW) },
      { message: one.id, at: timeOf(NOW + MINUTE) },
      { message: two.id, at: timeOf(NOW + MINUTE) },
      { message: one.id, at: timeOf(NOW + 2 * MINUTE) },
    ]);
  });
});

describe('a redelivery is asked for once by processes whose clocks are behind (decisions N17)', () => {
  const repeated = async (sample: Sample, { id }: Due) => {
    const path = `/deliveries/${id}/redeliver`;
    const answers = [await sample.post(path), await sample.post(path), await sample.post(path)];
    const times = answers.map((answer) => answer.json<Json>()['redeliveryRequested']);
    expect((await sample.post('/redeliveries', PERIOD)).json()).toEqual({ requested: 0, remaining: 0 });
    return times;
  };

  test('by as much as the time since the request before, which was attempted', async () => {
    world.passTo(NOW);
    const { sample, dead } = await deadLetters(1);
    const [message] = dead as [Due];
    await sample.post(`/deliveries/${message.id}/redeliver`);
    await fails(message, NOW);
    await settled();
    expect(await repeated(sample, message)).toEqual(Array.from({ length: 3 }, () => timeOf(NOW + 1)));
    expect(await requestsOf(sample)).toHaveLength(2);
  });

  test('by hours, since before the message', async () => {
    world.passTo(NOW);
    const { sample, dead } = await deadLetters(1);
    const [message] = dead as [Due];
    world.passTo(Date.parse(at(1)) - 120 * MINUTE);
    expect(await repeated(sample, message)).toEqual([at(1), at(1), at(1)]);
    expect(await requestsOf(sample)).toHaveLength(1);
    world.passTo(NOW);
  });
});

describe('requests before a cancellation in the log are cancelled, those after it are not, whatever clocks say (decisions N17)', () => {
  type Written = { readonly type: string; readonly data: object };

  const append = async (stream: string, event: Written) => {
    const { log } = world.app.engines;
    const before = await streamOf(log, stream);
    await log.append(stream, before.length - 1, [toNewEvent(event, randomUUID())]);
  };
  const ownStream = ({ id }: Sample) => `subscription-${id}`;
  const requested = ({ id, receiver, revision }: Due, requestedAt: number): Written => ({
    type: 'RedeliveryRequested',
    data: { at: timeOf(requestedAt), receiver, message: id, revision },
  });
  const cancelled = (cancelledAt: number): Written => ({
    type: 'RedeliveriesCancelled',
    data: { at: timeOf(cancelledAt) },
  });
  const cancel = async ({ id }: Sample) =>
    expect((await world.send('DELETE', `/${id}/redeliveries`, 'nord')).statusCode).toBe(200);
  const rename = async ({ id }: Sample, subscriptionName: string) => {
    const receivers = [POST_RECEIVER, GET_RECEIVER];
    const answer = await world.put(id, subscription({ subscriptionName, receivers }));
    expect(answer.statusCode).toBe(200);
  };
  /** How many of a period are asked for by a post now. */
  const askedFor = async (sample: Sample) =>
    (await sample.post('/redeliveries', PERIOD)).json<{ readonly requested: number }>().requested;

  /** The matcher has read the log of a subscription, and read models show what it has made. */
  const matched = async (sample: Sample) => {
    const matcher = new Matcher([transactionTopic]);
    const prefixes = [ownStream(sample), requestStream(sample.id)];
    for await (const { events } of world.app.engines.log.readAll({ after: START, prefixes }))
      for (const event of events)
        for (const due of matcher.match(event))
          if (due.type === 'RedeliveryDue') await history().matched(due);
    await settled();
  };

  /** When messages were asked for, in lists, one by one, and for operators. */
  const pendingOf = async (sample: Sample, dead: readonly Due[]) => {
    const token = OTHER_TOKENS.operator;
    const lists = [
      await sample.json('/deliveries'),
      await Promise.all(dead.map(({ id }) => sample.json<Json>(`/deliveries/${id}`))),
      (await world.app.get(`/ops/1.0/deliveries;subscriptionId=${sample.id}`, { token })).json<Json[]>(),
    ];
    const [listed, ...others] = lists.map((list) =>
      dead.map(({ id }) => list.find(({ messageId }) => messageId === id)!['redeliveryRequested']),
    );
    for (const other of others) expect(other).toEqual(listed);
    return listed;
  };

  const one = async () => {
    world.passTo(NOW);
    const { sample, dead } = await deadLetters(1);
    return { sample, message: dead[0]! };
  };

  test.each([
    ['of a process whose clock is ahead', NOW + MINUTE],
    ['at the same instant', NOW],
  ])('a request after a cancellation %s', async (_, cancelledAt) => {
    const { sample, message } = await one();
    await append(ownStream(sample), cancelled(cancelledAt));
    const path = `/deliveries/${message.id}/redeliver`;
    for (const answer of [await sample.post(path), await sample.post(path)])
      expect([answer.statusCode, answer.json<Json>()['redeliveryRequested']]).toEqual([202, timeOf(NOW)]);
    expect(await requestsOf(sample)).toEqual([{ message: message.id, at: timeOf(NOW) }]);
    await matched(sample);
    expect(await pendingOf(sample, [message])).toEqual([timeOf(NOW)]);
    expect(await askedFor(sample)).toBe(0);
  });

  test('a request that was decided before a cancellation, and appended after it', async () => {
    const { sample, message } = await one();
    await append(ownStream(sample), cancelled(NOW + 1));
    await append(requestStream(sample.id), requested(message, NOW));
    await matched(sample);
    expect(await pendingOf(sample, [message])).toEqual([timeOf(NOW)]);
    const again = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect(again.json<Json>()['redeliveryRequested']).toBe(timeOf(NOW));
    expect(await askedFor(sample)).toBe(0);
  });

  test.each([
    ['in the stream of requests', ({ id }: Sample) => requestStream(id)],
    ['in the stream of the subscription, as in old logs', ownStream],
  ])('a cancellation after a request of a process whose clock is ahead, %s', async (_, streamFor) => {
    const { sample, message } = await one();
    await append(streamFor(sample), requested(message, NOW + MINUTE));
    await matched(sample);
    expect(await pendingOf(sample, [message])).toEqual([timeOf(NOW + MINUTE)]);
    await cancel(sample);
    expect(await pendingOf(sample, [message])).toEqual([undefined]);
    expect(await askedFor(sample)).toBe(1);
  });

  test('a cancellation after two requests, the first one of a process whose clock is ahead', async () => {
    world.passTo(NOW);
    const { sample, dead } = await deadLetters(2);
    await append(requestStream(sample.id), requested(dead[0]!, NOW + MINUTE));
    await sample.post(`/deliveries/${dead[1]!.id}/redeliver`);
    await matched(sample);
    expect(await pendingOf(sample, dead)).toEqual([timeOf(NOW + MINUTE), timeOf(NOW)]);
    await cancel(sample);
    expect(await pendingOf(sample, dead)).toEqual([undefined, undefined]);
    expect(await askedFor(sample)).toBe(2);
  });

  test('requests and cancellations in turn, all at the same instant, and a PUT after them', async () => {
    const { sample, message } = await one();
    await cancel(sample);
    await append(requestStream(sample.id), requested(message, NOW));
    await matched(sample);
    expect(await pendingOf(sample, [message])).toEqual([timeOf(NOW)]);
    await rename(sample, 'Renamed');
    expect(await pendingOf(sample, [message])).toEqual([timeOf(NOW)]);
    await cancel(sample);
    await rename(sample, 'Renamed again');
    expect(await pendingOf(sample, [message])).toEqual([undefined]);
    expect(await askedFor(sample)).toBe(1);
  });

  test.each<Written>([
    { type: 'Foreign', data: { at: 'zzz' } },
    { type: 'RedeliveryRequested', data: {} },
  ])(
    'a cancellation after a request of another program that cannot be used: %j (decisions X103)',
    async (foreign) => {
      const { sample, message } = await one();
      await append(requestStream(sample.id), requested(message, NOW));
      await append(requestStream(sample.id), foreign);
      await cancel(sample);
      const { type, data } = (await streamOf(world.app.engines.log, ownStream(sample))).at(-1)!;
      const isOurs = isUsable({ type, data: JSON.parse(data) as object });
      expect([type, isOurs]).toEqual(['RedeliveriesCancelled', true]);
      expect(await askedFor(sample)).toBe(1);
    },
  );

  test.each<[string, (sample: Sample) => string, Written]>([
    ['a cancellation without a time', ownStream, { type: 'RedeliveriesCancelled', data: { at: 'zzz' } }],
    ['an unknown event', ownStream, { type: 'Foreign', data: { at: timeOf(NOW) } }],
    [
      'an old one among requests',
      ({ id }) => requestStream(id),
      { type: 'Foreign', data: { at: timeOf(0) } },
    ],
  ])('%s of another program cancels nothing (decisions X103)', async (_, streamFor, foreign) => {
    const { sample, message } = await one();
    await append(requestStream(sample.id), requested(message, NOW));
    await append(streamFor(sample), foreign);
    expect(await askedFor(sample)).toBe(0);
  });

  test('a request of another program without a revision asks for nothing (decisions X103)', async () => {
    const { sample, message } = await one();
    const data = { at: timeOf(NOW), receiver: message.receiver, message: message.id };
    await append(requestStream(sample.id), { type: 'RedeliveryRequested', data });
    expect(await askedFor(sample)).toBe(1);
  });
});
