import { join } from 'node:path';
import { vouchers } from '../projections/vouchers';
import { Directory } from '../src/directory/directory';
import { openEngines } from '../src/engines/open';
import { type Write } from '../src/kernel/read-store';
import { type StoredVoucher } from '../src/vouchers/stored-voucher';
import { type BareQuery, BareSearch } from './bare/search';
import { type Bench, compareLatencies, type Figure, timed } from './harness';
import { VOUCHER_TOKENS } from './network';
import { Server } from './server';
import { postedVoucher } from './voucher-posts';

/** Measured listings of each kind, after a warm-up. */
const COUNTED = 50;
const WARM_UP = 5;

/** Keys of a listing and the equivalent SQL. */
const KINDS = {
  'first 1,000': { keys: '', match: '', size: 1000 },
  'first 100': { keys: ';pageSize=100', match: '', size: 100 },
  'by keyword': { keys: ';pageSize=100;keywords=777', match: ' AND "6777"', size: 100 },
} as const;

/**
 * Lists the currently valid vouchers of a publisher, two in three of all.
 *
 * Ours: from the request to the complete JSON answer, over HTTP.
 * Bare: the same listing as SQL in the same file, in this process: the number of matches and the rows of the page with stored
 * bodies, without parsing or rendering.
 */
export async function voucherList(bench: Bench): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, 'voucher-list');
  await (await Server.start(dataDir, 'api')).stop();
  const file = await fill(dataDir, bench.count);
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
  { keys, match, size }: { readonly keys: string; readonly match: string; readonly size: number },
): Promise<readonly Figure[]> {
  const path = `/1.0/vouchers.json${keys}?token=${VOUCHER_TOKENS.publisher}`;
  const query = queryOf(match, size);
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let listing = 0; listing < WARM_UP + COUNTED; listing += 1) {
    let answer = '';
    const ours = await timed(async () => (answer = await server.get(path)));
    let total = 0;
    const theirs = await timed(() => (total = bare.run(query)));
    const { length } = JSON.parse(answer) as readonly unknown[];
    if (length !== Math.min(size, total))
      throw new Error(`${kind}: ${length} listed, expected ${total} as in SQLite`);
    if (listing < WARM_UP) continue;
    times.ours.push(ours);
    times.bare.push(theirs);
  }
  return compareLatencies(`voucher-list ${kind}`, times.ours, times.bare);
}

/** `5` and `6` are the token prefixes of the fields `audience` and `text`. */
function queryOf(match: string, size: number): BareQuery {
  const from = `FROM tokens t CROSS JOIN keys k ON k.row = t.rowid
    WHERE t.tokens MATCH ?1 AND k.f_publishStart <= ?2 AND k.f_publishEnd >= ?2 AND k.f_endDate >= ?2`;
  return {
    count: `SELECT count(*) ${from}`,
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version ${from}
        ORDER BY k.f_updated DESC, k.f_number DESC LIMIT ${size})
      SELECT id, version, body FROM page CROSS JOIN bodies USING (row)`,
    values: [`("511" OR "511/21")${match}`, Date.now()],
  };
}

const BATCH = 1000;

/** Writes the documents of vouchers into a live generation; returns its file. */
async function fill(dataDir: string, count: number): Promise<string> {
  const settings = { dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const engines = await openEngines(settings);
  const { log, store } = engines;
  const version = await log.head();
  const generation = await store.create(vouchers.collection);
  for (let first = 1; first <= count; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - first + 1) }, (_, at) => first + at);
    const writes = numbers.map((number): Write => ({ version, put: documentOf(number) }));
    await store.write({ collection: 'vouchers', generation: generation.number }, writes, version);
  }
  await store.finish(generation);
  await store.swap(generation);
  await engines.close();
  return join(dataDir, 'read', `vouchers-g${generation.number}.sqlite`);
}

function documentOf(number: number) {
  const { programId, sourceId, startDate, endDate, publishStartDate, ...rest } = postedVoucher(
    number,
    `s${number}`,
  );
  const iso = (time: number): string => new Date(time).toISOString();
  const stored: StoredVoucher = {
    programId,
    sourceId,
    created: startDate + number,
    updated: startDate + number,
    voucher: {
      ...rest,
      voucherTypeId: 6,
      startDate: iso(startDate),
      endDate: iso(endDate),
      ...(publishStartDate === undefined ? {} : { publishStartDate: iso(publishStartDate) }),
    },
  };
  const id = String(number);
  const { fields, document } = vouchers.describe(stored, id, new Directory());
  return { id, fields, body: JSON.stringify(document) };
}
