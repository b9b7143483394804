import { transactions } from '../projections/transactions';
import { Directory } from '../src/network/directory';
import { type PositionedTransaction } from '../src/domain/transactions/stored-transaction';
import { legacyIdOf, transactionIdOf } from '../src/domain/transactions/transaction-id';
import { type BareQuery } from './bare/search';
import { type Bench, type Figure } from './harness';
import { compareListings } from './listings';
import { CONVERSION_TOKENS } from './network';
import { transactionOf } from './transactions';

/** Sites of the program; the first is the publisher's, the others belong to others. */
const SITES = 4;
const PUBLISHER = transactionOf(0).publisherId ?? 0;
const OWN = `"4${PUBLISHER}"`;

/**
 * Lists transactions of a publisher, a quarter of all; there are ten times `--count`. In the SQL, `4` and `8` are the
 * token prefixes of `publisherId` and `messageTypeId`, `9` of `orderNumber`.
 */
export async function transactionsList(bench: Bench): Promise<readonly Figure[]> {
  const path = (keys = '') =>
    `/1.0/conversions/transactions.json${keys}?token=${CONVERSION_TOKENS.publisher}`;
  return await compareListings(bench, {
    name: 'transactions-list',
    projection: transactions,
    documents: bench.count * 10,
    documentOf,
    kinds: {
      'first 1,000': { path: path(), size: 1000, query: newest(OWN, 1000) },
      'first 100 pending': {
        path: path(';messageTypeId=4;pageSize=100'),
        size: 100,
        query: sorted(`${OWN} AND "84"`, 100),
      },
      'by order number': {
        path: path(';orderNumber=N-700'),
        size: 1000,
        query: sorted(`${OWN} AND "9~n-700"`, 1000),
      },
    },
  });
}

/** In the order of the index of times, until a page matches: the fastest way where many rows match. */
function newest(match: string, size: number): BareQuery {
  return {
    count: 'SELECT count(*) FROM tokens WHERE tokens MATCH ?1',
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version, k.f_timeOfEvent AS time
        FROM keys k INDEXED BY by_timeOfEvent
        WHERE k.row IN (SELECT rowid FROM tokens WHERE tokens MATCH ?1) ORDER BY k.f_timeOfEvent DESC LIMIT ${size})
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

const START = Date.now() - 90 * 86_400_000;

/** One in five is pending, the others are approved. */
function documentOf(number: number) {
  const facts = transactionOf(number);
  const time = START + ((number * 7_919) % 7_776_000) * 1000;
  const timeOfEvent = new Date(time).toISOString();
  const site = Math.floor(number / 5) % SITES;
  const transaction = { ...facts, siteId: 21 + site, publisherId: PUBLISHER + site, timeOfEvent };
  const stored: PositionedTransaction = {
    position: number,
    messageTypeId: number % 5 === 0 ? 4 : 6,
    transaction,
    changed: time,
    sequenceNumber: 2,
    autoApproveDate: new Date(time + 200 * 86_400_000).toISOString(),
  };
  const id = transactionIdOf(legacyIdOf(transaction), transaction.programId);
  const { fields, document } = transactions.describe(stored, id, new Directory());
  return { id, fields, body: JSON.stringify(document) };
}
