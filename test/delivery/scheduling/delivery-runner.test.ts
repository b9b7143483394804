import { setTimeout as pause } from 'node:timers/promises';
import { type NewEvent, START } from '../../../src/kernel/event';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { type Leases, MAX_SET_BACK_MS } from '../../../src/kernel/leases';
import { MATCHED, type Message, partitionStream } from '../../../src/domain/deliveries/delivery-events';
import { partitionOf, PARTITIONS } from '../../../src/domain/subscriptions/receiver-id';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { takePartition } from '../../../src/delivery/scheduling/owned-partition';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { newPromise } from '../../../src/runtime/concurrency';
import { overrideLog } from '../../support/temporary-log';
import { HeldClock, TestClock } from '../../support/clock';
import { runnerWorld } from './runner-world';

/** How long a stop waits for attempts in flight (decisions N3). */
const STOP_MS = 5_000;

describe('The runner of deliveries', () => {
  const world = runnerWorld();
  const { reports, start, targetsOf, due, outcomes, until, ending } = world;

  /** Which processes have taken each partition, in their order. */
  async function takers(): Promise<ReadonlyMap<string, readonly string[]>> {
    const owners = new Map<string, readonly string[]>();
    for await (const { events } of world.deliveries.readAll({ after: START, prefixes: ['partition-'] }))
      for (const { type, data, stream } of events)
        if (type === 'PartitionTaken')
          owners.set(stream, [...(owners.get(stream) ?? []), (JSON.parse(data) as { owner: string }).owner]);
    return owners;
  }

  /** How many partitions a process was the last one to take. */
  async function takenBy(owner: string): Promise<number> {
    return [...(await takers()).values()].filter((owners) => owners.at(-1) === owner).length;
  }

  /** The delivery log, in which reads of some partitions hang until they are released. */
  function hangingReads(isOf: (stream: string) => boolean) {
    const { promise: released, resolve: release } = newPromise();
    const hanging: string[] = [];
    const log = overrideLog(world.deliveries, {
      readStream: async function* (...read) {
        if (isOf(read[0])) {
          hanging.push(read[0]);
          await released;
        }
        yield* world.deliveries.readStream(...read);
      },
    });
    return { log, hanging, release };
  }

  const isPartition = (stream: string): boolean => stream !== MATCHED;

  /** Lets the time pass for which a stop waits at most. */
  async function firing(clock: HeldClock, stopping: Promise<void>): Promise<void> {
    const passing = setInterval(() => clock.fire(STOP_MS), 20);
    await stopping;
    clearInterval(passing);
  }

  /** Leases that cannot be acquired or renewed while they are stuck. */
  function stickingLeases() {
    const sticking = { isStuck: false };
    const leases = new Proxy(world.engines.leases, {
      get(target, name) {
        if (name === 'lease' && sticking.isStuck)
          return () => Promise.reject(new EngineUnavailable('it does not answer'));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    return Object.assign(sticking, { leases });
  }

  const owners = async (prefix: string) => await world.engines.leases.owners(prefix, Date.now(), 60_000);

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
    const clock = new HeldClock(STOP_MS);
    const first = start('one', hanging, { clock });
    await due([target!], 1);
    await until(() => isStarted);
    await firing(clock, first.stop());
    expect(await outcomes()).toEqual([]);
    start('two', ending({}).attempt);
    await until(async () => (await outcomes()).length === 1);
    expect(await outcomes()).toMatchObject([{ outcome: 'delivered', attempt: 1 }]);
  });

  it('sends for partitions that it has taken over while it takes over others (decisions N3)', async () => {
    const targets = (await targetsOf(40)).filter(({ receiver }) => partitionOf(receiver) < PARTITIONS / 2);
    const interrupted = ending({ end: 'aborted' });
    const first = start('one', interrupted.attempt);
    await due(targets, 1);
    await until(() => new Set(interrupted.attempts.map(({ id }) => id)).size === targets.length);
    await first.stop();
    const last = partitionStream(PARTITIONS - 1);
    const { log, release } = hangingReads((stream) => stream === last);
    const { attempts, attempt } = ending({});
    start('two', attempt, { deliveries: log });
    await until(() => attempts.length === targets.length);
    // New ones too.
    await due(targets, 1);
    await until(() => attempts.length === 2 * targets.length);
    expect(await takenBy('two')).toBeLessThan(PARTITIONS);
    release();
    await until(async () => (await takenBy('two')) === PARTITIONS);
  });

  it('keeps sending for what it has while it takes over more, however long that takes (decisions N3)', async () => {
    const targets = await targetsOf(40);
    const [one, two] = [ending({}), ending({})];
    let isSlow = false;
    const { log, hanging, release } = hangingReads((stream) => isSlow && isPartition(stream));
    const renewed = new Map<string, number>();
    const { leases } = world.engines;
    const counting = new Proxy(leases, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          if (isSlow && name === 'lease')
            renewed.set(String(args[0]), (renewed.get(String(args[0])) ?? 0) + 1);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
    start('one', one.attempt, { deliveries: log, leases: counting });
    await until(async () => (await takenBy('one')) === PARTITIONS);
    const second = start('two', two.attempt);
    await until(async () => (await takenBy('two')) === PARTITIONS / 2);
    const last = await takers();
    const kept = Array.from({ length: PARTITIONS }, (_, number) => number).filter(
      (number) => last.get(partitionStream(number))?.at(-1) === 'one',
    );
    isSlow = true;
    await second.stop();
    await until(() => hanging.length > 0);
    // Each renewal is at least a third of the lease after the one before.
    const isRenewed = (number: number) => (renewed.get(`notifier-partition-${number}`) ?? 0) >= 5;
    await until(() => kept.every(isRenewed));
    const own = targets.filter(({ receiver }) => kept.includes(partitionOf(receiver)));
    const sent = new Set((await due(own, 1)).map(({ id }) => id));
    await until(() => one.attempts.filter(({ id }) => sent.has(id)).length === sent.size);
    expect(await takenBy('one')).toBe(PARTITIONS / 2);
    release();
    await until(async () => (await takenBy('one')) === PARTITIONS);
  });

  it('does not take over a partition whose lease has ended while it took over others (decisions N3)', async () => {
    const targets = await targetsOf(40);
    const [one, two] = [ending({}), ending({})];
    const { log, hanging, release } = hangingReads(isPartition);
    start('one', one.attempt, { deliveries: log });
    await until(() => hanging.length === PARTITIONS / 2);
    start('two', two.attempt);
    await until(async () => (await takenBy('two')) === PARTITIONS / 2);
    release();
    await until(async () => (await takers()).size === PARTITIONS);
    await due(targets, 1);
    await until(async () => (await outcomes()).length === targets.length);
    expect([...(await takers()).values()].filter((all) => all.length > 1)).toEqual([]);
  });

  it('does not wait for an orderly hand-over when it is stopped (decisions N3)', async () => {
    const targets = await targetsOf(40);
    let [started, aborted] = [0, 0];
    const clock = new HeldClock(STOP_MS);
    const hanging: MakeAttempt = (_, signal) => {
      started += 1;
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted += 1;
          resolve({ end: 'aborted', at: Date.now(), ms: 1 });
        });
      });
    };
    const first = start('one', hanging, { clock });
    await due(targets, 1);
    await until(() => started === targets.length);
    start('two', ending({}).attempt);
    // It has begun to hand over half of them.
    await until(async () => (await takenBy('two')) > 0);
    const stopping = first.stop();
    // Others count on it no more at once.
    await until(async () => !(await owners('notifier-member-')).includes('one'));
    expect(aborted).toBe(0);
    // A hand-over alone waits for 16 s, which never pass here.
    await firing(clock, stopping);
    expect(aborted).toBe(targets.length);
    expect(await owners('notifier-')).toEqual(['two']);
  });

  it('releases all leases when it stops, also of partitions that it has not taken over yet (decisions N3)', async () => {
    const { log, hanging, release } = hangingReads(isPartition);
    const runner = start('one', ending({}).attempt, { deliveries: log });
    await until(() => hanging.length === PARTITIONS / 2);
    expect(await owners('notifier-')).toEqual(['one']);
    const stopped = runner.stop();
    release();
    await stopped;
    expect(await owners('notifier-')).toEqual([]);
    // It has taken none of them.
    expect(await takenBy('one')).toBe(0);
  });

  it('acquires no lease again when reads of partitions end after it has stopped (decisions N3)', async () => {
    const { log, hanging, release } = hangingReads(isPartition);
    const runner = start('one', ending({}).attempt, { deliveries: log });
    await until(() => hanging.length > 0);
    await runner.stop();
    expect(await owners('notifier-partition-')).toEqual([]);
    release();
    await pause(100);
    expect(await owners('notifier-partition-')).toEqual([]);
  });

  it('ends at once when it is stopped while reads of partitions hang (decisions N3)', async () => {
    const { log, hanging } = hangingReads(isPartition);
    // None of its longer waits ever ends.
    const clock = new HeldClock(STOP_MS);
    const runner = start('one', ending({}).attempt, { clock, deliveries: log });
    await until(() => hanging.length > 0);
    await runner.stop();
    expect(await owners('notifier-')).toEqual([]);
    expect(reports).toEqual([]);
  });

  it('goes on when a partition cannot be taken over, and tells why (decisions N3)', async () => {
    let isDown = true;
    const log = overrideLog(world.deliveries, {
      append: async (...append) => {
        if (isDown && append[0] === partitionStream(PARTITIONS - 1))
          throw new EngineUnavailable('it does not answer');
        return await world.deliveries.append(...append);
      },
    });
    const runner = start('one', ending({}).attempt, { deliveries: log });
    await until(() => runner.trouble() === 'it does not answer');
    await until(async () => (await takenBy('one')) === PARTITIONS - 1);
    isDown = false;
    await until(async () => (await takenBy('one')) === PARTITIONS);
    await until(() => runner.trouble() === undefined);
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
  });

  it('continues with what others have done after its leases have ended, though they are free again (decisions N3)', async () => {
    const stuck = stickingLeases();
    const [one, two] = [ending({}), ending({})];
    const targets = await targetsOf(40);
    const first = start('one', one.attempt, { leases: stuck.leases });
    await due(targets, 1);
    await until(() => one.attempts.length === 40);
    await until(async () => (await outcomes()).length === 40);
    stuck.isStuck = true;
    await until(() => first.trouble() !== undefined);
    const second = start('two', two.attempt);
    await until(async () => (await takenBy('two')) === PARTITIONS);
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 80);
    await second.stop();
    stuck.isStuck = false;
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 120);
    const sent = [...one.attempts, ...two.attempts].map(({ id }) => id);
    expect([sent.length, new Set(sent).size]).toEqual([120, 120]);
  });

  it('continues with what others have done after the clock was set back by minutes, which ends leases for them (decisions N3)', async () => {
    let back = 0;
    const clock = new TestClock(() => Date.now() - back);
    const stuck = stickingLeases();
    const [one, two] = [ending({}), ending({})];
    const targets = await targetsOf(40);
    const times = { leaseMs: 5_000 };
    start('one', one.attempt, { clock, leases: stuck.leases }, times);
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 40);
    stuck.isStuck = true;
    back = 2 * MAX_SET_BACK_MS;
    const second = start('two', two.attempt, { clock }, times);
    await until(async () => (await takenBy('two')) === PARTITIONS);
    await second.stop();
    stuck.isStuck = false;
    await due(targets, 1);
    await until(async () => (await outcomes()).length === 80);
    const sent = [...one.attempts, ...two.attempts].map(({ id }) => id);
    expect([sent.length, new Set(sent).size]).toEqual([80, 80]);
  });

  it('asks for the lease again when an append conflicts: another process has the partition (decisions N3)', async () => {
    const targets = await targetsOf(1);
    const partition = partitionOf(targets[0]!.receiver);
    let isTaken = false;
    let refused = 0;
    const leases = new Proxy(world.engines.leases, {
      get(target, name) {
        if (name !== 'lease') return (Reflect.get(target, name) as () => unknown).bind(target);
        return async (...args: Parameters<Leases['lease']>) => {
          if (!isTaken || args[0] !== `notifier-partition-${partition}`) return await target.lease(...args);
          refused += 1;
          return undefined;
        };
      },
    });
    const times = { leaseMs: 30_000 };
    start('one', ending({}).attempt, { leases }, times);
    await until(async () => (await takenBy('one')) === PARTITIONS);
    // By a clock that was wrong for a moment: the first one does not know it.
    isTaken = true;
    await takePartition(SYSTEM_CLOCK, world.deliveries, partition, { owner: 'two' });
    await due(targets, 1);
    await until(() => refused > 0);
    expect((await takers()).get(partitionStream(partition))?.at(-1)).toBe('two');
  });
});
