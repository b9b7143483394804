import { createHash } from 'node:crypto';
import { transactionIdOf } from '../../src/domain/transactions/transaction-id';
import { CONVERSION_TOKENS, PATH, reportOf, type Result, transactionWorld } from './transaction-network';
import { XML_UTF8 } from './posted';
import { NOW, refusalOf } from './voucher-network';

const world = transactionWorld();
const { report, reportAll, move, moveAll, create, get } = world;
const DAY = 24 * 60 * 60 * 1000;

describe('reporting a transaction', () => {
  it('answers 201 with its ids and state, then 200 (decisions T1, T2)', async () => {
    const first = await report(reportOf('A-1'));
    const legacyTransactionId = 'A-1_301_1';
    const transactionId = createHash('sha256')
      .update(`${legacyTransactionId}_program101`)
      .digest('hex')
      .slice(0, 32);
    expect([first.statusCode, first.json()]).toEqual([
      201,
      { transactionId, legacyTransactionId, messageTypeId: 4, outcome: 'created' },
    ]);
    const again = await report(reportOf('A-1'));
    expect([again.statusCode, again.json()]).toEqual([200, { ...first.json<Result>(), outcome: 'known' }]);
  });

  it('takes XML, and answers in it by extension', async () => {
    const answer = await world.app.post(`${PATH}.xml`, {
      token: CONVERSION_TOKENS.nord,
      headers: XML_UTF8,
      body:
        '<transaction><programId>101</programId><eventId>302</eventId><siteId>1101</siteId>' +
        '<orderNumber>X-1</orderNumber></transaction>',
    });
    expect([answer.statusCode, answer.body]).toEqual([
      201,
      expect.stringMatching(/<result>\s*<transactionId>[0-9a-f]{32}<.*<messageTypeId>5</s),
    ]);
  });

  it('has a state at once (decisions T3): 2 Invalid, 3 Paused, 4 Pending, 5 Tracked_Approved, 1 Tracked', async () => {
    const states = await Promise.all([
      create('S-2', { siteId: 1202, timeOfVisit: NOW }),
      create('S-3', { programId: 104 }),
      create('S-4'),
      create('S-5', { eventId: 302 }),
      create('S-1', { validate: false }),
    ]);
    expect(states.map(({ messageTypeId }) => messageTypeId)).toEqual([2, 3, 4, 5, 1]);
  });

  it.each<[string, object, string, RegExp]>([
    ['no program', { programId: undefined }, '400 CON_350', /programId must be set/],
    [
      'an unknown program',
      { programId: 999 },
      '404 CON_220',
      /programId is 999: expected an existing program/,
    ],
    ['a program of another advertiser', { programId: 201 }, '403 CON_230', /expected a program of yours/],
    [
      'an event that the program does not have',
      { eventId: 401 },
      '403 CON_240',
      /expected one of program 101: 301/,
    ],
    [
      'no order value of a sale',
      { orderValue: undefined },
      '400 CON_350',
      /orderValue must be set: event 301/,
    ],
    [
      'an order value with three decimals',
      { orderValue: 1.005 },
      '400 CON_350',
      /at most two decimals.*1\.005/,
    ],
    ['a currency', { currencyId: 'XXY' }, '400 CON_350', /ISO 4217/],
    [
      'a time in seconds (decisions A17, V16)',
      { timeOfEvent: 1_700_000_000 },
      '400 CON_350',
      /timeOfEvent.*seconds\?/,
    ],
    ['a visit in seconds', { timeOfVisit: '1700000000' }, '400 CON_350', /timeOfVisit.*seconds\?/],
    ['a future', { timeOfEvent: NOW + 301_000 }, '400 CON_350', /timeOfEvent/],
    [
      'a lead type of a sale (decisions T7)',
      { eventTypeId: 9 },
      '400 CON_350',
      /5 \(Post-click sale\) or 10/,
    ],
    ['an unknown event type (decisions T7)', { eventTypeId: 6 }, '400 CON_350', /eventTypeId/],
    ['a long order number', { orderNumber: 'x'.repeat(241) }, '400 CON_350', /at most 240 characters/],
    ['items without their parameters', { reportInfo: 'lamp' }, '400 CON_350', /f1=number/],
    ['a character in items that XML does not have', { reportInfo: 'f1=%00' }, '400 CON_350', /f1=number/],
    ['a time in the year 0', { timeOfVisit: -62_167_219_200_000 }, '400 CON_350', /timeOfVisit/],
    ['a time after the year 9999', { timeOfVisit: 8.64e15 }, '400 CON_350', /timeOfVisit/],
    [
      'an unknown site (decisions T3)',
      { siteId: 9999 },
      '400 CON_430',
      /siteId is 9999: expected an existing site/,
    ],
    ['several', { orderValue: -1, siteId: 'x', programId: 201 }, '400 CON_350 CON_350 CON_230', /siteId/],
  ])('with %s is refused (decisions T2)', async (_, changes, codes, message) => {
    const refusal = refusalOf(await report(reportOf('R-1', changes)));
    expect(refusal.codes).toBe(codes);
    expect(refusal.message).toMatch(message);
  });

  it.each(['preisblick', 'preisblickAll', 'deals', 'lonely'] as const)(
    'is not for publishers: %s (decisions T2)',
    async (publisher) => {
      expect(refusalOf(await report(reportOf('P-1'), publisher)).codes).toBe('400 CON_330');
      expect(
        refusalOf(await move({ legacyTransactionId: 'A-1_301_1', action: 'approve' }, publisher)).codes,
      ).toBe('400 CON_330');
    },
  );

  it('is open to operators, for any program (decisions T2)', async () => {
    const answer = await report(reportOf('O-1', { programId: 201, eventId: 401 }), 'operator');
    expect(answer.json<Result>().legacyTransactionId).toBe('O-1_401_2');
  });

  it('takes an integer as visitor id, and the first and the last time that XML has (decisions A11, T2)', async () => {
    const { transactionId } = await create('V-1', { visitorId: 12_345, timeOfVisit: '0001-01-01T00:00:00Z' });
    const listed = (await get(`/${transactionId}`)).json<Readonly<Record<string, unknown>>>();
    expect(listed).toMatchObject({ visitorId: '12345', timeOfVisit: '0001-01-01T00:00:00.000Z' });
  });

  it('is recorded when the site of a refused report is corrected (decisions T3)', async () => {
    expect(refusalOf(await report(reportOf('SITE', { siteId: 9999 }))).codes).toBe('400 CON_430');
    expect((await create('SITE')).messageTypeId).toBe(4);
  });

  it('again with other values is CON_510, which names them all, validate included (decisions T2)', async () => {
    await create('C-1');
    const changes = { orderValue: 101, siteId: 1202, epi: 'x', validate: false };
    const refusal = refusalOf(await report(reportOf('C-1', changes)));
    expect(refusal.codes).toBe('409 CON_510');
    expect(refusal.message).toMatch(
      /siteId is 1101, got 1202; orderValue is 100, got 101; epi is none, got "x"; validate is true, got false/,
    );
    expect((await report(reportOf('C-1', { validate: true }))).statusCode).toBe(200);
  });

  it.each<[string, string, string]>([
    ['no JSON', '{', '400 CON_310'],
    ['a list', '[]', '400 CON_310'],
    ['a text', '"x"', '400 CON_310'],
  ])('with a body that is %s is refused', async (_, body, codes) => {
    const answer = await world.app.post(PATH, { token: CONVERSION_TOKENS.nord, body });
    expect(refusalOf(answer).codes).toBe(codes);
  });

  it.each<[string, string | undefined, number]>([
    ['JSON without a charset is taken (decisions A10)', 'application/json', 201],
    ['another type is CON_360', 'text/plain; charset=utf-8', 400],
    ['another charset is CON_360', 'application/json; charset=latin1', 400],
  ])('%s', async (name, type, status) => {
    const answer = await world.app.post(PATH, {
      token: CONVERSION_TOKENS.nord,
      headers: { 'content-type': type ?? '' },
      body: JSON.stringify(reportOf('T-1')),
    });
    expect(answer.statusCode).toBe(status);
    if (status === 400) expect(answer.body).toContain(/CON_\d+/.exec(name)?.[0]);
  });

  it('of one key a hundred times at once makes one transaction (decisions T1)', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => report(reportOf('RACE'))));
    const statuses = answers.map(({ statusCode }) => statusCode).sort();
    expect(statuses).toEqual([...Array<number>(99).fill(200), 201]);
    expect(new Set(answers.map((answer) => answer.json<Result>().transactionId)).size).toBe(1);
    const { transactionId } = answers[0]!.json<Result>();
    const events = [];
    for await (const batch of world.app.engines.log.readStream(`transaction-${transactionId}`))
      events.push(...batch.map(({ type }) => type));
    expect(events).toEqual(['TransactionTracked', 'TransactionBecamePending']);
  });
});

