import { once } from 'node:events';
import { type Message } from '../../../src/domain/deliveries/delivery-events';
import { START } from '../../../src/kernel/event';
import { LIMITS } from '../../../src/delivery/scheduling/slots';
import { Matched, messageTo, subscribe, type Target } from '../../../bench/deliveries/due-messages';
import { OVER_SERVERS } from '../../support/engines';
import { type Received } from '../../support/receivers';
import { cases, FULL_SIZE } from '../../support/size';
import { notifierProcesses, SHORT } from '../notifier-processes';

/** Those of a server. */
const REAL = {};

/** Over servers the small size does: a third of the full one takes minutes. */
const sized = (full: number, small: number): number => (OVER_SERVERS ? small : cases(full, small));

const SIZE = {
  kills: sized(50, 5),
  messages: sized(60_000, 3_000),
  receivers: sized(200, 40),
  subjects: 5,
};

/** So many have arrived when the process is killed for the n-th time. */
const arrivedAt = (kill: number): number => Math.floor((SIZE.messages * (kill + 1)) / (SIZE.kills + 2));

describe('A notifier that is killed', () => {
  const failing = new Set<string>();
  const world = notifierProcesses(({ id }) => {
    // A few fail the first time.
    const fails = FULL_SIZE && id.endsWith('00') && !failing.has(id);
    failing.add(id);
    return fails ? 500 : 200;
  });
  const { startNotifier, kill, outcomes, until } = world;

  /** Messages to all receivers in turn, about a few subjects of each. */
  function messagesTo(targets: readonly Target[], cause: string): readonly Message[] {
    return Array.from({ length: SIZE.messages }, (_, at) => {
      const target = targets[at % targets.length]!;
      const sequence = Math.floor(at / targets.length);
      return messageTo(target, { subject: `t${sequence % SIZE.subjects}`, sequence, cause });
    });
  }

  it('loses nothing, sends nothing under another id, repeats at most what was in flight at each kill, and keeps the order (decisions N3, N6, N7)', async () => {
    const { engines, receivers } = world;
    const targets = await subscribe(
      engines.log,
      Array.from({ length: SIZE.receivers }, (_, number) => receivers.url(number)),
    );
    const messages = messagesTo(targets, await engines.log.head());
    const matched = new Matched(await engines.deliveries());
    await matched.append(messages.slice(0, messages.length / 2), START);
    const lives: Life[] = [];
    let later = messages.slice(messages.length / 2);
    for (let killed = 0; killed < SIZE.kills; killed += 1) {
      const from = receivers.received.length;
      const child = await startNotifier();
      await until(() => new Set(idsOf(receivers.received)).size >= arrivedAt(killed));
      await kill(child);
      await receivers.untilLeft();
      const settled = new Set((await outcomes()).map(({ id, attempt = 0 }) => key({ id, attempt })));
      const received = receivers.received.slice(from);
      lives.push({ received, inFlight: received.filter((one) => !settled.has(key(one))) });
      await matched.append(later.slice(0, Math.ceil(messages.length / SIZE.kills)), START);
      later = later.slice(Math.ceil(messages.length / SIZE.kills));
    }
    const afterKills = receivers.received.length;
    await matched.append(later, START);
    const last = await startNotifier();
    const delivered = async (): Promise<number> =>
      new Set((await outcomes()).flatMap(({ id, outcome }) => (outcome === 'delivered' ? [id] : []))).size;
    await until(() => new Set(idsOf(receivers.received)).size === messages.length);
    await until(async () => (await delivered()) === messages.length);
    last.kill('SIGTERM');
    await once(last, 'exit');

    expect(new Set(idsOf(receivers.received))).toEqual(new Set(messages.map(({ id }) => id)));
    lives.push({ received: receivers.received.slice(afterKills), inFlight: [] });
    const repeated = expectRepeats(lives);
    process.stderr.write(`${messages.length} messages, ${SIZE.kills} kills: ${repeated} attempts repeated\n`);
    expectOrder(receivers.received);
  });

  it('is replaced by another process within 45 seconds, as soon as its leases have ended (decisions N6)', async () => {
    // At full size with the times of a server.
    const times = FULL_SIZE ? REAL : SHORT;
    const { engines, receivers } = world;
    const targets = await subscribe(
      engines.log,
      Array.from({ length: 40 }, (_, number) => receivers.url(number)),
    );
    const messages = messagesTo(targets, await engines.log.head()).slice(0, 40 * 25);
    const matched = new Matched(await engines.deliveries());
    const [first] = await Promise.all([startNotifier(times), startNotifier(times)]);
    await matched.append(messages.slice(0, 400), START);
    await until(() => receivers.received.length >= 300);
    await kill(first);
    const at = Date.now();
    await matched.append(messages.slice(400), START);
    await until(() => new Set(idsOf(receivers.received)).size === messages.length);
    const seconds = (Date.now() - at) / 1000;
    process.stderr.write(`all receivers were served ${seconds} s after a kill\n`);
    if (FULL_SIZE) expect(seconds).toBeLessThan(45);
    expectOrder(receivers.received);
  });
});

function idsOf(received: readonly Received[]): readonly string[] {
  return received.map(({ id }) => id);
}

/** Repeated means: the same attempt of the same message again. */
function key({ id, attempt }: Pick<Received, 'id' | 'attempt'>): string {
  return `${id} ${attempt}`;
}

/** What a process has sent until it was killed, and what of it had no outcome then. */
interface Life {
  readonly received: readonly Received[];
  readonly inFlight: readonly Received[];
}

/**
 * Each process repeats at most what others had in flight when they were killed, each of them once. Returns how many
 * that were.
 */
function expectRepeats(lives: readonly Life[]): number {
  const owed = new Set<string>();
  const sent = new Set<string>();
  let repeats = 0;
  for (const { received, inFlight } of lives) {
    const unowed: string[] = [];
    for (const one of received) {
      const wasInFlight = owed.delete(key(one));
      if (wasInFlight) repeats += 1;
      else if (sent.has(key(one))) unowed.push(key(one));
      sent.add(key(one));
    }
    expect(unowed).toEqual([]);
    expect(inFlight.length).toBeLessThanOrEqual(LIMITS.most);
    const receivers = new Set(inFlight.map(({ path }) => path));
    for (const receiver of receivers)
      expect(inFlight.filter(({ path }) => path === receiver).length).toBeLessThanOrEqual(4);
    for (const one of inFlight) owed.add(key(one));
  }
  return repeats;
}

/** First attempts about a subject arrive in the order of their sequence numbers. */
function expectOrder(received: readonly Received[]): void {
  const last = new Map<string, number>();
  const seen = new Set<string>();
  for (const { id, path, body } of received) {
    if (seen.has(id)) continue;
    seen.add(id);
    const { subject, sequence } = JSON.parse(body) as { subject: string; sequence: number };
    const subjectKey = `${path} ${subject}`;
    expect(sequence).toBeGreaterThan(last.get(subjectKey) ?? -1);
    last.set(subjectKey, sequence);
  }
}
