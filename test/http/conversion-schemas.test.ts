import { faultsBySchema } from '../support/xml-schemas';
import { XML_UTF8 } from '../api/posted';
import { claimOf, claimWorld, xmlOf } from '../api/claim-network';
import { NOW } from '../api/voucher-network';
import { postedTransaction, postedTransition } from '../../src/domain/transactions/transaction-fields';
import { CONVERSION_TOKENS, PATH, reportOf, transactionWorld } from '../api/transaction-network';

describe('bodies in XML', () => {
  const world = claimWorld();

  /** Every field that is not required. */
  const FURTHER = {
    epi: 'a',
    epi2: 'b',
    trackingUrl: 'https://clk.example/',
    productName: 'Lamp',
    proofOfClaims: 'https://proof.example/',
    advertiserInformation: 'By phone',
  } as const;

  it('are valid by the schema that is served, in the namespaces of the document (Document 3, Claim posted by a publisher)', async () => {
    const revision = { ...claimOf('a', FURTHER), claimId: 1, versionNo: 0 };
    const ruling = { claimId: 1, statusIdClaim: 201, statusMessageClaim: 'Email', versionNo: 0 };
    const documents = [
      xmlOf('claims', [claimOf('a', FURTHER), claimOf('b')]),
      xmlOf('claimUpdates', [revision, ruling]),
    ];
    expect(await faultsBySchema(world.app, 'ClaimsInput_v1_0.xsd', documents)).toEqual([]);
  });

  it('on the legacy path have a schema of their own', async () => {
    const legacy = xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3, orderValue: 5 }]);
    expect(await faultsBySchema(world.app, 'LegacyClaimsInput_v1_0.xsd', [legacy])).toEqual([]);
    const current = xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3, versionNo: 0 }]);
    expect(await faultsBySchema(world.app, 'LegacyClaimsInput_v1_0.xsd', [current])).not.toEqual([]);
  });

  it.each([
    ['a field that is unknown', xmlOf('claims', [claimOf('a', { colour: 1 })])],
    ['a field that is missing', xmlOf('claims', [claimOf('a', { programId: undefined })])],
    ['an amount with a comma', xmlOf('claims', [claimOf('a', { orderValue: '1,5' })])],
    ['another date', xmlOf('claims', [claimOf('a', { timeStampEvent: '1.1.2026' })])],
    ['another namespace', xmlOf('claims', [claimOf('a')]).replace('xml:common', 'xml:other')],
    ['no version', xmlOf('claims', [claimOf('a')]).replace(' version="1.0" xmlns=', ' xmlns=')],
    ['an update without its version', xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3 }])],
  ])('with %s are not valid', async (_, body) => {
    expect(await faultsBySchema(world.app, 'ClaimsInput_v1_0.xsd', [body])).not.toEqual([]);
  });
});

