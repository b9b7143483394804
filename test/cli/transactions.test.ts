import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { transactionIdOf } from '../../src/domain/transactions/transaction-id';
import { smallNetwork } from '../support/small-network';
import { eventsOf } from '../support/temporary-log';
import { cliFolder, run } from './run';

const { settings, fileOf, dataDir } = cliFolder();

const transactions = (...args: readonly string[]) => run(['transactions', ...args], settings());

/** A report that becomes Tracked_Approved: a lead, which has no pending period. */
function lead(orderNumber: string, changes: object = {}) {
  return { programId: 31, eventId: 312, siteId: 52, orderNumber, ...changes };
}

const ndjson = (...lines: readonly unknown[]): string =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');

/** The types of all events of transactions, by stream. */
async function eventsByStream(): Promise<Readonly<Record<string, readonly string[]>>> {
  const { log } = await openLog(join(dataDir(), 'log.sqlite'), false);
  const streams: Record<string, string[]> = {};
  for (const { stream, type } of await eventsOf(log))
    if (stream.startsWith('transaction-')) (streams[stream] ??= []).push(type);
  await log.close();
  return streams;
}

beforeEach(async () => {
  await run(['network', 'import', await fileOf(smallNetwork())], settings());
});

describe('affilog transactions import (decisions T2)', () => {
  it('reports each line, names the refused ones with their causes, and exits with 1 if there are any', async () => {
    const file = await fileOf(
      ndjson(lead('A-1'), '', '{"programId":', lead('A-2', { siteId: 'x', adId: -1.5 }), '[]', lead('A-3')),
      'reports.ndjson',
    );
    expect(await transactions('import', file)).toEqual({
      code: 1,
      out: [
        'line 3\trefused\texpected a JSON object',
        "line 4\trefused\tCON_350 siteId: expected an integer, got 'x'",
        "line 4\trefused\tCON_350 adId: expected an integer, got '-1.5'",
        'line 5\trefused\texpected a JSON object',
        '2 new, 0 known, 3 refused',
        '',
      ].join('\n'),
      err: expect.stringMatching(
        /^importing transactions: 5 of 5 lines, .*\naffilog: 3 of 5 transactions were refused\n$/,
      ),
    });
  });

  it('refuses times in seconds, as numbers and as cells, and takes dates from before 2001 (decisions A17, V16)', async () => {
    const csv =
      'programId,eventId,siteId,orderNumber,timeOfEvent\n31,312,52,A-1,1700000000\n31,312,52,A-2,1999-12-31\n';
    const seconds = 'expected milliseconds since 1970, of 2001 or later (given in seconds? Multiply by 1000)';
    const asCsv = await transactions('import', await fileOf(csv, 'reports.csv'));
    expect(asCsv.out).toBe(
      `line 2\trefused\tCON_350 timeOfEvent: ${seconds}, got '1700000000'\n1 new, 0 known, 1 refused\n`,
    );
    const lines = ndjson(
      lead('A-3', { timeOfEvent: 1_700_000_000, timeOfVisit: 1 }),
      lead('A-4', { timeOfVisit: 0 }),
    );
    expect((await transactions('import', await fileOf(lines, 'reports.ndjson'))).out).toBe(
      `line 1\trefused\tCON_350 timeOfEvent: ${seconds}, got '1700000000'\n` +
        `line 1\trefused\tCON_350 timeOfVisit: ${seconds}, got '1'\n1 new, 0 known, 1 refused\n`,
    );
  });

  it('is harmless when repeated: it adds only what is missing', async () => {
    const file = await fileOf(ndjson(lead('A-1'), lead('A-2')), 'reports.ndjson');
    expect((await transactions('import', file)).out).toBe('2 new, 0 known, 0 refused\n');
    const more = await fileOf(ndjson(lead('A-1'), lead('A-2'), lead('A-3')), 'reports.ndjson');
    expect(await transactions('import', more)).toMatchObject({ code: 0, out: '1 new, 2 known, 0 refused\n' });
    expect(Object.values(await eventsByStream())).toEqual(
      Array(3).fill(['TransactionTracked', 'TransactionTrackedApproved']),
    );
  });

  it('takes CSV with quoted cells, any order of columns, CRLF, and gzip; empty cells are not set', async () => {
    const csv =
      '\ufefforderNumber;EVENTID;programId;siteId;epi;validate\r\n' +
      '"A;1";312;31;52;"two\r\nlines";\r\n' +
      '\r\n' +
      'A-2;312;31;52;a 5" screen;false\r\n' +
      'A-3;312;31;52\r\n' +
      'A-4;312;31;"52";"say ""hi""";\r\n';
    const file = await fileOf(gzipSync(csv), 'reports.csv.gz');
    expect(await transactions('import', file)).toMatchObject({
      code: 1,
      out: 'line 6\trefused\t4 columns: expected 6, as in the first line\n3 new, 0 known, 1 refused\n',
    });
    const events = await eventsByStream();
    expect(events[`transaction-${transactionIdOf('A-2_312_3', 31)}`]).toEqual(['TransactionTracked']);
    expect((await transactions('show', 'A;1_312_3')).out).toContain('   epi: two\r\nlines\n');
    expect((await transactions('show', 'A-2_312_3')).out).toContain('   epi: a 5" screen\n');
    expect((await transactions('show', 'A-4_312_3')).out).toContain('   epi: say "hi"\n');
  });

  it('refuses a quoted cell that is not closed, naming the lines', async () => {
    const csv = 'programId,eventId,siteId,orderNumber\n31,312,52,A-1\n31,312,52,"A-2\n31,312,52,A-3\n';
    expect((await transactions('import', await fileOf(csv, 'reports.csv'))).out).toBe(
      'line 3\trefused\ta quoted cell is not closed; lines 3 to 4 were not read\n1 new, 0 known, 1 refused\n',
    );
  });

  it.each([
    [
      'an unknown column',
      'programId,eventId,siteId,orderNumber,colour\n',
      /unknown columns.*: colour: expected some of programId,/,
    ],
    ['a missing column', 'programId,eventId\n', /expected at least programId, .*missing siteId, orderNumber/],
    ['a repeated column', 'programId,eventId,siteId,orderNumber,SITEID\n', /has the column siteId twice/],
  ])('refuses CSV with %s in the first line, and reads nothing', async (_, csv, message) => {
    const found = await transactions('import', await fileOf(`${csv}31,312,52,A-1,1\n`, 'reports.csv'));
    expect(found).toEqual({ code: 1, out: '', err: expect.stringMatching(message) });
    expect(found.err).toMatch(/^affilog: .*\n$/);
  });

  it('refuses a line that is too long or not UTF-8, and continues', async () => {
    const bytes = Buffer.concat([
      Buffer.from(ndjson(lead('A-1'))),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(ndjson(lead('x'.repeat(600_000)), lead('A-2'))),
    ]);
    expect((await transactions('import', await fileOf(bytes, 'reports.ndjson'))).out).toBe(
      'line 2\trefused\tnot UTF-8: byte 2 is 0xFF (ÿ in Latin-1); save the file as UTF-8\n' +
        'line 3\trefused\texpected at most 262144 bytes\n2 new, 0 known, 2 refused\n',
    );
  });

  it('says of CSV in Latin-1 that it is not UTF-8, with the byte and the remedy', async () => {
    const csv = 'programId,eventId,siteId,orderNumber,epi\n31,312,52,A-1,blå\n31,312,52,A-2,x\n';
    expect((await transactions('import', await fileOf(Buffer.from(csv, 'latin1'), 'reports.csv'))).out).toBe(
      'line 2\trefused\tnot UTF-8: byte 17 is 0xE5 (å in Latin-1); save the file as UTF-8\n1 new, 0 known, 1 refused\n',
    );
    const header = Buffer.from('programId,eventId,siteId,orderNumber,été\n', 'latin1');
    expect(await transactions('import', await fileOf(header, 'reports.csv'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/the first line: not UTF-8: byte 38 is 0xE9 \(é in Latin-1\)/) as string,
    });
  });

  it('refuses a file that is damaged, or is not there, with one line', async () => {
    const damaged = gzipSync(ndjson(lead('A-1'))).subarray(0, 40);
    const found = await transactions('import', await fileOf(damaged, 'reports.ndjson.gz'));
    expect(found).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^affilog: .*cannot be decompressed: .*\n$/),
    });
    expect(await transactions('import', join(dataDir(), 'none.csv'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^affilog: ENOENT.*\n$/),
    });
  });

  it('imports more lines than one batch, and stops between batches at a stop signal', async () => {
    const lines = Array.from({ length: 10_001 }, (_, at) =>
      lead(`A-${at}`, { siteId: at === 10_000 ? 52 : 61 }),
    );
    const file = await fileOf(ndjson(...lines), 'reports.ndjson');
    const { out } = await transactions('import', file);
    expect(out.endsWith('\n10001 new, 0 known, 0 refused\n') || out).toBe('10001 new, 0 known, 0 refused\n');
    const stopping = new AbortController();
    stopping.abort();
    expect(await run(['transactions', 'import', file], settings(), { stopping })).toMatchObject({
      code: 1,
      out: '',
      err: 'affilog: interrupted: run the command again to continue\n',
    });
  });
});

