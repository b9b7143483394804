import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { PROJECTIONS } from '../../projections';
import { products } from '../../projections/products';
import { type Engines, openEngines } from '../../src/engines/open';
import { NO_STREAM } from '../../src/kernel/event';
import { directoryAt } from '../../src/network/directory';
import { tokenHash } from '../../src/network/organisations';
import { offerId } from '../../src/domain/products/offer';
import { type Filter } from '../../src/kernel/query';
import { type ReadStore, type Target } from '../../src/kernel/read-store';
import { importNetwork } from '../../src/operations/import-network';
import { rebuildProjections } from '../../src/operations/rebuild';
import { type DescribedEvent } from '../../src/operations/events/records';
import { EVENTS } from '../../src/operations/events/schemas';
import { MODEL_TABLES } from '../../src/operations/sql/models';
import { keepUp, type KeepUpOptions, type SnapshotParts } from '../../src/operations/sql/snapshot';
import { REMOTE } from '../../src/operations/sql/remote';
import { type SqlLimits, SqlSession, type TextFormat } from '../../src/operations/sql/sql';
import { type Projection } from '../../src/projector/projection';
import { Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { run, type Run } from '../cli/run';
import { appendAtEnd, newEvent } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { removeFolder, temporaryFolder } from '../support/server';
import { eventsOf, overrideLog } from '../support/temporary-log';

let folder: string;
let engines: Engines;
let parts: SnapshotParts;
beforeEach(async () => {
  folder = await temporaryFolder();
  engines = await openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const { log, store, deliveries } = engines;
  parts = { dataDir: folder, log, store, deliveries, directory: () => directoryAt(log) };
});
afterEach(async () => {
  await engines.close();
  await removeFolder(folder);
});

interface AskOptions extends KeepUpOptions {
  readonly format?: TextFormat;
  readonly limits?: SqlLimits;
  readonly of?: SnapshotParts;
}

/** By the folder. A new one defines all views, which takes tenths of a second. */
const sessions = new Map<string, SqlSession>();
afterEach(() => {
  for (const session of sessions.values()) session.close();
  sessions.clear();
});

async function sessionOf(dataDir: string): Promise<SqlSession> {
  const session = sessions.get(dataDir) ?? (await SqlSession.open(dataDir));
  sessions.set(dataDir, session);
  return session;
}

/** Over the snapshot as it is by now. */
async function opening(models = ''): Promise<(statement: string) => Promise<readonly Row[]>> {
  const session = await sessionOf(folder);
  await session.prepare(parts, models);
  return async (statement) => rowsOf(await textOf(session, statement));
}

async function textOf(session: SqlSession, statement: string, format: TextFormat = 'json'): Promise<string> {
  let text = '';
  for await (const part of session.text(statement, format)) text += part;
  return text;
}

async function ask(statement: string, { format = 'json', limits, of = parts, ...options }: AskOptions = {}) {
  // With limits, it serves one statement.
  const session = await (limits === undefined ? sessionOf(of.dataDir) : SqlSession.limited(limits));
  try {
    await session.prepare(of, statement, options);
    return { text: await textOf(session, statement, format), asOf: session.asOf };
  } finally {
    if (limits !== undefined) session.close();
  }
}

interface Sample {
  readonly type: string;
  readonly data: Row;
  readonly meta?: Row;
}

type Row = Readonly<Record<string, unknown>>;

async function rows(statement: string, options?: AskOptions): Promise<readonly Row[]> {
  return rowsOf((await ask(statement, options)).text);
}

function rowsOf(text: string): readonly Row[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);
}

async function layoutFolder(): Promise<string> {
  const all = await readdir(join(folder, 'analytics')).catch(() => []);
  return join(folder, 'analytics', all.find((one) => /^[0-9a-f]{16}$/.test(one)) ?? '');
}

async function filesIn(name: string): Promise<readonly string[]> {
  const all = await readdir(join(folder, 'analytics'), { recursive: true }).catch(() => []);
  return all.filter((one) => one.includes(`/${name}/`));
}

