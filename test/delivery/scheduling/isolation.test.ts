import fc from 'fast-check';
import { cases } from '../../support/size';
import { checkLimits, expectOrder } from './limits';
import { type Answer, type Sent, World } from './simulated-world';

const HUNG: Answer = { end: 'timeout', ms: 15_000 };
const START = Date.parse('2026-03-01T00:00:00Z');
const SECOND = 1_000;

/** Answers of receivers that succeed, after so many ms. */
const after = (ms: number): Answer => ({ end: 'success', ms });

/** Receivers by numbers; those from 100,000 on are the healthy ones that nobody may delay. */
const numberOf = (receiver: string) => Number(receiver.slice(1));
const HEALTHY = 100_000;
const isHealthy = (receiver: string) => numberOf(receiver) >= HEALTHY;

/** So many messages to each of so many receivers are due now. */
function backlog(world: World, receivers: number, messages: number, from = 0): void {
  for (let message = 0; message < messages; message += 1)
    for (let receiver = from; receiver < from + receivers; receiver += 1)
      world.due(`r${receiver}`, `t${message}`);
}

/** A message is due to the receiver regularly. */
function regularly(world: World, receiver: number, everyMs: number, [from, to]: [number, number]): void {
  for (let at = from; at < to; at += everyMs) world.after(at, () => world.due(`r${receiver}`, `t${at}`));
}

/** How long each message to receivers has waited for its first attempt; those that were not attempted, until now. */
function waits(world: World, isMeant: (receiver: string) => boolean): readonly number[] {
  const first = world.sent.filter(({ kind, message }) => kind === 'first' && isMeant(message.receiver));
  const left = [...world.state.receivers].filter(([id]) => isMeant(id));
  const unsent = left.flatMap(([, { queue }]) => (queue.size === 0 ? [] : [world.now - START]));
  return [...first.map((sent) => sent.started - Date.parse(sent.message.at)), ...unsent];
}

/** Beside a crowd, ten healthy receivers get a message every 100 ms for 20 s: how long the longest wait was. */
function longestWaitBeside(answerOf: (receiver: number) => Answer, begin: (world: World) => void): number {
  const world = new World({
    answer: ({ receiver }) => (isHealthy(receiver) ? after(4) : answerOf(numberOf(receiver))),
  });
  begin(world);
  for (let other = 0; other < 10; other += 1)
    regularly(world, HEALTHY + other, 100, [other * 7, 20 * SECOND]);
  world.run(40 * SECOND);
  const all = waits(world, isHealthy);
  expect(all).toHaveLength(10 * 200);
  return Math.max(...all);
}

/** Deliveries to receivers per second. */
function rateOf(
  sent: readonly Sent[],
  [from, to]: [number, number],
  isMeant: (receiver: string) => boolean = () => true,
): number {
  const ended = sent.filter(({ message, ended: at }) => {
    return isMeant(message.receiver) && at - START >= from && at - START < to;
  });
  return (ended.length * SECOND) / (to - from);
}

