import { DELIVERY_STREAMS } from '../../src/domain/deliveries/delivery-events';
import { streamOf } from '../contracts/event-log/events';
import { oldestDeliveries } from '../../projections/deliveries';
import { type DeliveryRequest, requestStream } from '../../src/domain/subscriptions/delivery-requests';
import { deliveryLines, redeliver } from '../../src/operations/notifications';
import { at, deliveryWorld, type Due, type Json, type Sample } from './delivery-samples';
import { POST_RECEIVER, subscription } from './subscription-network';
import { NOW, refusalOf } from './voucher-network';
import { OTHER_TOKENS } from './network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();

const { put } = world;

describe('a message is sent again (decisions N14, N17)', () => {
  test('when its owner asks for it: 202 with the message, and a request', async () => {
    const sample = await sampleOf();
    const message = await sample.due('one');
    await history().outcome(message, { outcome: 'dead', attempt: 10 });
    await settled();

    const answer = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect(answer.statusCode).toBe(202);
    expect(answer.headers['x-log-position']).toBe(await world.app.engines.log.head());
    expect(answer.json()).toMatchObject({
      ...{ messageId: message.id, state: 'dead', redeliveryRequested: new Date(NOW).toISOString() },
      nextAttempt: new Date(NOW).toISOString(),
    });
    expect(await lastRequests(sample)).toEqual([
      {
        at: new Date(NOW).toISOString(),
        receiver: message.receiver,
        message: message.id,
        revision: message.revision,
      },
    ]);
  });

  test('unless it is unknown, of another subscription, or no longer kept: CON_540', async () => {
    const [sample, other] = [await sampleOf(), await sampleOf()];
    const message = await sample.due('one');
    const foreign = await other.due('one');
    await settled();
    await forget();

    for (const id of ['7', `msg_${'0'.repeat(32)}`, foreign.id])
      for (const answer of [
        await sample.get(`/deliveries/${id}`),
        await sample.post(`/deliveries/${id}/redeliver`),
      ])
        expect([answer.statusCode, answer.body]).toEqual([404, expect.stringContaining('CON_540')]);
    const gone = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect([gone.statusCode, gone.body]).toEqual([404, expect.stringContaining('no longer kept')]);
    expect((await sample.json<Json>(`/deliveries/${message.id}`))['request']).toBeUndefined();
    expect(await lastRequests(sample)).toEqual([]);
  });

  test('to a receiver that the subscription no longer has: CON_530', async () => {
    const sample = await sampleOf();
    const message = await sample.due('one', { receiver: sample.receivers[1]! });
    await settled();
    await put(sample.id, subscription({ receivers: [POST_RECEIVER] }));
    const answer = await sample.post(`/deliveries/${message.id}/redeliver`);
    expect([answer.statusCode, answer.body]).toEqual([404, expect.stringContaining('CON_530')]);
  });

  test('with all other dead letters of a period', async () => {
    const sample = await sampleOf();
    const dead: Due[] = [];
    for (let n = 0; n < 6; n += 1) {
      const message = await sample.due(`m${n}`, { at: at(n) });
      await history().outcome(message, { outcome: n === 3 ? 'delivered' : 'dead', attempt: 10 });
      dead.push(message);
    }
    await settled();
    await sample.post(`/deliveries/${dead[4]!.id}/redeliver`);

    const answer = await sample.post('/redeliveries', { minTime: at(1), maxTime: at(4) });
    expect([answer.statusCode, answer.json()]).toEqual([202, { requested: 2, remaining: 0 }]);
    const asked = (await lastRequests(sample)).map(({ message }) => message);
    expect(asked).toEqual([dead[4]!.id, dead[1]!.id, dead[2]!.id]);
    const none = await sample.post('/redeliveries', {
      ...{ minTime: at(1), maxTime: at(4), receiverId: sample.receivers[1], state: 'dead' },
    });
    expect(none.json()).toEqual({ requested: 0, remaining: 0 });
  });

  test('with all other dead letters of a day: maxTime includes it (decisions A17)', async () => {
    const sample = await sampleOf();
    for (const [name, time] of [
      ['first', '2026-02-28T00:00:00.000Z'],
      ['last', '2026-02-28T23:59:59.999Z'],
      ['after', '2026-03-01T00:00:00.000Z'],
    ] as const)
      await history().outcome(await sample.due(name, { at: time }), { outcome: 'dead', attempt: 10 });
    await settled();
    const answer = await sample.post('/redeliveries', { minTime: '2026-02-28', maxTime: '2026-02-28' });
    expect([answer.statusCode, answer.json()]).toEqual([202, { requested: 2, remaining: 0 }]);
  });

  test.each([
    [{ minTime: at(1) }, 'maxTime'],
    [{ minTime: at(2), maxTime: at(1) }, 'minTime'],
    [{ minTime: at(1), maxTime: at(2), state: 'held' }, 'state'],
    [{ minTime: 'yesterday', maxTime: at(2) }, 'minTime'],
    [
      { minTime: 1_763_000_000, maxTime: at(2) },
      'minTime: expected milliseconds since 1970, of 2001 or later',
    ],
    [
      { minTime: at(1), maxTime: '1763000000' },
      'maxTime: expected milliseconds since 1970, of 2001 or later',
    ],
  ])('not for the unusable period %p: CON_350', async (period, named) => {
    const sample = await sampleOf();
    const answer = await sample.post('/redeliveries', period);
    expect([answer.statusCode, answer.body]).toEqual([400, expect.stringContaining('CON_350')]);
    expect(answer.body).toContain(named);
  });

  test.each([[], [{ minTime: at(1), maxTime: at(2) }], 'x', null])(
    'not for a body that is no object: CON_310: %j',
    async (body) => {
      const sample = await sampleOf();
      expect(refusalOf(await sample.post('/redeliveries', body))).toEqual({
        codes: '400 CON_310',
        message: 'the body is not an object: expected an object with minTime and maxTime',
      });
    },
  );

  test('with all that is wrong with the period and the receiver at once (decisions A4)', async () => {
    const sample = await sampleOf();
    const period = { minTime: at(2), maxTime: at(1), state: 'held', receiverId: '0' };
    const answer = await sample.post('/redeliveries', period);
    expect(answer.statusCode).toBe(400);
    const { errors } = answer.json<{ readonly errors: readonly { readonly code: string }[] }>();
    expect(errors.map(({ code }) => code)).toEqual(['CON_350', 'CON_350', 'CON_530']);
    const unknown = await sample.post('/redeliveries', { minTime: at(1), maxTime: at(2), receiverId: '0' });
    expect([unknown.statusCode, unknown.body]).toEqual([404, expect.stringContaining('CON_530')]);
  });
});

