import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type Decider, execute, load } from '../../../src/kernel/decider';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import {
  KeyedAggregates,
  type KeyedResult,
  type Reservation,
  type ReservationEvent,
  reservations,
} from '../../../src/domain/keys/reservation';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { golden } from '../../support/golden';
import { eventsOf, overrideLog, withLog } from '../../support/temporary-log';

const AT = '2026-03-01T12:00:00.000Z';
const keys = reservations('notekey');
type Holder = Reservation | undefined;
const by = (owner: number): Reservation => ({ owner, at: AT });
type Change = Parameters<typeof keys.decide>[0];
const reserve = (next: Reservation, seen?: Reservation): Change => ({ seen, next, at: AT });
const release = (seen: Reservation): Change => ({ seen, at: AT });
const after = (state: Holder, command: Change): Holder =>
  keys.decide(command, state).reduce((holder, event) => keys.evolve(holder, event), state);

describe('A reservation', () => {
  it('is undone or replaced by who has seen it only', () =>
    withLog(async (log) => {
      await execute(SYSTEM_CLOCK, log, keys, 'k', reserve(by(1)));
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', release(by(2)))).state).toEqual(by(1));
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', reserve(by(2)))).state).toEqual(by(1));
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', release(by(1)))).state).toBeUndefined();
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', reserve(by(2)))).state).toEqual(by(2));
      const renewed = { ...by(2), revision: 1 };
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', reserve(renewed, by(2)))).state).toEqual(renewed);
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', reserve(by(3), by(2)))).state).toEqual(renewed);
      expect((await execute(SYSTEM_CLOCK, log, keys, 'k', reserve(by(3), renewed))).state).toEqual(by(3));
      expect((await load(log, keys, 'another')).state).toBeUndefined();
      const types = (await eventsOf(log)).map(({ type }) => type);
      const [reserved, released] = ['KeyReserved', 'KeyReleased'];
      expect(types).toEqual([reserved, released, reserved, reserved, released, reserved]);
    }));

  it('is not written twice, whatever is repeated', () => {
    const one = fc.nat(2).map(by);
    const seen = fc.option(one, { nil: undefined });
    const commands = fc.oneof(
      fc.tuple(one, seen).map(([next, was]) => reserve(next, was)),
      one.map(release),
    );
    fc.assert(
      fc.property(fc.array(commands), commands, (before, command) => {
        const state = [...before, command].reduce(after, keys.initial);
        const changesNothing = isDeepStrictEqual(command.seen, command.next);
        if (!changesNothing) expect(keys.decide(command, state)).toEqual([]);
      }),
    );
  });

  it('reads events in the stored format (test/golden)', () => {
    const events = (['KeyReserved', 'KeyReleased'] as const).map(
      (type) => golden<ReservationEvent>(type).event,
    );
    const states = events.map((_, last) =>
      events.slice(0, last + 1).reduce((holder, event) => keys.evolve(holder, event), keys.initial),
    );
    expect(states).toEqual([{ owner: 17, at: '2026-01-05T08:00:00.000Z' }, undefined]);
  });
});

type NoteCommand = { readonly do: 'write'; readonly text: string } | { readonly do: 'remove' };
type NoteEvent =
  | { readonly type: 'NoteWritten'; readonly data: { readonly text: string } }
  | { readonly type: 'NoteRemoved'; readonly data: object };
/** Its text, null once it was removed, undefined before it is written. */
type NoteState = string | null | undefined;

/** The least that can be created, edited and removed. */
const notes: Decider<NoteCommand, NoteState, NoteEvent> = {
  category: 'note',
  initial: undefined,
  decide(command, state) {
    if (state === null) return [];
    if (command.do === 'remove')
      return state === undefined ? [] : [{ type: 'NoteRemoved' as const, data: {} }];
    return command.text === state ? [] : [{ type: 'NoteWritten' as const, data: { text: command.text } }];
  },
  evolve: (_, event) => (event.type === 'NoteRemoved' ? null : event.data.text),
};

const write = (text: string): NoteCommand => ({ do: 'write', text });

/** What a process has of its own. */
const processOn = (log: EventLog) =>
  new KeyedAggregates(SYSTEM_CLOCK, log, {
    decider: notes,
    ids: 'note',
    keys: 'notekey',
    isRemoved: (state) => state === null,
  });

type Process = ReturnType<typeof processOn>;

/** Removes a note and releases its key, as the owner of a key does. */
async function remove(log: EventLog, process: Process, key: string, id: number): Promise<void> {
  await execute(SYSTEM_CLOCK, log, notes, id, { do: 'remove' });
  await process.release(key, id, AT);
}

/** Types of the events in the log in their order, those of ids left out. */
async function written(log: EventLog): Promise<readonly string[]> {
  return (await eventsOf(log)).map(({ type }) => type).filter((type) => type !== 'IdsAllotted');
}

/** A log whose process is killed: of its appends only the first ones are made. */
function killedAfter(log: EventLog, appends: number): EventLog {
  let made = 0;
  return overrideLog(log, {
    append: (stream, expected, events) =>
      (made += 1) > appends
        ? Promise.reject(new EngineUnavailable('killed'))
        : log.append(stream, expected, events),
  });
}