describe('A receiver that hangs or answers slowly', () => {
  it.each([600, 1_000, 1_800])(
    'delays no other by a second, also when %i hang at once with a backlog (decisions N7)',
    (count) => {
      const longest = longestWaitBeside(
        () => HUNG,
        (world) => backlog(world, count, 20),
      );
      expect(longest).toBeLessThan(SECOND);
    },
  );

  it('delays no other by a second when 1,000 hang one group after the other (decisions N7)', () => {
    const longest = longestWaitBeside(
      () => HUNG,
      (world) => {
        for (let group = 0; group < 16; group += 1)
          world.after(group * 300, () => backlog(world, 64, 8, group * 64));
      },
    );
    expect(longest).toBeLessThan(SECOND);
  });

  it('delays no other by a second when 1,000 that were healthy hang in turn (decisions N7)', () => {
    const hangsFrom = (receiver: number) => 2_000 + Math.floor(receiver / 100) * SECOND;
    const world = new World({
      answer: ({ receiver }, now) => {
        if (isHealthy(receiver)) return after(4);
        return now - START < hangsFrom(numberOf(receiver)) ? after(50) : HUNG;
      },
    });
    for (let receiver = 0; receiver < 1_000; receiver += 1)
      regularly(world, receiver, 500, [receiver % 500, 15 * SECOND]);
    regularly(world, HEALTHY, 100, [0, 20 * SECOND]);
    world.run(20 * SECOND);
    expect(Math.max(...waits(world, isHealthy))).toBeLessThan(SECOND);
  });

  it('is as fast as it answers, however long we take to store that (decisions N7)', () => {
    const world = new World({ answer: () => after(4), latencyMs: 6_000 });
    world.due('r1', 't');
    world.run();
    expect(world.served('r1').pace).toBe('normal');
  });

  it.each([64, 256, 1_000])(
    'delays no other by a second when %i answer just before they would be slow (decisions N7)',
    (count) => {
      const longest = longestWaitBeside(
        () => after(1_900),
        (world) => backlog(world, count, 60),
      );
      expect(longest).toBeLessThan(SECOND);
    },
  );

  it('does not delay those that are slow but answer, when 1,000 hang (decisions N7)', () => {
    const world = new World({
      answer: ({ receiver }) => (isHealthy(receiver) ? after(3_000) : HUNG),
    });
    backlog(world, 1_000, 20);
    for (let slow = 0; slow < 10; slow += 1) regularly(world, HEALTHY + slow, 5_000, [0, 600 * SECOND]);
    world.run(600 * SECOND);
    expect(Math.max(...waits(world, isHealthy))).toBeLessThan(SECOND);
  });

  it('is tried soon, also after 1,000 others with a backlog (decisions N7)', () => {
    const world = new World({ answer: () => after(300) });
    backlog(world, 1_000, 50);
    world.after(5_000, () => world.due('r5000', 't'));
    world.run(10_000);
    expect(Math.max(...waits(world, (receiver) => receiver === 'r5000'))).toBeLessThan(SECOND);
  });

  it.each([100, 200, 500])(
    'takes nothing from %i that answer in 300 ms: 256 of their requests are always in flight (decisions N7)',
    (count) => {
      const world = new World({ answer: ({ receiver }) => after(200 + ((numberOf(receiver) * 37) % 200)) });
      backlog(world, count, 200);
      world.run(10 * SECOND);
      // 256 slots for 300 ms and 3 ms until the outcome is durable.
      expect(rateOf(world.sent, [0, 10 * SECOND])).toBeGreaterThan((256 / 0.303) * 0.98);
    },
  );

  it('takes little from 70 that answer in 300 ms while 1,000 hang (decisions N7)', () => {
    const world = new World({
      answer: ({ receiver }) => (numberOf(receiver) < 70 ? after(300) : HUNG),
    });
    backlog(world, 70, 200);
    world.after(2_000, () => backlog(world, 1_000, 10, 1_000));
    world.run(14 * SECOND);
    const rate = (...range: [number, number]) => rateOf(world.sent, range, (id) => numberOf(id) < 70);
    const alone = rate(500, 2_000);
    expect(rate(2_000, 4_000)).toBeGreaterThan(alone * 0.75);
    expect(rate(4_000, 14_000)).toBeGreaterThan(alone * 0.95);
  });

  it('takes nothing from the others, when 50 of 1,000 hang (decisions N7)', () => {
    const timeOf = (hangs: boolean): number => {
      const isHung = (receiver: string) => numberOf(receiver) < 50;
      const world = new World({ answer: ({ receiver }) => (hangs && isHung(receiver) ? HUNG : after(4)) });
      backlog(world, 1_000, 60);
      world.run(60 * SECOND);
      const others = world.sent.filter(
        ({ message, outcome }) => !isHung(message.receiver) && outcome?.outcome === 'delivered',
      );
      expect(others).toHaveLength(60 * 950);
      return Math.max(...others.map(({ ended }) => ended)) - START;
    };
    expect(timeOf(true)).toBeLessThan(timeOf(false) * 1.1 + 500);
  });
});