/** What was asked for. */
async function lastRequests({ id }: Sample): Promise<readonly Json[]> {
  const events = await streamOf(world.app.engines.log, `deliveryrequests-${id}`);
  return events
    .filter(({ type }) => type === 'RedeliveryRequested')
    .map(({ data }) => JSON.parse(data) as Json);
}

/** Has the delivery log forget all messages but the last one. */
async function forget(): Promise<void> {
  const log = await world.app.engines.deliveries();
  await log.expire(new Date(Date.now() + 1), DELIVERY_STREAMS);
}

const PERIOD = { minTime: at(1), maxTime: at(4) };
const MINUTE = 60_000;

/** Six messages, an hour apart: the first one is dead, the last one cancelled, the others were delivered. */
async function delivered(): Promise<{ readonly sample: Sample; readonly messages: readonly Due[] }> {
  const sample = await sampleOf();
  const messages: Due[] = [];
  for (let n = 0; n < 6; n += 1) {
    const message = await sample.due(`m${n}`, { at: at(n) });
    if (n === 5) await history().decided(message, { outcome: 'cancelled' });
    else await history().outcome(message, { outcome: n === 1 ? 'dead' : 'delivered' });
    messages.push(message);
  }
  await settled();
  return { sample, messages };
}

/** Whether operators see that a message is to be sent again: over HTTP, and by `affilog notifications`. */
async function pendingForOperators({ id, subscriptionId }: Due): Promise<readonly boolean[]> {
  const token = OTHER_TOKENS.operator;
  const answer = await world.app.get(`/ops/1.0/deliveries;subscriptionId=${subscriptionId}`, { token });
  const listed = answer.json<readonly Json[]>().find(({ messageId }) => messageId === id)!;
  const listing = { most: 100, now: new Date(NOW), count: () => undefined };
  const lines: string[] = [];
  const criteria = { subscriptionId: [subscriptionId], at: {} };
  for await (const line of deliveryLines(world.app.engines, criteria, listing)) lines.push(line);
  const line = lines.find((one) => one.includes(id))!;
  return ['redeliveryRequested' in listed, line.includes('to be sent again')];
}

