import { inRandomOrder } from '../support/random-order';
import { type Response, TestApp } from '../support/app';
import { OVER_SERVERS } from '../support/engines';
import { vouchers } from '../../projections/vouchers';
import { type StoredVoucher } from '../../src/domain/vouchers/voucher';
import { execute } from '../../src/kernel/decider';
import { type EventLog } from '../../src/kernel/event-log';
import { transactionDecider } from '../../src/domain/transactions/transaction';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog } from '../support/temporary-log';
import { DAY, idsOf, NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';
import { CLAIM_TOKENS, claimOf, claimWorld, errorsIn, type Listed, xmlOf } from './claim-network';
import { CONVERSION_TOKENS, PATH, type Result, transactionWorld } from './transaction-network';

describe('many vouchers', () => {
  let app: TestApp;
  const { list } = voucherClientOf(() => app);

  /** More than a read store counts from the first result, on SQLite twice as many. */
  const MANY = OVER_SERVERS ? 12_000 : 22_600;
  /** Each ninth is of a program that the caller's site is not connected to. */
  const seen = Array.from({ length: MANY }, (_, at) => at + 1).filter((id) => id % 9 > 0);
  /** Thousands are updated at one moment: pages begin and end among them. */
  const updatedOf = (id: number): number => NOW - 1 + (((id * 7919) % MANY) % 3);

  function stored(id: number): StoredVoucher {
    const iso = (time: number): string => new Date(time).toISOString();
    const voucher = { title: 'Free', shortDescription: 'Free', description: 'x', voucherTypeId: 4 } as const;
    return {
      programId: id % 9 > 0 ? 101 : 102,
      sourceId: String(id),
      created: NOW,
      updated: updatedOf(id),
      voucher: { ...voucher, startDate: iso(NOW), endDate: iso(NOW + DAY) },
      currency: { currency: 'EUR' },
      phase: 'shown',
    };
  }

  /** Into the read model as it is: nothing that follows is about the log. */
  async function fill(): Promise<void> {
    const { log, store } = app.engines;
    const target = { collection: vouchers.collection.name };
    const version = await log.head();
    for (let first = 1; first <= MANY; first += 2000) {
      const length = Math.min(2000, MANY - first + 1);
      const writes = Array.from({ length }, (_, at) => {
        const id = String(first + at);
        const { document, fields } = vouchers.describe(stored(first + at), id, app.follower.directory);
        return { version, put: { id, fields, body: JSON.stringify(document) } };
      });
      await store.write(target, writes);
    }
    await store.refresh(target);
  }

  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
    await fill();
  });
  afterAll(() => app.close());

  async function pagesOf(keys: string, numbers: readonly number[]): Promise<readonly number[]> {
    const ids: number[] = [];
    for (const page of numbers) ids.push(...idsOf(await list(`${keys};page=${page}`)));
    return ids;
  }

  it('a listing has 1,000 vouchers by default (Document 2, Limits: List pageSize default; decisions V16)', async () => {
    expect(await list()).toHaveLength(1000);
    expect(await list(';pageSize=5000', 'nord')).toHaveLength(1000);
    expect(await list(';pageSize=999')).toHaveLength(999);
  });

  const pages = Math.ceil(seen.length / 1000);

  it('pages reach the last voucher, each on exactly one page, in order, with thousands of the same update time (decisions V12, X41)', async () => {
    const wanted = seen.toSorted((a, b) => updatedOf(b) - updatedOf(a) || b - a);
    expect(await pagesOf('', [...Array(pages).keys()])).toEqual(wanted);
    // One that lies across where a read store ends to count.
    expect(await pagesOf(';pageSize=997', [10])).toEqual(wanted.slice(9970, 10_967));
  });

  it('so do pages in a random order (decisions V6, X41)', async () => {
    const wanted = inRandomOrder(7, seen);
    expect(await pagesOf(';random=7', [0, pages - 2, pages - 1])).toEqual([
      ...wanted.slice(0, 1000),
      ...wanted.slice(1000 * (pages - 2)),
    ]);
  });

  it.each(['', ';random=7'])(
    'a page beyond the last one is empty, with keys "%s" (decisions X41)',
    async (keys) => {
      for (const page of [pages, Number.MAX_SAFE_INTEGER])
        expect(await list(`${keys};page=${page}`)).toEqual([]);
    },
  );
});

