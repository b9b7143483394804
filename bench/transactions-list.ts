import { join } from 'node:path';
import { transactions } from '../projections/transactions';
import { Directory } from '../src/directory/directory';
import { openEngines } from '../src/engines/open';
import { type Write } from '../src/kernel/read-store';
import { type StoredTransaction } from '../src/transactions/stored-transaction';
import { legacyIdOf, transactionIdOf } from '../src/transactions/transaction-id';
import { type BareQuery, BareSearch } from './bare/search';
import { type Bench, compareLatencies, type Figure, timed } from './harness';
import { CONVERSION_TOKENS } from './network';
import { Server } from './server';
import { transactionOf } from './transactions';

/** Measured listings of each kind, after a warm-up. */
const COUNTED = 30;
const WARM_UP = 3;

/** Sites of the program; the first is the publisher's. */
const SITES = 4;
const OWN = '"421"';

/** Keys of a listing and the equivalent SQL. `4` and `7` are the token prefixes of `siteId` and `messageTypeId`, `8` of `orderNumber`. */
const KINDS = {
  'first 1,000': { keys: '', size: 1000, query: newest(OWN, 1000) },
  'first 100 pending': {
    keys: ';messageTypeId=4;pageSize=100',
    size: 100,
    query: sorted(`${OWN} AND "74"`, 100),
  },
  'by order number': { keys: ';orderNumber=N-700', size: 1000, query: sorted(`${OWN} AND "8~n-700"`, 1000) },
} as const;

/**
 * Lists transactions of a publisher, a quarter of all; there are ten times `--count`.
 *
 * Ours: from the request to the complete JSON answer, over HTTP.
 * Bare: the same listing as SQL in the same file, in this process: the number of matches and the rows of the page with stored
 * bodies, without parsing or rendering.
 */
export async function transactionsList(bench: Bench): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, 'transactions-list');
  await (await Server.start(dataDir, 'api')).stop();
  const file = await fill(dataDir, bench.count * 10);
  const server = await Server.start(dataDir, 'api');
  const bare = new BareSearch(file);
  try {
    const figures: Figure[] = [];
    for (const [kind, listing] of Object.entries(KINDS))
      figures.push(...(await listed(server, bare, kind, listing)));
    return figures;
  } finally {
    bare.close();
    await server.stop();
  }
}

async function listed(
  server: Server,
  bare: BareSearch,
  kind: string,
  { keys, size, query }: { readonly keys: string; readonly size: number; readonly query: BareQuery },
): Promise<readonly Figure[]> {
  const path = `/1.0/conversions/transactions.json${keys}?token=${CONVERSION_TOKENS.publisher}`;
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let listing = 0; listing < WARM_UP + COUNTED; listing += 1) {
    let answer = '';
    const ours = await timed(async () => (answer = await server.get(path)));
    let total = 0;
    const theirs = await timed(() => (total = bare.run(query)));
    const { length } = JSON.parse(answer) as readonly unknown[];
    if (length === 0 || length !== Math.min(size, total))
      throw new Error(`${kind}: ${length} listed, expected ${total} as in SQLite`);
    if (listing < WARM_UP) continue;
    times.ours.push(ours);
    times.bare.push(theirs);
  }
  return compareLatencies(`transactions-list ${kind}`, times.ours, times.bare);
}

/** In the order of the index of times, each row probed in the token index: the fastest way where many rows match. */
function newest(match: string, size: number): BareQuery {
  return {
    count: 'SELECT count(*) FROM tokens WHERE tokens MATCH ?1',
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version, k.f_timeOfEvent AS time
        FROM keys k INDEXED BY by_timeOfEvent CROSS JOIN tokens t ON t.rowid = k.row
        WHERE t.tokens MATCH ?1 ORDER BY k.f_timeOfEvent DESC LIMIT ${size})
      SELECT id, version, body FROM page CROSS JOIN bodies USING (row) ORDER BY time DESC, id`,
    values: [match],
  };
}

/** All matches, sorted. */
function sorted(match: string, size: number): BareQuery {
  const from = 'FROM tokens t CROSS JOIN keys k ON k.row = t.rowid WHERE t.tokens MATCH ?1';
  return {
    count: `SELECT count(*) ${from}`,
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version, k.f_timeOfEvent AS time ${from}
        ORDER BY time DESC, k.id LIMIT ${size})
      SELECT id, version, body FROM page CROSS JOIN bodies USING (row) ORDER BY time DESC, id`,
    values: [match],
  };
}

const BATCH = 1000;

/** Writes the documents of transactions into a live generation; returns its file. */
async function fill(dataDir: string, count: number): Promise<string> {
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const engines = await openEngines(settings);
  const { log, store } = engines;
  const version = await log.head();
  const generation = await store.create(transactions.collection);
  for (let first = 0; first < count; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - first) }, (_, at) => first + at);
    const writes = numbers.map((number): Write => ({ version, put: documentOf(number) }));
    await store.write({ collection: 'transactions', generation: generation.number }, writes, version);
  }
  await store.finish(generation);
  await store.swap(generation);
  await engines.close();
  return join(dataDir, 'read', `transactions-g${generation.number}.sqlite`);
}

const START = Date.now() - 90 * 86_400_000;

/** One in five is pending, the others are approved. */
function documentOf(number: number) {
  const facts = transactionOf(number);
  const time = START + ((number * 7_919) % 7_776_000) * 1000;
  const timeOfEvent = new Date(time).toISOString();
  const transaction = { ...facts, siteId: 21 + (Math.floor(number / 5) % SITES), timeOfEvent };
  const stored: StoredTransaction = {
    messageTypeId: number % 5 === 0 ? 4 : 6,
    transaction,
    changed: time,
    sequenceNumber: 2,
    autoApproveDate: new Date(time + 200 * 86_400_000).toISOString(),
  };
  const id = transactionIdOf(legacyIdOf(transaction));
  const { fields, document } = transactions.describe(stored, id, new Directory());
  return { id, fields, body: JSON.stringify(document) };
}