const samples = async (): Promise<readonly string[]> =>
  (await readdir(join(__dirname, '../golden'))).map((name) => name.replace('.json', ''));

/** Appends each sample of an event to its stream. */
async function appendSamples(): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  for (const name of await samples()) {
    const [type = '', ...variant] = name.split('-');
    const { stream, event } = golden<Sample>(type, variant.length === 0 ? '' : `-${variant.join('-')}`);
    const added = { ...newEvent(event.data), type, meta: JSON.stringify(event.meta ?? {}) };
    await appendAtEnd(engines.log, stream, added);
    types.set(added.id, type);
  }
  return types;
}

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

describe('The snapshot (decisions X115)', () => {
  const positions = async (options?: AskOptions): Promise<readonly unknown[]> =>
    (await rows('SELECT position FROM events ORDER BY position', options)).map(({ position }) => position);
  const positionsInLog = async (): Promise<readonly number[]> =>
    (await eventsOf(engines.log)).map(({ position }) => Number(position));
  const append = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      const type = ['Tried', 'ProductRepriced', 'VoucherWithdrawn'][at % 3] ?? '';
      await appendAtEnd(engines.log, `feed-${at % 5}`, { ...newEvent({ n: at }), type });
    }
  };

  it('has every event once, however it was cut, merged, interrupted and made again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            count: fc.integer({ min: 0, max: 40 }),
            segment: fc.integer({ min: 1, max: 20 }),
            loses: fc.constantFrom('nothing', 'nothing', 'manifest', 'file', 'everything'),
            interrupted: fc.boolean(),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        async (steps) => {
          for (const { count, segment, loses, interrupted } of steps) {
            await append(count);
            if (interrupted) {
              const stop = new AbortController();
              const onProgress = (): void => stop.abort();
              await keepUp(parts, { segment, onProgress, signal: stop.signal }).catch(() => undefined);
            }
            expect(await positions({ segment })).toEqual(await positionsInLog());
            if (loses === 'everything') await rm(join(folder, 'analytics'), { recursive: true, force: true });
            if (loses === 'manifest') await rm(join(await layoutFolder(), 'manifest.json'), { force: true });
            const [file] = await filesIn('ProductRepriced');
            if (loses === 'file' && file !== undefined) await rm(join(folder, 'analytics', file));
          }
        },
      ),
      { numRuns: 5 },
    );
  });

  it('has few files, however often it was brought up to date', async () => {
    for (let at = 0; at < 30; at += 1) {
      await append(3);
      await keepUp(parts);
    }
    expect(await positions()).toEqual(await positionsInLog());
    const manifest = JSON.parse(await readFile(join(await layoutFolder(), 'manifest.json'), 'utf8')) as {
      readonly events: Readonly<Record<string, readonly unknown[]>>;
    };
    for (const files of Object.values(manifest.events)) expect(files.length).toBeLessThan(8);
  }, 60_000);

  it('is made again for another log', async () => {
    await append(10);
    await keepUp(parts);
    const other = await temporaryFolder();
    const others = await openEngines({
      dataDir: other,
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      threads: false,
    });
    for (let at = 0; at < 20; at += 1) await appendAtEnd(others.log, 'feed-9', newEvent());
    const found = await rows('SELECT DISTINCT stream FROM events', { of: { ...parts, log: others.log } });
    expect(found).toEqual([{ stream: 'feed-9' }]);
    await others.close();
    await removeFolder(other);
  });

  it('may be made by several processes at once', async () => {
    await append(50);
    const options = { segment: 7 };
    await Promise.all([keepUp(parts, options), keepUp(parts, options), keepUp(parts, options)]);
    expect(await positions(options)).toEqual(await positionsInLog());
  });

  it('spills to a folder of its own, which others leave alone and which is removed', async () => {
    const spilling = async (): Promise<SqlSession> => {
      const session = await SqlSession.open(folder);
      await session.prepare(parts, '');
      await textOf(session, "SET memory_limit = '40MB'");
      await textOf(
        session,
        "CREATE TABLE t AS SELECT i, md5(i::VARCHAR) || md5('x' || i) AS s FROM range(900000) r(i)",
      );
      return session;
    };
    const spilled = async (): Promise<readonly string[]> =>
      (await readdir(join(folder, 'analytics'), { recursive: true })).filter((name) => name.endsWith('.tmp'));
    const [one, another] = [await spilling(), await spilling()];
    expect(new Set((await spilled()).map(dirname)).size).toBe(2);
    another.close();
    expect(new Set((await spilled()).map(dirname)).size).toBe(1);
    const sound = "SELECT count(*) AS n FROM t WHERE s = md5(i::VARCHAR) || md5('x' || i)";
    expect(rowsOf(await textOf(one, sound))).toEqual([{ n: 900_000 }]);
    one.close();
    expect((await readdir(join(folder, 'analytics'))).filter((name) => name.startsWith('temp'))).toEqual([]);
  }, 60_000);

  it('removes what killed processes have left an hour ago, even if it fails', async () => {
    await append(10);
    await keepUp(parts);
    const layout = basename(await layoutFolder());
    const left = async (name: string, hours: number): Promise<void> => {
      const path = join(folder, 'analytics', name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '');
      const then = SYSTEM_CLOCK.wall() / 1000 - hours * 3_600;
      for (const one of [path, dirname(path)]) await utimes(one, then, then);
    };
    const old = [
      'temporary/x.tmp',
      'temporary-1/x.tmp',
      `${layout}/Tried/x.parquet.1.part`,
      `${layout}/manifest.json.1.part`,
    ];
    const recent = ['temporary-2/x.tmp', `${layout}/Tried/y.parquet.1.part`];
    for (const name of old) await left(name, 2);
    for (const name of recent) await left(name, 0.5);
    await append(1);
    const onProgress = (): never => {
      throw new Error('interrupted');
    };
    await expect(keepUp(parts, { onProgress })).rejects.toThrow('interrupted');
    const all = await readdir(join(folder, 'analytics'), { recursive: true });
    expect([...old, ...recent].filter((name) => all.includes(name))).toEqual(recent);
    expect(await positions()).toEqual(await positionsInLog());
  });

  it('fails as the log does, and continues later', async () => {
    await append(30);
    const failing = overrideLog(engines.log, {
      readAll: () => {
        throw new Error('no answer');
      },
    });
    await expect(keepUp({ ...parts, log: failing })).rejects.toThrow('no answer');
    expect(await positions()).toEqual(await positionsInLog());
  });
});