describe('pages of 1,001 claims (Document 3, List keys; decisions C8)', () => {
  const world = claimWorld();

  /** The numbers of the orders on a page, the number of all, and the size of the page if it was capped. */
  async function page(keys: string): Promise<readonly unknown[]> {
    const answer = await world.send('GET', `/claims${keys}`, 'nord');
    const orders = answer.json<Listed[]>().map(({ orderNumber }) => orderNumber);
    const { 'x-total-count': total, 'x-page-size': size } = answer.headers;
    return [orders.length, orders.at(0), orders.at(-1), total, size];
  }

  beforeAll(async () => {
    const claims = Array.from({ length: 1001 }, (_, at) => claimOf(String(at + 1)));
    for (const some of [claims.slice(0, 1000), claims.slice(1000)])
      expect((await world.file(some)).statusCode).toBe(200);
    await world.app.settled();
  });

  it.each([
    ['', [1000, '1001', '2', '1001', undefined]],
    [';limit=1000', [1000, '1001', '2', '1001', undefined]],
    [';limit=1001', [1000, '1001', '2', '1001', '1000']],
    [';limit=2', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=1', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=0', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=2', [2, '1000', '999', '1001', undefined]],
    [';limit=2;offset=1;tdconnect=false', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=0;tdconnect=true', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=1;tdconnect=true', [2, '1000', '999', '1001', undefined]],
    [';offset=1000;tdconnect=true', [1, '1', '1', '1001', undefined]],
    [';offset=1001;tdconnect=true', [0, undefined, undefined, '1001', undefined]],
    [';offset=1001', [1, '1', '1', '1001', undefined]],
  ])('"%s"', async (keys, expected) => {
    expect(await page(keys)).toEqual(expected);
  });
});

describe('a posted list of claims (decisions C3, C7)', () => {
  const world = claimWorld();

  const post = (body: string, contentType = 'application/json; charset=utf-8'): Promise<Response> =>
    world.send('POST', '/claims', 'preisblick', { headers: { 'content-type': contentType }, body });

  const numbers = async (): Promise<readonly string[]> =>
    (await world.list()).map(({ orderNumber }) => orderNumber);

  const one = JSON.stringify({ claims: [claimOf('kept')] });
  const inXml = xmlOf('claims', [claimOf('kept'), claimOf('kept too', { epi: 'b' })]);
  const two = (first: string, second: string): string =>
    `{${first}:[${JSON.stringify(claimOf('lost'))}],${second}:[${JSON.stringify(claimOf('kept'))}]}`;
  const json = 'application/json; charset=utf-8';
  const xml = 'application/xml; charset=utf-8';
  const twice = '"orderValue":1,"orderValue":100';

  it.each([
    ['the list', 'claims', json, two('"claims"', '"claims"')],
    ['the list, with escapes', 'claims', json, two('"claims"', String.raw`"cl\u0061ims"`)],
    ['a field', 'claims[0].orderValue', json, one.replace('"orderValue":100', twice)],
    ['a field that is the same', 'claims[0].epi', json, one.replace('{"aff', '{"epi":"a","epi":"a","aff')],
    ['an unknown field', 'claims[0].colour', json, one.replace('{"aff', '{"colour":1,"colour":2,"aff')],
    ['an element', 'claims[1].epi', xml, inXml.replace('<c:epi>', '<c:epi>a</c:epi><c:epi>')],
  ])('with %s twice is UTS_211, by name: no value is lost silently', async (_, path, type, body) => {
    const answer = await post(body, type);
    expect([answer.statusCode, answer.body]).toEqual([
      400,
      expect.stringContaining(`${path} is given more than once: expected one value`),
    ]);
    expect(answer.body).toContain('UTS_211');
    expect(await numbers()).toEqual([]);
  });

  it('with another list beside it is UTS_211, in JSON as in XML', async () => {
    const both = JSON.stringify({ claims: [claimOf('kept')], claimUpdates: [{ claimId: 1 }] });
    const answer = await post(both);
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      400,
      ['UTS_211 expected an object with claims alone, found claimUpdates'],
    ]);
    const other = await post(inXml.replace('</claims>', '<claimUpdate/></claims>'), xml);
    expect(other.body).toContain('expected a root element claims with claim elements, found claimUpdate');
    expect(await numbers()).toEqual([]);
  });

  it('may have an unknown member beside the list, which is ignored (decisions C7)', async () => {
    const body = JSON.stringify({ version: '1.0', claims: [claimOf('enveloped')] });
    expect((await post(body)).statusCode).toBe(200);
    expect(await numbers()).toContain('enveloped');
  });

  it('may have an unknown element twice, which is ignored (decisions A15)', async () => {
    const body = xmlOf('claims', [claimOf('noted')]).replace('<c:orderValue>', '<note/><note/>$&');
    const answer = await post(body, xml);
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, 'note']);
    expect(await numbers()).toContain('noted');
  });

  it('may have a byte order mark, and its numbers are named as they were sent', async () => {
    const body = JSON.stringify({ claims: [claimOf('marked', { programId: 9876 })] });
    const answer = await post(`\ufeff${body.replace('9876', '90071992547409931')}`);
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      400,
      [expect.stringMatching(/^UTS_\d+ claims\[0\]\.programId: expected .*got '90071992547409931'$/)],
    ]);
  });

  it('of updates has at most 1,000 faults in its answer, whatever they come from', async () => {
    const { claimId } = await world.create('mine');
    await world.create('taken');
    const update = { ...claimOf('taken'), claimId, versionNo: 0 };
    const answer = await world.rule(
      Array.from({ length: 1000 }, () => update),
      'preisblick',
    );
    const errors = errorsIn(answer);
    expect([answer.statusCode, errors.length]).toEqual([409, 1001]);
    expect(errors.at(-1)).toMatch(/^UTS_213 999 more errors/);
  });
});