describe('affilog transactions totals (decisions T9)', () => {
  const totals = (...args: readonly string[]) => transactions('totals', ...args);
  const TABLE =
    /^eventId currencyId count orderValue publisherCommission tdCommission approved refused approvalRate(?: secondsToApproval)?\n(?:-+ ?)+\n311 NOK 1 99.9 .* 0 1 0\n312 NOK 2 .* 2 0 1(?: 0)?\n2 lines\n$/;
  beforeEach(async () => {
    const sale = { programId: 31, eventId: 311, siteId: 61, orderNumber: 'S-1', orderValue: 99.9 };
    await transactions('import', await fileOf(ndjson(sale, lead('A-1'), lead('A-2')), 'reports.ndjson'));
    await run(['rebuild', 'transactions'], settings());
  });

  it('are a table without columns that are empty, CSV as over HTTP, or JSON', async () => {
    const { code, out } = await totals('--group-by', 'eventId');
    expect([code, out.replace(/ +/g, ' ')]).toEqual([0, expect.stringMatching(TABLE)]);
    const csv = (await totals('--group-by', 'eventId', '--format', 'csv')).out;
    expect(csv).toMatch(/^"period","periodOf","programId","siteId","eventId",/);
    expect(csv.split('\r\n')).toHaveLength(4);
    const json = (await totals('--group-by', 'eventId', '--json')).out;
    expect((await totals('--group-by', 'eventId', '--format', 'json')).out).toBe(json);
    expect(
      json
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([
      { eventId: 311, count: 1, orderValue: 99.9, refused: 1, approvalRate: 0 },
      { eventId: 312, count: 2, approved: 2, approvalRate: 1 },
    ]);
  });

  it('select by all keys of the list, and by whoever sees them', async () => {
    const counted = async (...args: readonly string[]) => {
      const { out, err } = await totals(...args, '--json');
      expect(err).toBe('');
      return out
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { count: number }).count);
    };
    expect(await counted('--order-number', 'A-1,S-1', '--group-by', 'programId')).toEqual([2]);
    expect(await counted('--site-id', '52', '--min-time-of-event', '2001-01-01')).toEqual([2]);
    expect(await counted('--max-time-of-event', '2001-01-01')).toEqual([]);
    expect(await counted('--advertiser', '3', '--group-by', 'programId')).toEqual([3]);
    expect((await totals('--max-time-of-event', '2001-01-01')).out).toMatch(/\n0 lines\n$/);
  });

  it.each([
    [['--group-by', 'day,week'], 'groupBy=day,week: expected at most one of day, week, month'],
    [['--group-by', 'colour'], 'Expected one of day, week, month, programId'],
    [['--max-changed', '1700000000'], 'given in seconds? Multiply by 1000'],
    [['--publisher', '3'], 'publisher=3: expected the id of an organisation that was publisher'],
    [['--as-of', 'never'], 'never: expected the name of read models as of a time'],
  ])('says what is expected instead of %j', async (args, message) => {
    const { code, out, err } = await totals(...args);
    expect([out, err]).toEqual(['', expect.stringContaining(message)]);
    expect(code).toBeGreaterThan(0);
  });
});

