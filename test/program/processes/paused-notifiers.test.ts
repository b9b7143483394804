import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Matched, messageTo, subscribe, type Target } from '../../../bench/deliveries/due-messages';
import { START } from '../../../src/kernel/event';
import { type Message } from '../../../src/domain/deliveries/delivery-events';
import { PARTITIONS } from '../../../src/domain/subscriptions/receiver-id';
import { notifierProcesses, SHORT } from '../notifier-processes';

/** So many are delivered before the pause; those sent after them hang. */
const BEFORE = 60;
const RECEIVERS = 40;

describe('A notifier that is paused for longer than its leases', () => {
  let isHanging: boolean;
  let arrived: number;
  beforeEach(() => ([isHanging, arrived] = [true, 0]));
  const world = notifierProcesses(() => {
    arrived += 1;
    return isHanging && arrived > BEFORE ? undefined : 200;
  });
  const { startNotifier, partitionEvents, outcomes, until } = world;

  /** How many partitions a process was the last one to take. */
  async function partitionsOf(owner: string): Promise<number> {
    const owners = new Map<string, string>();
    for (const event of await partitionEvents())
      if (event.type === 'PartitionTaken') owners.set(event.stream, event.data.owner);
    return [...owners.values()].filter((one) => one === owner).length;
  }

  function messagesTo(targets: readonly Target[], subject: string, cause: string): readonly Message[] {
    return targets.flatMap((target) =>
      Array.from({ length: 5 }, (_, at) =>
        messageTo(target, { subject: `${subject}${at}`, sequence: 0, cause }),
      ),
    );
  }

  /**
   * Pauses a process that waits for answers, until another one has sent everything. The answers, of messages that are
   * delivered now, are failures.
   */
  async function pausedWhileSending(options: object) {
    const { engines, receivers } = world;
    const urls = Array.from({ length: RECEIVERS }, (_, number) => receivers.url(number));
    const targets = await subscribe(engines.log, urls);
    const matched = new Matched(await engines.deliveries());
    const messages = messagesTo(targets, 'a', await engines.log.head());
    await matched.append(messages, START);
    const paused = await startNotifier({ ...options, owner: 'paused' });
    await until(async () => (await outcomes()).length === BEFORE && receivers.received.length > BEFORE + 20);
    // What is in flight has arrived: otherwise it would arrive after the pause.
    for (let seen = -1; seen !== receivers.received.length;) {
      seen = receivers.received.length;
      await pause(1_000);
    }
    paused.kill('SIGSTOP');
    isHanging = false;
    await startNotifier({ ...SHORT, owner: 'other' });
    await until(async () => (await partitionsOf('other')) === PARTITIONS);
    await until(async () => (await outcomes()).length === messages.length);
    await receivers.answerHanging(500);
    return { paused, targets, matched, messages };
  }

  async function expectDeliveredOnce(messages: readonly Message[]): Promise<void> {
    const all = await outcomes();
    const kinds = new Set(all.map(({ outcome, attempt }) => `${outcome} ${attempt}`));
    expect(kinds).toEqual(new Set(['delivered 1']));
    expect(all.map(({ id }) => id).sort()).toEqual(messages.map(({ id }) => id).sort());
  }

  it('loses nothing and decides nothing that another one has decided, and takes part again (decisions N3)', async () => {
    // So long that a busy machine does not end them: only the pause does, for others (`SHORT`) and for itself.
    const leaseMs = 3_000;
    const { paused, targets, matched, messages } = await pausedWhileSending({ ...SHORT, leaseMs });
    await pause(leaseMs);
    const before = world.receivers.received.length;
    paused.kill('SIGCONT');
    await until(async () => (await partitionsOf('paused')) >= PARTITIONS / 4);
    const later = messagesTo(targets, 'b', await world.engines.log.head());
    await matched.append(later, START);
    const all = new Set([...messages, ...later].map(({ id }) => id));
    await until(async () => new Set((await outcomes()).map(({ id }) => id)).size === all.size);
    await expectDeliveredOnce([...messages, ...later]);
    const sent = new Set(world.receivers.received.slice(before).map(({ id }) => id));
    expect(messages.filter(({ id }) => sent.has(id)).length).toBe(0);
  });

  it('is refused its late outcomes even while it believes that it has its leases (decisions N3)', async () => {
    // Others, whose leases are shorter, do not believe in such a long one.
    const long = { leaseMs: 600_000, longestMs: 200, lookMs: 60_000 };
    const { paused, messages } = await pausedWhileSending(long);
    paused.kill('SIGCONT');
    // It stops when the attempts in flight have ended, with the answers that are there.
    paused.kill('SIGTERM');
    await once(paused, 'exit');
    await expectDeliveredOnce(messages);
  });
});
