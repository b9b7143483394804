import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type Engines } from '../../../src/engines/open';
import { type Message, type Outcome } from '../../../src/notifications/delivery-events';
import { DIST } from '../../support/built';
import { Matched, messageTo, subscribe, type Target } from '../../../bench/deliveries/due-messages';
import { openTestedEngines, OVER_SERVERS, type TestedFolder } from '../../support/engines';
import { type Received, Receivers } from '../../support/receivers';
import { cases, FULL_SIZE } from '../../support/size';
import { START } from '../../../src/kernel/event';

/** Short, so that a process that was killed is soon replaced. */
const SHORT = { leaseMs: 600, longestMs: 200, lookMs: 50 };
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
  let folder: TestedFolder;
  let engines: Engines;
  let receivers: Receivers;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    ({ folder, engines } = await openTestedEngines());
    const failing = new Set<string>();
    receivers = new Receivers(({ id }) => {
      // A few fail the first time.
      const fails = FULL_SIZE && id.endsWith('00') && !failing.has(id);
      failing.add(id);
      return fails ? 500 : 200;
    });
    await receivers.listen();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await killed(child);
    await receivers.close();
    await engines.close();
    await folder.remove();
  });

  async function startNotifier(times: Partial<typeof SHORT> = SHORT): Promise<ChildProcess> {
    const script = join(__dirname, '../../support/notify.cjs');
    const allowed = `127.0.0.0/8:${receivers.port}`;
    const args = [script, DIST, JSON.stringify(folder.settings), allowed, JSON.stringify(times)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    for await (const line of createInterface({ input: child.stdout })) if (line === 'started') break;
    return child;
  }

  async function killed(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async function outcomes(): Promise<readonly Outcome[]> {
    const all: Outcome[] = [];
    const deliveries = await engines.deliveries();
    for await (const { events } of deliveries.readAll({ after: START, prefixes: ['partition-'] }))
      for (const { type, data } of events)
        if (type === 'MessageAttempted') all.push(JSON.parse(data) as Outcome);
    return all;
  }

  /** Messages to all receivers in turn, about a few subjects of each. */
  function messagesTo(targets: readonly Target[], cause: string): readonly Message[] {
    return Array.from({ length: SIZE.messages }, (_, at) => {
      const target = targets[at % targets.length]!;
      const sequence = Math.floor(at / targets.length);
      return messageTo(target, { subject: `t${sequence % SIZE.subjects}`, sequence, cause });
    });
  }

  async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) await pause(10);
  }

  it('loses nothing, sends nothing under another id, repeats at most what was in flight, and keeps the order (decisions N6)', async () => {
    const targets = await subscribe(
      engines.log,
      Array.from({ length: SIZE.receivers }, (_, number) => receivers.url(number)),
    );
    const messages = messagesTo(targets, await engines.log.head());
    const matched = new Matched(await engines.deliveries());
    await matched.append(messages.slice(0, messages.length / 2), START);
    const unsettled = new Set<string>();
    let later = messages.slice(messages.length / 2);
    for (let kill = 0; kill < SIZE.kills; kill += 1) {
      const child = await startNotifier();
      await until(() => new Set(idsOf(receivers.received)).size >= arrivedAt(kill));
      await killed(child);
      await receivers.untilLeft();
      const settled = new Set((await outcomes()).map(({ id, attempt = 0 }) => key({ id, attempt })));
      for (const one of receivers.received) if (!settled.has(key(one))) unsettled.add(key(one));
      await matched.append(later.slice(0, Math.ceil(messages.length / SIZE.kills)), START);
      later = later.slice(Math.ceil(messages.length / SIZE.kills));
    }
    await matched.append(later, START);
    const last = await startNotifier();
    const delivered = async (): Promise<number> =>
      new Set((await outcomes()).flatMap(({ id, outcome }) => (outcome === 'delivered' ? [id] : []))).size;
    await until(() => new Set(idsOf(receivers.received)).size === messages.length);
    await until(async () => (await delivered()) === messages.length);
    last.kill('SIGTERM');
    await once(last, 'exit');

    expect(new Set(idsOf(receivers.received))).toEqual(new Set(messages.map(({ id }) => id)));
    const repeated = receivers.received.filter((one, at) => idsAt(receivers.received).get(key(one)) !== at);
    expect(repeated.filter((one) => !unsettled.has(key(one)))).toEqual([]);
    process.stderr.write(
      `${messages.length} messages, ${SIZE.kills} kills: ${repeated.length} attempts repeated\n`,
    );
    expectOrder(receivers.received);
  }, 600_000);

  it('is replaced by another process within 45 seconds, as soon as its leases have ended (decisions N6)', async () => {
    // At full size with the times of a server.
    const times = FULL_SIZE ? REAL : SHORT;
    const targets = await subscribe(
      engines.log,
      Array.from({ length: 40 }, (_, number) => receivers.url(number)),
    );
    const messages = messagesTo(targets, await engines.log.head()).slice(0, 40 * 25);
    const matched = new Matched(await engines.deliveries());
    const [first] = await Promise.all([startNotifier(times), startNotifier(times)]);
    await matched.append(messages.slice(0, 400), START);
    await until(() => receivers.received.length >= 300);
    await killed(first);
    const at = Date.now();
    await matched.append(messages.slice(400), START);
    await until(() => new Set(idsOf(receivers.received)).size === messages.length);
    const seconds = (Date.now() - at) / 1000;
    process.stderr.write(`all receivers were served ${seconds} s after a kill\n`);
    expect(seconds).toBeLessThan(45);
    expectOrder(receivers.received);
  }, 120_000);
});

function idsOf(received: readonly Received[]): readonly string[] {
  return received.map(({ id }) => id);
}

/** Repeated means: the same attempt of the same message again. */
function key({ id, attempt }: Pick<Received, 'id' | 'attempt'>): string {
  return `${id} ${attempt}`;
}

const firsts = new WeakMap<readonly Received[], ReadonlyMap<string, number>>();

/** The index of the first request for each attempt. */
function idsAt(received: readonly Received[]): ReadonlyMap<string, number> {
  const known =
    firsts.get(received) ?? new Map(received.map((one, at) => [key(one), at] as const).toReversed());
  firsts.set(received, known);
  return known;
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