const idsOf = (results: readonly KeyedResult<NoteState, NoteEvent>[]) => new Set(results.map(({ id }) => id));

describe('Of one key (ADR 11)', () => {
  it.each([1, 4])('%i processes that write 100 times at once make one aggregate', (count) =>
    withLog(async (log) => {
      const processes = Array.from({ length: count }, () => processOn(log));
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, at) => processes[at % count]!.execute('k', write(`${at}`), AT)),
      );
      expect(idsOf(results).size).toBe(1);
      const [first, ...others] = await written(log);
      expect([first, new Set(others), others.length]).toEqual(['KeyReserved', new Set(['NoteWritten']), 100]);
    }),
  );

  it('an aggregate is finished by others when its writer was killed after any of its steps: id, reservation, write', () =>
    withLog(async (log) => {
      for (const [appends, key] of ['before', 'id', 'reserved', 'written'].entries()) {
        const dead = processOn(killedAfter(log, appends)).execute(key, write('one'), AT);
        if (appends < 3) await expect(dead).rejects.toThrow(EngineUnavailable);
        const others = [processOn(log), processOn(log)].map((process) =>
          process.execute(key, write('one'), AT),
        );
        expect(idsOf(await Promise.all(others)).size).toBe(1);
      }
      expect(await written(log)).toEqual(Array(4).fill(['KeyReserved', 'NoteWritten']).flat());
    }));

  it('a writer that was only slow finds its work done by another', () =>
    withLog(async (log) => {
      let resume = (): void => undefined;
      const paused = new Promise<void>((resolve) => (resume = resolve));
      let reached = (): void => undefined;
      const reserved = new Promise<void>((resolve) => (reached = resolve));
      const slow = overrideLog(log, {
        append: async (stream, expected, events) => {
          if (stream.startsWith('note-')) {
            reached();
            await paused;
          }
          return log.append(stream, expected, events);
        },
      });
      const first = processOn(slow).execute('k', write('one'), AT);
      await reserved;
      const { id } = await processOn(log).execute('k', write('one'), AT);
      resume();
      const { position, ...late } = await first;
      expect([late, position]).toEqual([{ id, events: [], ids: [], revision: 0, state: 'one' }, undefined]);
      expect(await written(log)).toEqual(['KeyReserved', 'NoteWritten']);
    }));

  it.each(['and its key released', 'by a process that was killed before it released the key'])(
    'a new aggregate is made after the first was removed %s',
    (how) =>
      withLog(async (log) => {
        const { id } = await processOn(log).execute('k', write('one'), AT);
        const log1 = killedAfter(log, how.startsWith('and') ? 2 : 1);
        await remove(log1, processOn(log1), 'k', id).catch((error: unknown) => {
          expect(error).toBeInstanceOf(EngineUnavailable);
        });
        const again = await Promise.all([1, 2].map(() => processOn(log).execute('k', write('two'), AT)));
        expect([idsOf(again).size, idsOf(again).has(id)]).toEqual([1, false]);
        expect(await written(log)).toEqual([
          ...['KeyReserved', 'NoteWritten', 'NoteRemoved', 'KeyReleased'],
          ...['KeyReserved', 'NoteWritten'],
        ]);
      }),
  );

  it('a late release by a former owner does not take the key from the present one', () =>
    withLog(async (log) => {
      const process = processOn(log);
      const former = await process.execute('k', write('one'), AT);
      await remove(log, process, 'k', former.id);
      const present = await process.execute('k', write('two'), AT);
      await process.release('k', former.id, AT);
      expect((await process.execute('k', write('three'), AT)).id).toBe(present.id);
    }));
});

describe('A key that is made of the id (decisions V15)', () => {
  it('gives each aggregate its own, and no id whose key another has', () =>
    withLog(async (log) => {
      const processes = [processOn(log), processOn(log)];
      const taken = await processes[0]!.execute('id 2', write('one'), AT);
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          processes[at % 2]!.create((id) => `id ${id}`, write(`${at}`), AT),
        ),
      );
      expect([taken.id, idsOf(made).size]).toEqual([1, 20]);
      expect([idsOf(made).has(1), idsOf(made).has(2)]).toEqual([false, false]);
      expect((await processes[1]!.execute(`id ${made[0]!.id}`, write('edit'), AT)).id).toBe(made[0]!.id);
    }));

  it('is of the first time when a command is executed again, also if that was removed meanwhile (decisions A22)', () =>
    withLog(async (log) => {
      const [process, other] = [processOn(log), processOn(log)];
      const create = (one: Process) => one.create((id) => `id ${id}`, write('one'), AT, 'retry');
      const { id } = await create(process);
      expect((await create(other)).id).toBe(id);
      await remove(log, process, `id ${id}`, id);
      expect((await create(other)).id).toBe(id);
      const all = await written(log);
      expect(all.filter((type) => type.startsWith('Note'))).toEqual(['NoteWritten', 'NoteRemoved']);
      expect((await load(log, keys, `id ${id}`)).state).toBeUndefined();
    }));
});
