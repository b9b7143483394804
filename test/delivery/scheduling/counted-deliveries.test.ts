import { execute } from '../../../src/kernel/decider';
import { subscriptionDecider } from '../../../src/domain/subscriptions/subscription';
import { type AttemptResult } from '../../../src/delivery/sending/attempt';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { ATTEMPT_SECONDS, DELIVERY_OUTCOMES, DELIVERY_SECONDS } from '../../../src/runtime/metrics';
import { growthOf } from '../../support/metrics';
import { runnerWorld } from './runner-world';

/** As a message that has no request. */
const UNSENDABLE = { request: undefined as never, unsendable: 'the URL is too long' };

describe('deliveries are counted (decisions X120)', () => {
  const world = runnerWorld();
  const { start, targetsOf, due, outcomes, until, ending } = world;

  test.each<[AttemptResult['end'], Partial<AttemptResult>, string]>([
    ['success', { status: 200 }, 'delivered'],
    ['failure', { status: 500, error: 'the status is 500' }, 'failed'],
    ['timeout', { error: 'no answer within 15 s' }, 'failed'],
    ['gone', { status: 410, error: 'the status is 410' }, 'failed'],
  ])('an attempt that ends by %s', async (end, result, outcome) => {
    const [ends, counted, latencies] = [ATTEMPT_SECONDS, DELIVERY_OUTCOMES, DELIVERY_SECONDS].map(growthOf);
    start('one', ending({ end, ...result }).attempt);
    await due(await targetsOf(1), 1);
    await until(async () => (await outcomes()).length === 1 && counted!()[outcome] === 1);
    expect([ends!(), counted!()]).toEqual([{ [end]: 1 }, { [outcome]: 1 }]);
    expect(latencies!()).toEqual(end === 'success' ? { '': 1 } : {});
  });

  test('an attempt that our own fault has ended, which has no outcome', async () => {
    const [ends, counted] = [growthOf(ATTEMPT_SECONDS), growthOf(DELIVERY_OUTCOMES)];
    start('one', ending({ end: 'aborted', error: 'the sender had no network' }).attempt);
    await due(await targetsOf(1), 1);
    await until(() => (ends()['aborted'] ?? 0) >= 1);
    expect([Object.keys(ends()), counted()]).toEqual([['aborted'], {}]);
  });

  test('messages that are not sent', async () => {
    const [ends, counted] = [growthOf(ATTEMPT_SECONDS), growthOf(DELIVERY_OUTCOMES)];
    const targets = await targetsOf(1);
    start('one', ending({}).attempt);
    await due(targets, 1, UNSENDABLE);
    await until(() => counted()['dead'] === 1);
    const command = { do: 'delete', at: '2026-03-01T12:00:00.000Z' } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, targets[0]!.subscriptionId, command);
    await due(targets, 2);
    await until(() => counted()['cancelled'] === 2);
    expect([ends(), counted()]).toEqual([{}, { cancelled: 2, dead: 1 }]);
  });
});