describe('Read models in SQL (decisions X115)', () => {
  const NETWORK = {
    organisations: [
      { id: 1, kind: 'advertiser', name: 'Nord' },
      { id: 2, kind: 'publisher', name: 'Preisblick' },
    ],
  };

  async function project(): Promise<void> {
    const runner = new Runner(engines.log, engines.store, PROJECTIONS, {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
    await runner.start();
    await waitForPosition(SYSTEM_CLOCK, engines.store, PROJECTIONS, await engines.log.head(), 60_000);
    await runner.stop();
  }

  it('has when feeds were published as far as their read model has come, and says so', async () => {
    const append = async (...types: readonly string[]): Promise<void> => {
      for (const type of types) {
        const { stream, event } = golden<Sample>(type);
        const data = types.length > 2 ? event.data : { ...event.data, at: '2026-11-01T00:00:00.000Z' };
        await appendAtEnd(engines.log, stream, { ...newEvent(data), type });
      }
    };
    await append('ProgramDefined', 'FeedDefined', 'ProductListed', 'FeedImported');
    await project();
    const statement = 'SELECT published FROM feeds WHERE feedId = 301';
    const before = await ask(statement);
    await append('ProductListed', 'FeedImported');
    const behind = await ask(statement);
    expect([behind.text, behind.asOf.get('feeds')]).toEqual([before.text, before.asOf.get('feeds')]);
    await project();
    const { text, asOf } = await ask(statement);
    expect([text, asOf.get('feeds')]).toEqual([
      expect.stringContaining('2026-11-01'),
      await engines.log.head(),
    ]);
  });

  it('reads only what has changed since, and has the same as when all is read', async () => {
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    const { data } = golden<Sample>('ProductListed').event;
    const voucher = golden<Sample>('VoucherPublished').event.data;
    const listed = (at: number, price: number) => ({ ...data, sourceProductId: `p${at}`, price });
    for (let at = 0; at < 20; at += 1)
      await appendAtEnd(engines.log, 'feed-1', { ...newEvent(listed(at, 100 + at)), type: 'ProductListed' });
    await engines.log.append('voucher-1', NO_STREAM, [{ ...newEvent(voucher), type: 'VoucherPublished' }]);
    await engines.log.append('voucher-2', NO_STREAM, [{ ...newEvent(voucher), type: 'VoucherPublished' }]);
    await rebuildProjections(engines, 'all');
    const read = async (): Promise<readonly (readonly Row[])[]> => [
      await rows('SELECT * FROM products ORDER BY ALL'),
      await rows('SELECT * FROM price_history ORDER BY ALL'),
      await rows('SELECT * FROM vouchers ORDER BY ALL'),
    ];
    const [products] = await read();
    expect(products).toHaveLength(20);
    expect(products![0]).toMatchObject({ feedId: 1, name: (data['product'] as Row)['name'] });
    const scanned: unknown[] = [];
    const watched = new Proxy(engines.store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          const [of] = args as readonly [Target];
          if (name === 'scan' && of.collection !== 'parked') scanned.push(of);
          return Reflect.apply(value, target, args);
        };
      },
    });
    const changes = [
      { ...newEvent({ ...data, sourceProductId: 'p3', price: 5 }), type: 'ProductRepriced' },
      { ...newEvent({ at: '2026-02-01T00:00:00.000Z', sourceProductId: 'p4' }), type: 'ProductDelisted' },
      { ...newEvent(listed(30, 7)), type: 'ProductListed' },
      { ...newEvent(listed(4, 8)), type: 'ProductListed' },
    ];
    for (const change of changes) {
      await appendAtEnd(engines.log, 'feed-1', change);
      const at = '2026-02-01T00:00:00.000Z';
      await appendAtEnd(engines.log, 'voucher-2', { ...newEvent({ at }), type: 'VoucherWithdrawn' });
      await project();
      parts = { ...parts, store: watched };
      const changed = await read();
      expect(scanned).toEqual([]);
      parts = { ...parts, store: engines.store, dataDir: join(folder, 'another') };
      expect(changed).toEqual(await read());
      parts = { ...parts, dataDir: folder };
      await rm(join(folder, 'another'), { recursive: true });
    }
    const [found, prices, vouchers] = await read();
    expect(found!.map(({ sourceProductId }) => sourceProductId)).toContain('p30');
    expect(found!.find(({ sourceProductId }) => sourceProductId === 'p3')).toMatchObject({ price: 0.05 });
    expect(prices!.filter(({ price }) => price === 0.05)).toHaveLength(1);
    expect(vouchers).toMatchObject([{ voucherId: 1 }]);
  }, 60_000);

  it('reads on behind the last file of a reading that was killed, and has what has changed since (decisions X116)', async () => {
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    const { data } = golden<Sample>('ProductListed').event;
    const id = (at: number) => `p${String(at).padStart(3, '0')}`;
    const listed = (name: string, price: number) => ({
      ...newEvent({ ...data, sourceProductId: name, price }),
      type: 'ProductListed',
    });
    const all = Array.from({ length: 450 }, (_, at) => listed(id(at), 100 + at));
    await engines.log.append('feed-1', NO_STREAM, all);
    await rebuildProjections(engines, 'all');
    const begun: (string | undefined)[] = [];
    const killedAfter = (batches: number): SnapshotParts => ({
      ...parts,
      store: Object.create(engines.store, {
        scan: {
          async *value(target: Target, filter: Filter, after?: string) {
            if (target.collection !== 'parked') begun.push(after);
            let read = 0;
            for await (const batch of engines.store.scan(target, filter, after)) {
              if ((read += 1) > batches) throw new Error('killed');
              yield batch;
            }
          },
        },
      }) as ReadStore,
    });
    const statement = 'SELECT * FROM products ORDER BY ALL';
    for (const batches of [2, 1])
      await expect(ask(statement, { of: killedAfter(batches), segment: 100 })).rejects.toThrow('killed');
    const changes = [
      { ...newEvent({ ...data, sourceProductId: id(3), price: 5 }), type: 'ProductRepriced' },
      { ...newEvent({ at: '2026-02-01T00:00:00.000Z', sourceProductId: id(4) }), type: 'ProductDelisted' },
      { ...newEvent({ ...data, sourceProductId: id(440), price: 6 }), type: 'ProductRepriced' },
      listed('a', 7),
      listed('z', 8),
    ];
    for (const change of changes) await appendAtEnd(engines.log, 'feed-1', change);
    await project();
    const found = await ask(statement, { of: killedAfter(Infinity), segment: 100 });
    const ids = all.map((_, at) => offerId(1, id(at))).sort();
    expect(begun).toEqual([undefined, ids[199], ids[299]]);
    expect(found.asOf.get('products')).toBe(await engines.log.head());
    const last = rowsOf(found.text);
    expect(last).toHaveLength(451);
    await rm(join(folder, 'analytics'), { recursive: true });
    expect(await rows(statement)).toEqual(last);
    // Nothing is read again.
    await ask(statement, { of: killedAfter(0) });
    expect(begun).toHaveLength(3);
  });

  it('begins a reading again if the read model was built again since', async () => {
    const { data } = golden<Sample>('ProductListed').event;
    const all = Array.from({ length: 250 }, (_, at) => ({
      ...newEvent({ ...data, sourceProductId: `p${String(at).padStart(3, '0')}` }),
      type: 'ProductListed',
    }));
    await engines.log.append('feed-1', NO_STREAM, all);
    await rebuildProjections(engines, 'all');
    const statement = 'SELECT count(*) AS n, count(DISTINCT sourceProductId) AS ids FROM products';
    const stop = new AbortController();
    const store = Object.create(engines.store, {
      scan: {
        async *value(target: Target, filter: Filter, after?: string) {
          expect(after).toBeUndefined();
          let read = 0;
          for await (const batch of engines.store.scan(target, filter)) {
            yield batch;
            if ((read += 1) === 2) stop.abort(new Error('killed'));
          }
        },
      },
    }) as ReadStore;
    const options = { of: { ...parts, store }, segment: 100 };
    await expect(ask(statement, { ...options, signal: stop.signal })).rejects.toThrow('killed');
    await rebuildProjections(engines, 'all');
    expect(await rows(statement, options)).toEqual([{ n: 250, ids: 250 }]);
  });

  it('has documents as they are once they were retried, which no event tells', async () => {
    let isFixed = false;
    const picky = {
      ...products,
      fold(...[before, event]: Parameters<typeof products.fold>) {
        if (!isFixed && (event.data as { readonly price?: number }).price === 13) throw new Error('thirteen');
        return products.fold(before, event);
      },
    } as Projection;
    const settle = async (code: string): Promise<void> => {
      const runner = new Runner(engines.log, engines.store, [picky], {
        clock: SYSTEM_CLOCK,
        owner: 'test',
        code,
      });
      await runner.start();
      await waitForPosition(SYSTEM_CLOCK, engines.store, [picky], await engines.log.head(), 60_000);
      await runner.stop();
    };
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    const { data } = golden<Sample>('ProductListed').event;
    const emit = async (type: string, sourceProductId: string, price: number): Promise<void> =>
      await appendAtEnd(engines.log, 'feed-1', { ...newEvent({ ...data, sourceProductId, price }), type });
    await emit('ProductListed', 'a', 1);
    await emit('ProductRepriced', 'a', 13);
    await emit('ProductListed', 'b', 2);
    await emit('ProductRepriced', 'a', 3);
    await settle('broken');
    const prices = async (): Promise<unknown> =>
      (await rows('SELECT price FROM products ORDER BY sourceProductId')).map(({ price }) => price);
    expect(await prices()).toEqual([0.01, 0.02]);
    const files = await filesIn('products');
    expect(await prices()).toEqual([0.01, 0.02]);
    expect(await filesIn('products')).toEqual(files);
    isFixed = true;
    await settle('fixed');
    expect(await prices()).toEqual([0.03, 0.02]);
    await emit('ProductRepriced', 'b', 5);
    await settle('fixed');
    expect(await prices()).toEqual([0.03, 0.05]);
  }, 60_000);

  it('has when a transaction was approved, also once it is paid', async () => {
    const emit = async (type: string): Promise<void> => {
      const { event } = golden<Sample>(type);
      await appendAtEnd(engines.log, 'transaction-t', { ...newEvent(event.data), type });
    };
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    for (const type of ['TransactionTrackedApproved', 'TransactionPaid']) await emit(type);
    await rebuildProjections(engines, 'all');
    const [row] = await rows('SELECT state, approved FROM transactions');
    const { at } = golden<Sample>('TransactionTrackedApproved').event.data;
    expect(row).toMatchObject({ state: 'Paid' });
    expect(Date.parse(String(row!['approved']))).toBe(Date.parse(String(at)));
  });

  it('says as of which position each is', async () => {
    await importNetwork(SYSTEM_CLOCK, engines.log, NETWORK, { at: '2026-01-01T00:00:00.000Z' });
    await rebuildProjections(engines, 'all');
    const head = await engines.log.head();
    const { asOf } = await ask('SELECT * FROM Vouchers, sites');
    expect([...asOf]).toEqual([
      ['log', head],
      ['vouchers', head],
      ['sites', head],
    ]);
  });
});

