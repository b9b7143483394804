import { claimBatchDecider, claimDecider } from '../../src/domain/claims/claim';
import { execute, load } from '../../src/kernel/decider';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type ReadStore } from '../../src/kernel/read-store';
import { transactionIdOf } from '../../src/domain/transactions/transaction-id';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog } from '../support/temporary-log';
import { eventsOfTransaction } from '../support/transactions';
import { automatedClaims } from './automated-claims';
import { CLAIM_NETWORK, CLAIM_TOKENS, claimOf, claimWorld, INQUIRY } from './claim-network';
import { transactionClientOf } from './transaction-network';
import { DAY, NOW } from './voucher-network';

const world = claimWorld();
const conversions = transactionClientOf(() => world.app);
const { automate, stateOf, eventsOf } = automatedClaims(world);

const idOf = (orderNumber: string, eventId = INQUIRY) => transactionIdOf(`${orderNumber}_${eventId}_1`, 101);
const transactionOf = (orderNumber: string, eventId = INQUIRY) =>
  eventsOfTransaction(world.app.engines.log, idOf(orderNumber, eventId));

/** The read store, in which the transactions cannot be searched. */
function withoutTransactions(store: ReadStore): ReadStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'search')
        return async (...args: Parameters<ReadStore['search']>) => {
          if (args[0].collection === 'transactions') throw new EngineUnavailable('out of reach');
          return await target.search(...args);
        };
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('a claim that is screened while transactions cannot be read (Document 3, States and transitions: 100)', () => {
  const postWithout = async (path: string, body: object): Promise<void> => {
    const other = await world.app.again({ store: withoutTransactions(world.app.engines.store) });
    const answer = await other.inject({
      method: 'POST',
      url: `/1.0/${path}?token=${CLAIM_TOKENS.preisblick}`,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      payload: JSON.stringify({ [path]: [body] }),
    });
    await other.close();
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
  };
  const fileWithout = async (orderNumber: string): Promise<number> => {
    await postWithout('claims', claimOf(orderNumber));
    const found = (await world.list()).find((claim) => claim.orderNumber === orderNumber);
    expect(found).toMatchObject({ statusId: 100, statusState: 'PENDING_TRADEDOUBLER' });
    return found?.claimId ?? NaN;
  };

  it('is screened again by the system, and awaits approval from then on (decisions C5, C11)', async () => {
    const id = await fileWithout('unreadable');
    await automate(NOW + 60_000);
    expect(await stateOf(id)).toMatchObject({ statusId: 2, version: 0 });
    const due = new Date(NOW + 60_000 + 30 * DAY).toISOString();
    expect((await stateOf(id)).autoApproveAt).toBe(due);
    await automate(NOW + 120_000);
    expect(await eventsOf(id)).toHaveLength(3);
  });

  it('is rejected if the order has been tracked (decisions C5)', async () => {
    const id = await fileWithout('unreadable and tracked');
    await conversions.create('unreadable and tracked');
    await automate(NOW);
    expect(await stateOf(id)).toMatchObject({ statusId: 107 });
  });

  it('is not affected by an earlier version (decisions C5, C9)', async () => {
    const id = await fileWithout('unreadable and updated');
    await postWithout('claimUpdates', { ...claimOf('updated'), claimId: id, versionNo: 0 });
    const screening = { statusId: 106 } as const;
    const late = { do: 'screen', at: new Date(NOW).toISOString(), version: 0, screening } as const;
    await execute(SYSTEM_CLOCK, world.app.engines.log, claimDecider, id, late);
    expect(await stateOf(id)).toMatchObject({ statusId: 100, version: 1 });
    await automate(NOW);
    expect(await stateOf(id)).toMatchObject({ statusId: 2, version: 1 });
  });
});

