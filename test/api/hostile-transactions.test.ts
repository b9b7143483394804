import fc from 'fast-check';
import { postedTransaction, postedTransition } from '../../src/domain/transactions/transaction-fields';
import { cases } from '../support/size';
import { hostileValues } from './hostile-values';
import { XML_UTF8 } from './posted';
import { CONVERSION_TOKENS, PATH, reportOf, type Result, transactionWorld } from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

const world = transactionWorld();
const { create, reportAll, moveAll, get } = world;
const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const TARGETS = ['', '/bulk', '/transitions', '/transitions/bulk'] as const;

const send = (path: string, body: string | Buffer, headers = {}) =>
  world.app.post(`${PATH}${path}`, { token: CONVERSION_TOKENS.nord, headers, body });

/** How many events the log has of this test's transactions. */
async function events(): Promise<string> {
  return await world.app.engines.log.head();
}

/** A body that must be refused as a whole, with nothing stored. */
async function refuses(path: string, body: string | Buffer, headers = {}): Promise<string> {
  const before = await events();
  const answer = await send(path, body, headers);
  expect([path, answer.statusCode >= 400 && answer.statusCode < 500]).toEqual([path, true]);
  expect(await events()).toBe(before);
  return answer.body;
}

const report = JSON.stringify(reportOf('H-1'));
const element = (orderNumber: string, more = '') =>
  `<transaction${more}><programId>101</programId><eventId>302</eventId><siteId>1101</siteId><orderNumber>${orderNumber}</orderNumber></transaction>`;

