import { type EventLog } from '../../../src/kernel/event-log';
import { VoucherWriter } from '../../../src/domain/vouchers/voucher';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { eventsOf, withLog } from '../../support/temporary-log';
import { AT, checked } from './posted';

/** How many events of each type the log has, those of ids left out. */
async function written(log: EventLog): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { type } of await eventsOf(log))
    if (type !== 'IdsAllotted') counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

const anyone = () => true;

/** Races and kills: `test/domain/keys/reservation.test.ts`, and of processes `test/program/smoke/killed.test.ts`. */
describe('Vouchers of one sourceId (decisions V2, V15)', () => {
  it('are one, of 100 that race in four processes, each with a content of its own', () =>
    withLog(async (log) => {
      const processes = Array.from({ length: 4 }, () => new VoucherWriter(SYSTEM_CLOCK, log));
      const posts = Array.from({ length: 100 }, (_, at) =>
        processes[at % 4]!.post(checked({ title: `Offer ${at}` }, 'spring'), AT),
      );
      expect(new Set((await Promise.all(posts)).map(({ id }) => id)).size).toBe(1);
      expect(await written(log)).toEqual({ KeyReserved: 1, VoucherPublished: 1, VoucherRevised: 99 });
    }));

  it('are others in another program, and after a deletion', () =>
    withLog(async (log) => {
      const vouchers = new VoucherWriter(SYSTEM_CLOCK, log);
      const first = await vouchers.post(checked({}, 'spring'), AT);
      const foreign = await vouchers.post({ ...checked({}, 'spring'), programId: 102 }, AT);
      await vouchers.withdraw(first.id, anyone, AT);
      expect(await written(log)).toMatchObject({ VoucherWithdrawn: 1, KeyReleased: 1 });
      const second = await vouchers.post(checked({}, 'spring'), AT);
      expect(new Set([first.id, foreign.id, second.id]).size).toBe(3);
    }));
});

describe('A voucher without a sourceId (decisions V15)', () => {
  it('is a new one each time, and edited by its id', () =>
    withLog(async (log) => {
      const vouchers = new VoucherWriter(SYSTEM_CLOCK, log);
      const [one, other] = [await vouchers.post(checked(), AT), await vouchers.post(checked(), AT)];
      expect(other.id).not.toBe(one.id);
      const edit = checked({ title: 'Changed' }, String(one.id));
      expect((await vouchers.post(edit, AT)).id).toBe(one.id);
      expect(await written(log)).toEqual({ KeyReserved: 2, VoucherPublished: 2, VoucherRevised: 1 });
    }));

  it('gets no id that is the sourceId of another of its program', () =>
    withLog(async (log) => {
      const vouchers = new VoucherWriter(SYSTEM_CLOCK, log);
      const numbered = await vouchers.post(checked({ title: 'Numbered' }, '2'), AT);
      const next = await vouchers.post(checked(), AT);
      expect([numbered.id, next.id]).toEqual([1, 3]);
      expect((await vouchers.post(checked({ title: 'Edited' }, '2'), AT)).id).toBe(1);
    }));
});

describe('A voucher with a sourceId (decisions V15)', () => {
  it('is not edited by its id: the sourceIds of a shop that numbers from 1 are those of other vouchers', () =>
    withLog(async (log) => {
      const vouchers = new VoucherWriter(SYSTEM_CLOCK, log);
      const sourceIds = ['first', '4', '3', '2', '1'];
      const ids: number[] = [];
      for (const sourceId of sourceIds)
        ids.push((await vouchers.post(checked({ title: `Offer ${sourceId}` }, sourceId), AT)).id);
      expect(new Set(ids).size).toBe(5);
      for (const [at, sourceId] of sourceIds.entries()) {
        expect(await vouchers.tryPost(checked({}, sourceId))).toEqual({ id: ids[at] });
        expect((await vouchers.post(checked({ title: 'Edited' }, sourceId), AT)).id).toBe(ids[at]);
      }
      expect(await written(log)).toEqual({ KeyReserved: 5, VoucherPublished: 5, VoucherRevised: 5 });
    }));
});