describe('automatic approval (decisions C11)', () => {
  it('comes to the millisecond, as the program was defined when the claim came to await it', async () => {
    const { claimId } = await world.create('automatic');
    const [program] = CLAIM_NETWORK.programs;
    await world.app.import({ programs: [{ ...program, daysToAutoApprove: 1 }] });
    await automate(NOW + 30 * DAY - 1);
    expect(await stateOf(claimId)).toMatchObject({ statusId: 2 });
    await automate(NOW + 30 * DAY);
    expect(await stateOf(claimId)).toMatchObject({ statusId: 3, version: 0, ruling: { by: 'system' } });
    await world.app.import({ programs: [program] });
    const answer = await world.send('DELETE', `/claims/${claimId};versionNo=0`, 'preisblick');
    expect([answer.statusCode, answer.body.includes('UTS_405')]).toEqual([409, true]);
  });

  it('does not come for a claim that was ruled on, or that was updated since: its days begin again', async () => {
    const ruled = await world.create('ruled in time');
    await world.rule([{ claimId: ruled.claimId, statusIdClaim: 206, versionNo: 0 }]);
    const updated = await world.create('updated in time');
    world.passTo(NOW + DAY);
    const update = { ...claimOf('updated in time'), claimId: updated.claimId, versionNo: 0 };
    await world.json('/claimUpdates', { claimUpdates: [update] }, 'preisblick');
    await automate(NOW + 30 * DAY);
    expect(await stateOf(ruled.claimId)).toMatchObject({ statusId: 206 });
    expect(await stateOf(updated.claimId)).toMatchObject({ statusId: 2, version: 1 });
    await automate(NOW + 31 * DAY);
    expect(await stateOf(updated.claimId)).toMatchObject({ statusId: 3 });
  });

  it('is counted down in lists in days, rounded up, for both parties (Document 3, Claim as listed)', async () => {
    const { claimId } = await world.create('counted down');
    const days = async (time: number): Promise<readonly unknown[]> => {
      world.passTo(time);
      const clients = ['preisblick', 'nord'] as const;
      const lists = await Promise.all(clients.map((as) => world.list(`;claimId=${claimId}`, as)));
      return lists.map(([claim]) => claim?.['daysToAutoApprove']);
    };
    expect(await days(NOW)).toEqual([30, 30]);
    expect(await days(NOW + 1)).toEqual([30, 30]);
    expect(await days(NOW + DAY)).toEqual([29, 29]);
    expect(await days(NOW + 30 * DAY - 1)).toEqual([1, 1]);
    expect(await days(NOW + 30 * DAY)).toEqual([0, 0]);
    await automate(NOW + 30 * DAY);
    expect(await days(NOW + 30 * DAY)).toEqual([undefined, undefined]);
  });
});

