import { randomUUID } from 'node:crypto';
import { execute, toNewEvent } from '../../../src/kernel/decider';
import { MATCHED, type MatchedEvent } from '../../../src/domain/deliveries/delivery-events';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { type Attempt } from '../../../src/delivery/sending/attempt';
import { subscriptionDecider } from '../../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { runnerWorld } from './runner-world';

describe('What becomes of a message that a subscription or an operator ends or asks for', () => {
  const world = runnerWorld();
  const { start, targetsOf, due, outcomes, until, ending } = world;

  it('disables a receiver that answers 410, holds its messages, and sends them once it is enabled (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    let isGone = true;
    const attempts: Attempt[] = [];
    const attempt: MakeAttempt = async (one) => {
      attempts.push(one);
      return {
        at: Date.now(),
        ms: 1,
        ...(isGone ? { end: 'gone', status: 410 } : { end: 'success', status: 200 }),
      };
    };
    start('one', attempt);
    await due([target!], 1);
    const { subscriptionId, receiver } = target!;
    const { book } = world.subscriptions;
    await until(() => book.stateOf(subscriptionId, receiver) === 'disabled by the system');
    await until(async () => (await outcomes()).length === 1);
    await due([target!], 3);
    const at = '2026-03-01T12:00:00.000Z';
    isGone = false;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, subscriptionId, {
      do: 'enableReceiver',
      at,
      receiver,
    });
    await until(async () => (await outcomes()).length >= 4);
    expect(attempts.slice(1, 4).map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
  });

  it('makes dead letters of what is still held when it expires (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    const { subscriptionId, receiver } = target!;
    const at = '2026-03-01T12:00:00.000Z';
    const disable = { do: 'disableReceiver', at, receiver, reason: 'failing' } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, subscriptionId, disable);
    await world.subscriptions.reached(await world.engines.log.head());
    const { attempts, attempt } = ending({});
    const runner = start('one', attempt);
    await due([target!], 3, { at });
    await due([target!], 1);
    await until(async () => {
      await runner.expireOld(Date.now() - 60_000);
      return (await outcomes()).length >= 3;
    });
    const reason = { outcome: 'dead', error: 'it was held until it expired' };
    expect(await outcomes()).toMatchObject([reason, reason, reason]);
    expect(attempts).toEqual([]);
  });

  it('cancels what is due when the subscription is deleted (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    const { subscriptionId } = target!;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, subscriptionId, {
      do: 'delete',
      at: '2026-03-01T12:00:00.000Z',
    });
    const { attempts, attempt } = ending({});
    start('one', attempt);
    await due([target!], 3);
    await until(async () => (await outcomes()).length === 3);
    expect((await outcomes()).map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(attempts).toEqual([]);
  });

  describe.each(['ProbeDue', 'RedeliveryDue', 'MessageDue'] as const)('%s', (asked) => {
    it('has a receiver that rests tried at once, also by the next process (decisions N7, N14)', async () => {
      const [target] = await targetsOf(1);
      const hangs = ending({ end: 'timeout', error: 'no answer within 15 s' });
      const first = start('one', hangs.attempt);
      const [message] = await due([target!], 20);
      const isResting = async (): Promise<boolean> => {
        const { length } = await outcomes();
        return length >= 5 && length === hangs.attempts.length;
      };
      await until(isResting);
      const { id, subscriptionId, organisationId, receiver } = message!;
      const of = { subscriptionId, organisationId, receiver, at: new Date().toISOString() };
      const events = {
        ProbeDue: { type: 'ProbeDue', data: of },
        RedeliveryDue: { type: 'RedeliveryDue', data: { ...of, id, revision: 0 } },
        MessageDue: {
          type: 'MessageDue',
          data: { ...message!, id: 'msg_test', subject: 'test', isTest: true },
        },
      } as const satisfies Readonly<Record<string, MatchedEvent>>;
      // Nobody sends while it is asked for.
      if (asked === 'ProbeDue') await first.stop();
      const before = (await outcomes()).length;
      await world.deliveries.append(MATCHED, 20, [toNewEvent(events[asked], randomUUID())]);
      if (asked === 'ProbeDue') start('two', ending({}).attempt);
      await until(async () => (await outcomes()).length > before);
      const probe = (await outcomes())[before];
      expect(probe).toMatchObject({ isProbe: true });
      if (asked === 'RedeliveryDue') expect(probe).toMatchObject({ id, isManual: true });
      if (asked === 'MessageDue') expect(probe).toMatchObject({ id: 'msg_test' });
    });
  });

  it('does not send again what was withdrawn, by the next process neither (decisions N17)', async () => {
    const [target] = await targetsOf(1);
    const { attempts, attempt } = ending({});
    const first = start('one', attempt);
    const [message] = await due([target!], 1);
    await until(async () => (await outcomes()).length === 1);
    await first.stop();
    const { id, subscriptionId, organisationId, receiver } = message!;
    const of = { subscriptionId, organisationId, receiver, at: new Date().toISOString() };
    const again = { type: 'RedeliveryDue', data: { ...of, id, revision: 0 } } as const;
    const events = [again, again, { type: 'RedeliveriesWithdrawn', data: of } as const, again];
    await world.deliveries.append(
      MATCHED,
      1,
      events.map((event) => toNewEvent(event, randomUUID())),
    );
    start('two', attempt);
    await until(async () => (await outcomes()).length === 2);
    expect(await outcomes()).toMatchObject([{ revision: 0 }, { isManual: true, redelivery: 5 }]);
    expect(attempts.map((one) => one.id)).toEqual([id, id]);
  });

  it('sends a message again, with its old id and bytes, when that is asked for (decisions N14)', async () => {
    const [target] = await targetsOf(1);
    const { attempts, attempt } = ending({});
    start('one', attempt);
    const [message] = await due([target!], 1);
    await until(async () => (await outcomes()).length === 1);
    const { id, subscriptionId, organisationId, receiver } = message!;
    const data = {
      id,
      subscriptionId,
      organisationId,
      receiver,
      revision: 0,
      at: '2026-03-01T12:00:00.000Z',
    };
    await world.deliveries.append(MATCHED, 1, [toNewEvent({ type: 'RedeliveryDue', data }, randomUUID())]);
    await until(async () => (await outcomes()).length === 2);
    expect(attempts[1]).toMatchObject({ id, request: attempts[0]!.request, isManual: true });
    expect((await outcomes())[1]).toMatchObject({ outcome: 'delivered', isManual: true, redelivery: 2 });
  });
});
