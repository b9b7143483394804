import { createHash, randomUUID } from 'node:crypto';
import { NO_STREAM, streamOf } from '../../src/kernel/event';
import { toNewEvent } from '../../src/kernel/decider';
import { golden } from '../support/golden';
import { DENIED_REASONS, EVENT_TYPES, MESSAGE_ATTRIBUTES, MESSAGE_TYPES } from './document-tables';
import {
  CONVERSION_NETWORK,
  OPTIONAL,
  reportOf,
  type Result,
  transactionClientOf,
  transactionWorld,
} from './transaction-network';
import { NOW, refusalOf } from './voucher-network';
import { automatedClaims } from './automated-claims';
import { CLAIM_NETWORK, claimClientOf } from './claim-network';
import { worldOf } from './world';

describe('transaction attributes', () => {
  const world = transactionWorld();
  const { create, move, get, report } = world;
  const [HOUR, DAY] = [3_600_000, 86_400_000];
  const iso = (time: number) => new Date(time).toISOString();

  type Listed = Readonly<Record<string, unknown>>;

  const ITEMS = 'f1=l-1&f2=Wall%20lamp&f3=60.00&f4=1|f1=l-2&f2=Bulb&f3=20.00&f4=2';
  const FULL = {
    ...OPTIONAL,
    orderValue: 129.9,
    timeOfEvent: NOW - HOUR,
    timeOfVisit: NOW - 2 * HOUR,
    reportInfo: ITEMS,
  };

  /** A transaction in each state; then in the states of an event that the system denies. */
  const listed = new Map<number, Listed>();
  const ofAutoDeny = new Map<number, Listed>();

  async function add(
    to: Map<number, Listed>,
    state: number,
    changes: object,
    ...requests: readonly object[]
  ): Promise<void> {
    const { transactionId } = await create(`${changes === DENYING ? 'D' : 'A'}-${state}`, {
      ...FULL,
      ...changes,
    });
    world.passTo(NOW + HOUR);
    for (const request of requests) await move({ transactionId, ...request }, 'operator');
    world.passTo(NOW);
    to.set(state, (await get(`/${transactionId}`, 'operator')).json<Listed>());
  }

  const DENYING = { eventId: 305 };
  const PAUSED = { programId: 104 };
  const status = (value: string) =>
    world.app.import({
      programs: CONVERSION_NETWORK.programs
        .filter((program) => 'id' in program && program.id === 104)
        .map((program) => ({ ...program, status: value })),
    });

  beforeAll(async () => {
    const lead = { eventId: 302 };
    await add(listed, 1, { validate: false });
    await add(listed, 2, { siteId: 1201 });
    await add(listed, 3, PAUSED);
    await add(listed, 4, {});
    await add(listed, 5, lead);
    await add(listed, 6, {}, { action: 'approve' });
    const { transactionId } = await create('A-7', { ...FULL, ...PAUSED });
    await status('closed');
    await move({ transactionId, action: 'validate' });
    await status('paused');
    listed.set(7, (await get(`/${transactionId}`)).json<Listed>());
    await add(listed, 8, {}, { action: 'deny', deniedReasonId: 10 });
    await add(listed, 9, lead, { action: 'pay', paymentId: 4711 });
    await add(ofAutoDeny, 4, DENYING);
    await add(ofAutoDeny, 6, DENYING, { action: 'approve' });
    await add(ofAutoDeny, 8, DENYING, { action: 'deny' });
  });

  const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const ofLead = (state: number) => state === 5 || state === 9;
  const program = (state: number) => (state === 3 || state === 7 ? 104 : 101);
  const legacyId = (state: number) => `A-${state}_${ofLead(state) ? 302 : 301}_1`;
  const idOf = (state: number) =>
    createHash('sha256')
      .update(`${legacyId(state)}_program${program(state)}`)
      .digest('hex')
      .slice(0, 32);

  /** Each attribute: the states that have it, and its value in a state. */
  const ATTRIBUTES: readonly (readonly [string, readonly number[], (state: number) => unknown])[] = [
    ['adId', ALL, () => 7],
    ['advertiserId', ALL, () => 1],
    ['autoApproveDate', [4, 6, 8], () => iso(NOW + 10 * DAY)],
    ['autoDenyDate', [], () => undefined],
    ['batchId', ALL, () => 9],
    ['currencyId', ALL, () => 'EUR'],
    ['deniedReasonId', [6, 8], (state) => (state === 6 ? 21 : 10)],
    ['epi', ALL, () => 'spring'],
    ['epi2', ALL, () => 'two'],
    ['eventId', ALL, (state) => (ofLead(state) ? 302 : 301)],
    ['eventTypeId', ALL, (state) => (ofLead(state) ? 4 : 5)],
    ['locationId', ALL, () => 8],
    ['mediaCost', ALL, () => 1.25],
    ['messageTypeId', ALL, (state) => state],
    ['orderNumber', ALL, (state) => `A-${state}`],
    ['orderValue', ALL, () => 129.9],
    ['paymentId', [9], () => 4711],
    ['pendingStatusDateChanged', [6, 8], () => iso(NOW + HOUR)],
    ['productId', ALL, () => '77'],
    ['productName', ALL, () => 'Wall lamp|Bulb'],
    ['productNumber', ALL, () => 'l-1|l-2'],
    ['productQuantity', ALL, () => '1|2'],
    ['productValue', ALL, () => '60.00|20.00'],
    ['programCountry', ALL, (state) => (program(state) === 104 ? 'FR' : 'DE')],
    ['programId', ALL, program],
    ['publisherCommission', ALL, (state) => (ofLead(state) ? 1.5 : 7.79)],
    ['tdCommission', ALL, () => 2.5],
    ['reportInfo', [1, 2, 3, 4, 5, 7, 9], () => ITEMS],
    ['sequenceNumber', ALL, (state) => String(state === 1 ? 1 : [6, 7, 8, 9].includes(state) ? 3 : 2)],
    ['siteId', ALL, (state) => (state === 2 ? 1201 : 1101)],
    ['siteName', ALL, (state) => (state === 2 ? 'Site 1201' : 'Site 1101')],
    ['timeOfEvent', ALL, () => iso(NOW - HOUR)],
    ['timeOfVisit', ALL, () => iso(NOW - 2 * HOUR)],
    ['transactionId', [2, 3, 4, 5, 6, 7, 8, 9], idOf],
    ['legacyTransactionId', ALL, legacyId],
    ['visitorId', [1, 2, 3, 4, 5, 7, 9], () => 'v-1'],
  ];

  describe('attributes of a transaction, by its state (Document 2, Message attributes; decisions N1, N2, T6)', () => {
    it.each(ATTRIBUTES)('Document 2, Message attributes: %s in the states %j', (name, states, valueIn) => {
      const expected = ALL.map((state) => [state, states.includes(state) ? valueIn(state) : undefined]);
      expect(ALL.map((state) => [state, listed.get(state)?.[name]])).toEqual(expected);
    });

    it('items stay aligned: | and % within a value stay percent-encoded (decisions T2)', async () => {
      const reportInfo = 'f1=a%7Cb&f2=50%25%20off|f1=c%257C&f2=d%2Fe';
      const { transactionId } = await create('ITEMS', { reportInfo });
      expect((await get(`/${transactionId}`)).json()).toMatchObject({
        productNumber: 'a%7Cb|c%257C',
        productName: '50%25 off|d/e',
      });
    });

    it('Document 2, Message attributes: autoDenyDate in place of autoApproveDate, where the event says so', () => {
      for (const [state, one] of ofAutoDeny) {
        expect([state, one['autoDenyDate']]).toEqual([state, iso(NOW + 3 * DAY)]);
        expect(one).not.toHaveProperty('autoApproveDate');
      }
      expect([...ofAutoDeny.keys()]).toEqual([4, 6, 8]);
    });

    it('are all those of the document, in its order, then stateName and changed', () => {
      expect(ATTRIBUTES.map(([name]) => name)).toEqual(MESSAGE_ATTRIBUTES);
      for (const one of listed.values()) {
        const names = Object.keys(one);
        expect(names).toEqual([
          ...MESSAGE_ATTRIBUTES.filter((name) => names.includes(name)),
          'stateName',
          'changed',
        ]);
      }
    });

    it.each(MESSAGE_TYPES)('Document 2, States and transitions: %i is %s', (state, name) => {
      expect(listed.get(state)).toMatchObject({ messageTypeId: state, stateName: name });
    });
  });

  describe('Document 2, Event type IDs (decisions T7)', () => {
    it.each(EVENT_TYPES)('%i, %s', async (eventTypeId, name) => {
      const [sale, lead] = [
        await report(reportOf(`E-${eventTypeId}`, { eventTypeId })),
        await report(reportOf(`E-${eventTypeId}`, { eventTypeId, eventId: 302 })),
      ];
      const [taken, refused] = name.endsWith('sale') ? [sale, lead] : [lead, sale];
      const { transactionId } = taken.json<Result>();
      expect((await get(`/${transactionId}`)).json()).toMatchObject({ eventTypeId });
      expect(refusalOf(refused).codes).toBe('400 CON_350');
    });
  });

  /** The requests that accept each reason (decisions T5); 3 and 4 are those of the system. */
  const ACCEPTED = new Map<number, readonly string[]>([
    [1, ['approve']],
    [2, ['approve']],
    [3, []],
    [4, []],
    [21, ['approve']],
  ]);
  const DENIALS = ['deny', 'delete'];

  describe('Document 2, Denied reason IDs (decisions T5)', () => {
    it.each(DENIED_REASONS)('%i, %s', async (deniedReasonId) => {
      const accepted: string[] = [];
      for (const action of ['approve', 'deny', 'delete']) {
        const { transactionId } = await create(`R-${deniedReasonId}-${action}`);
        const answer = await move({ transactionId, action, deniedReasonId });
        const one = (await get(`/${transactionId}`)).json<Listed>();
        if (answer.statusCode === 200) accepted.push(action);
        else expect([refusalOf(answer).codes, one['messageTypeId']]).toEqual(['400 CON_350', 4]);
        expect(one['deniedReasonId']).toBe(answer.statusCode === 200 ? deniedReasonId : undefined);
      }
      expect(accepted).toEqual(ACCEPTED.get(deniedReasonId) ?? DENIALS);
    });

    it.each([0, 20, 23, -1, 1e9])('%i is none', async (deniedReasonId) => {
      const { transactionId } = await create(`R-${deniedReasonId}`);
      for (const action of ['approve', 'deny', 'delete'])
        expect(refusalOf(await move({ transactionId, action, deniedReasonId })).codes).toBe('400 CON_350');
    });

    it('are 21 and 22 unless given', () => {
      expect(listed.get(6)).toMatchObject({ deniedReasonId: 21 });
      expect(ofAutoDeny.get(8)).toMatchObject({ deniedReasonId: 22 });
    });
  });
});

describe('terms that are recorded', () => {
  const world = worldOf(CLAIM_NETWORK, (app) => ({
    ...transactionClientOf(app),
    claims: claimClientOf(app),
  }));
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
        const transaction = {
          ...event.data.transaction,
          ...own,
          orderValue: 10_000,
          publisherCommission: 500,
        };
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
});