describe('an approved claim (decisions C10)', () => {
  const approved = async (
    orderNumber: string,
    changes: object = {},
    ruling: object = {},
  ): Promise<number> => {
    const { claimId } = await world.create(orderNumber, changes, 'preisblickAll');
    const answer = await world.rule([{ claimId, statusIdClaim: 3, versionNo: 0, ...ruling }]);
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    return claimId;
  };
  const amounts = async (orderNumber: string, eventId?: number) => {
    const [tracked] = await transactionOf(orderNumber, eventId);
    const { orderValue, publisherCommission } = tracked?.data.transaction ?? {};
    return { orderValue, publisherCommission };
  };

  it('becomes a transaction that is Tracked, then Tracked_Approved, and publishers and advertisers see it', async () => {
    const id = await approved('order', { epi: 'e', epi2: 'f' });
    await automate(NOW);
    const { programs } = world.app.follower.directory;
    const program = programs.get(101);
    const events = await transactionOf('order');
    expect(events.map(({ type }) => type)).toEqual(['TransactionTracked', 'TransactionTrackedApproved']);
    expect(events[1]?.data.transaction).toEqual({
      advertiserId: 1,
      programId: 101,
      programCountry: program?.country,
      siteId: 1101,
      siteName: programs.site(1101)?.name,
      publisherId: 11,
      eventId: INQUIRY,
      eventTypeId: 5,
      orderNumber: 'order',
      orderValue: 10_000,
      currencyId: program?.currency,
      publisherCommission: 750,
      tdCommission: 0,
      timeOfEvent: '2026-02-20T00:00:00.000Z',
      epi: 'e',
      epi2: 'f',
    });
    expect(await stateOf(id)).toMatchObject({ statusId: 3, transactionId: idOf('order') });
    const listed = await conversions.get(';orderNumber=order', 'preisblick');
    expect(listed.json()).toMatchObject([{ messageTypeId: 5, orderValue: 100 }]);
    await automate(NOW + 1000);
    expect(await eventsOf(id)).toHaveLength(4);
  });

  it('pays the adjusted commission, the expected one, or that of the event (decisions C6)', async () => {
    await approved('adjusted', {}, { orderValue: 80, expectedCommission: 5 });
    await approved('adjusted value', {}, { orderValue: 80 });
    await approved('of the event', { eventId: 301, expectedCommission: undefined });
    await automate(NOW);
    expect(await amounts('adjusted')).toEqual({ orderValue: 8_000, publisherCommission: 500 });
    expect(await amounts('adjusted value')).toEqual({ orderValue: 8_000, publisherCommission: 750 });
    expect(await amounts('of the event', 301)).toEqual({ orderValue: 10_000, publisherCommission: 600 });
  });

  it.each([301, 302])(
    'makes no second transaction if event %i of the order was tracked meanwhile',
    async (eventId) => {
      const order = `tracked meanwhile ${eventId}`;
      const id = await approved(order);
      const { transactionId } = await conversions.create(order, { eventId });
      await automate(NOW);
      expect(await transactionOf(order)).toEqual([]);
      expect(await stateOf(id)).toMatchObject({ statusId: 3, transactionId });
    },
  );

  it('becomes one while the read model of transactions never reaches the end of the log', async () => {
    const id = await approved('behind');
    await world.app.settled();
    const { store } = world.app.engines;
    const reached = await store.checkpoint({ collection: 'transactions' });
    await conversions.create('ahead');
    const behind = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name === 'checkpoint') return async () => reached;
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    await automate(NOW, undefined, behind);
    expect(await stateOf(id)).toMatchObject({ transactionId: idOf('behind') });
  });

  it('makes no second transaction if another claim of the order is approved at the same time', async () => {
    const ids = [await approved('twice'), await approved('twice', { timeStampEvent: '2026-02-19' })];
    ids.push(await approved('twice', { eventId: 301, expectedCommission: undefined }));
    await automate(NOW);
    expect(await transactionOf('twice')).toHaveLength(2);
    expect(await transactionOf('twice', 301)).toEqual([]);
    for (const id of ids) expect(await stateOf(id)).toMatchObject({ transactionId: idOf('twice') });
  });

  it('makes a transaction for each program, though they share event and order number (decisions T1, C5)', async () => {
    const order = 'two programs';
    const ids = [await approved(order), await approved(order, { programId: 102, affiliateSiteId: 1102 })];
    await automate(NOW);
    const transactionIds = [101, 102].map((id) => transactionIdOf(`${order}_${INQUIRY}_1`, id));
    for (const [at, id] of ids.entries())
      expect(await stateOf(id)).toMatchObject({ statusId: 3, transactionId: transactionIds[at] });
    const listed = (await conversions.get(`;orderNumber=${order}`)).json<readonly object[]>();
    expect(listed).toHaveLength(2);
  });

  it.each([
    { whose: 'another publisher', siteId: 1201 },
    { whose: 'another site of the publisher', siteId: 1102 },
  ])('makes a transaction if the same event was reported for $whose and is Invalid', async ({ siteId }) => {
    const order = `invalid for ${siteId}`;
    const id = await approved(order, { eventId: 301, expectedCommission: undefined });
    const visit = { timeOfVisit: NOW, timeOfEvent: NOW - 60_000 };
    await conversions.create(order, { ...visit, siteId });
    await automate(NOW);
    const events = await transactionOf(order, 301);
    expect(events.map(({ type }) => type)).toEqual(['TransactionTracked', 'TransactionInvalidated']);
    const legacyTransactionId = `${order}_301_1_claim${id}`;
    const transactionId = transactionIdOf(legacyTransactionId, 101);
    expect(await stateOf(id)).toMatchObject({ statusId: 3, transactionId });
    await automate(NOW + 60_000);
    const listed = (await conversions.get(`;orderNumber=${order};siteId=1101`)).json<readonly object[]>();
    expect(listed).toMatchObject([{ transactionId, legacyTransactionId, stateName: 'Tracked_Approved' }]);
    const moved = await conversions.move({ action: 'delete', deniedReasonId: 10, legacyTransactionId });
    expect([moved.statusCode, moved.json()]).toMatchObject([200, { transactionId, messageTypeId: 8 }]);
  });

  it('makes no second transaction if the same event was reported for its site and is Invalid', async () => {
    const order = 'invalid meanwhile';
    const id = await approved(order, { eventId: 301, expectedCommission: undefined });
    await conversions.create(order, { timeOfVisit: NOW, timeOfEvent: NOW - 60_000 });
    await automate(NOW);
    const events = await transactionOf(order, 301);
    expect(events.map(({ type }) => type)).toEqual(['TransactionTracked', 'TransactionInvalidated']);
    expect(await stateOf(id)).toMatchObject({ statusId: 3, transactionId: idOf(order, 301) });
  });

  it('makes one transaction when the process ends between both appends', async () => {
    const id = await approved('interrupted');
    const { log } = world.app.engines;
    const ending = overrideLog(log, {
      append: (stream, ...rest) => {
        if (stream === `claim-${id}`) throw new EngineUnavailable('the process has ended');
        return log.append(stream, ...rest);
      },
    });
    await expect(automate(NOW, ending)).rejects.toThrow('the process has ended');
    expect(await transactionOf('interrupted')).toHaveLength(2);
    expect(await stateOf(id)).toMatchObject({ transactionId: undefined });
    await automate(NOW + 60_000);
    expect(await transactionOf('interrupted')).toHaveLength(2);
    expect(await stateOf(id)).toMatchObject({ transactionId: idOf('interrupted') });
  });
});

describe('a post of several claims that was interrupted when it was accepted (decisions C3)', () => {
  it('is filed by the system five seconds later, once', async () => {
    const { log } = world.app.engines;
    const at = new Date(NOW).toISOString();
    const claims = [9001, 9002].map((id) => ({
      id,
      origin: { publisherId: 11, advertiserId: 1 },
      claim: {
        siteId: 1101,
        programId: 101,
        transactionDate: '2026-02-20',
        eventId: INQUIRY,
        orderNumber: `batch ${id}`,
        orderValue: 1000,
      },
      screening: { statusId: 2 } as const,
    }));
    await execute(SYSTEM_CLOCK, log, claimBatchDecider, 9001, { do: 'accept', at, claims });
    await automate(NOW + 4_999);
    expect(await eventsOf(9001)).toEqual([]);
    await automate(NOW + 5_000);
    await automate(NOW + 6_000);
    for (const { id } of claims) {
      expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['ClaimFiled', 'ClaimScreened']);
      expect((await eventsOf(id))[0]?.data).toMatchObject({ at });
    }
    expect((await load(log, claimBatchDecider, 9001)).state).toEqual({ is: 'finished' });
  });
});