describe('affilog transactions show', () => {
  it('shows the events in order, with states, amounts, reasons and what has changed', async () => {
    const sale = { programId: 31, eventId: 311, siteId: 61, orderNumber: 'S-1', orderValue: 99.9 };
    await transactions('import', await fileOf(ndjson(sale), 'reports.ndjson'));
    const { code, out } = await transactions('show', 'S-1_311_3');
    expect(code).toBe(0);
    const id = transactionIdOf('S-1_311_3', 31);
    expect(out.split('\n')[0]).toBe(`transaction ${id} (S-1_311_3)`);
    expect(out).toMatch(/^1 {2}\d{4}-\S+Z {2}Tracked \(1\)\n {3}advertiserId: 3\n/m);
    expect(out).toContain('   orderValue: 99.90 NOK\n');
    expect(out).toContain('   terms: 7.5 %\n');
    expect(out).toMatch(
      /^2 {2}\d{4}-\S+Z {2}Invalid \(2\)\n {3}reasons: the site is not connected to the program\n$/m,
    );
    expect(await transactions('show', id)).toMatchObject({ code: 0, out });
  });

  it('names all transactions if several programs share the legacyTransactionId (decisions T1)', async () => {
    const network = smallNetwork();
    const [first, ...others] = network.programs;
    const second = { ...first!, id: 39, name: 'Also there' };
    const connections = [...network.connections, { siteId: 52, programId: 39 }];
    const changed = { ...network, programs: [first!, second, ...others], connections };
    await run(['network', 'import', await fileOf(changed)], settings());
    const file = await fileOf(ndjson(lead('S-2'), lead('S-2', { programId: 39 })), 'reports.ndjson');
    expect((await transactions('import', file)).out).toBe('2 new, 0 known, 0 refused\n');
    const { code, out, err } = await transactions('show', 'S-2_312_3');
    expect([code, out]).toEqual([1, '']);
    for (const programId of [31, 39]) {
      const id = transactionIdOf('S-2_312_3', programId);
      expect(err).toContain(id);
      expect((await transactions('show', id)).out).toContain(`programId: ${programId}\n`);
    }
  });

  it('exits with 2 for an id that no transaction has', async () => {
    expect(await transactions('show', 'S-1_311_3')).toEqual({
      code: 2,
      out: '',
      err: 'affilog: S-1_311_3: expected the transactionId or the legacyTransactionId of a transaction\n',
    });
  });
});