describe('Statements with limits (decisions X116)', () => {
  const refusal = async (statement: string, limits = REMOTE): Promise<string> =>
    await ask(statement, { limits }).then(
      ({ text }) => `answered ${text}`,
      (error: unknown) => String(error),
    );

  it('read the snapshot and nothing else, and write nothing', async () => {
    await appendSamples();
    await keepUp(parts);
    const [file] = await filesIn('ProductListed');
    const own = join(folder, 'analytics', file!);
    const outside = join(folder, 'outside.csv');
    await writeFile(outside, 'a,b\n1,2\n');
    expect(await refusal('SELECT count(*) AS n FROM ProductListed')).toMatch(/^answered \{"n":\d\}/);
    const before = await readFile(own);
    for (const reading of [
      `SELECT * FROM '${outside}'`,
      `SELECT * FROM read_csv('${outside}')`,
      `SELECT * FROM read_text('${outside}')`,
      `SELECT * FROM read_blob('${join(folder, 'log.sqlite')}')`,
      `SELECT * FROM read_json('${outside}')`,
      `SELECT * FROM read_parquet('${join(folder, 'analytics', '**')}')`,
      `SELECT * FROM glob('${folder}/*')`,
      `SELECT * FROM sniff_csv('${outside}')`,
      `SELECT * FROM parquet_metadata('${outside}')`,
      `SELECT * FROM duckdb_secrets()`,
      "SELECT * FROM read_parquet('https://example.com/x.parquet')",
      `COPY (SELECT 1) TO '${outside}'`,
      `COPY (SELECT 1) TO '${own}'`,
      `EXPLAIN ANALYZE COPY (SELECT 1) TO '${own}'`,
      `EXPORT DATABASE '${folder}/exported'`,
      `ATTACH '${folder}/other.db'`,
      'INSTALL httpfs',
      'LOAD httpfs',
      'SET threads = 8',
      'RESET lock_configuration',
      'SET enable_external_access = true',
      'CREATE TABLE x(a INT)',
      "CALL enable_logging('QueryLog')",
      `SELECT * FROM enable_profiling(save_location = '${folder}/profile.json', format = 'json')`,
      'PRAGMA database_list',
      "SELECT * FROM query('COPY (SELECT 1) TO ''x''')",
      "SELECT getenv('HOME')",
      "SELECT * FROM sqlite_scan('log.sqlite', 'events')",
      "SELECT * FROM histogram('pg_settings', setting)",
      'SELECT * FROM histogram_values(pg_settings, setting)',
      "SELECT json_serialize_plan('SELECT current_setting(''allowed_paths'')', optimize := true)",
      "SELECT * FROM query_table('pg_settings')",
      `IMPORT DATABASE '${folder}'`,
      'DETACH memory',
      'USE memory',
      'BEGIN',
      'CHECKPOINT',
      'VACUUM',
      'PREPARE one AS SELECT 1',
      'EXECUTE one',
      'SET VARIABLE one = 1',
      'CREATE SECRET one (TYPE s3)',
      'CREATE MACRO one() AS 1',
      'CREATE OR REPLACE VIEW events AS SELECT 1',
      'INSERT INTO events SELECT 1',
      'EXPLAIN SELECT 1',
      'SELECT 1 \u0000 FROM events',
      'SELECT 1; SELECT 2',
      'SELECT ?',
      '',
    ])
      expect([reading, await refusal(reading)]).toEqual([
        reading,
        expect.stringMatching(/^UsageError: .{10}/),
      ]);
    const only =
      'expected a statement that reads tables only: no files, settings, network or extensions, or run `affilog sql` on a ' +
      'machine of the installation';
    for (const [name, reading] of [
      ['read_csv: ', `FROM read_csv('${outside}')`],
      ['duckdb_extensions: ', 'FROM duckdb_extensions()'],
      ['', `FROM '${outside}'`],
    ])
      expect(await refusal(reading!)).toBe(`UsageError: ${name}${only}`);
    const lambda = 'SELECT list_transform([1, 2], lambda x: x * 2) AS l';
    expect(await refusal(lambda)).toBe('answered {"l":[2,4]}\n');
    const series = 'SELECT count(*) AS n FROM range(3), generate_series(1, 2), (SELECT unnest([1, 2]))';
    expect(await refusal(series)).toBe('answered {"n":12}\n');
    expect(await readFile(outside, 'utf8')).toBe('a,b\n1,2\n');
    expect((await readFile(own)).equals(before)).toBe(true);
  }, 60_000);

  it.each([
    // Nothing else is refused for the time that it takes on a busy machine.
    ['SELECT count(*) FROM range(1000000000000)', /has run for 3 s: select less/],
    ['SELECT list(range) FROM range(1000000000)', /more than 192MB of memory: select or group less/],
    ['SELECT * FROM range(20000)', /more than 10000 rows: add LIMIT/],
    ["SELECT repeat('x', 10000) FROM range(3000)", /more than 8000000 characters: select less/],
    [`SELECT '${'x'.repeat(30_000)}'`, /has 30009 characters: expected at most 8000/],
    ["SELECT error(repeat('x', 20000000))", /^UsageError: .{0,100}x{1800,2000}…$/],
    ['SELECT * FROM nothing', /Table with name nothing does not exist/],
    ['SELECT nothing FROM events', /"nothing" not found/],
    ['SELEC 1', /syntax error/],
  ])(
    'are refused with what is wrong and what helps: %.40s',
    async (statement, message) => {
      const ms = statement.includes('1000000000000') ? 3_000 : 300_000;
      expect(await refusal(statement, { ...REMOTE, ms })).toMatch(message);
    },
    300_000,
  );
});

