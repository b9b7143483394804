import fc from 'fast-check';
import { execute, load } from '../../src/kernel/decider';
import { type ReservationEvent, reservations } from '../../src/kernel/reservation';
import { golden } from '../support/golden';
import { withLog } from '../support/temporary-log';

const keys = reservations('voucherkey');
const at = '2026-03-01T12:00:00.000Z';
const reserve = (owner: number) => ({ do: 'reserve', owner, at }) as const;
const release = (owner: number) => ({ do: 'release', owner, at }) as const;

describe('a reservation', () => {
  it('belongs to the first caller: later ones learn its owner', () =>
    withLog(async (log) => {
      const holders = await Promise.all(
        Array.from({ length: 10 }, async (_, owner) => (await execute(log, keys, 'k', reserve(owner))).state),
      );
      expect(new Set(holders).size).toBe(1);
    }));

  it('is released only by its owner, and then free for another', () =>
    withLog(async (log) => {
      await execute(log, keys, 'k', reserve(1));
      expect((await execute(log, keys, 'k', release(2))).state).toBe(1);
      expect((await execute(log, keys, 'k', release(1))).state).toBeUndefined();
      expect((await execute(log, keys, 'k', reserve(2))).state).toBe(2);
      expect((await load(log, keys, 'another')).state).toBeUndefined();
    }));

  it('is not written twice, whatever is repeated', () => {
    const commands = fc.oneof(fc.nat(2).map(reserve), fc.nat(2).map(release));
    fc.assert(
      fc.property(fc.array(commands), commands, (before, command) => {
        const after = (state: number | undefined, one: typeof command) =>
          keys.decide(one, state).reduce((holder, event) => keys.evolve(holder, event), state);
        const state = [...before, command].reduce(after, keys.initial);
        expect(keys.decide(command, state)).toEqual([]);
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
    expect(states).toEqual([17, undefined]);
  });
});
