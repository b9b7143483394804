import {
  CONVERSION_CLIENTS,
  type ConversionClient,
  OPTIONAL,
  PATH,
  reportOf,
  type Result,
  transactionWorld,
} from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

describe('transaction list', () => {
  const world = transactionWorld();
  const { create, move, get, reportAll } = world;
  const HOUR = 3_600_000;

  interface Listed {
    readonly legacyTransactionId: string;
    readonly messageTypeId: number;
    readonly transactionId?: string;
    readonly [field: string]: unknown;
  }

  /** One transaction in each state, by the number of the state. */
  const made = new Map<number, Result>();
  const FULL = {
    ...OPTIONAL,
    timeOfVisit: NOW - HOUR,
    reportInfo: 'f1=l-1&f2=Wall%20lamp&f3=60.00&f4=1|f1=l-2&f2=Bulb&f3=20.00&f4=2',
  };

  beforeAll(async () => {
    const report = async (state: number, changes: object, ...moves: readonly object[]) => {
      const time = { timeOfEvent: NOW - state * HOUR, timeOfVisit: NOW - 20 * HOUR };
      const first = await create(`S-${state}`, { ...FULL, ...time, ...changes });
      let last = first;
      for (const request of moves)
        last = (await move({ transactionId: first.transactionId, ...request }, 'operator')).json<Result>();
      made.set(state, last);
    };
    const lead = { eventId: 302, orderValue: 0 };
    await report(1, { validate: false });
    await report(2, { siteId: 1201 });
    await report(3, { programId: 104 });
    await report(4, {});
    await report(5, lead);
    await report(6, {}, { action: 'approve' });
    await report(8, {}, { action: 'deny', deniedReasonId: 10 });
    await report(9, lead, { action: 'pay', paymentId: 4711 });
    await create('CASA', { programId: 201, eventId: 401 }, 'casa');
    await create('SE', { programId: 102, eventId: 303, siteId: 1102, orderValue: 12.34 });
    await create('DEALS', { siteId: 1202, timeOfEvent: NOW - 2 * HOUR });
  });

  async function list(keys = '', as: ConversionClient = 'operator'): Promise<readonly Listed[]> {
    const answer = await get(keys, as);
    expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
    return answer.json();
  }

  const ordersOf = (listed: readonly Listed[]): readonly string[] =>
    listed.map(({ legacyTransactionId }) => legacyTransactionId.split('_')[0] ?? '');

  describe('who sees what (decisions T6)', () => {
    const NORD = ['S-1', 'S-2', 'S-3', 'S-4', 'S-5', 'S-6', 'S-8', 'S-9'];
    const SEEN: Readonly<Record<ConversionClient, readonly string[]>> = {
      nord: [...NORD, 'SE', 'DEALS'],
      casa: ['CASA'],
      preisblick: [...NORD.filter((name) => name !== 'S-2'), 'CASA'],
      preisblickAll: [...NORD.filter((name) => name !== 'S-2'), 'CASA', 'SE'],
      deals: ['S-2', 'DEALS'],
      lonely: [],
      operator: [...NORD, 'SE', 'DEALS', 'CASA'],
    };
    const all = [...SEEN.operator].sort();

    it.each(CONVERSION_CLIENTS)('%s, in lists, totals, single ones and histories', async (client) => {
      const seen = [...SEEN[client]].sort();
      const keys = `;orderNumber=${all.join(',')}`;
      expect([...ordersOf(await list(keys, client))].sort()).toEqual(seen);
      const totals = (await get(`/totals${keys}`, client)).json<readonly { count: number }[]>();
      expect(totals.reduce((sum, { count }) => sum + count, 0)).toBe(seen.length);
      for (const { transactionId, orderNumber } of await list(keys)) {
        if (transactionId === undefined) continue;
        const expected = seen.includes(String(orderNumber)) ? 200 : 404;
        for (const path of [`/${transactionId}`, `/${transactionId}/transitions`]) {
          const answer = await get(path, client);
          expect([orderNumber, path, answer.statusCode]).toEqual([orderNumber, path, expected]);
          if (expected === 404) expect(refusalOf(answer).codes).toBe('404 CON_500');
        }
      }
    });

    it('a publisher that names a foreign site gets nothing', async () => {
      expect(await list(';siteId=1202', 'preisblickAll')).toEqual([]);
      expect(ordersOf(await list(';siteId=1102', 'preisblickAll'))).toEqual(['SE']);
      expect(await list(';siteId=1102', 'preisblick')).toEqual([]);
    });
  });

  describe('keys of the list (decisions T6)', () => {
    it.each<[string, readonly string[]]>([
      [';programId=102,201', ['CASA', 'SE']],
      [';siteId=1202', ['DEALS']],
      [';eventId=303', ['SE']],
      [';eventTypeId=4', ['S-5', 'S-9']],
      [';messageTypeId=2,9', ['S-2', 'S-9']],
      [';orderNumber=S-4', ['S-4']],
      [';legacyTransactionId=S-4_301_1', ['S-4']],
      [';epi=spring;messageTypeId=4', ['S-4']],
      [';currencyId=sek', ['SE']],
      [`;minTimeOfEvent=${NOW - 2 * HOUR};orderNumber=S-1,S-2,S-3`, ['S-1', 'S-2']],
      [`;maxTimeOfEvent=${NOW - 2 * HOUR};orderNumber=S-1,S-2,S-3`, ['S-2', 'S-3']],
      [`;minChanged=${NOW + 1}`, []],
      [`;maxChanged=${NOW - 1}`, []],
      // A date as an upper bound includes its day (decisions A17).
      [';minTimeOfEvent=2026-03-01;maxTimeOfEvent=2026-03-01;orderNumber=S-1,S-2,S-3', ['S-1', 'S-2', 'S-3']],
      [';maxTimeOfEvent=2026-02-28;orderNumber=S-1,S-2,S-3', []],
      [';minChanged=2026-03-01;maxChanged=2026-03-01;orderNumber=S-4,SE', ['S-4', 'SE']],
      [';maxChanged=2026-02-28', []],
    ])('%s', async (keys, orders) => {
      expect([...ordersOf(await list(keys))].sort()).toEqual(orders);
    });

    it('transactionId, also in the query', async () => {
      const { transactionId = '' } = made.get(6) ?? {};
      expect(ordersOf(await list(`?transactionId=${transactionId}`))).toEqual(['S-6']);
    });

    it('orders by time, newest first unless told otherwise, and pages', async () => {
      const three = ';orderNumber=S-1,S-2,S-3';
      expect(ordersOf(await list(three))).toEqual(['S-1', 'S-2', 'S-3']);
      expect(ordersOf(await list(`${three};sortOrder=asc`))).toEqual(['S-3', 'S-2', 'S-1']);
      expect(ordersOf(await list(`${three};pageSize=2;page=1`))).toEqual(['S-3']);
      const answer = await get(`${three};pageSize=2`, 'operator');
      expect(answer.headers['x-total-count']).toBe('3');
    });

    it('pages by cursor to the end, whatever the order', async () => {
      for (const order of ['', ';orderBy=changed', ';sortOrder=asc']) {
        const seen: string[] = [];
        let cursor: string | undefined = '*';
        while (cursor !== undefined) {
          const answer = await get(`;pageSize=3;cursor=${cursor}${order}`, 'operator');
          seen.push(...ordersOf(answer.json()));
          cursor = answer.headers['x-next-cursor'] as string | undefined;
        }
        expect(seen).toEqual(ordersOf(await list(order)));
      }
      expect(refusalOf(await get(';cursor=x', 'nord')).codes).toBe('400 CON_350');
      expect(refusalOf(await get(';cursor=*;page=1', 'nord')).codes).toBe('400 CON_350');
    });

    it.each([';pageSize=0', ';page=-1', ';messageTypeId=x', ';orderBy=price', ';minChanged=yesterday'])(
      '%s is CON_350',
      async (keys) => {
        expect(refusalOf(await get(keys, 'nord')).codes).toBe('400 CON_350');
      },
    );

    it('answers in milliseconds on request', async () => {
      const [one] = await list(';orderNumber=S-4;dateOutputFormat=epoch');
      expect(one?.['timeOfEvent']).toBe(NOW - 4 * HOUR);
    });
  });

  describe('formats (decisions T6)', () => {
    it('CSV has a column for each field, in the order of the document', async () => {
      const answer = await get('.csv;orderNumber=S-1,S-9;sortOrder=asc', 'nord');
      const [head = '', paid = '', tracked = ''] = answer.body.replaceAll('"', '').split(/\r?\n/);
      expect(head.startsWith('adId,advertiserId,autoApproveDate,autoDenyDate,batchId,currencyId,')).toBe(
        true,
      );
      expect(head.endsWith(',legacyTransactionId,visitorId,stateName,changed')).toBe(true);
      expect(paid).toContain(',4711,');
      expect(tracked).toContain('Tracked');
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    });

    it('XML has an element for each', async () => {
      const answer = await get('.xml;orderNumber=S-4', 'nord');
      expect(answer.body).toMatch(
        /<transactions>\s*<transaction>.*<orderValue>100<.*<\/transaction>\s*<\/transactions>/s,
      );
    });
  });

  describe('totals (decisions T6)', () => {
    it('by currency and state, of the same transactions', async () => {
      const answer = await get('/totals;orderNumber=S-4,S-6,S-8,SE', 'nord');
      expect(answer.json()).toEqual([
        {
          currencyId: 'EUR',
          messageTypeId: 4,
          stateName: 'Pending',
          count: 1,
          orderValue: 100,
          publisherCommission: 6,
          tdCommission: 2.5,
        },
        {
          currencyId: 'EUR',
          messageTypeId: 6,
          stateName: 'Pending_Approved',
          count: 1,
          orderValue: 100,
          publisherCommission: 6,
          tdCommission: 2.5,
          secondsToApproval: 21_600,
        },
        {
          currencyId: 'EUR',
          messageTypeId: 8,
          stateName: 'Deleted',
          count: 1,
          orderValue: 100,
          publisherCommission: 6,
          tdCommission: 2.5,
        },
        {
          currencyId: 'SEK',
          messageTypeId: 5,
          stateName: 'Tracked_Approved',
          count: 1,
          orderValue: 12.34,
          publisherCommission: 0.62,
          tdCommission: 0,
          secondsToApproval: 60,
        },
      ]);
      expect((await get('/totals.xml;orderNumber=SE', 'nord')).body).toMatch(
        /<totals>\s*<total>\s*<currencyId>SEK</,
      );
      expect((await get('/totals;orderNumber=none', 'nord')).json()).toEqual([]);
    });

    const lines = async (keys: string, client: ConversionClient = 'nord') =>
      (await get(`/totals${keys}`, client)).json<readonly Readonly<Record<string, unknown>>[]>();

    it('by day, program and site, with approvals (decisions T9)', async () => {
      const at = (day: string, time: string) => Date.parse(`${day}T${time}Z`);
      const day = new Date(NOW - 40 * 24 * HOUR).toISOString().slice(0, 10);
      const next = new Date(Date.parse(day) + 24 * HOUR).toISOString().slice(0, 10);
      const epi = 'report';
      const lead = { eventId: 302, orderValue: 0.29, publisherCommission: 0.1, epi };
      await create('R-1', { ...lead, timeOfEvent: at(day, '23:59:59.999') });
      await create('R-2', { ...lead, timeOfEvent: at(next, '00:00:00.000') });
      const { transactionId } = await create('R-3', { ...lead, timeOfEvent: at(next, '12:00:00.000') });
      await move({ transactionId, action: 'delete' }, 'operator');
      await create('R-4', { ...lead, eventId: 301, timeOfEvent: at(next, '12:00:00.000') });
      const of = (period: string) => ({
        period,
        periodOf: 'timeOfEvent',
        programId: 101,
        siteId: 1101,
        currencyId: 'EUR',
      });
      const seconds = (time: number) => Math.round((NOW - time) / 1000);
      expect(await lines(`;epi=${epi};groupBy=siteId,day,programId`)).toEqual([
        {
          ...of(day),
          ...{
            count: 1,
            orderValue: 0.29,
            publisherCommission: 0.1,
            tdCommission: 0,
            approved: 1,
            refused: 0,
          },
          approvalRate: 1,
          secondsToApproval: seconds(at(day, '23:59:59.999')),
        },
        {
          ...of(next),
          ...{
            count: 3,
            orderValue: 0.87,
            publisherCommission: 0.3,
            tdCommission: 0,
            approved: 1,
            refused: 1,
          },
          approvalRate: 0.5,
          secondsToApproval: seconds(at(next, '00:00:00.000')),
        },
      ]);
      const approved = await lines(`;epi=${epi};groupBy=day,state;periodOf=approved`);
      expect(approved.map(({ period, stateName, count }) => [period, stateName, count])).toEqual([
        [new Date(NOW).toISOString().slice(0, 10), 'Tracked_Approved', 2],
        [new Date(NOW).toISOString().slice(0, 10), 'Deleted', 1],
      ]);
      expect(
        (await get(`/totals.csv;epi=${epi};groupBy=day`, 'nord')).body.split('\r\n').slice(0, 2),
      ).toEqual([
        '"period","periodOf","programId","siteId","eventId","currencyId","messageTypeId","stateName","count","orderValue",' +
          '"publisherCommission","tdCommission","approved","refused","approvalRate","secondsToApproval"',
        `"${day}","timeOfEvent","","","","EUR","","","1","0.29","0.1","0","1","0","1","${seconds(at(day, '23:59:59.999'))}"`,
      ]);
    });

    it('a paid transaction keeps the time of its approval (decisions T9)', async () => {
      const { transactionId } = await create('PAID', {
        eventId: 302,
        orderValue: 1,
        timeOfEvent: NOW - HOUR,
        epi: 'paid',
      });
      await move({ transactionId, action: 'pay', paymentId: 1 }, 'operator');
      expect(await lines(';epi=paid;groupBy=state')).toMatchObject([
        { messageTypeId: 9, secondsToApproval: 3600 },
      ]);
      expect(await lines(`;epi=paid;minApproved=${NOW}`)).toHaveLength(1);
      expect(await lines(`;epi=paid;minApproved=${NOW + HOUR}`)).toEqual([]);
    });

    it.each([
      [';groupBy=day,month', 'groupBy=day,month: expected at most one of day, week, month'],
      [';periodOf=approved', 'periodOf=approved: expected together with day, week, month in groupBy'],
      [';groupBy=year', 'groupBy=year: expected one of day, week, month, programId, siteId, eventId, state'],
    ])('refuses %s (decisions T9)', async (keys, message) => {
      const answer = await get(`/totals${keys}`, 'nord');
      expect(refusalOf(answer).codes).toBe('400 CON_350');
      expect(answer.body).toContain(message);
    });

    it('refuses more than 10,000 combinations (decisions T9)', async () => {
      const reports = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, at) =>
          reportOf(`DAY-${from + at}`, {
            timeOfEvent: NOW - Math.floor((from + at) / 2) * 24 * HOUR,
            eventId: (from + at) % 2 === 0 ? 301 : 302,
            epi: 'days',
          }),
        );
      for (const [from, to] of [
        [0, 9_999],
        [9_999, 10_000],
      ] as const)
        expect((await reportAll(reports(from, to))).statusCode).toBe(200);
      await world.app.settled();
      expect(await lines(';epi=days;groupBy=day,state')).toHaveLength(10_000);
      expect(await lines(';epi=days;groupBy=day')).toHaveLength(5_000);
      expect((await reportAll(reports(10_000, 10_001))).statusCode).toBe(200);
      await world.app.settled();
      const answer = await get('/totals;epi=days;groupBy=day', 'nord');
      expect(refusalOf(answer).codes).toBe('400 CON_350');
      expect(answer.body).toContain('more than 10000 combinations');
      expect(await lines(';epi=days;groupBy=month')).not.toHaveLength(0);
    });

    it('beyond 2^53 hundredths, which are rounded to what a number can be', async () => {
      const greatest = 99_999_999_999.99;
      const reports = Array.from({ length: 1000 }, (_, at) =>
        reportOf(`GREAT-${at}`, { orderValue: greatest, publisherCommission: 0, epi: 'great' }),
      );
      expect((await reportAll(reports)).statusCode).toBe(200);
      await world.app.settled();
      const answer = await get('/totals;epi=great', 'nord');
      expect(answer.json()).toMatchObject([{ count: 1000, publisherCommission: 0 }]);
      const [{ orderValue }] = answer.json<[{ orderValue: number }]>();
      expect(orderValue / (1000 * greatest)).toBeCloseTo(1, 12);
      expect((await get('/totals.xml;epi=great', 'nord')).body).toContain(
        '<orderValue>99999999999990</orderValue>',
      );
    });
  });

  describe('one transaction and its history (decisions T6)', () => {
    it('lists its states in order', async () => {
      const { transactionId = '' } = made.get(8) ?? {};
      const one = (await get(`/${transactionId}`)).json<Listed>();
      expect(one).toMatchObject({ stateName: 'Deleted', deniedReasonId: 10 });
      const history = (await get(`/${transactionId}/transitions`)).json<readonly Listed[]>();
      expect(history.map(({ stateName, sequenceNumber }) => [stateName, sequenceNumber])).toEqual([
        ['Tracked', '1'],
        ['Pending', '2'],
        ['Deleted', '3'],
      ]);
      expect(history.at(-1)).toEqual(one);
    });

    it('is paged only if pageSize is sent: amendments have what their pages do not begin with', async () => {
      const { transactionId } = await create('AMENDED', { orderValue: 1 });
      const values = Array.from({ length: 40 }, (_, n) => n + 2);
      for (const orderValue of values) await move({ transactionId, action: 'amend', orderValue });
      const path = `/${transactionId}/transitions`;
      const all = await get(path);
      const states = all.json<readonly Listed[]>();
      expect(states.map(({ orderValue }) => orderValue)).toEqual([1, 1, ...values]);
      expect([all.headers['x-total-count'], all.headers['x-page-size']]).toEqual(['42', undefined]);
      const xml = (await get(`${path}.xml`)).body;
      expect(xml.match(/<transaction>/g)).toHaveLength(42);
      const pages = [];
      for (let page = 0; page < 4; page += 1) {
        const answer = await get(`${path};pageSize=17;page=${page}`);
        expect(answer.headers['x-total-count']).toBe('42');
        pages.push(answer.json<readonly Listed[]>());
      }
      expect(pages.map(({ length }) => length)).toEqual([17, 17, 8, 0]);
      expect(pages.flat()).toEqual(states);
      expect((await get(`${path};pageSize=5000`)).headers['x-page-size']).toBe('1000');
      for (const keys of [';page=1', ';pageSize=0', ';pageSize=2;page=-1'])
        expect(refusalOf(await get(`${path}${keys}`)).codes).toBe('400 CON_350');
      expect((await get(`${path};page=1`)).body).toContain('page=1: expected together with pageSize');
    });

    it('is CON_500 for what is no id', async () => {
      expect(refusalOf(await get('/nothing')).codes).toBe('404 CON_500');
      expect(PATH).toBe('/1.0/conversions/transactions');
    });
  });

  describe('a site that changes hands (decisions T6)', () => {
    const site = { id: 1202, name: 'Site 1202', url: 'https://site1202.example' };
    const hand = (organisationId: number) => world.app.import({ sites: [{ ...site, organisationId }] });

    it('leaves its history, epi included, to the publisher that it belonged to, and takes new transactions along', async () => {
      const before = await create('BEFORE', { siteId: 1202, epi: 'secret' });
      await hand(11);
      const after = await create('AFTER', { siteId: 1202 });
      await world.app.settled();
      const keys = ';orderNumber=BEFORE,AFTER';
      for (const [client, order, own, other] of [
        ['deals', 'BEFORE', before, after],
        ['preisblickAll', 'AFTER', after, before],
      ] as const) {
        expect(ordersOf(await list(keys, client))).toEqual([order]);
        expect(ordersOf(await list(`${keys};siteId=1202`, client))).toEqual([order]);
        expect((await get(`/totals${keys}`, client)).json()).toMatchObject([{ count: 1 }]);
        for (const path of ['', '/transitions']) {
          expect((await get(`/${own.transactionId}${path}`, client)).statusCode).toBe(200);
          expect(refusalOf(await get(`/${other.transactionId}${path}`, client)).codes).toBe('404 CON_500');
        }
      }
      expect(await list(';epi=secret', 'preisblickAll')).toEqual([]);
      await hand(12);
    });
  });
});
