import { randomUUID } from 'node:crypto';
import { NO_STREAM, streamOf } from '../../src/kernel/event';
import { toNewEvent } from '../../src/kernel/decider';
import { golden } from '../support/golden';
import { automatedClaims } from './automated-claims';
import { CLAIM_NETWORK, claimClientOf } from './claim-network';
import { reportOf, transactionClientOf } from './transaction-network';
import { NOW } from './voucher-network';
import { worldOf } from './world';

const world = worldOf(CLAIM_NETWORK, (app) => ({ ...transactionClientOf(app), claims: claimClientOf(app) }));
const { automate, eventsOf } = automatedClaims(world);

/** Program 101 pays so many per cent for a sale, or has no such event any more. */
async function pay(percent: number | undefined): Promise<void> {
  const programs = CLAIM_NETWORK.programs.map((program) => {
    const events = program.events.flatMap((event) => {
      if (!('id' in event) || event.id !== 301) return [event];
      return percent === undefined ? [] : [{ ...event, commission: { percent } }];
    });
    return program.id === 101 ? { ...program, events } : program;
  });
  await world.app.import({ ...CLAIM_NETWORK, programs });
}

const amountsOf = async (transactionId: string): Promise<readonly unknown[]> => {
  await world.app.settled();
  const { orderValue, publisherCommission } = (await world.get(`/${transactionId}`)).json<
    Readonly<Record<string, unknown>>
  >();
  return [orderValue, publisherCommission];
};

const amend = async (transactionId: string, orderValue: number): Promise<void> => {
  const answer = await world.move({ transactionId, action: 'amend', orderValue });
  expect([answer.statusCode, answer.body]).toEqual([200, expect.any(String)]);
};

afterEach(() => pay(6));

describe('a commission in per cent follows an amended order value by the terms of the report (decisions T5, T8)', () => {
  it.each([10, undefined])('also when the program pays %p per cent since', async (percent) => {
    const { transactionId } = await world.create(`later ${percent}`);
    expect(await amountsOf(transactionId)).toEqual([100, 6]);
    await pay(percent);
    await amend(transactionId, 200);
    expect(await amountsOf(transactionId)).toEqual([200, 12]);
  });

  it('of the program at its log position, if it was reported before terms were recorded (test/golden)', async () => {
    await pay(5);
    const id = 'c'.repeat(32);
    const older = (type: string) => {
      const { event } = golden<{ type: string; data: { transaction: object } }>(type);
      const own = { advertiserId: 1, programId: 101, siteId: 1101, eventId: 301, currencyId: 'EUR' };
      const transaction = { ...event.data.transaction, ...own, orderValue: 10_000, publisherCommission: 500 };
      return toNewEvent({ type, data: { ...event.data, transaction } }, randomUUID());
    };
    const events = ['TransactionTracked', 'TransactionBecamePending'].map(older);
    await world.app.engines.log.append(streamOf('transaction', id), NO_STREAM, events);
    await pay(10);
    await amend(id, 300);
    expect(await amountsOf(id)).toEqual([300, 15]);
  });

  it('does not follow if it was reported with another amount', async () => {
    const { transactionId } = await world.create('another', { publisherCommission: 10 });
    await pay(10);
    await amend(transactionId, 200);
    expect(await amountsOf(transactionId)).toEqual([200, 10]);
  });
});

describe('an approved claim pays by the terms of its filing (decisions C6, T8)', () => {
  /** Files a claim, lets the program pay otherwise, and approves the claim: the transaction that it becomes. */
  async function approved(orderNumber: string, percent: number | undefined): Promise<readonly unknown[]> {
    const changes = { eventId: 301, expectedCommission: undefined };
    const { claimId } = await world.claims.create(orderNumber, changes);
    await pay(percent);
    const ruling = { claimId, versionNo: 0, statusIdClaim: 3, orderValue: 50 };
    expect((await world.claims.rule([ruling])).statusCode).toBe(200);
    await automate(NOW);
    const tracked = (await eventsOf(claimId)).find(({ type }) => type === 'ClaimTracked');
    return await amountsOf((tracked?.data as { readonly transactionId: string }).transactionId);
  }

  it.each([10, undefined])('also when the program pays %p per cent since', async (percent) => {
    expect(await approved(`C ${percent}`, percent)).toEqual([50, 3]);
  });

  it('and by those of its last update', async () => {
    const changes = { eventId: 301, expectedCommission: undefined };
    const { claimId } = await world.claims.create('C updated', changes);
    await pay(8);
    const { affiliateSiteId, programId, timeStampEvent, eventId, orderNumber } = (
      await world.claims.list()
    ).find((one) => one.claimId === claimId)!;
    const update = {
      claimId,
      versionNo: 0,
      affiliateSiteId,
      programId,
      timeStampEvent,
      eventId,
      orderNumber,
    };
    const revised = await world.claims.json(
      '/claimUpdates',
      { claimUpdates: [{ ...update, orderValue: 100 }] },
      'preisblick',
    );
    expect(revised.statusCode).toBe(200);
    await pay(10);
    expect((await world.claims.rule([{ claimId, versionNo: 1, statusIdClaim: 3 }])).statusCode).toBe(200);
    await automate(NOW);
    const events = await eventsOf(claimId);
    expect(events.flatMap(({ data }) => ('terms' in data ? [data.terms] : []))).toEqual([
      ...Array<object>(2).fill({ commission: { percent: 6 } }),
      ...Array<object>(3).fill({ commission: { percent: 8 } }),
    ]);
    const { transactionId } = events.at(-1)!.data as { readonly transactionId: string };
    expect(await amountsOf(transactionId)).toEqual([100, 8]);
  });
});

describe('a fixed commission is in the currency of the program (decisions T8)', () => {
  const lead = { eventId: 302, orderValue: undefined, currencyId: 'SEK' };

  it('so a report in another currency needs publisherCommission', async () => {
    expect((await world.report(reportOf('SEK', lead))).json()).toMatchObject({
      errors: [
        {
          code: 'CON_350',
          message:
            'publisherCommission must be set: event 302 pays a fixed amount of EUR, and currencyId is SEK',
        },
      ],
    });
    const { transactionId } = await world.create('SEK', { ...lead, publisherCommission: 17.5 });
    expect(await amountsOf(transactionId)).toEqual([0, 17.5]);
    expect((await world.report(reportOf('EUR', { ...lead, currencyId: 'EUR' }))).statusCode).toBe(201);
    expect((await world.report(reportOf('per cent', { currencyId: 'SEK' }))).statusCode).toBe(201);
  });
});