describe('programs of an advertiser that share an event and an order number (decisions T1)', () => {
  const [one, two] = [101, 104].map((programId) => ({ programId, orderValue: programId }));
  const legacyId = (order: string): string => `${order}_301_1`;

  it('have a transaction each, with the same legacyTransactionId', async () => {
    const answers = await reportAll([reportOf('TWO', one), reportOf('TWO', two), reportOf('TWO', one)]);
    const results = answers.json<readonly Result[]>();
    expect(results.map(({ transactionId }) => transactionId)).toEqual(
      [101, 104, 101].map((id) => transactionIdOf(legacyId('TWO'), id)),
    );
    expect(new Set(results.map(({ legacyTransactionId }) => legacyTransactionId))).toEqual(
      new Set([legacyId('TWO')]),
    );
    expect((await get(`;legacyTransactionId=${legacyId('TWO')}`)).json()).toHaveLength(2);
  });

  it('are CON_550 by it, naming both transactionIds, in reads and in transitions', async () => {
    const ids = [await create('BOTH', one), await create('BOTH', two)].map(
      ({ transactionId }) => transactionId,
    );
    const legacyTransactionId = legacyId('BOTH');
    for (const answer of [
      await get(`/${legacyTransactionId}`),
      await get(`/${legacyTransactionId}/transitions`),
      await move({ legacyTransactionId, action: 'approve' }),
    ]) {
      const { codes, message } = refusalOf(answer);
      expect(codes).toBe('409 CON_550');
      for (const id of ids) expect(message).toContain(id);
    }
    const both = { legacyTransactionId, transactionId: ids[0], action: 'approve' };
    expect((await move(both)).json<Result>()).toMatchObject({ transactionId: ids[0], messageTypeId: 6 });
    expect(refusalOf(await get(`/${legacyTransactionId}`, 'deals')).codes).toBe('404 CON_500');
  });

  it.each(['A 1', 'A/1', 'A;b=1', 'Ä%2F,|?', '_1_2', 'a.json'])(
    'a read by legacyTransactionId takes any order number: %s (decisions T6)',
    async (order) => {
      const { legacyTransactionId } = await create(order);
      // Beside a literal semicolon, an encoded one is a character (decisions A2).
      const path = `/${encodeURIComponent(legacyTransactionId)}${order.includes(';') ? ';' : ''}`;
      expect((await get(path)).json()).toMatchObject({ orderNumber: order });
      expect((await get(`${path}/transitions`)).json()).toHaveLength(2);
      expect((await move({ legacyTransactionId, action: 'approve' })).statusCode).toBe(200);
    },
  );

  it('requests of a list keep their order, by whichever id they name the transaction', async () => {
    const { transactionId, legacyTransactionId } = await create('ORDER');
    const amend = (orderValue: number) => ({ action: 'amend', orderValue });
    const answer = await moveAll([
      { legacyTransactionId, ...amend(1) },
      { transactionId, ...amend(2) },
      { legacyTransactionId, ...amend(3) },
      { transactionId, action: 'approve' },
      { legacyTransactionId, ...amend(4) },
    ]);
    expect(answer.json()).toMatchObject([
      ...Array<object>(3).fill({ messageTypeId: 4 }),
      { messageTypeId: 6 },
      { errors: [{ code: 'CON_520' }] },
    ]);
    expect((await get(`/${transactionId}`)).json()).toMatchObject({ orderValue: 3 });
  });
});

