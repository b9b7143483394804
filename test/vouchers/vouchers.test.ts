import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { Vouchers } from '../../src/vouchers/vouchers';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';
import { AT, checked } from './posted';

/** How many events of each type the log has, those of ids left out. */
async function written(log: EventLog): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { type } of await eventsOf(log))
    if (type !== 'IdsAllotted') counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

/** A log in which a process is killed: of its appends only the first ones are made. */
function killedAfter(log: EventLog, appends: number): EventLog {
  let made = 0;
  return overrideLog(log, {
    append: (stream, expected, events) =>
      (made += 1) > appends
        ? Promise.reject(new EngineUnavailable('killed'))
        : log.append(stream, expected, events),
  });
}

const anyone = () => true;

describe('Vouchers of one sourceId (decisions V2, V15)', () => {
  it('are one, of 100 that race in one process', () =>
    withLog(async (log) => {
      const vouchers = new Vouchers(log);
      const posts = Array.from({ length: 100 }, () => vouchers.post(checked({}, 'spring'), AT));
      expect(new Set((await Promise.all(posts)).map(({ id }) => id)).size).toBe(1);
      expect(await written(log)).toEqual({ KeyReserved: 1, VoucherPublished: 1 });
    }));

  it('are one, of 100 that race in four processes, each with a content of its own', () =>
    withLog(async (log) => {
      const processes = Array.from({ length: 4 }, () => new Vouchers(log));
      const posts = Array.from({ length: 100 }, (_, at) =>
        processes[at % 4]!.post(checked({ title: `Offer ${at}` }, 'spring'), AT),
      );
      expect(new Set((await Promise.all(posts)).map(({ id }) => id)).size).toBe(1);
      expect(await written(log)).toEqual({ KeyReserved: 1, VoucherPublished: 1, VoucherRevised: 99 });
    }));

  it.each([0, 1, 2])('are one when the first writer is killed after %i of its appends', (appends) =>
    withLog(async (log) => {
      const killed = new Vouchers(killedAfter(log, appends));
      await expect(killed.post(checked({}, 'spring'), AT)).rejects.toThrow(EngineUnavailable);
      const others = [new Vouchers(log), new Vouchers(log)];
      const posts = others.map((vouchers) => vouchers.post(checked({}, 'spring'), AT));
      const [one, other] = await Promise.all(posts);
      expect(one!.id).toBe(other!.id);
      expect(await written(log)).toEqual({ KeyReserved: 1, VoucherPublished: 1 });
    }),
  );

  it('are one when the first writer was only slow, and comes to its voucher after another has published it', () =>
    withLog(async (log) => {
      let go = (): void => undefined;
      const held = new Promise<void>((resolve) => (go = resolve));
      let reached = (): void => undefined;
      const reserved = new Promise<void>((resolve) => (reached = resolve));
      const slow = overrideLog(log, {
        append: async (stream, expected, events) => {
          if (stream.startsWith('voucher-')) {
            reached();
            await held;
          }
          return log.append(stream, expected, events);
        },
      });
      const first = new Vouchers(slow).post(checked({}, 'spring'), AT);
      await reserved;
      const { id } = await new Vouchers(log).post(checked({}, 'spring'), AT);
      go();
      expect(await first).toEqual({ id });
      expect(await written(log)).toEqual({ KeyReserved: 1, VoucherPublished: 1 });
    }));

  it('are others in another program, and after a deletion', () =>
    withLog(async (log) => {
      const vouchers = new Vouchers(log);
      const first = await vouchers.post(checked({}, 'spring'), AT);
      const foreign = await vouchers.post({ ...checked({}, 'spring'), programId: 102 }, AT);
      await vouchers.withdraw(first.id, anyone, AT);
      const second = await vouchers.post(checked({}, 'spring'), AT);
      expect(new Set([first.id, foreign.id, second.id]).size).toBe(3);
    }));

  it('can be posted again when whoever deleted was killed before the key was free', () =>
    withLog(async (log) => {
      const { id } = await new Vouchers(log).post(checked({}, 'spring'), AT);
      const killed = new Vouchers(killedAfter(log, 1));
      await expect(killed.withdraw(id, anyone, AT)).rejects.toThrow(EngineUnavailable);
      const again = await new Vouchers(log).post(checked({}, 'spring'), AT);
      expect(again.id).not.toBe(id);
      expect((await new Vouchers(log).post(checked({}, 'spring'), AT)).id).toBe(again.id);
      expect(await written(log)).toEqual({
        KeyReserved: 2,
        VoucherPublished: 2,
        VoucherWithdrawn: 1,
        KeyReleased: 1,
      });
    }));
});

describe('A voucher without a sourceId (decisions V15)', () => {
  it('is a new one each time, and edited by its id', () =>
    withLog(async (log) => {
      const vouchers = new Vouchers(log);
      const [one, other] = [await vouchers.post(checked(), AT), await vouchers.post(checked(), AT)];
      expect(other.id).not.toBe(one.id);
      const edit = checked({ title: 'Changed' }, String(one.id));
      expect((await vouchers.post(edit, AT)).id).toBe(one.id);
      expect(await written(log)).toEqual({ KeyReserved: 2, VoucherPublished: 2, VoucherRevised: 1 });
    }));

  it('gets no id that is the sourceId of another of its program', () =>
    withLog(async (log) => {
      const vouchers = new Vouchers(log);
      const numbered = await vouchers.post(checked({ title: 'Numbered' }, '2'), AT);
      const next = await vouchers.post(checked(), AT);
      expect([numbered.id, next.id]).toEqual([1, 3]);
      expect((await vouchers.post(checked({ title: 'Edited' }, '2'), AT)).id).toBe(1);
    }));
});

describe('A voucher with a sourceId (decisions V15)', () => {
  it('can be edited by its id too, within its program, and keeps its own', () =>
    withLog(async (log) => {
      const vouchers = new Vouchers(log);
      const { id } = await vouchers.post(checked({}, 'spring'), AT);
      const edit = checked({ title: 'Changed' }, String(id));
      expect((await vouchers.post({ ...edit, programId: 102 }, AT)).id).not.toBe(id);
      expect((await vouchers.post(edit, AT)).id).toBe(id);
      expect(await vouchers.post(checked({ title: 'Changed' }, 'spring'), AT)).toEqual({ id });
    }));
});
