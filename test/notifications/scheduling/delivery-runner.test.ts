import { execute, toNewEvent } from '../../../src/kernel/decider';
import { type NewEvent, START } from '../../../src/kernel/event';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import {
  MATCHED,
  type MatchedEvent,
  type Message,
  partitionStream,
} from '../../../src/domain/deliveries/delivery-events';
import { partitionOf, PARTITIONS } from '../../../src/domain/subscriptions/receiver-id';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { type Attempt } from '../../../src/delivery/sending/attempt';
import { subscriptionDecider } from '../../../src/domain/subscriptions/subscription';
import { overrideLog } from '../../support/temporary-log';
import { runnerWorld } from './runner-world';

describe('The runner of deliveries', () => {
  const world = runnerWorld();
  const { reports, start, targetsOf, due, outcomes, until, ending } = world;

  /** How many partitions a process was the last one to take. */
  async function takenBy(owner: string): Promise<number> {
    const owners = new Map<string, string>();
    for await (const { events } of world.deliveries.readAll({ after: START, prefixes: ['partition-'] }))
      for (const { type, data, stream } of events)
        if (type === 'PartitionTaken') owners.set(stream, (JSON.parse(data) as { owner: string }).owner);
    return [...owners.values()].filter((one) => one === owner).length;
  }

  it('never counts that the delivery log is unavailable, and sends nothing twice because of it', async () => {
    let isDown = false;
    const log = overrideLog(world.deliveries, {
      append: async (stream: string, expected: number, events: readonly NewEvent[]) => {
        if (!isDown) return await world.deliveries.append(stream, expected, events);
        // The second half of such failures has appended: the answer is lost.
        if (events.length % 2 === 0) await world.deliveries.append(stream, expected, events);
        throw new EngineUnavailable('the disk is full');
      },
    });
    const { attempts, attempt } = ending({});
    const targets = await targetsOf(20);
    const runner = start('one', attempt, { deliveries: log });
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 20);
    isDown = true;
    await due(targets, 5);
    await until(() => runner.trouble() !== undefined && attempts.length >= 40);
    await until(() => reports.length >= 40);
    // Each receiver has ended one attempt whose outcome cannot be stored; nothing more is started.
    expect(attempts).toHaveLength(40);
    isDown = false;
    await until(async () => (await outcomes()).length === 120);
    expect(new Set(attempts.map(({ id }) => id)).size).toBe(120);
    expect(attempts).toHaveLength(120);
    expect(
      (await outcomes()).every(({ attempt: number, outcome }) => number === 1 && outcome === 'delivered'),
    ).toBe(true);
    await until(() => runner.trouble() === undefined);
  });

  it('ends what is in flight when it is stopped, without counting it, and the next one sends it', async () => {
    const [target] = await targetsOf(1);
    let isStarted = false;
    const hanging: MakeAttempt = (_, signal) => {
      isStarted = true;
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ end: 'aborted', at: Date.now(), ms: 1 }));
      });
    };
    const first = start('one', hanging);
    await due([target!], 1);
    await until(() => isStarted);
    await first.stop();
    expect(await outcomes()).toEqual([]);
    start('two', ending({}).attempt);
    await until(async () => (await outcomes()).length === 1);
    expect(await outcomes()).toMatchObject([{ outcome: 'delivered', attempt: 1 }]);
  }, 30_000);

  it('sends for partitions that it has taken over while it takes over others (decisions N3)', async () => {
    const targets = (await targetsOf(40)).filter(({ receiver }) => partitionOf(receiver) < PARTITIONS / 2);
    const interrupted = ending({ end: 'aborted' });
    const first = start('one', interrupted.attempt);
    await due(targets, 1);
    await until(() => new Set(interrupted.attempts.map(({ id }) => id)).size === targets.length);
    await first.stop();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const last = partitionStream(PARTITIONS - 1);
    const log = overrideLog(world.deliveries, {
      readStream: async function* (...read) {
        if (read[0] === last) await released;
        yield* world.deliveries.readStream(...read);
      },
    });
    const { attempts, attempt } = ending({});
    start('two', attempt, { deliveries: log });
    await until(() => attempts.length === targets.length);
    expect(await takenBy('two')).toBeLessThan(PARTITIONS);
    release();
    await until(async () => (await takenBy('two')) === PARTITIONS);
  });

  it('releases all leases when it stops, also of partitions that it could not take over (decisions N3)', async () => {
    const log = overrideLog(world.deliveries, {
      append: async (...append) => {
        if (append[0] === partitionStream(PARTITIONS - 1)) throw new EngineUnavailable('it does not answer');
        return await world.deliveries.append(...append);
      },
    });
    const runner = start('one', ending({}).attempt, { deliveries: log });
    await until(() => runner.trouble() !== undefined);
    const owners = async () => await world.engines.leases.owners('notifier-', Date.now(), 60_000);
    expect(await owners()).toEqual(['one']);
    await runner.stop();
    expect(await owners()).toEqual([]);
  });

  it('shares the partitions among processes, and takes over those of one that stops', async () => {
    const targets = await targetsOf(60);
    const [one, two] = [ending({}), ending({})];
    start('one', one.attempt);
    await due(targets, 1);
    await until(() => one.attempts.length === 60);
    const second = start('two', two.attempt);
    // Half of the receivers change hands, and then messages go to both.
    const sent: Message[] = [];
    await until(async () => {
      sent.push(...(await due(targets, 1)));
      return two.attempts.length >= 60;
    });
    const settled = async () => new Set((await outcomes()).map(({ id }) => id)).size;
    await until(async () => (await settled()) === 60 + sent.length);
    const hosts = new Set(two.attempts.map(({ request }) => request.url));
    expect(hosts.size).toBeGreaterThan(15);
    expect(hosts.size).toBeLessThan(45);
    await second.stop();
    const last = new Set((await due(targets, 1)).map(({ id }) => id));
    await until(() => one.attempts.filter(({ id }) => last.has(id)).length === 60);
  }, 30_000);

  it('continues with what others have done after its leases have ended, though they are free again (decisions N3)', async () => {
    const { leases } = world.engines;
    let isStuck = false;
    const stuck = new Proxy(leases, {
      get(target, name) {
        if (name === 'lease' && isStuck)
          return () => Promise.reject(new EngineUnavailable('it does not answer'));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const [one, two] = [ending({}), ending({})];
    const targets = await targetsOf(40);
    const first = start('one', one.attempt, { leases: stuck });
    await due(targets, 1);
    await until(() => one.attempts.length === 40);
    await until(async () => (await outcomes()).length === 40);
    isStuck = true;
    await until(() => first.trouble() !== undefined);
    const second = start('two', two.attempt);
    await until(async () => (await takenBy('two')) === PARTITIONS);
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 80);
    await second.stop();
    isStuck = false;
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 120);
    const sent = [...one.attempts, ...two.attempts].map(({ id }) => id);
    expect([sent.length, new Set(sent).size]).toEqual([120, 120]);
  }, 60_000);

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
    await until(() => book.standingOf(subscriptionId, receiver) === 'disabled by the system');
    await until(async () => (await outcomes()).length === 1);
    await due([target!], 3);
    const at = '2026-03-01T12:00:00.000Z';
    isGone = false;
    await execute(world.engines.log, subscriptionDecider, subscriptionId, {
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
    await execute(world.engines.log, subscriptionDecider, subscriptionId, disable);
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
    await execute(world.engines.log, subscriptionDecider, subscriptionId, {
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
      await world.deliveries.append(MATCHED, 20, [toNewEvent(events[asked])]);
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
      events.map((event) => toNewEvent(event)),
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
    await world.deliveries.append(MATCHED, 1, [toNewEvent({ type: 'RedeliveryDue', data })]);
    await until(async () => (await outcomes()).length === 2);
    expect(attempts[1]).toMatchObject({ id, request: attempts[0]!.request, isManual: true });
    expect((await outcomes())[1]).toMatchObject({ outcome: 'delivered', isManual: true, redelivery: 2 });
  });
});
