import { DELIVERY_STREAMS } from '../../src/domain/deliveries/delivery-events';
import { streamOf } from '../contracts/event-log/events';
import { at, deliveryWorld, type Due, type Json, type Sample } from './delivery-samples';
import { POST_RECEIVER, subscription } from './subscription-network';
import { NOW, refusalOf } from './voucher-network';

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
    await history().redeliver(dead[4]!, at(9));
    await settled();

    const answer = await sample.post('/redeliveries', { minTime: at(1), maxTime: at(4) });
    expect([answer.statusCode, answer.json()]).toEqual([202, { requested: 2, remaining: 0 }]);
    expect((await lastRequests(sample)).map(({ message }) => message)).toEqual([dead[1]!.id, dead[2]!.id]);
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
