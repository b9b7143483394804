import { type Response, type TestApp } from '../support/app';
import { claimClientOf, claimOf, type Listed } from './claim-network';
import { type Effect } from './key-effects';
import { DAY, NOW } from './voucher-network';

/** When, and what, in order: claims 1 to 3. */
const FILED = [
  [NOW - 2 * DAY, claimOf('B', { timeStampEvent: '2026-02-03' })],
  [NOW - DAY, claimOf('C', { programId: 102, affiliateSiteId: 1202, timeStampEvent: '2026-02-01' })],
  [NOW, claimOf('A', { timeStampEvent: '2026-02-02' })],
] as const;

/** Files them; claim 1 is rejected later than the others are filed. */
export async function fileClaims(app: TestApp, passTo: (time: number) => void): Promise<void> {
  const { file, rule } = claimClientOf(() => app);
  for (const [time, claim] of FILED) {
    passTo(time);
    const answer = await file([claim], claim['affiliateSiteId'] === 1202 ? 'deals' : 'preisblick');
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
  }
  const rejected = await rule([{ claimId: 1, statusIdClaim: 202, versionNo: 0 }]);
  expect([rejected.statusCode, rejected.body]).toEqual([200, '']);
}

const orders = (answer: Response) => answer.json<readonly Listed[]>().map(({ orderNumber }) => orderNumber);

/** Keys of both lists, and the claims that remain. */
const BOTH = [
  ['statusId=202', '', ['B']],
  ['minUpdateDate=2026-03-01', '', ['A', 'B']],
  ['maxUpdateDate=2026-02-28', '', ['C']],
  ['programId=102', '', ['C']],
  ['claimId=1,3', '', ['A', 'B']],
  ['limit=2', '', ['A', 'C']],
  ['offset=2', '', ['C', 'B']],
  ['sortBy=programName', '', ['C', 'A', 'B']],
  ['sortOrder=asc', '', ['B', 'C', 'A']],
] as const;

/** Every key of the operations of claims (Document 3, List keys; decisions C8). */
export const CLAIM_EFFECTS: readonly Effect[] = [
  ...BOTH.flatMap(([sent, beside, shown]): readonly Effect[] => [
    ['listClaims', sent, beside, orders, shown],
    ['listLegacyClaims', sent, beside, orders, shown],
  ]),
  ['listClaims', 'minTransactionDate=2026-02-02', '', orders, ['A', 'B']],
  ['listClaims', 'maxTransactionDate=2026-02-02', '', orders, ['A', 'C']],
  ['listClaims', 'tdconnect=true', ';offset=1', orders, ['C', 'B']],
  ['listClaims', 'sortBy=orderNumber', '', orders, ['C', 'B', 'A']],
  ['listClaims', 'since=*', '', ({ headers }) => headers['x-since-reset'], 'true'],
  // Claim 1, which its advertiser has rejected.
  ['deleteClaim', 'versionNo=1', '', ({ body }) => body.includes('UTS_405'), true],
  ...(
    [
      ['statusId=202', ['B']],
      ['programId=102', ['C']],
      ['claimId=3', ['A']],
      ['limit=1', ['B']],
      ['offset=1', ['C', 'A']],
    ] as const
  ).map(([sent, shown]): Effect => [
    'listNetworkClaims',
    sent,
    sent.startsWith('statusId') ? '' : ';statusId=2,113,202',
    orders,
    shown,
  ]),
  ['releaseClaim', 'versionNo=1', '', ({ body }) => body.includes('status 202'), true],
  ['rejectClaim', 'versionNo=1', ';statusId=205', ({ body }) => body.includes('status 202'), true],
  ['rejectClaim', 'statusId=205', ';versionNo=1', ({ body }) => body.includes('status 202'), true],
  [
    'rejectClaim',
    'message=Search',
    ';versionNo=1;statusId=201',
    ({ body }) => body.includes('status 202'),
    true,
  ],
  ['listClaims', 'format=csv', '', ({ headers }) => headers['content-type'], 'text/csv; charset=utf-8'],
];