/** Ids of the messages that were asked for. */
async function requestsOf({ id }: Sample): Promise<readonly string[]> {
  const events = await streamOf(world.app.engines.log, requestStream(id));
  return events.flatMap(({ type, data }) => {
    const event = { type, data: JSON.parse(data) as object } as DeliveryRequest;
    return event.type === 'RedeliveryRequested' ? [event.data.message] : [];
  });
}

const idsOf = (messages: readonly Due[], ...at: readonly number[]) => at.map((n) => messages[n]?.id);

describe('redeliveries of a period (decisions N14, N17)', () => {
  test('are of dead letters by default, of delivered and of cancelled messages if their state is named', async () => {
    const { sample, messages } = await delivered();
    const answer = await sample.post('/redeliveries', { ...PERIOD, state: 'delivered' });
    expect([answer.statusCode, answer.json()]).toEqual([202, { requested: 3, remaining: 0 }]);
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3, 4));
    const cancelled = await sample.post('/redeliveries', { ...PERIOD, maxTime: at(9), state: 'cancelled' });
    expect(cancelled.json()).toEqual({ requested: 1, remaining: 0 });
    expect((await sample.post('/redeliveries', PERIOD)).json()).toEqual({ requested: 1, remaining: 0 });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3, 4, 5, 1));
  });

  test('are of messages that wait for a retry if their state is named, but for those that are retried within a minute', async () => {
    const sample = await sampleOf();
    const messages: Due[] = [];
    for (const [n, minutes] of [0, 0.9, 1, 60].entries()) {
      const message = await sample.due(`m${n}`, { at: at(n + 1) });
      const next = new Date(NOW + minutes * MINUTE).toISOString();
      await history().outcome(message, { outcome: 'failed', next });
      messages.push(message);
    }
    await settled();
    const retrying = { ...PERIOD, state: 'retrying' };
    expect((await sample.post('/redeliveries', retrying)).json()).toEqual({ requested: 2, remaining: 0 });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3));
    expect((await sample.post('/redeliveries', retrying)).json()).toEqual({ requested: 0, remaining: 0 });
  });

  test('are only counted with dryRun', async () => {
    const { sample, messages } = await delivered();
    const dry = { ...PERIOD, state: 'delivered', dryRun: true };
    await sample.post(`/deliveries/${messages[2]!.id}/redeliver`);
    expect((await sample.post('/redeliveries', dry)).json()).toEqual({ requested: 2, remaining: 0 });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2));
  });

  test('continue after the last one by a cursor, which belongs to the period', async () => {
    const { sample, messages } = await delivered();
    const criteria = { subscriptionId: [sample.id], states: [{ state: 'delivered' }] as const, at: {} };
    const { store } = world.app.engines;
    const first = await oldestDeliveries(store, criteria, { most: 2, start: null }, () => true);
    expect(first).toMatchObject({ remaining: 2 });
    const rest = await oldestDeliveries(store, criteria, { most: 2, start: first.next! }, () => true);
    expect(rest).toMatchObject({ remaining: 0 });
    const found = [...first.found, ...rest.found].map(({ messageId }) => messageId);
    expect(found).toEqual(idsOf(messages, 0, 2, 3, 4));
    const refused = await sample.post('/redeliveries', { ...PERIOD, cursor: 'x' });
    expect(refusalOf(refused).codes).toBe('400 CON_350');
  });

  test('can be cancelled as long as they are not attempted, and asked for again', async () => {
    const { sample, messages } = await delivered();
    const message = messages[2]!;
    await sample.post('/redeliveries', { ...PERIOD, state: 'delivered' });
    await history().redeliver(message, new Date(NOW).toISOString());
    await settled();
    const pendingOf = async ({ id }: Due) =>
      (await sample.json<Json>(`/deliveries/${id}`))['redeliveryRequested'];
    expect(await pendingOf(message)).toBe(new Date(NOW).toISOString());
    expect(await pendingForOperators(message)).toEqual([true, true]);
    world.passTo(NOW + MINUTE);
    const cancelled = await world.send('DELETE', `/${sample.id}/redeliveries`, 'nord');
    expect([cancelled.statusCode, cancelled.body]).toEqual([200, '']);
    expect(await pendingOf(message)).toBeUndefined();
    expect(await pendingForOperators(message)).toEqual([false, false]);
    expect((await sample.json('/deliveries')).filter((one) => 'redeliveryRequested' in one)).toEqual([]);
    world.passTo(NOW + 2 * MINUTE);
    await sample.post('/redeliveries', { ...PERIOD, state: 'delivered' });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3, 4, 2, 3, 4));
    expect(refusalOf(await world.send('DELETE', `/${sample.id}/redeliveries`, 'casa')).codes).toBe(
      '403 CON_200',
    );
  });
});