describe('transaction schemas', () => {
  const world = transactionWorld();
  const { create, move, report } = world;

  const elements = (values: Readonly<Record<string, unknown>>) =>
    Object.entries(values)
      .map(
        ([name, value]) =>
          `<${name}>${String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</${name}>`,
      )
      .join('\n  ');

  /** Every field that may be posted (decisions T2), in another order than that of the schema. */
  const REPORT = {
    validate: true,
    visitorId: 'v <1>',
    reportInfo: 'f1=a&f2=Wall%20lamp&f3=1.50&f4=2|f1=b',
    productId: 'p',
    epi2: 'two',
    epi: 'one & only',
    batchId: 9,
    locationId: 8,
    adId: 7,
    mediaCost: '1.25',
    tdCommission: 2.5,
    publisherCommission: 5,
    eventTypeId: 10,
    timeOfVisit: '2026-03-01T10:00:00+01:00',
    timeOfEvent: NOW - 1000,
    currencyId: 'SEK',
    orderValue: 129.9,
    orderNumber: 'XS-1',
    siteId: 1101,
    eventId: 301,
    programId: 101,
  };
  const AMENDED = {
    reportInfo: 'f1=b',
    mediaCost: 0,
    tdCommission: 1,
    publisherCommission: 2,
    orderValue: 3,
  };
  const APPROVAL = { ...AMENDED, deniedReasonId: 2, action: 'approve', legacyTransactionId: 'XS-1_301_1' };

  const transaction = `<transaction>${elements(REPORT)}</transaction>`;
  const transition = `<transition>${elements(APPROVAL)}</transition>`;

  async function post(path: string, body: string) {
    const answer = await world.app.post(`${PATH}${path}`, {
      token: CONVERSION_TOKENS.nord,
      headers: XML_UTF8,
      body,
    });
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
    return answer;
  }

  const valid = async (file: string, ...documents: readonly string[]) =>
    expect(await faultsBySchema(world.app, file, documents)).toEqual([]);

  describe('XML documents about transactions are valid (decisions P24, T2, T5, T6)', () => {
    it('a report with every field, its answer, and the transaction', async () => {
      expect(Object.keys(REPORT).sort()).toEqual(Object.keys(postedTransaction.fields).sort());
      await valid('PostedTransaction_v1_0.xsd', transaction);
      const answer = await post('', transaction);
      expect(answer.statusCode).toBe(201);
      const moved = await post('/transitions', transition);
      expect(moved.statusCode).toBe(200);
      await valid('PostedTransition_v1_0.xsd', transition);
      await valid('TransactionResult_v1_0.xsd', answer.body, moved.body);
      const [, id] = /<transactionId>(\w+)</.exec(answer.body) ?? [];
      await valid(
        'Transaction_v1_0.xsd',
        await read(`/${id}.xml`),
        await read(`/${id}.xml;dateOutputFormat=epoch`),
      );
      await valid('Transactions_v1_0.xsd', await read(`/${id}/transitions.xml`));
    });

    it('lists of reports and of requests, with their results', async () => {
      const several = `<transactions>${transaction}<transaction/>${transaction}</transactions>`;
      await valid('TransactionResults_v1_0.xsd', (await post('/bulk', several)).body);
      await valid('PostedTransactions_v1_0.xsd', `<transactions>${transaction}${transaction}</transactions>`);
      const moves = `<transitions>${transition}</transitions>`;
      await valid('PostedTransitions_v1_0.xsd', moves);
      const wrong = `<transitions><transition/>${transition}</transitions>`;
      await valid(
        'TransactionResults_v1_0.xsd',
        (await post('/transitions/bulk', moves)).body,
        (await post('/transitions/bulk', wrong)).body,
        (await post('/transitions/bulk', '<transitions/>')).body,
      );
    });

    it('lists and totals of all states, and empty ones', async () => {
      await create('XS-held', { validate: false });
      await create('XS-invalid', { siteId: 1201 });
      await create('XS-paused', { programId: 104 });
      const { transactionId } = await create('XS-lead', { eventId: 302 });
      await move({ transactionId, action: 'pay', paymentId: 3 }, 'operator');
      const keys = ['', ';dateOutputFormat=epoch', ';orderNumber=none', ';pretty=true'];
      await valid('Transactions_v1_0.xsd', ...(await Promise.all(keys.map((key) => read(`.xml${key}`)))));
      const totals = [keys[0], keys[2], keys[3], ';groupBy=week,programId'].map((key) =>
        read(`/totals.xml${key}`),
      );
      await valid('TransactionTotals_v1_0.xsd', ...(await Promise.all(totals)));
    });

    it('error lists', async () => {
      const answers = [await post('', '<transaction/>'), await post('/transitions', '<transition/>')];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400]);
      await valid(
        'ConversionErrors_v1_0.xsd',
        ...answers.map(({ body }) => body),
        await read('/7.xml'),
        await read('.xml;page=-1'),
      );
    });
  });

  async function read(path: string): Promise<string> {
    return (await world.app.get(`${PATH}${path}`, { token: CONVERSION_TOKENS.nord })).body;
  }

  describe('the schemas refuse what the operations refuse', () => {
    it.each<[string, object]>([
      ['an amount with five decimals', { orderValue: '1.00005' }],
      ['a negative amount', { orderValue: -1 }],
      ['an unknown type of event', { eventTypeId: 'x' }],
      ['a switch that is neither', { validate: 'yes' }],
    ])('a report with %s', async (_, changes) => {
      const body = `<transaction>${elements({ ...REPORT, ...changes })}</transaction>`;
      expect((await report({ ...reportOf('XS-2'), ...changes })).statusCode).toBe(400);
      expect((await post('', body)).statusCode).toBe(400);
      expect(await faultsBySchema(world.app, 'PostedTransaction_v1_0.xsd', [body])).not.toEqual([]);
    });

    it('an unknown action', async () => {
      const { transactionId } = await create('XS-3');
      const body = `<transition>${elements({ transactionId, action: 'reject' })}</transition>`;
      expect((await post('/transitions', body)).statusCode).toBe(400);
      expect(await faultsBySchema(world.app, 'PostedTransition_v1_0.xsd', [body])).not.toEqual([]);
      expect(Object.keys(postedTransition.fields)).toEqual(
        expect.arrayContaining([...Object.keys(APPROVAL), 'transactionId', 'paymentId']),
      );
    });
  });
});
