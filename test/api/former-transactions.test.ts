import { randomUUID } from 'node:crypto';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { type TransactionFacts } from '../../src/domain/transactions/transaction-facts';
import { formerIdOf, legacyIdOf, transactionIdOf } from '../../src/domain/transactions/transaction-id';
import { eventsOfTransaction, sale } from '../support/transactions';
import { reportOf, type Result, transactionWorld } from './transaction-network';
import { NOW, refusalOf } from './voucher-network';
import { automatedClaims } from './automated-claims';
import { claimWorld, INQUIRY } from './claim-network';

/** Stores a transaction as it was when ids did not have the program. */
async function former(log: EventLog, order: Partial<TransactionFacts>, isInvalid = false): Promise<string> {
  const transaction = sale(order);
  const id = formerIdOf(legacyIdOf(transaction));
  const data = { at: '2026-02-25T00:00:00.000Z', transaction };
  await log.append(`transaction-${id}`, NO_STREAM, [
    toNewEvent({ type: 'TransactionTracked', data }, randomUUID()),
    ...(isInvalid
      ? [toNewEvent({ type: 'TransactionInvalidated', data: { ...data, reasons: [] } }, randomUUID())]
      : []),
  ]);
  return id;
}

const formerOf = ({ timeOfEvent, ...fields }: ReturnType<typeof reportOf>) => ({
  ...fields,
  advertiserId: 1,
  publisherId: 11,
  orderValue: 10_000,
  currencyId: 'EUR',
  timeOfEvent: new Date(Number(timeOfEvent)).toISOString(),
});

describe('a log that begins with transactions whose ids do not have the program (decisions T1)', () => {
  const world = transactionWorld();
  const { report, create, get } = world;

  it('has one transaction of an order that is reported again, and another of another program', async () => {
    const legacyId = (order: string): string => `${order}_301_1`;
    const ids = [];
    for (const order of ['OLD', 'OLDER'])
      ids.push(await former(world.app.engines.log, formerOf(reportOf(order))));
    await world.app.settled();
    for (const [at, order] of ['OLD', 'OLDER'].entries()) {
      await create(`new before ${order}`);
      const again = await report(reportOf(order));
      expect([again.statusCode, again.json<Result>().transactionId]).toEqual([200, ids[at]]);
      expect(refusalOf(await report(reportOf(order, { orderValue: 1 }))).codes).toBe('409 CON_510');
      expect((await get(`/${legacyId(order)}`)).json()).toMatchObject({ orderNumber: order });
      const { transactionId } = await create(order, { programId: 104, orderValue: 104 });
      expect(transactionId).toBe(transactionIdOf(legacyId(order), 104));
      expect(refusalOf(await get(`/${legacyId(order)}`)).message).toContain(ids[at]);
    }
  });
});

describe('an approved claim (decisions C10)', () => {
  const world = claimWorld();
  const { automate, stateOf } = automatedClaims(world);

  it.each([
    { whose: 'its site', siteId: 1101, isOwn: true },
    { whose: 'another site, where it is Invalid', siteId: 1201, isOwn: false },
  ])(
    'meets a transaction of $whose that was stored when ids did not have the program (decisions T1, C10)',
    async ({ siteId, isOwn }) => {
      const order = `of old for ${siteId}`;
      const legacyId = `${order}_${INQUIRY}_1`;
      const { log } = world.app.engines;
      const { claimId } = await world.create(order, {}, 'preisblickAll');
      const ruled = await world.rule([{ claimId, statusIdClaim: 3, versionNo: 0 }]);
      expect([ruled.statusCode, ruled.body]).toEqual([200, '']);
      const facts = { advertiserId: 1, programId: 101, eventId: INQUIRY, orderNumber: order };
      const id = await former(log, { ...facts, siteId, publisherId: siteId === 1101 ? 11 : 12 }, true);
      await automate(NOW);
      const transactionId = isOwn ? id : transactionIdOf(`${legacyId}_claim${claimId}`, 101);
      expect(await stateOf(claimId)).toMatchObject({ statusId: 3, transactionId });
      expect(await eventsOfTransaction(log, transactionIdOf(legacyId, 101))).toEqual([]);
    },
  );
});
