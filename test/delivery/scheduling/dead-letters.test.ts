import { randomUUID } from 'node:crypto';
import { type Target } from '../../../bench/deliveries/due-messages';
import { execute, toNewEvent } from '../../../src/kernel/decider';
import { type NewEvent, NO_STREAM } from '../../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import {
  MATCHED,
  type Message,
  type Outcome,
  partitionStream,
} from '../../../src/domain/deliveries/delivery-events';
import { partitionOf } from '../../../src/domain/subscriptions/receiver-id';
import { expireOld } from '../../../src/delivery/scheduling/dead-letters';
import { PartitionState } from '../../../src/delivery/scheduling/partition-state';
import { takePartition } from '../../../src/delivery/scheduling/owned-partition';
import { subscriptionDecider } from '../../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { overrideLog } from '../../support/temporary-log';
import { runnerWorld } from './runner-world';

const AT = '2026-03-01T12:00:00.000Z';

const UNSENDABLE = { request: undefined, unsendable: 'the body is too long' } as never;

describe('A dead letter', () => {
  const world = runnerWorld();
  const { start, targetsOf, due, outcomes, deadLetters, until, ending } = world;

  /** The first message has had an outcome before any of these processes starts. */
  async function wasAttempted(message: Message, outcome: Partial<Outcome>): Promise<void> {
    const { id, receiver, subscriptionId, organisationId } = message;
    const of = { id, receiver, subscriptionId, organisationId, revision: 0 };
    const data: Outcome = { ...of, outcome: 'failed', at: AT, ...outcome };
    const attempted = toNewEvent({ type: 'MessageAttempted', data }, randomUUID());
    await world.deliveries.append(partitionStream(partitionOf(receiver)), NO_STREAM, [attempted]);
  }

  /** The domain log, which records no dead letters while `isDown` is true. */
  function withoutDeadLetters(isDown: () => boolean): EventLog {
    return overrideLog(world.engines.log, {
      append: async (...args: Parameters<EventLog['append']>) => {
        if (args[0].startsWith('deadletter-') && isDown()) throw new EngineUnavailable('no disk');
        return await world.engines.log.append(...args);
      },
    });
  }

  it('is not recorded by a process that has lost the partition before its outcome was durable (decisions N3)', async () => {
    const [target] = await targetsOf(1);
    const [message] = await due([target!], 1);
    await wasAttempted(message!, { attempt: 9, next: AT });
    const partition = partitionOf(target!.receiver);
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    let isAppending = false;
    const paused = overrideLog(world.deliveries, {
      append: async (stream: string, expected: number, events: readonly NewEvent[]) => {
        if (events.some(({ type }) => type === 'MessageAttempted')) {
          isAppending = true;
          await opened;
        }
        return await world.deliveries.append(stream, expected, events);
      },
    });
    const attempts: number[] = [];
    start(
      'one',
      async ({ number }) => {
        attempts.push(number);
        const isFirst = attempts.length === 1;
        return { end: isFirst ? 'failure' : 'success', at: Date.now(), ms: 1, status: isFirst ? 500 : 200 };
      },
      { deliveries: paused },
    );
    await until(() => isAppending);
    await takePartition(SYSTEM_CLOCK, world.deliveries, partition, { owner: 'two' });
    open();
    // It takes the partition over again, and the message arrives after all.
    await until(async () => (await outcomes()).length === 2);
    expect(await outcomes()).toMatchObject([
      { outcome: 'failed', attempt: 9 },
      { outcome: 'delivered', attempt: 10 },
    ]);
    expect([attempts, await deadLetters()]).toEqual([[10, 10], []]);
  });

  it('is recorded once the domain log is available again; meanwhile its receiver gets messages (decisions N3)', async () => {
    let isDown = true;
    const [target] = await targetsOf(1);
    const { attempts, attempt } = ending({});
    start('one', attempt, { log: withoutDeadLetters(() => isDown) });
    // More than its receiver has slots.
    const dead = await due([target!], 20, UNSENDABLE);
    await due([target!], 20);
    await until(() => attempts.length === 20);
    await until(async () => (await outcomes()).length === 40);
    expect(await deadLetters()).toEqual([]);
    isDown = false;
    await until(async () => (await deadLetters()).length === 20);
    const { subscriptionId, receiver } = target!;
    const recorded = {
      subscriptionId,
      receiver,
      organisationId: 2,
      subject: dead[0]!.subject,
      stateId: 1,
      attempts: 0,
    };
    expect((await deadLetters())[0]).toEqual({
      ...recorded,
      id: expect.any(String) as string,
      at: expect.any(String) as string,
      reason: 'the body is too long',
    });
    expect(new Set((await deadLetters()).map(({ id }) => id))).toEqual(new Set(dead.map(({ id }) => id)));
  });

  it('of a held message that expires takes the same way (decisions N3, N8)', async () => {
    let isDown = true;
    const [target] = await targetsOf(1);
    const { subscriptionId, receiver } = target!;
    const disable = { do: 'disableReceiver', at: AT, receiver, reason: 'failing' } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, subscriptionId, disable);
    await world.subscriptions.reached(await world.engines.log.head());
    const { attempts, attempt } = ending({});
    const runner = start('one', attempt, { log: withoutDeadLetters(() => isDown) });
    const held = await due([target!], 20, { at: AT });
    const expire = async (): Promise<void> => {
      while ((await outcomes()).length === 0) await runner.expireOld(Date.now());
    };
    const expired = expire();
    await until(async () => (await outcomes()).length === 20);
    expect(await deadLetters()).toEqual([]);
    // So it is called again soon: what is left would be deleted with the log.
    expect(await runner.expireOld(Date.now())).toBe(false);
    isDown = false;
    await until(async () => (await deadLetters()).length === 20);
    expect(new Set((await deadLetters()).map(({ id }) => id))).toEqual(new Set(held.map(({ id }) => id)));
    await expired;
    await until(() => runner.expireOld(Date.now()));
    expect([attempts, (await outcomes()).length]).toEqual([[], 20]);
  });

  it('is none when the message is delivered while it is read because it expires (decisions N3, N8)', async () => {
    const [target] = await targetsOf(1);
    const messages = await due([target!], 2, { at: AT });
    const { receiver } = target!;
    const state = new PartitionState();
    for (const revision of [0, 1]) state.due(receiver, revision);
    const load = async (revision: number): Promise<Message | undefined> => {
      const message = messages[revision]!;
      if (revision === 0) state.settle({ ...message, revision, outcome: 'delivered', at: AT });
      return message;
    };
    const recorded: Outcome[] = [];
    const count = await expireOld(
      {
        clock: SYSTEM_CLOCK,
        partitions: [
          { state, inFlight: new Set(), expiring: new Set(), writer: { flush: async () => undefined } },
        ] as never,
        cache: { get: () => undefined, load } as never,
        recipients: { permission: () => 'send' } as never,
        record: async (_, outcome) => void recorded.push(outcome),
      },
      Date.now(),
    );
    expect([count, recorded]).toMatchObject([1, [{ id: messages[1]!.id, outcome: 'dead' }]]);
  });

  it('is none when a redelivery succeeds while the failure waits for the domain log (decisions N3, N14)', async () => {
    const [target] = await targetsOf(1);
    const [message] = await due([target!], 1);
    await wasAttempted(message!, { attempt: 9, next: AT });
    let [isDisabling, isDown] = [false, true];
    const log = overrideLog(world.engines.log, {
      append: async (...args: Parameters<EventLog['append']>) => {
        const isDisabled = args[2].some(({ type }) => type === 'ReceiverDisabled');
        isDisabling ||= isDisabled;
        if (isDisabled && isDown) throw new EngineUnavailable('no disk');
        return await world.engines.log.append(...args);
      },
    });
    let redeliver = (): void => undefined;
    const asked = new Promise<void>((resolve) => (redeliver = resolve));
    const sent: number[] = [];
    start(
      'one',
      async ({ isManual, number }) => {
        sent.push(number);
        if (isManual !== true) await until(() => sent.length === 2);
        else await asked;
        return {
          end: isManual === true ? 'success' : 'failure',
          at: Date.now(),
          ms: 1,
          status: isManual === true ? 200 : 410,
        };
      },
      { log },
    );
    await until(() => sent.length === 1);
    const { id, subscriptionId, organisationId, receiver } = message!;
    const redelivery = { id, subscriptionId, organisationId, receiver, revision: 0, at: AT };
    await world.deliveries.append(MATCHED, 1, [
      toNewEvent({ type: 'RedeliveryDue', data: redelivery }, randomUUID()),
    ]);
    await until(() => isDisabling);
    redeliver();
    await until(async () => (await outcomes()).some(({ outcome }) => outcome === 'delivered'));
    isDown = false;
    await until(async () => (await outcomes()).length === 3);
    expect(await outcomes()).toMatchObject([
      { outcome: 'failed', attempt: 9 },
      { outcome: 'delivered', isManual: true },
      { outcome: 'failed', attempt: 10, status: 410 },
    ]);
    expect(await deadLetters()).toEqual([]);
  });

  it('is recorded by the next owner of the partition if a process is killed between outcome and record (decisions N3)', async () => {
    const [target] = await targetsOf(1);
    const [message] = await due([target!], 1);
    const deadLetter = { subject: 't1', stateId: 1, attempts: 10 };
    await wasAttempted(message!, { outcome: 'dead', attempt: 10, error: 'no answer', deadLetter });
    start('two', ending({}).attempt);
    await until(async () => (await deadLetters()).length > 0);
    const { id, receiver, subscriptionId } = message!;
    expect(await deadLetters()).toEqual([
      { id, receiver, subscriptionId, organisationId: 2, ...deadLetter, at: AT, reason: 'no answer' },
    ]);
  });

  it('is handed over while it cannot be recorded, and recorded once, whoever has the partition (decisions N3)', async () => {
    const targets: readonly Target[] = await targetsOf(5);
    const unable = start('one', ending({}).attempt, { log: withoutDeadLetters(() => true) });
    const dead = await due(targets, 3, UNSENDABLE);
    await until(async () => (await outcomes()).length === 15);
    await unable.stop();
    const able = start('two', ending({}).attempt);
    await until(async () => (await deadLetters()).length === 15);
    // Those after the last snapshot are tried again.
    await due(targets, 3, UNSENDABLE);
    await until(async () => (await deadLetters()).length === 30);
    await able.stop();
    const third = start('three', ending({}).attempt);
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 35);
    await third.stop();
    const recorded = (await deadLetters()).map(({ id }) => id);
    expect([recorded.length, new Set(recorded).size]).toEqual([30, 30]);
    expect(new Set(recorded.slice(0, 15))).toEqual(new Set(dead.map(({ id }) => id)));
  });
});