describe('owners and operators have messages sent again by the same rules: one', () => {
  const { world, settled, sample: sampleOf } = deliveryWorld();

  const due = (sample: Sample): Promise<Due> => sample.due('one');

  type Case = readonly [
    what: string,
    due: (sample: Sample) => Promise<Due>,
    /** What happens once reads show it. */
    then: (sample: Sample, message: Due) => unknown,
    owner: string,
    operator: string,
    /** Requests of both, and of `then`. */
    requests: number,
  ];

  const CASES: readonly Case[] = [
    ['is sent again', due, () => undefined, '202', 'requested', 2],
    [
      'that is asked for already is again by operators only',
      due,
      (sample, { id }) => sample.post(`/deliveries/${id}/redeliver`),
      ...(['202', 'requested', 2] as const),
    ],
    [
      'of a deleted subscription is not',
      due,
      ({ id }) => world.send('DELETE', `/${id}`, 'nord'),
      ...(['404 CON_210', 'is deleted', 0] as const),
    ],
    [
      'to a receiver that was removed is not',
      (sample) => sample.due('one', { receiver: sample.receivers[1]! }),
      ({ id }) => world.put(id, subscription({ receivers: [POST_RECEIVER] })),
      ...(['404 CON_530', 'no longer has the receiver', 0] as const),
    ],
    [
      'that cannot be sent is not',
      (sample) => sample.due('one', { request: undefined, unsendable: 'its URL is too long' } as object),
      () => undefined,
      ...(['400 CON_350', 'cannot be sent: its URL is too long', 0] as const),
    ],
    [
      'that is no longer kept is not',
      due,
      async (sample) => {
        await sample.due('two');
        const log = await world.app.engines.deliveries();
        await log.expire(new Date(Date.now() + 1), DELIVERY_STREAMS);
      },
      ...(['404 CON_540', 'no longer kept', 0] as const),
    ],
  ];

  test.each(CASES)('%s (decisions N17)', async (_, make, then, owner, operator, requests) => {
    const sample = await sampleOf();
    const message = await make(sample);
    await settled();
    await then(sample, message);
    const answer = await sample.post(`/deliveries/${message.id}/redeliver`);
    const code = /CON_\d+/.exec(answer.body)?.[0];
    expect([answer.statusCode, ...(code === undefined ? [] : [code])].join(' ')).toBe(owner);
    const asked = redeliver(world.app.engines, message.id, new Date(NOW));
    expect(await asked.then(() => 'requested', String)).toContain(operator);
    expect(await sample.requests('RedeliveryRequested')).toHaveLength(requests);
  });
});
