import { vouchers } from '../../projections/vouchers';
import { type EventLog } from '../../src/kernel/event-log';
import { rebuild } from '../../src/projector/rebuild';
import { VoucherWriter } from '../../src/domain/vouchers/voucher-writer';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { checked } from '../domain/vouchers/posted';
import { TestApp } from '../support/app';
import { overrideLog } from '../support/temporary-log';
import { NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

let app: TestApp;
let now = NOW;
const { create, get, list } = voucherClientOf(() => app);

const TEN_OFF = { voucherTypeId: 2, discountAmount: 10, isPercentage: false } as const;

/** The network, program 101 having another currency. */
function networkIn(currency: string): object {
  const programs: readonly { readonly id?: number }[] = VOUCHER_NETWORK.programs;
  return {
    ...VOUCHER_NETWORK,
    programs: programs.map((one) => (one.id === 101 ? { ...one, currency } : one)),
  };
}

/** Writes as releases did that recorded no currency. */
function withoutCurrencies(log: EventLog): EventLog {
  return overrideLog(log, {
    append: (stream, expected, events) => {
      const older = events.map((event) => {
        const data = { ...(JSON.parse(event.data) as object), currency: undefined };
        return { ...event, data: JSON.stringify(data) };
      });
      return log.append(stream, expected, older);
    },
  });
}

const currencies = async (): Promise<readonly unknown[]> =>
  (await list('', 'nord')).map(({ id, currencyId }) => [id, currencyId]);

const versionsOf = async (id: number): Promise<readonly string[][]> => {
  const answer = await get(`/${id}/versions`, 'nord');
  return answer.json<{ versions: { changed: string[] }[] }>().versions.map(({ changed }) => changed);
};

beforeAll(async () => {
  app = await TestApp.start({ network: networkIn('BGN'), now: () => new Date(now) });
});
afterAll(() => app.close());

it('an amount keeps the currency in which it was posted, also if that was not recorded (decisions V19)', async () => {
  const older = new VoucherWriter(SYSTEM_CLOCK, withoutCurrencies(app.engines.log));
  const at = () => new Date((now += 1000)).toISOString();
  const [first, second] = [
    (await older.post(checked(TEN_OFF, 'older'), at())).id,
    (await older.post(checked({ ...TEN_OFF, discountAmount: 5 }, 'revised'), at())).id,
  ];
  now += 1000;
  const recorded = await create({ ...TEN_OFF, sourceId: 'recorded' });
  await app.import(networkIn('EUR'));
  await older.post(checked(TEN_OFF, 'revised'), at());
  await app.settled();
  now += 1000;
  const percent = await create({ ...TEN_OFF, isPercentage: true });
  now += 1000;
  const latest = await create(TEN_OFF);
  await app.import(networkIn('SEK'));
  expect(await currencies()).toEqual([
    [latest, 'EUR'],
    // A percentage has no currency of its own.
    [percent, 'SEK'],
    [second, 'EUR'],
    [recorded, 'BGN'],
    [first, 'BGN'],
  ]);
  expect(await versionsOf(second)).toMatchObject([{}, ['discountAmount']]);
  const { log, store } = app.engines;
  const before = await currencies();
  const [rebuilt] = await rebuild(log, store, [vouchers], {
    clock: SYSTEM_CLOCK,
    owner: 'test',
    code: 'test',
  });
  expect(rebuilt).toMatchObject({ comparison: { differing: 0 } });
  expect(await currencies()).toEqual(before);
});

it('the same amount in another currency is an edit, the same in the same is none (decisions V19)', async () => {
  await app.import(networkIn('EUR'));
  const id = await create({ ...TEN_OFF, sourceId: 'again' });
  const percent = await create({ ...TEN_OFF, isPercentage: true, sourceId: 'percent' });
  const post = async (): Promise<void> => {
    now += 1000;
    expect(await create({ ...TEN_OFF, sourceId: 'again' })).toBe(id);
    expect(await create({ ...TEN_OFF, isPercentage: true, sourceId: 'percent' })).toBe(percent);
  };
  await post();
  expect([await versionsOf(id), await versionsOf(percent)]).toMatchObject([[{}], [{}]]);
  await app.import(networkIn('BGN'));
  await post();
  await post();
  expect(await versionsOf(id)).toMatchObject([{}, ['discountAmount']]);
  expect(await versionsOf(percent)).toHaveLength(1);
  expect(await list(`;id=${id}`)).toMatchObject([{ discountAmount: 10, currencyId: 'BGN' }]);
});

it('an unchanged voucher that was posted before currencies were recorded is not edited (decisions V19)', async () => {
  const older = new VoucherWriter(SYSTEM_CLOCK, withoutCurrencies(app.engines.log));
  const [same, changed] = ['same', 'changed'].map((sourceId) => checked(TEN_OFF, sourceId));
  const at = new Date(now).toISOString();
  const id = (await older.post(same!, at)).id;
  const writer = new VoucherWriter(SYSTEM_CLOCK, app.engines.log);
  expect(await writer.post(same!, at)).toEqual({ id });
  const other = (await older.post(changed!, at)).id;
  const since = await app.engines.log.head();
  await writer.post({ ...changed!, currency: { code: 'SEK', since: since.replace(/^\d/, '9') } }, at);
  expect([await versionsOf(id), await versionsOf(other)].map(({ length }) => length)).toEqual([1, 2]);
});
