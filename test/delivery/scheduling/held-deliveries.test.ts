import { randomUUID } from 'node:crypto';
import { execute, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM } from '../../../src/kernel/event';
import { MATCHED, partitionStream } from '../../../src/domain/deliveries/delivery-events';
import { partitionOf } from '../../../src/domain/subscriptions/receiver-id';
import { type MakeAttempt } from '../../../src/delivery/scheduling/dispatcher';
import { PartitionState, savePartition } from '../../../src/delivery/scheduling/partition-state';
import { Secrets, subscriptionDecider } from '../../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { SkippingClock } from '../../support/clock';
import { overrideLog } from '../../support/temporary-log';
import { type EventLog, type SubscribeOptions } from '../../../src/kernel/event-log';
import { type Leases } from '../../../src/kernel/leases';
import { newPromise } from '../../../src/runtime/concurrency';
import { FollowedSubscriptions, Recipients } from '../../../src/delivery/scheduling/recipients';
import { runnerWorld } from './runner-world';
import { type Target } from '../../../bench/deliveries/due-messages';

const AT = '2026-03-01T12:00:00.000Z';

describe('What is not attempted in the ordinary way', () => {
  const world = runnerWorld();
  const { reports, start, targetsOf, due, outcomes, deadLetters, until, ending } = world;

  async function disable({ subscriptionId, receiver }: Target): Promise<void> {
    const command = { do: 'disableReceiver', at: AT, receiver, reason: 'failing' } as const;
    await execute(SYSTEM_CLOCK, world.engines.log, subscriptionDecider, subscriptionId, command);
    await world.subscriptions.reached(await world.engines.log.head());
  }

  const askAgain = async (
    { id, subscriptionId, organisationId, receiver }: Target & { id: string; organisationId: number },
    revision: number,
    after: number,
  ) => {
    const data = { id, subscriptionId, organisationId, receiver, revision, at: AT };
    await world.deliveries.append(MATCHED, after, [
      toNewEvent({ type: 'RedeliveryDue', data }, randomUUID()),
    ]);
  };

  it('is a dead letter when it expires while it is held, whether it was attempted or not (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    const { attempt } = ending({ end: 'failure', status: 500, retryAfter: 60_000 });
    const runner = start('one', attempt);
    await due([target!], 1, { at: AT });
    await until(async () => (await outcomes()).length === 1);
    await disable(target!);
    await due([target!], 2, { at: AT });
    await runner.expireOld(Date.now());
    const held = { outcome: 'dead', error: 'it was held until it expired' };
    await until(async () => (await outcomes()).length >= 4);
    expect(await outcomes()).toMatchObject([{ outcome: 'failed', attempt: 1 }, held, held, held]);
    await until(async () => (await deadLetters()).length >= 3);
    expect((await deadLetters()).map(({ attempts }) => attempts).sort()).toEqual([0, 0, 1]);
    await runner.expireOld(Date.now());
    expect(await outcomes()).toHaveLength(4);
  });

  it('is not what a process sends that has read a part of the subscriptions so far (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    await disable(target!);
    await due([target!], 1);
    const { log, leases } = world.engines;
    const { promise: isRead, resolve: read } = newPromise();
    async function* subscribe(options: SubscribeOptions) {
      for await (const batch of log.subscribe({ ...options, batchSize: 1 })) {
        yield batch;
        await isRead;
      }
    }
    const slow = Object.assign(Object.create(log) as EventLog, { subscribe });
    const following = new AbortController();
    const subscriptions = new FollowedSubscriptions(SYSTEM_CLOCK, slow, following.signal);
    let looks = 0;
    const lease: Leases['lease'] = async (name, ...rest) => {
      if (name.startsWith('notifier-member-')) looks += 1;
      return await leases.lease(name, ...rest);
    };
    const { attempts, attempt } = ending({});
    start('one', attempt, {
      leases: Object.assign(Object.create(leases) as Leases, { lease }),
      recipients: new Recipients(subscriptions, new Secrets(Buffer.alloc(32))),
    });
    await until(() => looks >= 20);
    expect(attempts).toEqual([]);
    read();
    const enable = { do: 'enableReceiver', at: AT, receiver: target!.receiver } as const;
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, target!.subscriptionId, enable);
    await until(() => attempts.length === 1);
    following.abort();
    await subscriptions.ended;
  });

  it('is kept from when it was made, if that was after its transition (decisions N8, N17)', async () => {
    const [target] = await targetsOf(1);
    await disable(target!);
    const hour = 3_600_000;
    const [now, at] = [Date.now(), new Date(Date.now() - 700 * hour).toISOString()];
    const runner = start('one', ending({}).attempt);
    const [old] = await due([target!], 1, { at });
    const [backfilled] = await due([target!], 1, { at, made: new Date(now).toISOString() });
    for (const [hours, count] of [
      [-1, 1],
      [1, 2],
    ] as const) {
      while ((await outcomes()).length < count) await runner.expireOld(now + hours * hour);
      await runner.expireOld(now + hours * hour);
      expect(await outcomes()).toHaveLength(count);
    }
    expect((await outcomes()).map(({ id }) => id)).toEqual([old!.id, backfilled!.id]);
  });

  it('is a dead letter when it expires before it could be sent, except for what is being sent (decisions N3)', async () => {
    const [slow, failing] = await targetsOf(2);
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const attempt: MakeAttempt = async ({ request: { url } }) => {
      if (url.includes('r1'))
        return { end: 'failure', at: Date.now(), ms: 1, status: 429, retryAfter: 60_000 };
      await answered;
      return { end: 'success', at: Date.now(), ms: 400, status: 200 };
    };
    const runner = start('one', attempt);
    // The second and third one wait for the first one.
    await due([slow!], 3, { at: AT });
    await due([failing!], 1, { at: AT });
    await until(async () => (await outcomes()).length === 1);
    await runner.expireOld(Date.parse(AT) + 1);
    await until(async () => (await deadLetters()).length === 3);
    answer();
    await until(async () => (await outcomes()).length === 5);
    const error = 'it expired before it could be sent';
    expect((await outcomes()).filter(({ outcome }) => outcome === 'dead')).toMatchObject([
      { error },
      { error },
      { error },
    ]);
    expect((await outcomes()).at(-1)).toMatchObject({ outcome: 'delivered', revision: 0 });
    expect((await deadLetters()).map(({ attempts }) => attempts).sort()).toEqual([0, 0, 1]);
  });

  it('is a dead letter if it was deleted before it could be sent (decisions N3)', async () => {
    const [target] = await targetsOf(1);
    await due([target!], 2, { at: AT });
    const deliveries = await world.engines.deliveries();
    await world.matched.append([], await world.engines.log.head());
    const appended = Date.now();
    // As if a process that is gone had read what is deleted meanwhile.
    const state = new PartitionState();
    for (const revision of [0, 1]) state.due(target!.receiver, revision);
    await until(() => Date.now() > appended + 1);
    await deliveries.expire(new Date(), [MATCHED]);
    const saved = savePartition(state).map((data) =>
      toNewEvent({ type: 'PartitionSaved', data }, randomUUID()),
    );
    await deliveries.append(partitionStream(partitionOf(target!.receiver)), NO_STREAM, saved);
    const { attempts, attempt } = ending({});
    start('one', attempt);
    await until(async () => (await deadLetters()).length === 2);
    const reason = 'it was deleted before it could be sent';
    const lost = { receiver: target!.receiver, attempts: 0, reason };
    expect(await deadLetters()).toMatchObject([lost, lost]);
    expect(attempts).toEqual([]);
  });

  it('ends as a redelivery that was held, and the message stays as it is (decisions N8, N14)', async () => {
    const [target] = await targetsOf(1);
    const { attempts, attempt } = ending({});
    const runner = start('one', attempt);
    const [message] = await due([target!], 1, { at: AT });
    await until(async () => (await outcomes()).length === 1);
    await disable(target!);
    await askAgain({ ...target!, ...message! }, 0, 1);
    await until(async () => {
      await runner.expireOld(Date.now());
      return (await outcomes()).length === 2;
    });
    expect((await outcomes())[1]).toMatchObject({ outcome: 'failed', isManual: true, redelivery: 2 });
    expect([attempts.length, await deadLetters()]).toEqual([1, []]);
  });

  it('is a redelivery to a receiver that is removed: the message is cancelled by its own schedule (decisions N8, N14)', async () => {
    const [target] = await targetsOf(1);
    const { attempts, attempt } = ending({ end: 'failure', status: 500 });
    const clock = new SkippingClock();
    start('one', attempt, { clock }, { leaseMs: 60_000 });
    const [message] = await due([target!], 1, { at: AT });
    await until(async () => (await outcomes()).length === 1);
    await disable(target!);
    await askAgain({ ...target!, ...message! }, 0, 1);
    const { log } = world.engines;
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, target!.subscriptionId, { do: 'delete', at: AT });
    await world.subscriptions.reached(await log.head());
    await until(async () => (await outcomes()).length === 2);
    // The message would be attempted again then.
    clock.skip(6_000);
    await until(async () => (await outcomes()).length === 3);
    expect(await outcomes()).toMatchObject([
      { outcome: 'failed', attempt: 1 },
      { outcome: 'failed', isManual: true, redelivery: 2 },
      { outcome: 'cancelled', revision: 0 },
    ]);
    expect((await outcomes())[2]).not.toHaveProperty('redelivery');
    expect(attempts).toHaveLength(1);
  });

  it('is sent after a crash if it was asked for again, though some of that has been sent (decisions N3, N14)', async () => {
    const [target] = await targetsOf(1);
    const [message] = await due([target!], 1);
    for (const before of [1, 2, 3, 4]) await askAgain({ ...target!, ...message! }, 0, before);
    const { id, receiver, subscriptionId, organisationId } = message!;
    const outcome = { id, receiver, subscriptionId, organisationId, revision: 0, at: AT, attempt: 1, ms: 1 };
    const events = [{}, { isManual: true, redelivery: 2 }, { isManual: true, redelivery: 3 }].map((more) =>
      toNewEvent(
        { type: 'MessageAttempted', data: { ...outcome, outcome: 'delivered', ...more } },
        randomUUID(),
      ),
    );
    await world.deliveries.append(partitionStream(partitionOf(receiver)), NO_STREAM, events);
    const { attempts, attempt } = ending({});
    start('one', attempt);
    await until(async () => (await outcomes()).length === 5);
    expect(attempts.map(({ isManual }) => isManual)).toEqual([true, true]);
    expect((await outcomes()).slice(3)).toMatchObject([{ redelivery: 4 }, { redelivery: 5 }]);
  });

  it('stays delivered when a redelivery succeeds before the attempt in flight fails (decisions N14)', async () => {
    const [target] = await targetsOf(1);
    let fail = (): void => undefined;
    const sent: (boolean | undefined)[] = [];
    const attempt: MakeAttempt = async ({ isManual }) => {
      sent.push(isManual);
      if (isManual === true) return { end: 'success', at: Date.now(), ms: 1, status: 200 };
      await new Promise<void>((resolve) => (fail = resolve));
      return { end: 'timeout', at: Date.now(), ms: 400, error: 'no answer' };
    };
    start('one', attempt);
    const [message] = await due([target!], 1);
    await until(() => sent.length === 1);
    await askAgain({ ...target!, ...message! }, 0, 1);
    await until(async () => (await outcomes()).length === 1);
    fail();
    await until(async () => (await outcomes()).length === 2);
    expect(await outcomes()).toMatchObject([
      { outcome: 'delivered', isManual: true },
      { outcome: 'failed', attempt: 1, isTimeout: true },
    ]);
    expect((await outcomes())[1]).not.toHaveProperty('next');
  });

  it('is a retry that comes due while the success of a redelivery is being appended (decisions N3, N14)', async () => {
    const [target, other] = await targetsOf(2);
    const { promise: isAnswered, resolve: answer } = newPromise();
    let isDurable = false;
    const deliveries = overrideLog(world.deliveries, {
      append: async (...append: Parameters<EventLog['append']>) => {
        const appended = await world.deliveries.append(...append);
        if (!append[2].some(({ data }) => data.includes('"isManual":true'))) return appended;
        isDurable = true;
        await isAnswered;
        return appended;
      },
    });
    const sent: string[] = [];
    const clock = new SkippingClock();
    const attempt: MakeAttempt = async ({ id, isManual, number }) => {
      const isManually = isManual === true;
      sent.push(`${id} ${isManually ? 'manually' : number}`);
      const isFailed = !isManually && number === 1;
      return isFailed
        ? { end: 'failure', at: clock.wall(), ms: 1, status: 503, retryAfter: 20_000 }
        : { end: 'success', at: clock.wall(), ms: 1, status: 200 };
    };
    start('one', attempt, { clock, deliveries }, { leaseMs: 60_000 });
    const [message, another] = await due([target!, other!], 1, { at: AT });
    await until(async () => (await outcomes()).length === 2);
    clock.skip(19_500);
    await askAgain({ ...target!, ...message! }, 0, 2);
    await until(() => isDurable);
    clock.skip(1_000);
    // Both retries are due at the same time.
    await until(() => sent.includes(`${another!.id} 2`));
    answer();
    await until(async () => (await outcomes()).length >= 4);
    expect(sent.filter((one) => one.startsWith(message!.id))).toEqual([
      `${message!.id} 1`,
      `${message!.id} manually`,
    ]);
  });

  it('is reported and is trouble while the fault is ours, until a receiver is reached (decisions N4)', async () => {
    const targets = await targetsOf(2);
    let isOurs = true;
    const attempt: MakeAttempt = async () =>
      isOurs
        ? { end: 'aborted', at: Date.now(), ms: 1, error: 'the sender had no network' }
        : { end: 'success', at: Date.now(), ms: 1, status: 200 };
    const runner = start('one', attempt);
    await due([targets[0]!], 1);
    await until(() => runner.trouble() !== undefined);
    expect(runner.trouble()).toBe('the sender had no network');
    await due([targets[1]!], 1);
    isOurs = false;
    await until(async () => (await outcomes()).length === 2);
    expect(runner.trouble()).toBeUndefined();
    expect(reports).toEqual(['a message is sent later: the sender had no network']);
  });

  it('is a failure of the receiver if the network is missing for it alone (decisions N4)', async () => {
    const targets = await targetsOf(2);
    const attempt: MakeAttempt = async ({ request: { url } }) =>
      url.includes('r0')
        ? { end: 'success', at: Date.now(), ms: 1, status: 200 }
        : { end: 'aborted', at: Date.now(), ms: 1, error: 'the sender had no network' };
    start('one', attempt);
    await due([targets[0]!], 1);
    await until(async () => (await outcomes()).length === 1);
    await due([targets[1]!], 1);
    await until(async () => (await outcomes()).length === 2);
    expect((await outcomes())[1]).toMatchObject({
      outcome: 'failed',
      error: 'the address cannot be reached',
    });
  });

  it('is reported once when its receiver is disabled (decisions N8)', async () => {
    const [target] = await targetsOf(1);
    const { attempt } = ending({ end: 'gone', status: 410 });
    start('one', attempt);
    await due([target!], 1);
    await until(async () => (await outcomes()).length === 1);
    await until(() => reports.length > 0);
    await due([target!], 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(reports).toEqual([expect.stringContaining('is disabled: it has answered 410')]);
  });

  it('is read again when it has no room in memory: nothing is lost', async () => {
    const targets = await targetsOf(40);
    const { attempts, attempt } = ending({});
    const request = { method: 'POST', url: 'https://r0.example/', body: 'x'.repeat(32_000) } as const;
    // Twice what is kept in memory.
    for (const half of [targets.slice(0, 20), targets.slice(20)])
      for (let round = 0; round < 100; round += 1) await due(half, 1, { request });
    start('one', attempt);
    await until(() => attempts.length >= 4_000 || reports.length > 0);
    expect([new Set(attempts.map(({ id }) => id)).size, reports]).toEqual([4_000, []]);
  });
});
