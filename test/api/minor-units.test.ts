import { randomUUID } from 'node:crypto';
import { claims } from '../../projections/claims';
import { transactions } from '../../projections/transactions';
import { claimTopic } from '../../src/domain/claims/topic';
import { type DomainEvent, toDomainEvent, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, streamOf } from '../../src/kernel/event';
import { rebuild } from '../../src/projector/rebuild';
import { amendedBy, type TransactionFacts } from '../../src/domain/transactions/transaction-facts';
import { transactionTopic } from '../../src/domain/transactions/topic';
import { Programs } from '../../src/network/programs';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { scaleOf } from '../../src/wire/record/minor-units';
import { golden } from '../support/golden';
import { eventsOf } from '../support/temporary-log';
import { CLAIM_NETWORK, claimClientOf, claimOf, errorsIn, type Listed } from './claim-network';
import { reportOf, transactionClientOf } from './transaction-network';
import { voucher, voucherClientOf } from './voucher-network';
import { worldOf } from './world';

const SALE = { id: 301, name: 'Sale', kind: 'sale', pendingDays: 10, commission: { percent: 7.5 } };
const lead = (fixed: number) => ({
  id: 302,
  name: 'Lead',
  kind: 'lead',
  pendingDays: 0,
  commission: { fixed },
});
const INQUIRY = { id: 17, name: 'Inquiry', kind: 'sale', pendingDays: 30, inquiry: true };

/** Program 101 in yen, without decimals, and 102 in Kuwaiti dinars, with three. */
const MONEY: Readonly<Record<number, object>> = {
  101: { currency: 'JPY', events: [SALE, lead(12), INQUIRY] },
  102: { currency: 'KWD', events: [SALE, lead(1.255), INQUIRY] },
};
const NETWORK = {
  ...CLAIM_NETWORK,
  programs: CLAIM_NETWORK.programs.map((program) => ({ ...program, ...MONEY[program.id] })),
};

const world = worldOf(NETWORK, (app) => ({
  ...transactionClientOf(app),
  claims: claimClientOf(app),
  vouchers: voucherClientOf(app),
}));

const KWD = { programId: 102, siteId: 1102 };
const list = async (keys: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await world.get(keys, 'operator')).json();

const stored = async (type: string, orderNumber: string): Promise<DomainEvent['data'] | undefined> => {
  const events = (await eventsOf(world.app.engines.log)).map(toDomainEvent);
  return events.find(
    (event) => event.type === type && JSON.stringify(event.data).includes(`"${orderNumber}"`),
  )?.data;
};

describe('amounts of transactions have the decimals of their currency (decisions A19, T2)', () => {
  it.each([
    ['yen', 'JPY', {}, 999, 75, { decimals: 0, transaction: { orderValue: 999, publisherCommission: 75 } }],
    ['dinars', 'KWD', KWD, 12.345, 0.926, { decimals: 3, transaction: { orderValue: 12_345 } }],
    ['euros', 'EUR', { currencyId: 'EUR' }, 1.1, 0.08, { transaction: { orderValue: 110 } }],
  ])(
    '%s: reported, stored, listed, amended',
    async (name, currencyId, changes, orderValue, commission, data) => {
      const { transactionId } = await world.create(name, { ...changes, orderValue, epi: name });
      expect(await stored('TransactionBecamePending', name)).toMatchObject(data);
      expect('decimals' in ((await stored('TransactionTracked', name)) ?? {})).toBe(currencyId !== 'EUR');
      const amounts = { orderValue, publisherCommission: commission, tdCommission: 0 };
      await world.app.settled();
      expect(await list(`;epi=${name}`)).toMatchObject([{ currencyId, ...amounts }]);
      expect((await world.get(`.csv;epi=${name}`)).body).toContain(`"${orderValue}","",`);
      expect((await world.get(`.xml;epi=${name}`)).body).toContain(`<orderValue>${orderValue}</orderValue>`);
      const totals = await world.get(`/totals;epi=${name}`);
      expect(totals.json()).toMatchObject([{ currencyId, count: 1, ...amounts }]);
      expect((await world.report(reportOf(name, { ...changes, orderValue }))).statusCode).toBe(200);
      const repeated = await world.report(reportOf(name, { ...changes, orderValue: 7 }));
      expect(repeated.json()).toMatchObject({
        errors: [{ code: 'CON_510', message: expect.stringContaining(String(orderValue)) as unknown }],
      });
      const odd = await world.move({ transactionId, action: 'amend', orderValue: 7.1234 });
      expect(odd.json()).toMatchObject({ errors: [{ code: 'CON_350' }] });
      expect((await world.move({ transactionId, action: 'approve', orderValue: 200 })).statusCode).toBe(200);
      await world.app.settled();
      expect(await list(`;epi=${name}`)).toMatchObject([{ orderValue: 200, publisherCommission: 15 }]);
    },
  );

  it('a fixed commission too', async () => {
    await world.create('yen lead', { eventId: 302, orderValue: undefined, epi: 'leads' });
    await world.create('dinar lead', { ...KWD, eventId: 302, orderValue: undefined, epi: 'leads' });
    await world.app.settled();
    expect((await list(';epi=leads')).map((one) => one['publisherCommission']).sort()).toEqual([1.255, 12]);
  });

  it('decimals beyond are accepted if they are zero, and refused otherwise', async () => {
    const sent = [
      ['100.00', {}],
      ['100.5', {}],
      [100.25, {}],
      ['12.3450000', KWD],
      ['12.3456', KWD],
      [1.005, { currencyId: 'EUR' }],
      ['1.0100', { currencyId: 'EUR' }],
    ].map(([orderValue, changes], at) => reportOf(`zeros ${at}`, { ...(changes as object), orderValue }));
    const results = (await world.reportAll(sent)).json<{ errors?: { code: string; message: string }[] }[]>();
    expect(results.map(({ errors }) => errors?.map(({ code, message }) => `${code} ${message}`))).toEqual([
      undefined,
      ["CON_350 orderValue: expected an amount without decimals, as JPY has them, such as 13, got '100.5'"],
      [expect.stringContaining("got '100.25'")],
      undefined,
      [expect.stringContaining('at most three decimals, as KWD has them')],
      [expect.stringContaining('at most two decimals, as EUR has them')],
      undefined,
    ]);
  });
});