describe('A crowd of requests', () => {
  it('keeps every limit and the order, and sends everything (decisions N6, N7)', () => {
    const answers: readonly Answer[] = [
      after(4),
      after(150),
      after(300),
      after(1_900),
      after(3_000),
      after(14_000),
      { end: 'failure', ms: 300 },
      { end: 'aborted', ms: 250 },
      HUNG,
    ];
    fc.assert(
      fc.property(
        fc.array(fc.nat(answers.length - 1), { minLength: 300, maxLength: 700 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        (kinds, messages, isShared) => {
          const hostOf = (receiver: string) =>
            isShared ? `h${Math.floor(numberOf(receiver) / 20)}` : receiver;
          const attempts = new Map<string, number>();
          const world = new World({
            hostOf,
            answer: ({ id, receiver }) => {
              const attempt = (attempts.get(id) ?? 0) + 1;
              attempts.set(id, attempt);
              return attempt === 1 ? (answers[kinds[numberOf(receiver)] ?? 0] ?? after(4)) : after(4);
            },
          });
          checkLimits(world, hostOf);
          for (let message = 0; message < messages; message += 1)
            world.after(message * 150, () => {
              for (const receiver of kinds.keys()) world.due(`r${receiver}`, `t${message % 2}`);
            });
          world.run();
          expect(world.scheduler.inFlight).toBe(0);
          const delivered = world.sent.filter(({ outcome }) => outcome?.outcome === 'delivered');
          expect(delivered).toHaveLength(kinds.length * messages);
          expectOrder(world.sent);
        },
      ),
      { numRuns: cases(20, 4) },
    );
  });

  it('has at most 2,048 requests in flight (decisions N7)', () => {
    const world = new World({ answer: () => HUNG });
    checkLimits(world);
    backlog(world, 2_500, 1);
    world.run(14 * SECOND);
    expect(world.inFlight.size).toBe(2_048);
  });

  it('has bodies of at most 64 MiB in flight (decisions N7)', () => {
    const world = new World({ answer: () => HUNG, body: 'x'.repeat(256 * 1024) });
    backlog(world, 1_000, 2);
    world.run(14 * SECOND);
    expect(world.inFlight.size).toBe(256);
  });

  describe('shares the requests of a host with receivers of other owners, which', () => {
    /** Owners with 100 receivers that hang, and one with a good one, all of one host: how long its messages waited. */
    function waitsBeside(hanging: number, [from, to]: [number, number]): readonly number[] {
      const world = new World({
        answer: ({ receiver }) => (isHealthy(receiver) ? after(4) : HUNG),
        hostOf: () => 'shared',
        ownerOf: (receiver) => (isHealthy(receiver) ? 0 : 1 + (numberOf(receiver) % hanging)),
      });
      checkLimits(world, () => 'shared');
      backlog(world, 100, 20);
      regularly(world, HEALTHY, 100, [from, to]);
      world.run(to + 20 * SECOND);
      return waits(world, isHealthy);
    }

    it('never wait for those of one owner that hang (decisions N7)', () => {
      const all = waitsBeside(1, [50, 60 * SECOND]);
      expect(all).toHaveLength(600);
      expect(Math.max(...all)).toBeLessThan(10);
    });

    it.each([2, 3, 5, 8])(
      'do not wait for those of %i owners once these are known to hang (decisions N7)',
      (owners) => {
        const all = waitsBeside(owners, [120 * SECOND, 160 * SECOND]);
        expect(all).toHaveLength(400);
        expect(Math.max(...all)).toBeLessThan(10);
      },
    );

    it('find some free beside five owners whose receivers are known to hang (decisions N7)', () => {
      const isBusy = (world: World) => world.now >= START + 60 * SECOND;
      const world: World = new World({
        answer: ({ receiver }) => (isHealthy(receiver) ? after(1_900) : isBusy(world) ? HUNG : after(5_000)),
        hostOf: () => 'shared',
        ownerOf: (receiver) => (isHealthy(receiver) ? 6 : 1 + (numberOf(receiver) % 5)),
      });
      checkLimits(world, () => 'shared');
      // Each has one request at a time: they become known one after the other.
      for (let receiver = 0; receiver < 100; receiver += 1)
        world.after(receiver * 500, () => world.due(`r${receiver}`, 't'));
      world.after(60 * SECOND, () => backlog(world, 100, 20));
      world.run(70 * SECOND);
      const hung = [...world.inFlight].filter(({ pool }) => pool === 'hung');
      expect(hung).toHaveLength(12);
      expect(new Set(hung.map(({ receiver }) => receiver.owner)).size).toBeGreaterThan(1);
      for (let message = 0; message < 3; message += 1) world.due(`r${HEALTHY}`, `t${message}`);
      world.run(71 * SECOND);
      expect([...world.inFlight].filter(({ receiver }) => isHealthy(receiver.id))).toHaveLength(3);
      world.run(80 * SECOND);
      expect(Math.max(...waits(world, isHealthy))).toBeLessThan(10);
    });

    it('wait at most until requests of five owners time out that are not known to hang (decisions N7)', () => {
      const all = waitsBeside(5, [20 * SECOND, 60 * SECOND]);
      expect(all).toHaveLength(400);
      expect(Math.max(...all)).toBeLessThanOrEqual(15 * SECOND + 10);
    });

    it('take turns by owner, however many receivers each has (decisions N7)', () => {
      const world = new World({
        answer: () => after(100),
        hostOf: () => 'shared',
        ownerOf: (receiver) => (numberOf(receiver) < 50 ? 1 : 2),
      });
      backlog(world, 52, 20);
      world.run(4 * SECOND);
      const started = world.sent.map(({ message }) => message.organisationId);
      const [one, other] = [1, 2].map((owner) => started.filter((id) => id === owner).length);
      // Two receivers have at most four requests each in flight.
      expect(other).toBe(40);
      expect(one).toBeGreaterThan(200);
    });

    it('leave most of them to one that is alone (decisions N7)', () => {
      const world = new World({ answer: () => after(100), hostOf: () => 'shared' });
      backlog(world, 100, 20);
      world.run(50);
      expect(world.inFlight.size).toBe(12);
    });
  });

  it('does not give a slot to receivers that are no longer served', () => {
    const world = new World({ answer: () => after(100), hostOf: () => 'shared' });
    backlog(world, 4, 4);
    for (let receiver = 10; receiver < 100; receiver += 1) world.due(`r${receiver}`, 't');
    world.run(50);
    for (let receiver = 10; receiver < 99; receiver += 1) world.scheduler.leave(`r${receiver}`);
    world.run(SECOND);
    expect(world.sent.map(({ message }) => message.receiver)).toContain('r99');
  });
});
