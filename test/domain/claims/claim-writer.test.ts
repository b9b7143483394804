import { randomUUID } from 'node:crypto';
import {
  claimBatchDecider,
  type ClaimBatchEvent,
  claimDecider,
  type ClaimEvent,
  type ClaimState,
} from '../../../src/domain/claims/claim';
import { ClaimKeys, ClaimWriter, requireSize } from '../../../src/domain/claims/claim-writer';
import { CANNOT_VALIDATE } from '../../../src/domain/claims/statuses';
import { execute, load, type StateAt, toNewEvent } from '../../../src/kernel/decider';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { golden } from '../../support/golden';
import { eventsOf, overrideLog, withLog } from '../../support/temporary-log';
import { AT, atAppend, contentOf, endingAt, finishBatches, LATER, newClaim, ordersIn } from './claim-log';

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code ?? error;
const outcomes = async (commands: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
  (await Promise.allSettled(commands)).map((one) => (one.status === 'fulfilled' ? 'ok' : codeOf(one.reason)));
const counts = (values: readonly unknown[]): object =>
  Object.fromEntries(
    [...new Set(values)].map((value) => [String(value), values.filter((one) => one === value).length]),
  );

const create = (log: EventLog, orders: readonly string[], at = AT) =>
  new ClaimWriter(SYSTEM_CLOCK, log).create(orders.map(newClaim), at);
const found = (log: EventLog, id: number): Promise<StateAt<ClaimState>> => load(log, claimDecider, id);

async function revise(log: EventLog, id: number, orderNumber: string, at = AT) {
  const known = await found(log, id);
  const version = known.state.is === 'filed' ? known.state.version : NaN;
  const change = { at, version, claim: contentOf(orderNumber), screening: { statusId: 2 } } as const;
  return await new ClaimWriter(SYSTEM_CLOCK, log).revise(id, change, known);
}

async function withdraw(log: EventLog, id: number, at = AT) {
  const known = await found(log, id);
  const version = known.state.is === 'filed' ? known.state.version : NaN;
  return await execute(SYSTEM_CLOCK, log, claimDecider, id, { do: 'withdraw', at, version }, known);
}

/** A log that stops before its first append to a stream with this beginning, until it is resumed. */
function pausedAt(log: EventLog, prefix: string) {
  let [pause, resume]: (() => void)[] = [];
  const paused = new Promise<void>((resolve) => (pause = resolve));
  const resumed = new Promise<void>((resolve) => (resume = resolve));
  const append: EventLog['append'] = async (stream, ...rest) => {
    if (stream.startsWith(prefix)) {
      pause?.();
      await resumed;
    }
    return await log.append(stream, ...rest);
  };
  return { log: overrideLog(log, { append }), paused, resume: () => resume?.() };
}

describe('creations that race for one key (decisions C4)', () => {
  it('of 1,000 in four processes store one claim, and the others get UTS_397', () =>
    withLog(async (log) => {
      const writers = Array.from({ length: 4 }, () => new ClaimWriter(SYSTEM_CLOCK, log));
      const racing = Array.from({ length: 1000 }, (_, at) => writers[at % 4]!.create([newClaim('A')], AT));
      expect(counts(await outcomes(racing))).toEqual({ ok: 1, UTS_397: 999 });
      expect(await ordersIn(log)).toEqual(['A']);
    }));

  it('of 200 posts with the same three claims in different orders store one post (decisions C3)', () =>
    withLog(async (log) => {
      const posts = [
        ['A', 'B', 'C'],
        ['C', 'A', 'B'],
        ['B', 'C', 'A'],
      ];
      const writers = Array.from({ length: 4 }, () => new ClaimWriter(SYSTEM_CLOCK, log));
      const racing = Array.from({ length: 200 }, (_, at) =>
        writers[at % 4]!.create(posts[at % 3]!.map(newClaim), AT),
      );
      expect(counts(await outcomes(racing))).toEqual({ ok: 1, UTS_397: 199 });
      expect(await ordersIn(log)).toEqual(['A', 'B', 'C']);
    }));

  it('of posts that share some of their claims store posts whole or not at all (decisions C3)', () =>
    withLog(async (log) => {
      const posts = Array.from({ length: 60 }, (_, at) => [`${at}`, `${at + 1}`, `${at + 2}`]);
      const ended = await outcomes(posts.map((orders) => create(log, orders)));
      const stored = posts.filter((_, at) => ended[at] === 'ok').flat();
      expect(await ordersIn(log)).toEqual(stored.toSorted());
      expect(new Set(ended)).toEqual(new Set(['ok', 'UTS_397']));
    }));

  it('with updates that take the key: one claim has it in the end', () =>
    withLog(async (log) => {
      const { ids } = await create(
        log,
        Array.from({ length: 30 }, (_, at) => `before ${at}`),
      );
      const racing = ids.flatMap((id) => [revise(log, id, 'A'), create(log, ['A'])]);
      expect(counts(await outcomes(racing))).toEqual({ ok: 1, UTS_397: 59 });
      expect((await ordersIn(log)).filter((order) => order === 'A')).toEqual(['A']);
    }));
});

describe('a key (decisions C4)', () => {
  it('is kept by a claim, and free when it is deleted or has another one', () =>
    withLog(async (log) => {
      const [one] = (await create(log, ['A'])).ids;
      expect(await outcomes([create(log, ['A'])])).toEqual(['UTS_397']);
      await revise(log, one!, 'B');
      const [two] = (await create(log, ['A'])).ids;
      expect(await outcomes([create(log, ['B']), revise(log, two!, 'B')])).toEqual(['UTS_397', 'UTS_397']);
      await withdraw(log, one!);
      await revise(log, two!, 'B');
      await revise(log, two!, 'A');
      expect(await ordersIn(log)).toEqual(['A']);
      await create(log, ['B']);
    }));

  it('of an update is not lost, though another update of the claim, decided at an older revision, reserves it after', () =>
    withLog(async (log) => {
      const unscreened = { ...newClaim('A'), screening: { statusId: CANNOT_VALIDATE } } as const;
      const [id] = (await new ClaimWriter(SYSTEM_CLOCK, log).create([unscreened], AT)).ids;
      let resume: () => void = () => undefined;
      const paused = new Promise<void>((resolve) => (resume = resolve));
      // Reserves B at the later revision, and stores its event when the older one has tried to reserve B too.
      const later = atAppend(log, 2, async (append) => {
        await paused;
        return await append();
      });
      let raced: Promise<readonly unknown[]> | undefined;
      const older = overrideLog(log, {
        append: async (stream, ...rest) => {
          if (raced === undefined) {
            const screen = { do: 'screen', at: AT, version: 0, screening: { statusId: 2 } } as const;
            await execute(SYSTEM_CLOCK, log, claimDecider, id!, screen);
            raced = outcomes([revise(later.log, id!, 'B')]);
            while (!later.hasHappened()) await SYSTEM_CLOCK.yield();
          } else if (stream === `claim-${id}`) {
            expect(await outcomes([create(log, ['B'])])).toEqual(['UTS_397']);
            resume();
            expect(await raced).toEqual(['ok']);
          }
          return log.append(stream, ...rest);
        },
      });
      expect(await outcomes([revise(older, id!, 'B')])).toEqual(['UTS_405']);
      expect(await ordersIn(log)).toEqual(['B']);
    }));

  it('of an update is not lost, though another update of the claim, decided at an older revision, reserves it before', () =>
    withLog(async (log) => {
      const unscreened = { ...newClaim('A'), screening: { statusId: CANNOT_VALIDATE } } as const;
      const [id] = (await new ClaimWriter(SYSTEM_CLOCK, log).create([unscreened], AT)).ids;
      const before = await found(log, id!);
      const screen = { do: 'screen', at: AT, version: 0, screening: { statusId: 2 } } as const;
      await execute(SYSTEM_CLOCK, log, claimDecider, id!, screen);
      const older = pausedAt(log, `claim-${id}`);
      let raced: Promise<readonly unknown[]> | undefined;
      const newer = overrideLog(log, {
        append: async (stream, ...rest) => {
          if (raced === undefined) {
            // The newer one has found B free, and the older one reserves it.
            const change = { at: AT, version: 0, claim: contentOf('B'), screening: { statusId: 2 } } as const;
            raced = outcomes([new ClaimWriter(SYSTEM_CLOCK, older.log).revise(id!, change, before)]);
            await older.paused;
          } else if (stream === `claim-${id}`)
            expect(await outcomes([create(log, ['B'])])).toEqual(['UTS_397']);
          return log.append(stream, ...rest);
        },
      });
      expect(await outcomes([revise(newer, id!, 'B')])).toEqual(['ok']);
      older.resume();
      expect(await raced).toEqual(['UTS_405']);
      expect(await ordersIn(log)).toEqual(['B']);
    }));

  it('of an update that is decided again, since the claim has changed, is reserved again before it is stored', () =>
    withLog(async (log) => {
      const unscreened = { ...newClaim('A'), screening: { statusId: CANNOT_VALIDATE } } as const;
      const [id] = (await new ClaimWriter(SYSTEM_CLOCK, log).create([unscreened], AT)).ids;
      let appends = 0;
      const slow = overrideLog(log, {
        append: async (stream, ...rest) => {
          if (stream === `claim-${id}`) appends += 1;
          const screen = { do: 'screen', at: AT, version: 0, screening: { statusId: 2 } } as const;
          if (stream === `claim-${id}` && appends === 1)
            await execute(SYSTEM_CLOCK, log, claimDecider, id!, screen);
          else if (stream === `claim-${id}`)
            expect(await outcomes([create(log, ['B'])])).toEqual(['UTS_397']);
          return log.append(stream, ...rest);
        },
      });
      expect(await outcomes([revise(slow, id!, 'B')])).toEqual(['ok']);
      expect(appends).toBe(2);
      expect(await ordersIn(log)).toEqual(['B']);
    }));

  it.each<[string, (log: EventLog) => Promise<unknown>, readonly string[]]>([
    ['an update', (log) => revise(log, 1, 'N'), ['N']],
    ['a new claim', (log) => create(log, ['N']), ['A', 'N']],
    ['a post of three', (log) => create(log, ['N', 'O', 'P']), ['A', 'N', 'O', 'P']],
  ])('of %s stays its own if it is stored while another request takes the key over', (_, deed, orders) =>
    withLog(async (log) => {
      await create(log, ['A']);
      const slow = pausedAt(log, 'claim-');
      const stored = outcomes([deed(slow.log)]);
      await slow.paused;
      let isPrevented = false;
      const taking = overrideLog(log, {
        append: async (stream, ...rest) => {
          if (stream.startsWith('claim-') && !isPrevented) {
            isPrevented = true;
            slow.resume();
            expect(await stored).toEqual(['ok']);
          }
          return log.append(stream, ...rest);
        },
      });
      expect(await outcomes([create(taking, ['N'], LATER)])).toEqual(['UTS_397']);
      expect(isPrevented).toBe(true);
      expect(await ordersIn(log)).toEqual(orders);
    }),
  );

  it.each(['A', 'B', 'C'])(
    'of a post that is refused because of %s is free at once (decisions C3)',
    (taken) =>
      withLog(async (log) => {
        await create(log, [taken]);
        const post = ['A', 'B', 'C'];
        expect(await outcomes([create(log, post)])).toEqual(['UTS_397']);
        const found = await new ClaimWriter(SYSTEM_CLOCK, log).withKeys(post.map(newClaim), AT);
        expect(found.map(({ isTaken }) => isTaken)).toEqual(post.map((order) => order === taken));
        const others = post.filter((order) => order !== taken);
        await create(log, others);
        expect(await ordersIn(log)).toEqual(post);
      }),
  );

  it('of an interrupted request is found to be taken for 30 s, and then no longer', () =>
    withLog(async (log) => {
      const ended = endingAt(log, 3, 'before');
      await expect(create(ended.log, ['A'])).rejects.toThrow(EngineUnavailable);
      const writer = new ClaimWriter(SYSTEM_CLOCK, log);
      const isTaken = async (at: string) => (await writer.withKeys([newClaim('A')], at))[0]?.isTaken;
      expect([await isTaken(AT), await isTaken(LATER)]).toEqual([true, false]);
    }));

  it('of an interrupted update is free after 30 s, and not before; then that update cannot be stored any more', () =>
    withLog(async (log) => {
      const [id] = (await create(log, ['A'])).ids;
      const before = await found(log, id!);
      const ended = endingAt(log, 2, 'before');
      await expect(revise(ended.log, id!, 'B')).rejects.toThrow(EngineUnavailable);
      expect(await outcomes([create(log, ['B'], '2026-03-01T12:00:29.999Z')])).toEqual(['UTS_397']);
      await create(log, ['B'], LATER);
      const change = { at: AT, version: 0, claim: contentOf('B'), screening: { statusId: 2 } } as const;
      expect(await outcomes([new ClaimWriter(SYSTEM_CLOCK, log).revise(id!, change, before)])).toEqual([
        'UTS_397',
      ]);
      await revise(log, id!, 'C', LATER);
      expect(await ordersIn(log)).toEqual(['B', 'C']);
    }));
});

/** Repeats something for the first append, the second one and so on, until it has no such append. */
async function atEachAppend(attempt: (count: number) => Promise<boolean>): Promise<void> {
  let count = 1;
  while (await attempt(count)) count += 1;
}

/** What each process does that is ended at one of its appends, and which orders there may be then. */
const DEEDS = [
  ['files a claim', (log: EventLog) => create(log, ['N']), [['A'], ['A', 'N']]],
  ['files three', (log: EventLog) => create(log, ['N', 'O', 'P']), [['A'], ['A', 'N', 'O', 'P']]],
  ['updates the key of one', (log: EventLog) => revise(log, 1, 'N'), [['A'], ['N']]],
  ['deletes one', (log: EventLog) => withdraw(log, 1), [['A'], []]],
] as const;

describe.each(['before', 'after'] as const)('a process that ends %s one of its appends', (when) => {
  it.each(DEEDS)(
    'while it %s has done all of it or nothing, and no key is stuck (decisions C3, C4)',
    async (_, deed, possible) => {
      const seen = new Set<string>();
      await atEachAppend(async (count) =>
        withLog(async (log) => {
          await create(log, ['A']);
          const ending = endingAt(log, count, when);
          const outcome = (await outcomes([deed(ending.log)]))[0];
          await finishBatches(log);
          const orders = await ordersIn(log);
          seen.add(orders.join());
          expect(possible).toContainEqual(orders);
          if (outcome === 'ok') expect(orders).toEqual(possible[1]);
          // Whoever wants what is not there gets it.
          const missing = ['A', 'N', 'O', 'P'].filter((order) => !orders.includes(order));
          for (const order of missing) await create(log, [order], LATER);
          for (const order of orders)
            expect(await outcomes([create(log, [order], LATER)])).toEqual(['UTS_397']);
          expect(await ordersIn(log)).toEqual(['A', 'N', 'O', 'P']);
          return ending.hasEnded();
        }),
      );
      expect(seen).toContain(possible[1].join());
    },
  );

  it('leaves a post to others that were refused because of it only until then (decisions C3)', () =>
    withLog(async (log) => {
      await create(log, ['B']);
      const ending = endingAt(log, 3, when);
      expect(await outcomes([create(ending.log, ['A', 'B', 'C'])])).not.toEqual(['ok']);
      await create(log, ['A', 'C'], LATER);
      expect(await ordersIn(log)).toEqual(['A', 'B', 'C']);
    }));
});

describe('a process that is slow at one of its appends', () => {
  it.each(DEEDS.slice(0, 3))(
    'while it %s stores nothing that others have stored meanwhile (Document 3, Errors: UTS_397, UTS_398; decisions C3, C4)',
    async (what, deed) => {
      const refusals = new Set<unknown>();
      await atEachAppend(async (count) =>
        withLog(async (log) => {
          await create(log, ['A']);
          const slow = atAppend(log, count, async (append) => {
            await finishBatches(log);
            for (const order of ['P', 'O', 'N', 'A']) await create(log, [order], LATER).catch(codeOf);
            return await append();
          });
          const [outcome] = await outcomes([deed(slow.log)]);
          await finishBatches(log);
          const orders = await ordersIn(log);
          if (slow.hasHappened()) expect(orders).toEqual(expect.arrayContaining(['N', 'O', 'P']));
          if (outcome !== 'ok') refusals.add(outcome);
          return slow.hasHappened();
        }),
      );
      // Whoever has lost a key that was reserved already.
      const lost = what.startsWith('files') ? 'UTS_398' : 'UTS_397';
      expect(refusals).toContain(lost);
      expect(['UTS_397', 'UTS_398']).toEqual(expect.arrayContaining([...refusals]));
    },
  );
});

it('a lost answer of the log changes nothing: the append is repeated (decisions C3)', () =>
  withLog(async (log) => {
    const lossy = overrideLog(log, {
      append: (() => {
        const known = new Set<string>();
        return async (...args: Parameters<EventLog['append']>) => {
          const appended = await log.append(...args);
          const [first] = args[2];
          const isFirst = first !== undefined && !known.has(first.id);
          if (first !== undefined) known.add(first.id);
          if (isFirst) throw new EngineUnavailable('the answer is lost');
          return appended;
        };
      })(),
    });
    await create(lossy, ['A']);
    await create(lossy, ['B', 'C']);
    await revise(lossy, 1, 'D');
    await withdraw(lossy, 1);
    expect(await ordersIn(log)).toEqual(['B', 'C']);
    await create(log, ['A', 'D']);
    const types = (await eventsOf(log)).map(({ type }) => type).filter((type) => type !== 'IdsAllotted');
    expect(counts(types)).toMatchObject({ ClaimFiled: 5, ClaimBatchAccepted: 2, ClaimBatchFinished: 2 });
  }));

it('a post that would not fit into one append is refused (decisions C3)', () =>
  withLog(async (log) => {
    const claims = Array.from({ length: 300 }, (_, at) => {
      const made = newClaim(`${at}`);
      return { ...made, claim: { ...made.claim, advertiserInformation: 'x'.repeat(4000) } };
    });
    expect(() => requireSize(claims)).toThrow(expect.objectContaining({ code: 'UTS_430' }) as Error);
    const fewer = claims.slice(0, 200);
    requireSize(fewer);
    await new ClaimWriter(SYSTEM_CLOCK, log).create(fewer, AT);
    expect(await ordersIn(log)).toHaveLength(200);
  }));

describe('events of claims that are stored for ever (test/golden)', () => {
  it('are read: batches', () => {
    const stored = (['ClaimBatchAccepted', 'ClaimBatchFinished', 'ClaimBatchAbandoned'] as const).map(
      (type) => golden<ClaimBatchEvent>(type).event,
    );
    const states = stored.map((event) => claimBatchDecider.evolve(claimBatchDecider.initial, event));
    expect(states).toMatchObject([
      { is: 'accepted', at: AT, claims: [{ id: 12 }, { id: 13, screening: { statusId: 102 } }] },
      { is: 'finished' },
      { is: 'abandoned' },
    ]);
  });

  it('are read: reservations of keys', () =>
    withLog(async (log) => {
      const keys = new ClaimKeys(SYSTEM_CLOCK, log);
      for (const [at, name] of ['KeyReserved-batch', 'KeyReserved-revision'].entries()) {
        const { event } = golden<{ type: string; data: object }>(name);
        await log.append(`claimkey-${at}`, -1, [toNewEvent(event, randomUUID())]);
      }
      expect((await keys.load('0')).state).toMatchObject({ owner: 13, batch: 12 });
      expect((await keys.load('1')).state).toMatchObject({ owner: 12, revision: 1 });
    }));

  it('are read: a key that was given to another claim changes nothing of the claim that has reserved it', () => {
    const { event } = golden<ClaimEvent>('ClaimKeyReclaimed');
    const state = claimDecider.evolve(claimDecider.initial, golden<ClaimEvent>('ClaimFiled').event);
    expect(claimDecider.evolve(state, event)).toEqual(state);
  });
});