describe('reporting several', () => {
  it('gives one result for each, in order, and records what is valid (decisions T2)', async () => {
    const answer = await reportAll([
      reportOf('B-1'),
      reportOf('B-2', { orderValue: 'x' }),
      reportOf('B-1'),
      'nothing',
      reportOf('B-3', { eventId: 302 }),
    ]);
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject([
      { legacyTransactionId: 'B-1_301_1', messageTypeId: 4, outcome: 'created' },
      { errors: [{ code: 'CON_350' }] },
      { legacyTransactionId: 'B-1_301_1', messageTypeId: 4, outcome: 'known' },
      { errors: [{ code: 'CON_350', message: expect.stringContaining('an object') as string }] },
      { legacyTransactionId: 'B-3_302_1', messageTypeId: 5 },
    ]);
  });

  it('takes 10,000 at most (decisions T2)', async () => {
    const answer = await reportAll(Array.from({ length: 10_001 }, () => 0));
    expect(refusalOf(answer)).toEqual({
      codes: '400 CON_310',
      message: 'more than 10000 items: expected at most 10000',
    });
  });

  it('takes XML (decisions T2)', async () => {
    const one = (order: string) =>
      `<transaction><programId>101</programId><eventId>302</eventId><siteId>1101</siteId><orderNumber>${order}</orderNumber></transaction>`;
    const answer = await world.app.post(`${PATH}/bulk.xml`, {
      token: CONVERSION_TOKENS.nord,
      headers: XML_UTF8,
      body: `<transactions>${one('XB-1')}${one('')}</transactions>`,
    });
    expect(answer.body).toMatch(
      /<results>\s*<result>.*XB-1_302_1.*<\/result>\s*<result>.*CON_350.*<\/results>/s,
    );
    // The page of the error of the item (decisions X139).
    expect(answer.headers.link).toBe('<https://api.example/docs/errors/CON_350>; rel="help"');
  });
});