/** The log, with the streams that are being read, at most and in all, and the bytes of their events. */
function watched(log: EventLog, categories: readonly string[]) {
  const seen = { now: 0, most: 0, bytes: 0 };
  const watching = overrideLog(log, {
    async *readStream(stream, options) {
      const isOfInterest = categories.some((category) => stream.startsWith(category));
      if (isOfInterest) seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      try {
        // Others have the opportunity to begin as well.
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
        for await (const batch of log.readStream(stream, options)) {
          if (isOfInterest) for (const { data } of batch) seen.bytes += Buffer.byteLength(data);
          yield batch;
        }
      } finally {
        if (isOfInterest) seen.now -= 1;
      }
    },
  });
  return { log: watching, seen };
}

const inject = (url: string, token: string, body: object) => ({
  method: 'POST' as const,
  url: `${url}?token=${token}`,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  payload: JSON.stringify(body),
});

describe('transitions that name many transactions (decisions T5)', () => {
  const world = transactionWorld();

  it('have at most 288 of them in memory, in all lists together', async () => {
    const { log, seen } = watched(world.app.engines.log, ['transaction-']);
    const app = await world.app.again({ eventLog: log });
    const unknown = Array.from({ length: 600 }, (_, at) => at.toString(16).padStart(32, '0'));
    const list = unknown.map((transactionId) => ({ transactionId, action: 'approve' }));
    const answers = await Promise.all(
      (['nord', 'casa', 'operator'] as const).map((one) =>
        app.inject(inject(`${PATH}/transitions/bulk`, CONVERSION_TOKENS[one], list)),
      ),
    );
    await app.close();
    for (const answer of answers) {
      const results = answer.json<readonly Result[]>();
      expect(results).toHaveLength(600);
      for (const { errors } of results) expect(errors).toMatchObject([{ code: 'CON_500' }]);
    }
    expect(seen.most).toBeLessThanOrEqual(288);
  });

  it('read a few events of each, however often it was amended, by either of its ids', async () => {
    const { log, seen } = watched(world.app.engines.log, ['transaction-']);
    const orders = Array.from({ length: 10 }, (_, at) => `LONG-${at}`);
    const reportInfo = `f1=lamp&f2=${'x'.repeat(10_000)}`;
    const ids: string[] = [];
    for (const order of orders) ids.push((await world.create(order, { reportInfo })).transactionId);
    for (const id of ids)
      for (let orderValue = 1; orderValue <= 30; orderValue += 1) {
        const at = new Date(NOW).toISOString();
        await execute(SYSTEM_CLOCK, log, transactionDecider, id, {
          do: 'amend',
          at,
          amendments: { orderValue },
        });
      }
    const app = await world.app.again({ eventLog: log });
    for (const [turn, named] of [
      ids.map((transactionId) => ({ transactionId })),
      orders.map((order) => ({ legacyTransactionId: `${order}_301_1` })),
    ].entries()) {
      seen.bytes = 0;
      const list = named.map((one) => ({
        ...one,
        action: 'amend',
        orderValue: 100 + turn,
      }));
      const answer = await app.inject(inject(`${PATH}/transitions/bulk`, CONVERSION_TOKENS.nord, list));
      expect(answer.json()).toEqual(
        orders.map(() => expect.objectContaining({ outcome: 'moved' }) as object),
      );
      // The first event, the last two, and for a legacy id the first one once more.
      expect(seen.bytes).toBeLessThan(orders.length * 4.5 * 10_500);
    }
    await app.close();
  });
});

