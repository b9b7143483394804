import { vouchers } from '../projections/vouchers';
import { Directory } from '../src/network/directory';
import { type StoredVoucher } from '../src/domain/vouchers/voucher';
import { type BareQuery } from './bare/search';
import { type Bench, type Figure } from './harness';
import { compareListings } from './listings';
import { VOUCHER_TOKENS } from './network';
import { postedVoucher } from './voucher-posts';

/** Lists the currently valid vouchers of a publisher, two in three of all. */
export async function voucherList(bench: Bench): Promise<readonly Figure[]> {
  const path = (keys = '') => `/1.0/vouchers.json${keys}?token=${VOUCHER_TOKENS.publisher}`;
  return await compareListings(bench, {
    name: 'voucher-list',
    projection: vouchers,
    documents: bench.count,
    documentOf,
    kinds: {
      'first 1,000': { path: path(), size: 1000, query: queryOf('', 1000) },
      'first 100': { path: path(';pageSize=100'), size: 100, query: queryOf('', 100) },
      'by keyword': {
        path: path(';pageSize=100;keywords=777'),
        size: 100,
        query: queryOf(' AND "6777"', 100),
      },
    },
  });
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
    currency: { currency: 'EUR' },
    phase: 'shown',
  };
  const id = String(number);
  const { fields, document } = vouchers.describe(stored, id, new Directory());
  return { id, fields, body: JSON.stringify(document) };
}
