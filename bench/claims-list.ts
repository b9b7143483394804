import { claims } from '../projections/claims';
import { type StoredClaim } from '../src/domain/claims/stored-claim';
import { Directory } from '../src/network/directory';
import { type BareQuery } from './bare/search';
import { type Bench, type Figure } from './harness';
import { compareListings } from './listings';
import { CLAIM_TOKENS } from './network';

/** Publishers; the one with the token has a quarter of the claims. */
const PUBLISHERS = 4;
const OWN = '"22"';

/** Programs of the advertiser; the first one is in the network, so the others are named by their ids. */
const PROGRAMS = [11, 12, 13, 14] as const;
const NAME = `CASE k.f_programId WHEN '11' THEN 'Bench shop' ELSE k.f_programId END`;

/**
 * Lists claims of a publisher, a quarter of `--count`. In the SQL, `2` is the token prefix of `publisherId`, `6` of
 * `statusId`.
 */
export async function claimsList(bench: Bench): Promise<readonly Figure[]> {
  const path = (keys: string) => `/1.0/claims${keys}?token=${CLAIM_TOKENS.publisher}`;
  return await compareListings(bench, {
    name: 'claims-list',
    projection: claims,
    documents: bench.count,
    documentOf,
    kinds: {
      'first 1,000': { path: path(''), size: 1000, query: newest(OWN, 1000) },
      'first 100 awaiting': {
        path: path(';statusId=2;limit=100'),
        size: 100,
        query: newest(`${OWN} AND "62"`, 100),
      },
      'by order number': {
        path: path(';sortBy=orderNumber;limit=100'),
        size: 100,
        query: sorted(OWN, 'k.f_orderNumber', 100),
      },
      'by program name': {
        path: path(';sortBy=programName;limit=1000'),
        size: 1000,
        query: sorted(OWN, NAME, 1000),
      },
    },
  });
}

/** In the order of the index of ids, until a page matches: the fastest way where many rows match. */
function newest(match: string, size: number): BareQuery {
  return {
    count: 'SELECT count(*) FROM tokens WHERE tokens MATCH ?1',
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version, k.f_claimId AS claim
        FROM keys k INDEXED BY by_claimId
        WHERE k.row IN (SELECT rowid FROM tokens WHERE tokens MATCH ?1) ORDER BY k.f_claimId DESC LIMIT ${size})
      SELECT id, version, body FROM page CROSS JOIN bodies USING (row) ORDER BY claim DESC`,
    values: [match],
  };
}

/** All matches, sorted. */
function sorted(match: string, by: string, size: number): BareQuery {
  const from = 'FROM tokens t CROSS JOIN keys k ON k.row = t.rowid WHERE t.tokens MATCH ?1';
  return {
    count: `SELECT count(*) ${from}`,
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version, ${by} AS sorted, k.f_claimId AS claim ${from}
        ORDER BY sorted DESC, claim DESC LIMIT ${size})
      SELECT id, version, body FROM page CROSS JOIN bodies USING (row) ORDER BY sorted DESC, claim DESC`,
    values: [match],
  };
}

const DAY = 86_400_000;
const START = Date.now() - 90 * DAY;

/** One in five awaits approval, the others are approved. */
function documentOf(number: number) {
  const id = String(number + 1);
  const time = START + ((number * 7_919) % 7_776_000) * 1000;
  const isApproved = number % 5 !== 0;
  const stored: StoredClaim = {
    origin: { publisherId: 2 + (number % PUBLISHERS), advertiserId: 1, currencyId: 'EUR' },
    version: isApproved ? 1 : 0,
    claim: {
      siteId: 21,
      programId: PROGRAMS[Math.floor(number / PUBLISHERS) % PROGRAMS.length] ?? 11,
      transactionDate: new Date(time - DAY).toISOString().slice(0, 10),
      eventId: 17,
      orderNumber: `N-${(number * 7_919) % 1_000_000}`,
      orderValue: 129_900 + number,
      epi: 'spring',
      trackingUrl: 'https://site.example/lamps/7',
      expectedCommission: 9_743,
    },
    status: isApproved
      ? { id: 3, since: time + DAY }
      : { id: 2, since: time, autoApproveAt: time + 200 * DAY },
    created: time,
    lastChanged: isApproved ? time + DAY : time,
    ...(isApproved ? { transactionId: String(number).padStart(32, '0') } : {}),
  };
  const { fields, document } = claims.describe(stored, id, new Directory());
  return { id, fields, body: JSON.stringify(document) };
}