describe('lists of claims and of updates (decisions C9)', () => {
  const world = claimWorld();

  it.each([
    ['of 1,000 items are executed two at a time, which read 256 claims each', 3, 1_000, 2 * 256],
    ['of few items are executed as many at a time as have 1,500', 100, 20, 1_500],
  ])('of one organisation %s', async (_, lists, items, most) => {
    const { log, seen } = watched(world.app.engines.log, ['claim-']);
    const app = await world.app.again({ eventLog: log });
    const updates = Array.from({ length: items }, (__, at) => ({
      claimId: 9000 + at,
      statusIdClaim: 3,
      versionNo: 0,
    }));
    const post = () => app.inject(inject('/1.0/claimUpdates', CLAIM_TOKENS.nord, { claimUpdates: updates }));
    const answers = await Promise.all(Array.from({ length: lists }, post));
    await app.close();
    for (const { statusCode, body } of answers)
      expect([statusCode, body.includes('UTS_402')]).toEqual([404, true]);
    expect(seen.most).toBeLessThanOrEqual(most);
    expect(seen.most).toBeGreaterThan(most / 2);
  });

  const TAKEN = Array.from({ length: 800 }, (__, at) => claimOf(`taken-${at}`));
  beforeAll(() => world.file(TAKEN));

  it.each([
    ['new claims', '/1.0/claims', {}, 409],
    ['checked claims', '/1.0/claims/check', {}, 409],
    ['refused claims', '/1.0/claims', { orderValue: 'a' }, 400],
  ])(
    'are executed two at a time of one caller if they are long: %s, whose keys are taken',
    async (_, url, changes, status) => {
      const { log, seen } = watched(world.app.engines.log, ['claimkey-', 'claim-']);
      const app = await world.app.again({ eventLog: log });
      const claims = TAKEN.map((claim) => ({ ...claim, ...changes }));
      const post = () => app.inject(inject(url, CLAIM_TOKENS.preisblick, { claims }));
      const answers = await Promise.all(Array.from({ length: 3 }, post));
      await app.close();
      for (const { statusCode, body } of answers)
        expect([statusCode, body.includes('UTS_397')]).toEqual([status, true]);
      expect(seen.most).toBeLessThanOrEqual(2 * 256);
    },
  );
});
