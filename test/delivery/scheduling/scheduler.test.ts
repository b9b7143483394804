import fc from 'fast-check';
import { type Permission } from '../../../src/delivery/scheduling/scheduler';
import { cases } from '../../support/size';
import { checkLimits, expectOrder } from './limits';
import { type Answer, type Sent, World, type WorldOptions } from './simulated-world';
import { DELAYS } from '../../../src/delivery/scheduling/outcome';

const SUCCESS: Answer = { end: 'success', ms: 4 };
const FAILURE: Answer = { end: 'failure', ms: 4 };
const HUNG: Answer = { end: 'timeout', ms: 15_000 };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('The scheduler', () => {
  it('keeps every limit and the order, and sends everything, whatever the receivers do (decisions N6, N7)', () => {
    const answers: readonly Answer[] = [
      SUCCESS,
      SUCCESS,
      SUCCESS,
      { end: 'success', ms: 2_500 },
      { end: 'success', ms: 14_000 },
      FAILURE,
      { end: 'failure', ms: 800, retryAfter: 90_000 },
      HUNG,
      { end: 'aborted', ms: 10 },
    ];
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(40), fc.nat(3), fc.nat(answers.length - 1), fc.constantFrom(...KINDS)), {
          minLength: 1,
          maxLength: 300,
        }),
        fc.boolean(),
        (posted, loads) => {
          const hostOf = (receiver: string) => (Number(receiver.slice(1)) % 2 === 0 ? 'shared' : receiver);
          const attempts = new Map<string, number>();
          const world = new World({
            loads,
            hostOf: (receiver) => `${hostOf(receiver)}.example`,
            // The first attempts end at random, later ones succeed.
            answer: ({ id, sequence }) => {
              const attempt = (attempts.get(id) ?? 0) + 1;
              attempts.set(id, attempt);
              return attempt <= 2 ? (answers[posted[sequence]?.[2] ?? 0] ?? SUCCESS) : SUCCESS;
            },
          });
          checkLimits(world, hostOf);
          for (const [at, [receiver, subject, , kind]] of posted.entries())
            world.after(at * 20, () => {
              const isTest = kind === 'test';
              world.due(`r${receiver}`, isTest ? `test ${at}` : `t${subject}`, {
                strictOrder: kind === 'strict',
                isTest,
              });
              if (kind === 'probe') world.probe(`r${receiver}`);
            });
          world.run();
          expect(world.scheduler.inFlight).toBe(0);
          const delivered = world.sent.filter(({ outcome }) => outcome?.outcome === 'delivered');
          expect(new Set(delivered.map(({ revision }) => revision)).size).toBe(posted.length);
          expect(delivered).toHaveLength(posted.length);
          expectOrder(world.sent);
        },
      ),
      { numRuns: cases(200, 40) },
    );
  });

  it('has each message read once, whatever happens to its receiver meanwhile', () => {
    const world = new World({ loads: true, latencyMs: 50, answer: () => SUCCESS });
    for (let message = 0; message < 20; message += 1)
      world.after(message * 3, () => world.due('r1', `t${message}`));
    world.run();
    expect(world.sent).toHaveLength(20);
    expect(new Set(world.loads).size).toBe(world.loads.length);
  });

  it('sends at most 50 a second to a receiver, in bursts of up to 100 (decisions N7)', () => {
    const world = new World({ answer: () => SUCCESS });
    for (let message = 0; message < 400; message += 1) world.due('r1', `t${message}`);
    world.run();
    const inFirst = (ms: number) => world.sent.filter(({ started }) => started - START < ms).length;
    expect(inFirst(1_000)).toBeGreaterThanOrEqual(140);
    expect(inFirst(1_000)).toBeLessThanOrEqual(150);
    expect(inFirst(4_000)).toBeLessThanOrEqual(300);
    expect(world.sent).toHaveLength(400);
    expect(Math.max(...world.sent.map(({ started }) => started)) - START).toBeLessThan(6_100);
  });

  it('lets first attempts and retries take turns 3 : 1 (decisions N7)', () => {
    let isFailing = true;
    const world = new World({ answer: () => (isFailing ? FAILURE : SUCCESS) });
    for (let message = 0; message < 9; message += 1) world.due('r1', `t${message}`);
    world.run(1_000);
    isFailing = false;
    world.run(3_900);
    // All retries are due by now; nothing has been sent since.
    world.now += 10_000;
    for (let message = 100; message < 140; message += 1) world.due('r1', `t${message}`);
    world.run(60_000);
    const kinds = world.sent.slice(9, 9 + 36).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'retry')).toHaveLength(9);
    for (let at = 0; at < 36; at += 4)
      expect(kinds.slice(at, at + 4).filter((kind) => kind === 'first')).toHaveLength(3);
  });

  it('attempts nothing while a receiver rests, and then one message as a probe (decisions N7)', () => {
    let isUp = false;
    const world = new World({ answer: () => (isUp ? SUCCESS : { end: 'timeout', ms: 1_000 }) });
    for (let message = 0; message < 20; message += 1) world.due('r1', `t${message}`);
    world.run(25_000);
    const before = world.sent.length;
    expect(before).toBeLessThanOrEqual(8);
    isUp = true;
    world.run(31_000);
    expect(world.sent).toHaveLength(before);
    world.run(34_000);
    const [probe, second] = world.sent.slice(before);
    expect(second?.started).toBeGreaterThanOrEqual(probe?.ended ?? NaN);
    world.run();
    expect(world.sent.filter(({ outcome }) => outcome?.outcome === 'delivered')).toHaveLength(20);
  });

  describe('makes a receiver that rests for minutes try at once, with', () => {
    /** A receiver that has hung until it rested for minutes, and is repaired. */
    function repaired({ waiting = 20 }: { readonly waiting?: number } = {}) {
      let isUp = false;
      const world = new World({ answer: () => (isUp ? SUCCESS : HUNG) });
      for (let message = 0; message < waiting; message += 1) world.due('r1', `t${message}`);
      world.run(6 * MINUTE);
      const { rest } = world.state.receiver('r1').health;
      expect(rest?.ms).toBeGreaterThanOrEqual(2 * MINUTE);
      expect(world.scheduler.inFlight).toBe(0);
      const before = world.sent.length;
      return { world, sinceRepair: () => world.sent.slice(before), repair: () => (isUp = true) };
    }
    const soon = 6 * MINUTE + 1_000;

    it('a message that somebody has asked for again (decisions N7, N14)', () => {
      const { world, sinceRepair, repair } = repaired();
      repair();
      world.redeliver('r1', 1000, 3);
      world.run(soon);
      expect(sinceRepair()[0]).toMatchObject({ kind: 'redelivery', revision: 3, outcome: { isProbe: true } });
      expect(world.state.receiver('r1').health.rest).toBeUndefined();
      expect(sinceRepair().length).toBeGreaterThan(10);
    });

    it('a test (decisions N7, N14)', () => {
      const { world, sinceRepair, repair } = repaired();
      repair();
      const revision = world.due('r1', 'test', { isTest: true });
      world.run(soon);
      expect(sinceRepair()[0]).toMatchObject({ revision, outcome: { isProbe: true } });
      expect(sinceRepair().filter((sent) => sent.revision === revision)).toHaveLength(1);
      expect(sinceRepair().length).toBeGreaterThan(10);
    });

    it('what waits, when somebody enables it (decisions N7, N14)', () => {
      const { world, sinceRepair, repair } = repaired();
      repair();
      world.probe('r1');
      world.run(soon);
      expect(sinceRepair()[0]).toMatchObject({ outcome: { isProbe: true, outcome: 'delivered' } });
      expect(sinceRepair().length).toBeGreaterThan(10);
    });

    it('the message that is tried next, if none is due, and no other one earlier than planned (decisions N7, N14)', () => {
      const { world, sinceRepair } = repaired({ waiting: 6 });
      const { retries } = world.state.receiver('r1');
      const next = new Map([...retries].map(([revision, retry]) => [revision, retry.next]));
      const [soonest] = [...next].sort(([, one], [, other]) => one - other)[0] ?? [];
      world.probe('r1');
      world.run(soon + 20_000);
      expect(sinceRepair().map(({ revision }) => revision)).toEqual([soonest]);
      // It fails once more: nothing is tried again before its own time.
      world.run(DAY);
      for (const { revision, started } of sinceRepair().slice(1))
        if (revision !== soonest) expect(started).toBeGreaterThanOrEqual(next.get(revision) ?? Infinity);
    });

    it('one at a time, and rests twice as long if that fails (decisions N7)', () => {
      const { world, sinceRepair } = repaired();
      const ms = world.state.receiver('r1').health.rest?.ms ?? NaN;
      for (let asked = 0; asked < 5; asked += 1) world.redeliver('r1', 1000 + asked, asked);
      world.run(soon + 20_000);
      expect(sinceRepair()).toHaveLength(1);
      expect(world.state.receiver('r1').health.rest?.ms).toBe(2 * ms);
    });
  });

  it('sends a test before what waits, once (decisions N14)', () => {
    const world = new World({ answer: () => SUCCESS, loads: true });
    for (let message = 0; message < 300; message += 1) world.due('r1', 't');
    const revision = world.due('r1', 'test', { isTest: true });
    for (let message = 0; message < 10; message += 1) world.due('r1', 't');
    world.run(1_000);
    expect(world.sent[0]?.revision).toBe(revision);
    world.run();
    expect(world.sent.map((sent) => sent.revision).sort((one, other) => one - other)).toEqual(
      Array.from({ length: 311 }, (_, at) => at),
    );
  });

  it.each([
    ['waits for the first attempt of the message before, whatever its outcome', false],
    ['waits in strict order until the message before is delivered or dead, for its subject only', true],
  ])('%s (decisions N6)', (_, isStrict) => {
    const world = new World({ answer: ({ sequence }) => (sequence === 0 ? FAILURE : SUCCESS) });
    world.due('r1', 'one', { strictOrder: isStrict });
    world.due('r1', 'one', { strictOrder: isStrict });
    world.due('r1', 'other', { strictOrder: isStrict });
    world.run(5 * DAY);
    const firstOf = (revision: number) => world.sent.find((sent) => sent.revision === revision);
    const dead = world.sent.find(({ outcome }) => outcome?.outcome === 'dead');
    expect(dead?.revision).toBe(0);
    expect(world.sent.filter(({ revision }) => revision === 0)).toHaveLength(10);
    expect((firstOf(1)?.started ?? NaN) > (dead?.ended ?? NaN)).toBe(isStrict);
    expect((firstOf(2)?.started ?? NaN) - START).toBeLessThan(1_000);
    expectOrder(world.sent);
  });

  it('holds messages of a disabled receiver, sends them in order later, and cancels those of one that is gone (decisions N8)', () => {
    let permission: Permission = 'hold';
    const options: WorldOptions = { answer: () => SUCCESS, permission: () => permission };
    const world = new World(options);
    for (let message = 0; message < 5; message += 1) world.due('r1', 't');
    world.run(MINUTE);
    expect(world.sent).toEqual([]);
    permission = 'send';
    world.scheduler.reconsider();
    world.run(2 * MINUTE);
    expect(world.sent.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
    permission = 'cancel';
    world.due('r1', 't');
    world.run();
    expect(world.sent).toHaveLength(5);
    expect(world.state.receiver('r1').isBlank).toBe(true);
  });

  it('cancels a message to a receiver that is removed when its next attempt is due, unless it is put back before (decisions N8)', () => {
    let permission: Permission = 'send';
    const world = new World({ answer: () => FAILURE, permission: () => permission });
    const retried = () => [...world.state.receiver('r1').retries.keys()];
    world.due('r1', 't');
    world.run(1_000);
    expect([world.sent.length, retried()]).toEqual([1, [0]]);
    permission = 'cancel';
    world.scheduler.reconsider();
    world.run(2_000);
    expect(retried()).toEqual([0]);
    permission = 'send';
    world.scheduler.reconsider();
    world.run(MINUTE);
    expect([world.sent.length, retried()]).toEqual([2, [0]]);
    permission = 'cancel';
    world.scheduler.reconsider();
    world.run(DAY);
    expect([world.sent.length, retried()]).toEqual([2, []]);
  });

  it('pauses after a failure of ours, before a message is cancelled again too (decisions N8)', () => {
    let permission: Permission = 'send';
    const world = new World({ answer: () => FAILURE, permission: () => permission });
    const { scheduler } = world;
    world.due('r1', 't');
    world.run(1_000);
    permission = 'cancel';
    world.redeliver('r1', 1, 0);
    const started = scheduler.next(world.now);
    expect(started).toMatchObject({ permission: 'cancel', redelivery: 1 });
    scheduler.ended(started!, undefined, world.now, 1_000);
    expect(scheduler.next(world.now)).toBeUndefined();
    expect(scheduler.nextTime).toBe(world.now + 1_000);
    expect(scheduler.next(world.now + 1_000)).toMatchObject({ permission: 'cancel', redelivery: 1 });
  });

  it('sends a message once more when somebody has asked for it, beside its schedule (decisions N14)', () => {
    const world = new World({ answer: ({ sequence }) => (sequence === 0 ? FAILURE : SUCCESS) });
    world.due('r1', 't');
    world.due('r1', 't');
    world.run(1_000);
    world.redeliver('r1', 10, 1);
    world.redeliver('r1', 11, 0);
    world.run(2_000);
    const manual = world.sent.filter(({ kind }) => kind === 'redelivery');
    expect(manual.map(({ revision, outcome }) => [revision, outcome?.outcome])).toEqual([
      [1, 'delivered'],
      [0, 'failed'],
    ]);
    expect(world.state.receiver('r1').retries.get(0)?.attempt).toBe(1);
  });

  it('sends what is retried and asked for at the same time once each (decisions N17)', () => {
    const [messages, delay] = [300, DELAYS[0]!];
    let isUp = false;
    const world = new World({ answer: () => (isUp ? SUCCESS : { end: 'failure', ms: 400 }) });
    // Few enough at a time that no receiver rests.
    const receiverOf = (message: number): string => `r${message % 100}`;
    for (let message = 0; message < messages; message += 1) world.due(receiverOf(message), `t${message}`);
    world.run(2_000);
    const before = world.sent.length;
    expect(before).toBe(messages);
    isUp = true;
    world.run(0.9 * delay);
    for (let message = 0; message < messages; message += 1)
      if (world.state.receiver(receiverOf(message)).retries.has(message))
        world.redeliver(receiverOf(message), messages + message, message);
    world.run();
    const again = world.sent.slice(before);
    expect(again.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual(
      Array.from({ length: messages }, (_, message) => message),
    );
    expect(new Set(again.map(({ kind }) => kind))).toContain('retry');
    for (const { retries, redeliveries } of world.state.receivers.values())
      expect([retries.size, redeliveries.size]).toEqual([0, 0]);
  });

  it.each([
    ['back by 12 hours', -12 * HOUR],
    ['ahead by 8 hours', 8 * HOUR],
  ])(
    'keeps delays and rests when the system clock is set %s, wherever the schedule is (decisions N3, N7)',
    (_, error) => {
      for (let attempt = 1; attempt < 10; attempt += 1) {
        const world = new World({
          answer: () => {
            // While an attempt is in flight, and while the next one is waited for.
            world.after(2, () => (world.clockError += world.sent.length === attempt ? error : 0));
            world.after(10, () => (world.clockError += world.sent.length === attempt ? error : 0));
            return FAILURE;
          },
        });
        world.due('r1', 't');
        world.run();
        expect(world.clockError).toBe(2 * error);
        expect(world.sent).toHaveLength(10);
        for (const [at, delay] of DELAYS.entries()) {
          const passed = (world.sent[at + 1]?.started ?? NaN) - (world.sent[at]?.ended ?? NaN);
          expect(Math.abs(passed / delay - 1)).toBeLessThan(0.21);
        }
      }
    },
  );

  it.each([
    ['back by 12 hours', -12 * HOUR],
    ['back by a minute', -MINUTE],
    ['ahead by 8 hours', 8 * HOUR],
  ])(
    'makes a receiver rest as long, and longer after each probe, when the system clock is set %s (decisions N7)',
    (_, error) => {
      const world = new World({ answer: () => HUNG });
      for (let message = 0; message < 50; message += 1) world.due('r1', `t${message}`);
      world.run(35_000);
      const before = world.sent.length;
      world.clockError = error;
      world.run(5 * MINUTE);
      const [first, second, third, ...more] = world.sent.slice(before);
      expect(more.length).toBe(0);
      expect((first?.started ?? NaN) - (world.sent[before - 1]?.ended ?? NaN)).toBeLessThan(31_000);
      const gap = (a?: Sent, b?: Sent): number => (b?.started ?? NaN) - (a?.ended ?? NaN);
      expect([gap(first, second), gap(second, third)].map((ms) => Math.round(ms / 1_000))).toEqual([60, 120]);
    },
  );

  it('waits at most for the longest delay, or rest, if the times that it continues with are wrong (decisions N3, N7)', () => {
    const world = new World({ answer: () => SUCCESS });
    for (const receiver of ['retried', 'rests']) world.due(receiver, 't');
    const state = world.state.receiver('retried');
    state.queue.delete(0);
    state.retries.set(0, { attempt: 1, next: world.wall + 300 * DAY });
    const until = world.wall + 300 * DAY;
    world.state.receiver('rests').health = { timeouts: 5, minutes: [], rest: { until, ms: MINUTE } };
    // Another process continues.
    for (const receiver of ['retried', 'rests']) world.scheduler.leave(receiver);
    for (const receiver of ['retried', 'rests']) world.served(receiver);
    world.run();
    const waited = world.sent.map(({ started }) => started - START);
    expect(waited[0]).toBe(MINUTE);
    expect(waited[1]).toBe(1.2 * DAY);
    expect(world.state.receiver('rests').health.rest).toBeUndefined();
  });

  it('gives a slot to another receiver when the one that waited for it is served no longer (decisions N7)', () => {
    const world = new World({
      answer: () => ({ end: 'success', ms: 1_000 }),
      hostOf: () => 'shared.example',
    });
    for (let at = 0; at < 16; at += 1) world.due(`busy${at % 4}`, `t${at}`);
    world.run(100);
    const leaving = Array.from({ length: 20 }, (_, at) => `leaves${at}`);
    for (const receiver of [...leaving, 'stays']) world.due(receiver, 't');
    world.run(200);
    for (const receiver of leaving) world.scheduler.leave(receiver);
    world.run();
    expect(world.sent.map(({ message }) => message.receiver).slice(16)).toEqual(['stays']);
  });
});

/** What is due at random: a message, or one that a probe is asked for with. */
const KINDS = ['message', 'message', 'strict', 'strict', 'test', 'probe'] as const;

const START = Date.parse('2026-03-01T00:00:00Z');
