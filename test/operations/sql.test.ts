import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NO_STREAM } from '../../src/kernel/event';
import { tokenHash } from '../../src/network/organisations';
import { importNetwork } from '../../src/operations/import-network';
import { rebuildProjections } from '../../src/operations/rebuild';
import { type DescribedEvent } from '../../src/operations/events/records';
import { EVENTS } from '../../src/operations/events/schemas';
import { MODEL_TABLES } from '../../src/operations/sql/models';
import { REMOTE } from '../../src/operations/sql/remote';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { appendAtEnd, newEvent } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { eventsOf } from '../support/temporary-log';
import { engines, opening, ask, type Sample, type Row, rows, rowsOf, appendSamples } from './sql-session';

describe('The log in SQL (decisions X115)', () => {
  it('has every event in the table of its type, with its time, and its fields as columns', async () => {
    const types = await appendSamples();
    const all = await eventsOf(engines.log);
    const inEvents = await rows('SELECT * FROM events ORDER BY position');
    expect(inEvents.map(({ position, id, type, stream }) => [position, id, type, stream])).toEqual(
      all.map(({ position, id, type, stream }) => [Number(position), id, type, stream]),
    );
    const read = await opening();
    let compared = 0;
    for (const type of new Set(types.values())) {
      const found = await read(`SELECT * FROM ${type} ORDER BY position`);
      const expected = all.filter((event) => event.type === type);
      expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
      for (const [at, row] of found.entries()) {
        const data = JSON.parse(expected[at]!.data) as Row;
        const { shape } = (EVENTS.get(type) as DescribedEvent).data;
        if (typeof data['at'] === 'string')
          expect(Date.parse(String(row['time']))).toBe(Date.parse(data['at']));
        const texts = Object.entries(data).filter(
          ([name, value]) => name in shape && typeof value === 'string',
        );
        for (const [name, value] of texts.filter(([, one]) => !/^\d{4}-\d\d-\d\dT/.test(String(one)))) {
          if (['hash', 'key'].includes(name)) continue;
          // Where an event has a field of this name, its record is named first.
          expect([type, name, row[`data_${name}`] ?? row[name]]).toEqual([type, name, value]);
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(150);
  });

  it('has amounts in units of their currency, whatever their decimals', async () => {
    await appendSamples();
    const priced = await rows(
      "SELECT p.price, e.data->>'$.price' AS stored FROM ProductListed p JOIN events e USING (id)",
    );
    expect(priced.map(({ price, stored }) => [price, Number(stored)])).toContainEqual([129.9, 12990]);
    const amounts = await rows(
      `SELECT t.orderValue, t.decimals, e.data->>'$.transaction.orderValue' AS stored FROM TransactionTracked t
       JOIN events e USING (id)`,
    );
    expect(new Set(amounts.map(({ decimals }) => decimals)).size).toBeGreaterThan(1);
    for (const { orderValue, stored, decimals } of amounts)
      expect(orderValue).toBe(Number(stored) / 10 ** Number(decimals ?? 2));
  });

  it('has events of other programs, whatever their data, and tables without events', async () => {
    const { log } = engines;
    await log.append('other-1', NO_STREAM, [newEvent({ price: 'x' })]);
    await log.append('feed-x', NO_STREAM, [
      { ...newEvent({ price: 'dear', product: 7 }), type: 'ProductListed' },
    ]);
    expect(await rows('SELECT type, feedId FROM events ORDER BY type')).toEqual([
      { type: 'Happened', feedId: null },
      { type: 'ProductListed', feedId: null },
    ]);
    expect(await rows('SELECT feedId, price, name, "time" FROM ProductListed')).toEqual([
      { feedId: null, price: null, name: null, time: null },
    ]);
    expect(await rows('SELECT stream FROM other')).toEqual([{ stream: 'other-1' }]);
    expect(await rows('SELECT count(*) AS n, any_value(orderValue) AS v FROM TransactionPaid')).toEqual([
      { n: 0, v: null },
    ]);
  });

  it('can be asked before there is any event', async () => {
    expect(await rows('SELECT count(*) AS n FROM events')).toEqual([{ n: 0 }]);
  });

  it('has no hash of a token, no key, and nothing of a receiver that may be secret', async () => {
    const network = JSON.parse(
      await readFile(join(__dirname, '../../examples/network.json'), 'utf8'),
    ) as object;
    await importNetwork(SYSTEM_CLOCK, engines.log, network, { at: '2026-01-01T00:00:00.000Z' });
    await appendSamples();
    await rebuildProjections(engines, 'all', { force: true });
    const receivers = [
      { receiverUrl: 'https://me:pass@crm.example/hook/s3cret', httpMethod: 'GET', receiverBody: 's3cret' },
    ];
    const created = newEvent({
      ...golden<Sample>('SubscriptionCreated').event.data,
      subscription: { filter: { stateIds: [4] }, receivers },
    });
    await engines.log.append('subscription-s', NO_STREAM, [{ ...created, type: 'SubscriptionCreated' }]);
    const owner = { ...golden<Sample>('DeliveriesOwned').event.data, key: 's3cret key' };
    await appendAtEnd(engines.log, 'deliveries-owner', { ...newEvent(owner), type: 'DeliveriesOwned' });
    const secrets = (await eventsOf(engines.log)).flatMap(({ data }) =>
      [...data.matchAll(/"hash":"([^"]{64})"/g)].map(([, secret = '']) => secret),
    );
    expect(secrets.length).toBeGreaterThan(5);
    const read = await opening([...MODEL_TABLES.keys()].join());
    const tables = await read('SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal');
    expect(tables.length).toBeGreaterThan(90);
    let all = '';
    for (const { table_name: table } of tables)
      all += JSON.stringify(await read(`SELECT * FROM "${String(table)}"`));
    expect(all).toContain('TokenIssued');
    expect([...secrets, 's3cret', 'me:pass'].filter((secret) => all.includes(secret))).toEqual([]);
    expect(all).not.toContain(tokenHash('0'.repeat(40)));
  });
});

describe('What tables and columns have (decisions X115)', () => {
  it('is listed by SHOW TABLES and DESCRIBE, and where DuckDB lists comments, of every table and column', async () => {
    const read = await opening('SHOW TABLES');
    const tables = await read('SHOW TABLES');
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['events', ...MODEL_TABLES.keys(), ...EVENTS.keys()]),
    );
    expect(tables.filter(({ description }) => !/\w/.test(String(description)))).toEqual([]);
    const vouchers = await read('describe Vouchers;');
    expect(vouchers).toContainEqual({
      column_name: 'voucherId',
      column_type: 'BIGINT',
      description: expect.stringMatching(/\w/),
    });
    expect(await read('DESC "ProductRepriced"')).toContainEqual({
      column_name: 'price',
      column_type: 'DECIMAL(18,2)',
      description: expect.stringMatching(/^Price.*, in units of its currency$/),
    });
    expect(await read('DESCRIBE events')).toHaveLength(17);
    const without =
      'FROM duckdb_columns() SELECT table_name, column_name WHERE "comment" IS NULL AND NOT internal';
    expect(await read(without)).toEqual([]);
    const stored =
      'FROM duckdb_columns() SELECT table_name, column_name, "comment" WHERE NOT internal AND "data_type" NOT IN (\'JSON\', \'VARCHAR[]\') ' +
      'AND regexp_matches("comment", \'divide by|illiseconds since|hundredths|ISO 8601\')';
    expect(await read(stored)).toEqual([]);
    const { text: remote } = await ask('SHOW TABLES', { limits: REMOTE });
    expect(rowsOf(remote)).toEqual(tables);
    const { text: remoteColumns } = await ask('DESCRIBE vouchers', { limits: REMOTE });
    expect(rowsOf(remoteColumns)).toEqual(vouchers);
  });

  it('is what DuckDB answers for queries and for tables of other people', async () => {
    const read = await opening();
    expect(await read('DESCRIBE SELECT 1 AS a')).toMatchObject([
      { column_name: 'a', column_type: 'INTEGER' },
    ]);
    expect(await read('SHOW DATABASES')).toEqual([{ database_name: 'memory' }]);
    await expect(read('DESCRIBE voucher')).rejects.toThrow('Did you mean "vouchers"');
  });
});
