import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type EventLog } from '../../src/kernel/event-log';
import { type VoucherPost, Vouchers } from '../../src/vouchers/vouchers';
import { DIST } from '../support/built';
import { eventsOf, withLog } from '../support/temporary-log';
import { AT, checked } from './posted';

/** A process that ends itself by SIGKILL at that moment of its first append to a stream of the category. */
async function killed(
  file: string,
  command: readonly ['post', VoucherPost] | readonly ['withdraw', number],
  category: string,
  when: 'before' | 'after',
): Promise<void> {
  const [verb, what] = command;
  const script = join(__dirname, '../support/posting-voucher.cjs');
  const told = [DIST, file, verb, JSON.stringify(what), category, when];
  const [, signal] = (await once(
    spawn(process.execPath, [script, ...told], { stdio: 'inherit' }),
    'exit',
  )) as [unknown, string | null];
  expect(signal).toBe('SIGKILL');
}

/** Events of the log in their order, those of ids left out. */
async function written(log: EventLog): Promise<readonly string[]> {
  return (await eventsOf(log)).map(({ type }) => type).filter((type) => type !== 'IdsAllotted');
}

const SPRING = checked({}, 'spring');
const CONTENTS = Array.from({ length: 100 }, (_, at) => checked({ title: `Offer ${at}` }, 'spring'));

describe('A process that is killed while it posts a voucher (ADR 11; decisions V2)', () => {
  it.each([
    ['before it has an id', 'sequence', 'before', []],
    ['when it has an id', 'sequence', 'after', []],
    ['before the reservation', 'voucherkey', 'before', []],
    ['between reservation and voucher', 'voucherkey', 'after', ['KeyReserved']],
    ['just before the voucher', 'voucher', 'before', ['KeyReserved']],
    ['when the voucher is written', 'voucher', 'after', ['KeyReserved', 'VoucherPublished']],
  ] as const)(
    '%s leaves it so that of 100 that race afterwards one voucher comes out',
    async (_, category, when, left) => {
      await withLog(async (log, file) => {
        await killed(file, ['post', SPRING], category, when);
        expect(await written(log)).toEqual(left);
        const processes = [new Vouchers(log), new Vouchers(log)];
        const posts = CONTENTS.map((post, at) => processes[at % 2]!.post(post, AT));
        expect(new Set((await Promise.all(posts)).map(({ id }) => id)).size).toBe(1);
        const types = await written(log);
        expect(types.filter((type) => type !== 'VoucherRevised')).toEqual([
          'KeyReserved',
          'VoucherPublished',
        ]);
        const streams = (await eventsOf(log)).map(({ stream }) => stream);
        expect(new Set(streams.filter((stream) => stream.startsWith('voucher-'))).size).toBe(1);
      });
    },
  );

  it('when it has withdrawn one and not let go of its key, leaves it so that the next post is a new voucher', async () => {
    await withLog(async (log, file) => {
      const { id } = await new Vouchers(log).post(SPRING, AT);
      await killed(file, ['withdraw', id], 'voucher', 'after');
      const posts = [new Vouchers(log), new Vouchers(log)].map((vouchers) => vouchers.post(SPRING, AT));
      const [one, other] = await Promise.all(posts);
      expect([one!.id === id, one!.id === other!.id]).toEqual([false, true]);
      expect((await written(log)).filter((type) => type === 'VoucherPublished')).toHaveLength(2);
    });
  });
});
