import { once } from 'node:events';
import { Matched, messageTo, subscribe, type Target } from '../../../bench/deliveries/due-messages';
import { START } from '../../../src/kernel/event';
import { type Message } from '../../../src/domain/deliveries/delivery-events';
import { PARTITIONS } from '../../../src/domain/subscriptions/receiver-id';
import { startFaultyProxy } from '../../support/faulty-proxy';
import { FULL_SIZE } from '../../support/size';
import { notifierProcesses } from '../notifier-processes';

const RECEIVERS = 40;

/** How a process is cut off. */
const WAYS = ['in both directions', 'in what it receives'];

/** Long enough for a busy machine. */
const TIMES = { leaseMs: 5_000, longestMs: 1_000, lookMs: 100 };

describe('Processes with folders and read stores of their own, over one EventStoreDB', () => {
  /** How many requests are answered; those after them hang. */
  let answered: number;
  let arrived: number;
  beforeEach(() => ([answered, arrived] = [Infinity, 0]));
  const world = notifierProcesses(() => {
    arrived += 1;
    return arrived > answered ? undefined : 200;
  }, 'folders of their own');
  const { startNotifier, kill, partitionEvents, outcomes, until } = world;

  /** The process that has taken each partition last. */
  async function ownersOf(): Promise<readonly string[]> {
    const owners = new Map<string, string>();
    for (const event of await partitionEvents())
      if (event.type === 'PartitionTaken') owners.set(event.stream, event.data.owner);
    return [...owners.values()];
  }

  /** Waits until each of these processes has its share, and others have nothing. */
  async function untilShared(...names: readonly string[]): Promise<void> {
    await until(async () => {
      const owners = await ownersOf();
      const counts = names.map((name) => owners.filter((owner) => owner === name).length);
      const isShared = counts.every((count) => count >= Math.floor(PARTITIONS / names.length));
      return isShared && owners.every((owner) => names.includes(owner));
    });
  }

  /** Makes messages due, some at a time. */
  async function messagesIn(count: number) {
    const { engines, receivers } = world;
    const urls = Array.from({ length: RECEIVERS }, (_, number) => receivers.url(number));
    const targets: readonly Target[] = await subscribe(engines.log, urls);
    const matched = new Matched(await engines.deliveries());
    const cause = await engines.log.head();
    const messages: Message[] = [];
    const due = async (): Promise<void> => {
      const more = targets.map((target) =>
        messageTo(target, { subject: `t${messages.length}`, sequence: 0, cause }),
      );
      messages.push(...more);
      await matched.append(more, START);
    };
    for (let at = 0; at < count; at += 1) await due();
    return { messages, due };
  }

  const received = (): readonly string[] => world.receivers.received.map(({ id }) => id);

  async function untilDelivered(messages: readonly Message[]): Promise<void> {
    await until(() => new Set(received()).size === messages.length);
    await until(async () => (await outcomes()).length >= messages.length);
  }

  it('send no message twice, while they come and go (decisions N3)', async () => {
    const { messages, due } = await messagesIn(2);
    const one = await startNotifier({ ...TIMES, owner: 'one' });
    await until(() => received().length > 20);
    await startNotifier({ ...TIMES, owner: 'two' });
    for (let batch = 0; batch < 4; batch += 1) await due();
    await untilShared('one', 'two');
    for (let batch = 0; batch < 2; batch += 1) await due();
    await startNotifier({ ...TIMES, owner: 'three' });
    for (let batch = 0; batch < 4; batch += 1) await due();
    await untilShared('one', 'two', 'three');
    await due();
    one.kill('SIGTERM');
    for (let batch = 0; batch < 2; batch += 1) await due();
    await once(one, 'exit');
    await untilShared('two', 'three');
    await due();
    await untilDelivered(messages);
    expect(received().toSorted()).toEqual(messages.map(({ id }) => id).toSorted());
  });

  it('go on for one that is killed, once its leases are over: what it had in flight is sent again, once (decisions N3)', async () => {
    const { messages, due } = await messagesIn(2);
    const one = await startNotifier({ ...TIMES, owner: 'one' });
    await startNotifier({ ...TIMES, owner: 'two' });
    await untilShared('one', 'two');
    await untilDelivered(messages);
    answered = arrived;
    await due();
    await until(() => received().length === messages.length);
    await kill(one);
    answered = Infinity;
    await due();
    await due();
    await untilShared('two');
    await world.receivers.answerHanging(200);
    await untilDelivered(messages);
    const sent = received();
    const repeated = sent.filter((id, at) => sent.indexOf(id) !== at);
    expect(new Set(repeated).size).toBe(repeated.length);
    const inFlight = messages.slice(2 * RECEIVERS, 3 * RECEIVERS).map(({ id }) => id);
    expect(repeated.filter((id) => !inFlight.includes(id))).toEqual([]);
  });

  it('go on for one that is frozen; it sends nothing of what others have sent when it wakes, and takes part again (decisions N3)', async () => {
    const { messages, due } = await messagesIn(1);
    const one = await startNotifier({ ...TIMES, owner: 'one' });
    await startNotifier({ ...TIMES, owner: 'two' });
    await untilShared('one', 'two');
    await untilDelivered(messages);
    one.kill('SIGSTOP');
    for (let batch = 0; batch < 4; batch += 1) await due();
    await untilShared('two');
    await untilDelivered(messages);
    one.kill('SIGCONT');
    for (let batch = 0; batch < 4; batch += 1) await due();
    await untilShared('one', 'two');
    await due();
    await untilDelivered(messages);
    expect(received().toSorted()).toEqual(messages.map(({ id }) => id).toSorted());
  });

  it.each(FULL_SIZE ? WAYS : WAYS.slice(0, 1))(
    'go on for one that is cut off from the server %s, and it takes part again (decisions N3)',
    async (how) => {
      const proxy = await startFaultyProxy(world.port);
      const { messages, due } = await messagesIn(1);
      await startNotifier({ ...TIMES, owner: 'one' }, `esdb://127.0.0.1:${proxy.port}?tls=false`);
      await startNotifier({ ...TIMES, owner: 'two' });
      await untilShared('one', 'two');
      await untilDelivered(messages);
      answered = arrived;
      await due();
      await until(() => received().length === messages.length);
      Object.assign(proxy.faults, { mute: true, deaf: how === 'in both directions' });
      answered = Infinity;
      // Their outcomes cannot be stored by the one.
      await world.receivers.answerHanging(200);
      for (let batch = 0; batch < 3; batch += 1) await due();
      await untilShared('two');
      await untilDelivered(messages);
      Object.assign(proxy.faults, { mute: false, deaf: false });
      for (let batch = 0; batch < 3; batch += 1) await due();
      await untilShared('one', 'two');
      await due();
      await untilDelivered(messages);
      await proxy.close();
      const sent = received();
      const repeated = sent.filter((id, at) => sent.indexOf(id) !== at);
      expect(new Set(repeated).size).toBe(repeated.length);
      const inFlight = messages.slice(RECEIVERS, 2 * RECEIVERS).map(({ id }) => id);
      expect(repeated.filter((id) => !inFlight.includes(id))).toEqual([]);
    },
  );
});