describe('amounts that were stored as hundredths of every currency (decisions A19)', () => {
  const id = (digit: string): string => digit.repeat(32);
  const older = async (transactionId: string, changes: object): Promise<void> => {
    const { event } = golden('TransactionTracked');
    const { transaction } = event.data as { readonly transaction: object };
    const data = {
      at: event.data['at' as never],
      transaction: { ...transaction, ...changes, advertiserId: 1, siteId: 1101 },
    };
    const events = [
      { type: 'TransactionTracked', data },
      { type: 'TransactionTrackedApproved', data },
    ].map((one) => toNewEvent(one, randomUUID()));
    await world.app.engines.log.append(streamOf('transaction', transactionId), NO_STREAM, events);
  };

  it.each(['JPY', 'KWD'])(
    'of %s keep a commission by the terms of the event, which was rounded to hundredths, when the order value is amended',
    (currencyId) => {
      const { transaction } = golden('TransactionTracked').event.data as {
        readonly transaction: TransactionFacts;
      };
      const hundredth = 10 ** (scaleOf(currencyId) - 2);
      // 749.05, of which 10 % were 74.91.
      const facts = {
        ...transaction,
        ...{ currencyId, orderValue: 74_905 * hundredth, publisherCommission: 7491 * hundredth },
      };
      const terms = { commission: { percent: 10 } };
      const orderValue = 10_000 * hundredth;
      expect(amendedBy(facts, { orderValue }, terms).publisherCommission).toBe(1000 * hundredth);
      const agreed = { ...facts, publisherCommission: 7400 * hundredth };
      expect(amendedBy(agreed, { orderValue }, terms).publisherCommission).toBe(7400 * hundredth);
    },
  );

  it('are read, and stored again, without rounding; a rebuild gives the same', async () => {
    const amounts = {
      orderValue: 99_900,
      publisherCommission: 7493,
      tdCommission: 100,
      mediaCost: 50,
      epi: 'older',
    };
    await older(id('a'), { ...amounts, currencyId: 'JPY', orderNumber: 'older yen' });
    await older(id('b'), { ...amounts, currencyId: 'KWD', orderNumber: 'older dinars' });
    const shown = { orderValue: 999, publisherCommission: 74.93, tdCommission: 1, mediaCost: 0.5 };
    await world.app.settled();
    expect(await list(';epi=older')).toMatchObject([shown, shown]);
    for (const transactionId of [id('a'), id('b')]) {
      const paid = await world.move({ transactionId, action: 'pay', paymentId: 7 }, 'operator');
      expect(paid.statusCode).toBe(200);
    }
    await world.app.settled();
    expect(await list(';epi=older')).toMatchObject([shown, shown]);
    expect(await stored('TransactionPaid', 'older yen')).toMatchObject({
      transaction: { publisherCommission: 7493 },
    });
    expect(await stored('TransactionPaid', 'older dinars')).toMatchObject({
      decimals: 3,
      transaction: { publisherCommission: 74_930 },
    });
    for (const transactionId of [id('a'), id('b')]) {
      const history = await world.get(`/${transactionId}/transitions`, 'operator');
      expect(history.json()).toMatchObject([shown, shown, shown]);
    }
    const { log, store } = world.app.engines;
    const rebuilt = await rebuild(log, store, [transactions, claims], {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
    expect(rebuilt.map(({ comparison }) => comparison?.differing)).toEqual([0, 0]);
    expect(await list(';epi=older')).toMatchObject([shown, shown]);
  });
});

describe('amounts of claims have the decimals of their currency (decisions A19, C2)', () => {
  it('as filed, corrected, and as they become transactions', async () => {
    const yen = await world.claims.create('C-yen', { orderValue: 1999, expectedCommission: '150.00' });
    const dinars = await world.claims.create(
      'C-dinars',
      { programId: 102, affiliateSiteId: 1102, orderValue: 12.345, expectedCommission: 1.255 },
      'preisblickAll',
    );
    expect([yen, dinars]).toMatchObject([
      { orderValue: 1999, expectedCommission: '150' },
      { orderValue: 12.345, expectedCommission: '1.255' },
    ]);
    const several = ['C-1', 'C-2'].map((orderNumber) =>
      claimOf(orderNumber, { orderValue: 77, expectedCommission: 5 }),
    );
    expect((await world.claims.file(several)).statusCode).toBe(200);
    const claim = { orderValue: 77, expectedCommission: 5 };
    expect(await stored('ClaimBatchAccepted', 'C-1')).toMatchObject({
      claims: [
        { decimals: 0, claim },
        { decimals: 0, claim },
      ],
    });
    expect(await stored('ClaimFiled', 'C-2')).toMatchObject({ decimals: 0, claim });
    const rulingOn = ({ claimId }: Listed, expectedCommission: number) => ({
      ...{ claimId, versionNo: 0, statusIdClaim: 3, expectedCommission },
    });
    const refused = await world.claims.rule([rulingOn(yen, 1.5), rulingOn(dinars, 1.2345)]);
    expect(errorsIn(refused)).toEqual([
      expect.stringMatching(/^UTS_430 claimUpdates\[0\]: expectedCommission: .*without decimals, as JPY/),
      expect.stringMatching(/^UTS_430 claimUpdates\[1\]: expectedCommission: .*three decimals, as KWD/),
    ]);
    expect((await world.claims.rule([rulingOn(yen, 120), rulingOn(dinars, 1.001)])).statusCode).toBe(200);
    await world.app.settled();
    const listed = await world.claims.list('', 'preisblickAll');
    expect(listed.filter(({ statusId }) => statusId === 3)).toMatchObject([
      { claimId: dinars.claimId, adjustedExpectedCommission: '1.001' },
      { claimId: yen.claimId, adjustedExpectedCommission: '120' },
    ]);
    expect(await stored('ClaimRuled', 'C-dinars')).toMatchObject({
      decimals: 3,
      expectedCommission: 1001,
      claim: { orderValue: 12_345 },
    });
    const versions = await world.claims.send('GET', `/claims/${dinars.claimId}/versions`, 'nord');
    expect(versions.json()).toMatchObject([{ orderValue: 12.345 }, { adjustedExpectedCommission: '1.001' }]);
  });

  it('and other decimals are UTS_430', async () => {
    const refused = await world.claims.file([
      claimOf('C-odd', { orderValue: 10.5, expectedCommission: 1.5 }),
      claimOf('C-unknown', { programId: 999, orderValue: 1.005 }),
    ]);
    expect(errorsIn(refused)).toEqual([
      "UTS_430 claims[0].orderValue: expected an amount without decimals, as JPY has them, such as 13, got '10.5'",
      expect.stringMatching(/^UTS_430 claims\[0\].expectedCommission: /),
      expect.stringMatching(/^UTS_430 claims\[1\].orderValue: .*at most two decimals/),
    ]);
  });
});

it('amounts of vouchers have the decimals of their currency, percentages any (decisions A19, V19)', async () => {
  const posted = (discountAmount: number, isPercentage: boolean) =>
    voucher({ voucherTypeId: 2, discountAmount, isPercentage });
  expect((await world.vouchers.post(posted(10.5, false))).body).toContain(
    'without decimals, as JPY has them',
  );
  expect((await world.vouchers.post(posted(80_000_000_000_000, false))).body).toContain(
    'expected an amount of at most 70368744177664',
  );
  expect((await world.vouchers.post(posted(10, false))).statusCode).toBe(200);
  expect((await world.vouchers.post(posted(10.555, true))).statusCode).toBe(200);
});

describe('amounts in messages have the decimals of their currency (decisions A19, N12)', () => {
  const parsed = (name: string, variant = '') => {
    const { stream, event } = golden(name, variant);
    return { ...event, stream, revision: 0, position: '' };
  };

  it('as their events have them (test/golden)', () => {
    expect(
      transactionTopic.occurrence(parsed('TransactionTracked'), new Programs())?.attributes,
    ).toMatchObject({
      orderValue: 1299,
      publisherCommission: 97.43,
    });
    expect(
      transactionTopic.occurrence(parsed('TransactionTracked', '-decimals'), new Programs())?.attributes,
    ).toMatchObject({
      ...{
        currencyId: 'KWD',
        orderValue: 129.9,
        publisherCommission: 9.743,
        tdCommission: 1.299,
        mediaCost: 0.25,
      },
    });
    expect(
      claimTopic.occurrence(parsed('ClaimRuled', '-decimals'), new Programs())?.attributes,
    ).toMatchObject({
      ...{ currencyId: 'JPY', orderValue: 9990, adjustedOrderValue: 5000, adjustedExpectedCommission: 500 },
    });
  });
});
