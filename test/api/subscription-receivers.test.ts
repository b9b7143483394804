import { randomUUID } from 'node:crypto';
import { execute, load, toNewEvent } from '../../src/kernel/decider';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { at, deliveryWorld, type Sample } from './delivery-samples';
import { GET_RECEIVER, POST_RECEIVER, subscription } from './subscription-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();

describe('receivers of a subscription (decisions N14, N17)', () => {
  test('have counts over all days that are kept, the last answers, and since when they fail', async () => {
    const sample = await sampleOf();
    const messages = [await sample.due('a'), await sample.due('b'), await sample.due('c')] as const;
    await history().outcome(messages[0], { at: at(-48) });
    await history().outcome(messages[1], { at: at(-25), outcome: 'failed', error: 'status 500' });
    await history().outcome(messages[2], {
      at: at(1),
      outcome: 'dead',
      error: 'timeout',
      status: 504,
    });
    await settled();

    expect(await sample.json('/receivers')).toEqual([
      {
        receiverId: sample.receivers[0],
        state: 'enabled',
        httpMethod: 'POST',
        receiverUrl: POST_RECEIVER.receiverUrl,
        ...{ attempts: 3, failed: 2, delivered: 1, dead: 1, failingSince: at(-25) },
        lastSuccess: { time: at(-48), status: 200 },
        lastFailure: { time: at(1), status: 504, error: 'timeout' },
      },
      {
        receiverId: sample.receivers[1],
        state: 'enabled',
        httpMethod: 'GET',
        receiverUrl: GET_RECEIVER.receiverUrl,
        ...{ attempts: 0, failed: 0, delivered: 0, dead: 0 },
      },
    ]);
    expect((await sample.get('/receivers.xml')).body).toContain('<failingSince>');
  });

  test('say who has disabled them, and why (decisions N8)', async () => {
    const sample = await sampleOf('nord', {
      receivers: [POST_RECEIVER, { ...GET_RECEIVER, disabled: true }],
    });
    await disable(sample);
    expect(await sample.json('/receivers')).toMatchObject([
      { state: 'disabled', disabledBy: 'system', disabledReason: 'gone' },
      { state: 'disabled', disabledBy: 'owner' },
    ]);
  });

  test('that rest have the time until which they do, and so have their messages (decisions N7)', async () => {
    const sample = await sampleOf();
    const [first = '', second = ''] = sample.receivers;
    const late = await sample.due('late');
    for (let attempt = 1; attempt <= 5; attempt += 1)
      await history().outcome(late, {
        ...{ outcome: 'failed', attempt, at: at(10), ms: 1000, isTimeout: true, error: 'timeout' },
        next: at(12),
      });
    const soon = await sample.due('soon', { at: at(1) });
    await history().outcome(soon, { outcome: 'failed', at: at(9.999), next: at(10) });
    await sample.due('new', { at: at(2) });
    await sample.due('other', { at: at(3), receiver: second });
    await settled();

    const restingUntil = new Date(Date.parse(at(10)) + 31_000).toISOString();
    const receivers = await sample.json('/receivers');
    expect(receivers.map((one) => [one['receiverId'], one['state'], one['restingUntil']])).toEqual([
      [first, 'enabled', restingUntil],
      [second, 'enabled', undefined],
    ]);
    const nextOf = async () =>
      (await sample.json('/deliveries')).map(({ transactionId, nextAttempt }) => [
        transactionId,
        nextAttempt,
      ]);
    expect(await nextOf()).toEqual([
      ['other', undefined],
      ['new', restingUntil],
      ['soon', restingUntil],
      ['late', at(12)],
    ]);
    expect(await sample.json(`/deliveries/${soon.id}`)).toMatchObject({ nextAttempt: restingUntil });
    expect((await sample.get('/receivers.xml')).body).toContain(`<restingUntil>${restingUntil}<`);

    await disable(sample);
    await settled();
    const [held] = await sample.json('/receivers');
    expect(held).toMatchObject({ state: 'disabled' });
    expect(held).not.toHaveProperty('restingUntil');
    expect((await nextOf()).map(([, next]) => next)).toEqual([undefined, undefined, undefined, undefined]);
  });
});

const SAME = subscription({ receivers: [POST_RECEIVER, GET_RECEIVER] });

test.each<[string, (sample: Sample) => Promise<unknown>, isDisabled: boolean]>([
  ['a receiver to be enabled', (sample) => sample.post(`/receivers/${sample.receivers[1]}/enable`), true],
  ['redeliveries', (sample) => sample.post('/redeliveries', { minTime: at(0), maxTime: at(9) }), true],
  ['a PUT that changes nothing', ({ id }) => world.put(id, SAME), false],
])(
  'a subscription with many requests of old is read in a few events once somebody has asked for %s (ADR 35)',
  async (_, ask, isDisabled) => {
    const sample = await sampleOf();
    const { id, receivers } = sample;
    const { log } = world.app.engines;
    await world.send('POST', `/${id}/secret/rotations`, 'nord');
    if (isDisabled) await disable(sample);
    const test = { type: 'TestRequested', data: { at: at(0), receiver: receivers[1], stateId: 4 } };
    for (let count = 0; count < 2_000; count += 500) {
      const { revision } = await load(log, subscriptionDecider, id);
      await log.append(
        `subscription-${id}`,
        revision,
        Array.from({ length: 500 }, () => toNewEvent(test, randomUUID())),
      );
    }
    const before = await load(log, subscriptionDecider, id);
    expect(before.events).toBeGreaterThan(2_000);
    const copy = await sample.json('');
    await ask(sample);
    const after = await load(log, subscriptionDecider, id);
    expect(after.events).toBeLessThan(10);
    expect(after.state).toEqual(before.state);
    await ask(sample);
    expect(await load(log, subscriptionDecider, id)).toEqual(after);
    await settled();
    expect([await sample.json(''), (await world.ids()).includes(id)]).toEqual([copy, true]);
  },
);

/** The first receiver has answered 410. */
async function disable({ id, receivers: [receiver = ''] }: Sample): Promise<void> {
  const command = { do: 'disableReceiver', at: at(0), receiver, reason: 'gone' } as const;
  await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, id, command);
}