describe('requested transitions (decisions T5)', () => {
  it.each<[string, object, object, number]>([
    ['approve', {}, { action: 'approve' }, 6],
    ['deny', {}, { action: 'deny', deniedReasonId: 10 }, 8],
    ['delete', { eventId: 302 }, { action: 'delete' }, 8],
    ['amend', {}, { action: 'amend', orderValue: 50 }, 4],
    ['validate', { validate: false }, { action: 'validate' }, 4],
    ['invalidate', { validate: false }, { action: 'invalidate' }, 2],
  ])('%s, also when repeated', async (name, changes, request, state) => {
    const { transactionId } = await create(`M-${name}`, changes);
    for (const outcome of ['moved', 'unchanged']) {
      const answer = await move({ transactionId, ...request });
      expect([answer.statusCode, answer.json()]).toMatchObject([200, { messageTypeId: state, outcome }]);
    }
  });

  it('pay is for operators, once (decisions T5)', async () => {
    const { legacyTransactionId } = await create('M-pay', { eventId: 302 });
    const pay = { legacyTransactionId, action: 'pay', paymentId: 77 };
    expect(refusalOf(await move(pay)).codes).toBe('400 CON_330');
    expect((await move(pay, 'operator')).json<Result>().messageTypeId).toBe(9);
    expect((await move(pay, 'operator')).statusCode).toBe(200);
    const other = refusalOf(await move({ ...pay, paymentId: 78 }, 'operator'));
    expect(other.codes).toBe('409 CON_520');
    expect(other.message).toMatch(/Paid \(9\).*paymentId is 77, got 78/);
  });

  it.each<[string, object, object, RegExp]>([
    [
      'approved again with another value',
      { action: 'approve' },
      { orderValue: 5 },
      /orderValue is 100, got 5/,
    ],
    [
      'denied again for another reason',
      { action: 'deny' },
      { deniedReasonId: 10 },
      /deniedReasonId is 22, got 10/,
    ],
    [
      'deleted again for another reason',
      { action: 'delete' },
      { deniedReasonId: 9 },
      /deniedReasonId is 22, got 9/,
    ],
  ])(
    'what is %s is not unchanged but CON_520, naming both (decisions T5)',
    async (name, request, more, message) => {
      const { transactionId } = await create(name);
      expect((await move({ transactionId, ...request })).statusCode).toBe(200);
      const answer = await moveAll([
        { transactionId, ...request, ...more },
        { transactionId, ...request },
      ]);
      expect(answer.json()).toMatchObject([
        { errors: [{ code: 'CON_520', message: expect.stringMatching(message) as string }] },
        { transactionId, outcome: 'unchanged' },
      ]);
    },
  );

  it.each<[string, object, string, RegExp]>([
    ['no id', { action: 'approve' }, '400 CON_350', /transactionId must be set/],
    ['a malformed id', { action: 'approve', transactionId: '../x' }, '400 CON_350', /32 hexadecimal digits/],
    [
      'two ids that differ',
      { action: 'approve', transactionId: '0'.repeat(32), legacyTransactionId: 'A-1_301_1' },
      '400 CON_350',
      /the id of the given legacyTransactionId/,
    ],
    [
      'an unknown id',
      { action: 'approve', transactionId: '0'.repeat(32) },
      '404 CON_500',
      /no such transaction/,
    ],
    ['no action', { legacyTransactionId: 'A-1_301_1' }, '400 CON_350', /action must be set/],
    ['an unknown action', { legacyTransactionId: 'A-1_301_1', action: 'x' }, '400 CON_350', /approve, deny/],
    [
      'a denial by the system',
      { legacyTransactionId: 'A-1_301_1', action: 'deny', deniedReasonId: 4 },
      '400 CON_350',
      /deniedReasonId/,
    ],
    [
      'a reason of an amendment',
      { legacyTransactionId: 'A-1_301_1', action: 'amend', orderValue: 1, deniedReasonId: 10 },
      '400 CON_350',
      /deniedReasonId/,
    ],
    [
      'an amendment of nothing',
      { legacyTransactionId: 'A-1_301_1', action: 'amend' },
      '400 CON_350',
      /orderValue/,
    ],
    [
      'an amended denial',
      { legacyTransactionId: 'A-1_301_1', action: 'deny', orderValue: 1 },
      '400 CON_350',
      /amend or approve/,
    ],
    [
      'a transition that the table does not have',
      { legacyTransactionId: 'A-1_301_1', action: 'validate', orderValue: 1 },
      '400 CON_350',
      /orderValue/,
    ],
  ])('with %s is refused', async (_, body, codes, message) => {
    const refusal = refusalOf(await move(body));
    expect(refusal.codes).toBe(codes);
    expect(refusal.message).toMatch(message);
  });

  it('of a foreign transaction is CON_500, as of an unknown one', async () => {
    const { transactionId } = await create('F-1');
    expect(refusalOf(await move({ transactionId, action: 'approve' }, 'casa')).codes).toBe('404 CON_500');
  });

  it('from a state that does not allow it is CON_520', async () => {
    const { transactionId } = await create('N-1', { siteId: 1201 });
    const refusal = refusalOf(await move({ transactionId, action: 'approve' }));
    expect(refusal.codes).toBe('409 CON_520');
    expect(refusal.message).toMatch(/Invalid \(2\)/);
  });

  it('of several gives one result for each', async () => {
    const { transactionId } = await create('L-1');
    const answer = await moveAll([{ transactionId, action: 'approve' }, { action: 'approve' }, 5]);
    expect(answer.json()).toMatchObject([
      { transactionId, messageTypeId: 6 },
      { errors: [{ code: 'CON_350' }] },
      { errors: [{ code: 'CON_350' }] },
    ]);
  });

  it('approving late is harmless: the period ends on its own later', async () => {
    const { transactionId } = await create('LATE');
    world.passTo(NOW + 20 * DAY);
    expect((await move({ transactionId, action: 'approve' })).json<Result>().messageTypeId).toBe(6);
  });
});