describe('affilog sql (decisions X115)', () => {
  const sql = async (args: readonly string[], terminal?: string): Promise<Run> =>
    await run(['sql', ...args], { DATA_DIR: folder }, terminal === undefined ? {} : { terminal });
  beforeEach(async () => {
    const data = { at: '2026-01-31T12:00:00.000Z', sourceProductId: 'a,"b"', price: 1299 };
    await engines.log.append('feed-1', NO_STREAM, [{ ...newEvent(data), type: 'ProductRepriced' }]);
  });
  const statement = 'SELECT time, sourceProductId, price, currency FROM ProductRepriced';

  it('prints a table, CSV or JSON, and as of which position that is', async () => {
    const { code, out, err } = await sql([statement]);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.trim())).toEqual([
      'time                    sourceProductId  price  currency',
      '----------------------  ---------------  -----  --------',
      '2026-01-31 12:00:00+00  a,"b"            12.99',
      '1 row',
      '',
    ]);
    expect(err).toContain('as of position: log 1\n');
    expect((await sql([statement, '--format', 'csv'])).out).toBe(
      'time,sourceProductId,price,currency\r\n2026-01-31 12:00:00+00,"a,""b""",12.99,\r\n',
    );
    expect((await sql([statement, '--format', 'json'])).out).toBe(
      '{"time":"2026-01-31 12:00:00+00","sourceProductId":"a,\\"b\\"","price":12.99,"currency":null}\n',
    );
  });

  it('writes a file in the format that its name has', async () => {
    for (const name of ['a.csv', 'a.json', 'a.parquet'])
      expect((await sql([statement, '--out', join(folder, name)])).code).toBe(0);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toContain('12.99');
    expect(await readFile(join(folder, 'a.json'), 'utf8')).toContain('12.99');
    const cents = `SELECT price * 100 AS cents FROM '${join(folder, 'a.parquet')}'`;
    expect((await sql([cents, '--format', 'csv'])).out).toBe('cents\r\n1299.00\r\n');
    const { code, err } = await sql([statement, '--format', 'parquet']);
    expect([code, err]).toEqual([2, expect.stringContaining('--format parquet: expected --out too')]);
  });

  it('has a prompt that answers statement by statement, and continues after an error', async () => {
    const typed =
      'SELECT 6 *\n 7 AS a;\nSELECT nothing;\nSELECT price FROM ProductRepriced;\nDESCRIBE ProductRepriced;\n';
    const { code, out, err } = await sql([], typed);
    expect(code).toBe(0);
    expect(out).toContain('42');
    expect(out).toContain('12.99');
    expect(out).toMatch(/^price +DECIMAL\(18,2\) +Price.*, in units of its currency$/m);
    expect(err).toContain('Referenced column "nothing" was not found');
  });

  it('leaves a file as it is unless the answer is complete', async () => {
    const path = join(folder, 'a.csv');
    await writeFile(path, 'before');
    for (const failing of [
      'SELECT * FROM nothing',
      "SELECT error('late') FROM range(5000) WHERE range = 4999",
    ])
      expect((await sql([failing, '--out', path])).code).toBe(2);
    expect(await readFile(path, 'utf8')).toBe('before');
    expect((await readdir(folder)).filter((name) => name.startsWith('a.csv'))).toEqual(['a.csv']);
    expect((await sql(['SELECT 1 AS a', '--out', path])).code).toBe(0);
    expect(await readFile(path, 'utf8')).toBe('a\r\n1\r\n');
  });

  it.each([
    ['', 'expected a statement'],
    ["PRAGMA table_info('events')", 'expected another statement than PRAGMA: SHOW TABLES lists tables'],
    [
      'PIVOT ProductRepriced ON feedId USING count(*)',
      '2 statements: expected one. PIVOT is one if it names',
    ],
  ])('says what is expected instead of %j', async (refused, message) => {
    const { code, err } = await sql([refused]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  it('exits with 2 for a statement that cannot be answered', async () => {
    const { code, err } = await sql(['SELECT * FROM nothing']);
    expect([code, err]).toEqual([2, expect.stringContaining('Table with name nothing does not exist')]);
  });
});
