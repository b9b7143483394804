import { execute } from '../../src/kernel/decider';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { at, deliveryWorld, type Json, type Sample } from '../api/delivery-samples';
import { POST_RECEIVER } from '../api/subscription-network';
import { NOW } from '../api/voucher-network';
import { run, type Run } from './run';

const { world, history, settled, sample: sampleOf } = deliveryWorld();

const notifications = (...args: readonly string[]): Promise<Run> =>
  run(['notifications', ...args], { DATA_DIR: world.app.folder });

const disabled = async ({ id, receivers: [receiver = ''] }: Sample): Promise<void> => {
  const command = { do: 'disableReceiver', at: at(9), receiver, reason: 'gone' } as const;
  await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, id, command);
};

describe('affilog notifications test (decisions N14, N16)', () => {
  const SUCCESS = { ms: 12.4, status: 200, answer: 'thanks' } as const;
  const next = new Date(NOW + 5_000).toISOString();
  const FAILURE = {
    outcome: 'failed',
    ...{ ms: 3.6, status: 503, answer: 'down', error: 'the status is 503', next },
  } as const;

  it.each([
    [SUCCESS, 0, '', { state: 'delivered', status: 200, milliseconds: 12, answer: 'thanks' }],
    [
      FAILURE,
      1,
      'affilog: the test was not delivered\n',
      {
        ...{ state: 'retrying', status: 503, milliseconds: 4, error: 'the status is 503', answer: 'down' },
        nextAttempt: next,
      },
    ],
  ] as const)('prints the outcome as the API answers it: %j', async (outcome, code, err, expected) => {
    const sample = await sampleOf();
    const test = notifications('test', sample.id, sample.receivers[0]!);
    const [printed, message] = await Promise.all([test, sample.sendsTest(outcome)]);
    expect({ ...printed, out: JSON.parse(printed.out) as Json }).toEqual({
      ...{ code, err },
      out: { messageId: message.id, ...expected },
    });
  });

  it('sends an example of the state that is given, if the owner may subscribe to it', async () => {
    const sample = await sampleOf();
    const [receiver = ''] = sample.receivers;
    expect(await notifications('test', sample.id, receiver, '--state', '6', '--wait', '0')).toMatchObject({
      code: 1,
      out: expect.stringContaining('"state": "due"') as string,
      err: 'affilog: the test has no outcome after 0 s\n',
    });
    const [asked] = await sample.requests('TestRequested');
    expect(JSON.parse(asked!.data)).toMatchObject({ stateId: 6, receiver });
    for (const state of ['9', '77'])
      expect(await notifications('test', sample.id, receiver, '--state', state)).toMatchObject({
        ...{ code: 2, out: '' },
        err: expect.stringMatching(
          /^affilog: messageTypeId(: expected one of .*, got '77'| is 9: expected )/,
        ) as string,
      });
    expect(await sample.requests('TestRequested')).toHaveLength(1);
  });

  it('says that the test is held if the system has disabled the receiver (decisions N8)', async () => {
    const sample = await sampleOf();
    await disabled(sample);
    expect(await notifications('test', sample.id, sample.receivers[0]!)).toMatchObject({
      ...{ code: 1, out: expect.stringContaining('"state": "held"') as string },
      err: 'affilog: the system has disabled the receiver: the test is sent when it is enabled\n',
    });
  });

  it('refuses what it cannot send, as the API does', async () => {
    const sample = await sampleOf('nord', { receivers: [{ ...POST_RECEIVER, disabled: true }] });
    const [receiver = ''] = sample.receivers;
    for (const [id, to, message] of [
      ['7', receiver, '7: expected the id of a subscription that is not deleted'],
      [sample.id, 'other', `other: expected one of ${receiver}`],
      [sample.id, receiver, 'disabled: the receiver is disabled, so no test is sent'],
    ] as const) {
      const { code, out, err } = await notifications('test', id, to);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(`affilog: ${message}`);
    }
  });
});

describe('affilog notifications enable (decisions N8, N14, N16)', () => {
  it('enables a receiver that the system has disabled', async () => {
    const sample = await sampleOf('casa');
    const [receiver = ''] = sample.receivers;
    await disabled(sample);
    expect(await sample.json('/receivers')).toMatchObject([{ state: 'disabled' }, { state: 'enabled' }]);
    const failing = await sample.due('first');
    await history().outcome(failing, { outcome: 'failed', attempt: 1, error: 'gone', next: at(60) });
    await sample.due('second');
    await settled();
    // As many as wait for it.
    expect((await notifications('receivers', '--subscription', sample.id)).out).toMatch(
      /^\w{16}\thttps:\/\/shop\.example:8443\t.*\tdisabled, 2 messages held\n$/,
    );
    // In either order.
    expect(await notifications('enable', receiver, sample.id)).toEqual({
      ...{ code: 0, err: '' },
      out: `${receiver} is enabled: what waits for it is sent, what has failed before at its next attempt\n`,
    });
    const recorded = await run(['actions', '--action', 'notifications enable'], {
      DATA_DIR: world.app.folder,
    });
    expect(recorded.out).toContain(`subscription=${sample.id} receiver=${receiver}`);
    expect(await sample.json('/receivers')).toMatchObject([{ state: 'enabled' }, { state: 'enabled' }]);
  });

  it('has one that rests tried at once', async () => {
    const sample = await sampleOf('casa');
    const [receiver = ''] = sample.receivers;
    const message = await sample.due('failing');
    for (let attempt = 1; attempt <= 5; attempt += 1)
      await history().outcome(message, {
        outcome: 'failed',
        ...{ attempt, isTimeout: true, error: 'timeout', ms: 1_000 },
        ...{ at: new Date().toISOString(), next: new Date(Date.now() + 5_000).toISOString() },
      });
    await settled();
    expect((await notifications('enable', sample.id, receiver)).code).toBe(0);
    expect(await sample.requests('ProbeRequested')).toHaveLength(1);
  });

  it('leaves one disabled that its owner has disabled, and says so', async () => {
    const sample = await sampleOf('casa', { receivers: [{ ...POST_RECEIVER, disabled: true }] });
    const [receiver = ''] = sample.receivers;
    expect(await notifications('enable', sample.id, receiver)).toMatchObject({
      code: 0,
      out: `${receiver} is disabled by its owner, which stays so: set disabled to false with a PUT\n`,
    });
    expect(await notifications('enable', sample.id, 'other')).toMatchObject({ code: 2, out: '' });
  });
});