describe('bodies that cannot be read are refused, and store nothing (decisions T2)', () => {
  it.each(
    TARGETS.flatMap(
      (path) =>
        [
          [path, 'nothing', ''],
          [path, 'half of an object', '{"programId":'],
          [path, 'two objects', `${report}${report}`],
          [path, 'null', 'null'],
          [path, 'a number', '1e999'],
          [path, 'NaN', '{"programId":NaN}'],
          [path, 'deep lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
          [path, 'deep objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
          [path, 'a deep field', `[{"orderNumber":${'['.repeat(5000)}${']'.repeat(5000)}}]`],
          [path, 'a raw control character', '{"orderNumber":"a\u0001"}'],
          [path, 'another encoding', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
          [path, 'UTF-16', Buffer.from(`\ufeff${report}`, 'utf16le')],
        ] as const,
    ),
  )('%s: %s', async (path, _, body) => {
    expect(await refuses(path, body)).toMatch(/CON_3[15]0/);
  });

  it.each([
    ['a document type', `<!DOCTYPE transaction [<!ENTITY a "b">]>${element('&a;')}`],
    ['an external entity', `<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/hostname">]>${element('&a;')}`],
    ['an undefined entity', element('&a;')],
    ['two roots', element('a') + element('b')],
    ['another root', '<sale/>'],
    ['deep elements', `${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`],
    ['an open element', '<transaction><programId>101'],
    ['elements in a text', element('<b>1</b>')],
    ['a control character', element('\u0001')],
    ['text alone', 'transaction'],
    ['an unbound prefix', '<x:transaction/>'],
  ])('XML with %s', async (_, body) => {
    for (const path of ['', '/bulk']) {
      const sent = path === '' ? body : body.replace(element('a'), `<transactions>${element('a')}`);
      expect(await refuses(path, sent, XML_UTF8)).toMatch(/CON_3[15]0/);
    }
  });

  it('bodies that are too large, of one or of several', async () => {
    await refuses('', JSON.stringify(reportOf('H-2', { reportInfo: 'x'.repeat(300_000) })));
    await refuses('/transitions', `[${'1,'.repeat(200_000)}1]`);
    await refuses('/bulk', Buffer.alloc(33 * 1024 * 1024, 0x20));
  });
});

describe('XML that says the same', () => {
  it('may have namespaces, attributes, comments and CDATA', async () => {
    const inner = element('<![CDATA[X&1]]>', ' xmlns="urn:x" xmlns:y="urn:y" y:z="1" a="b"');
    const answer = await send('', `<?xml version="1.0"?><!-- a --><?p q?>${inner}`, XML_UTF8);
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([201, '%40a, %40z']);
    expect(answer.body).toContain('X&amp;1_302_1');
  });
});

const HOSTILE = hostileValues({ longest: 70_000 });

describe('a hostile value at each field (decisions T2, T5)', () => {
  it.each(Object.keys(postedTransaction.fields))('of a report: %s', async (field) => {
    const reports = HOSTILE.map((value, at) => reportOf(`F-${field}-${at}`, { [field]: value }));
    const answer = await reportAll(reports);
    expect(answer.statusCode).toBe(200);
    await consistent(answer.json());
  });

  it.each(Object.keys(postedTransition.fields))('of a transition: %s', async (field) => {
    const { transactionId } = await create(`G-${field}`);
    for (const action of ['approve', 'amend', 'pay']) {
      const requests = HOSTILE.map((value) => ({ transactionId, action, [field]: value }));
      const answer = await moveAll(requests);
      expect(answer.statusCode).toBe(200);
      await consistent(answer.json());
    }
  });

  /** Each result names a fault of the request, or a transaction that can be read. */
  async function consistent(results: readonly Result[]): Promise<void> {
    expect(results).toHaveLength(HOSTILE.length);
    for (const { errors, transactionId } of results) {
      for (const { code, message } of errors ?? []) {
        expect(code).toMatch(/^CON_(220|230|240|350|330|430|500|510|520)$/);
        expect(message.length).toBeLessThan(1000);
      }
      if (errors === undefined)
        for (const extension of ['', '.xml'])
          expect((await get(`/${transactionId}/transitions${extension}`)).statusCode).toBe(200);
    }
  }
});

it(`random JSON is answered with less than 500 and never half stored (HOSTILE_SEED=${SEED})`, async () => {
  const field = fc.constantFrom(
    ...Object.keys(postedTransaction.fields),
    ...Object.keys(postedTransition.fields),
    'unknown',
  );
  const value = fc.oneof(fc.constantFrom(...HOSTILE), fc.jsonValue({ maxDepth: 3 }), fc.constant('approve'));
  const item = fc.oneof(fc.dictionary(field, value), fc.jsonValue({ maxDepth: 2 }));
  const bodies = fc.sample(fc.tuple(fc.constantFrom(...TARGETS), fc.oneof(item, fc.array(item))), {
    numRuns: cases(1000, 150),
    seed: SEED,
  });
  for (const [path, body] of bodies) {
    const before = await events();
    const answer = await send(path, JSON.stringify(body));
    expect([path, body, answer.statusCode < 500]).toEqual([path, body, true]);
    if (answer.statusCode >= 400) expect(await events()).toBe(before);
  }
});

it('10,000 reports of one key in one post make one transaction, and agree (decisions T1, T2)', async () => {
  const many = Array.from({ length: cases(10_000, 2_000) }, () => reportOf('DUPLICATE'));
  const results = (await reportAll(many)).json<readonly Result[]>();
  expect(results).toHaveLength(many.length);
  const [first, ...others] = results.map((result) => JSON.stringify(result));
  expect(new Set(others)).toEqual(new Set([first?.replace('created', 'known')]));
  expect((await get('/totals;orderNumber=DUPLICATE')).json()).toMatchObject([{ count: 1 }]);
});

it('requests for one transaction in one post are executed in their order (decisions T5)', async () => {
  const { transactionId } = await create('ORDER');
  const amendments = Array.from({ length: 40 }, (_, at) => ({
    ...{ transactionId, action: 'amend', orderValue: at + 1 },
  }));
  const results = (
    await moveAll([
      ...amendments,
      { transactionId, action: 'approve' },
      { transactionId, action: 'amend', orderValue: 7 },
    ])
  ).json<readonly Result[]>();
  expect(results.map(({ messageTypeId, errors }) => errors?.[0]?.code ?? messageTypeId)).toEqual([
    ...amendments.map(() => 4),
    6,
    'CON_520',
  ]);
  expect((await get(`/${transactionId}`)).json()).toMatchObject({ orderValue: 40, sequenceNumber: '43' });
});

it('of two different reports of one key in one post the first counts (decisions T2)', async () => {
  const answer = await reportAll([reportOf('TWICE'), reportOf('TWICE', { orderValue: 101 })]);
  expect(answer.json()).toMatchObject([{ messageTypeId: 4 }, { errors: [{ code: 'CON_510' }] }]);
  const refusal = refusalOf(await world.report(reportOf('TWICE', { orderValue: 101.5 })));
  expect(refusal.message).toContain('reported with other values: orderValue is 100, got 101.5;');
});

it('a repeated report may write its numbers in another way (decisions T2)', async () => {
  await create('NUMBERS', { orderValue: 0, adId: 0 });
  const again = {
    ...reportOf('NUMBERS'),
    orderValue: 'ZERO',
    adId: 'ZERO',
    timeOfEvent: new Date(NOW - 60_000),
  };
  for (const zero of ['-0', '0.0', '"0.00"', '"0"']) {
    const body = JSON.stringify(again)
      .replace('"ZERO"', zero)
      .replace('"ZERO"', zero.includes('.') ? '0' : zero);
    expect((await send('', body)).statusCode).toBe(200);
  }
});

it('names the fields that it does not know (decisions A15)', async () => {
  const one = await world.report(reportOf('IGNORED', { odrerValue: 7, colour: 'red' }));
  expect([one.statusCode, one.headers['x-ignored-fields']]).toEqual([201, 'colour, odrerValue']);
  const refused = await world.report({
    ...reportOf('IGNORED 2', { odrerNumber: 7 }),
    orderNumber: undefined,
  });
  expect([refused.statusCode, refused.headers['x-ignored-fields']]).toEqual([400, 'odrerNumber']);
  const several = await moveAll([{ acton: 1 }, { transactionID: 2 }, 5]);
  expect(several.headers['x-ignored-fields']).toBe('acton, transactionID');
  expect((await create('NONE-IGNORED')).messageTypeId).toBe(4);
});
