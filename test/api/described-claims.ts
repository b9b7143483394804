import { type TestRequest } from '../support/app';
import { type ClaimClient, claimClientOf, claimOf, xmlOf } from './claim-network';
import { type TestApp } from '../support/app';
import { XML_UTF8 } from './posted';

/**
 * Files what requests and examples name by their ids, as in the demonstration: all await approval. Approves the last
 * one. Four more are pending at the network.
 */
export async function fileDescribedClaims(app: TestApp): Promise<void> {
  const { file, list, rule } = claimClientOf(() => app);
  const orders = Array.from({ length: LAST }, (_, at) => `D-${at + 1}`);
  const further = { epi: 'a', proofOfClaims: 'https://a.example/' };
  expect((await file(orders.map((order) => claimOf(order, further)))).statusCode).toBe(200);
  const mismatched = { expectedCommission: 100 };
  expect(
    (await file(['D-62', 'D-63', 'D-64', 'D-65'].map((order) => claimOf(order, mismatched)))).statusCode,
  ).toBe(200);
  expect(await list(`;sortOrder=asc;limit=${LAST}`)).toMatchObject(
    orders.map((orderNumber, at) => ({ claimId: at + 1, orderNumber, statusId: 2, versionNo: 0 })),
  );
  const ruling = { claimId: LAST, statusIdClaim: 3, orderValue: 9, expectedCommission: 1, versionNo: 0 };
  expect((await rule([ruling])).statusCode).toBe(200);
}

/** Claims 56 to 60 are those of the examples. */
const [RULED, REVISED, DELETED, LEGACY, LEGACY_XML, LAST, PENDING] = [6, 7, 8, 9, 10, 61, 62];

/** Ids of claims that operators release and reject in examples. */
export const AT_NETWORK = { release: PENDING + 2, reject: PENDING + 3 } as const;

/** The callers of an operation that the tests of all operations send it as. */
export function claimClientFor(callers: readonly string[]): ClaimClient {
  return callers.includes('advertiser') ? 'nord' : 'preisblick';
}

const claims = '/1.0/claims';
const legacy = '/1.0/uts';
const json = (value: unknown): TestRequest => ({ body: JSON.stringify(value) });
const xml = (body: string): TestRequest => ({ headers: XML_UTF8, body });
const csv = (body: string): TestRequest => ({ headers: { 'content-type': 'text/csv; charset=utf-8' }, body });
const asXml = { headers: { accept: 'application/xml' } } as const;
const ruling = (claimId: number, statusIdClaim = 202) => ({
  claimUpdates: [{ claimId, statusIdClaim, versionNo: 0 }],
});

/** Requests of each operation. */
export const CLAIM_REQUESTS: readonly (readonly [id: string, target: string, details?: TestRequest])[] = [
  ['createClaims', claims, json({ claims: [claimOf('described 1'), claimOf('described 2')] })],
  ['createClaims', claims, xml(xmlOf('claims', [claimOf('described 3')]))],
  ['createClaims', claims, xml(xmlOf('claims', [claimOf('described 3')]))],
  ['createClaims', claims, json({ claims: [{}] })],
  ['createClaims', claims, csv('epi\na\n')],
  ['listClaims', claims],
  ['listClaims', `${claims}?jsonp=show`],
  ['listClaims', `${claims};limit=5000`],
  ['listClaims', `${claims}.xml`],
  ['listClaims', claims, asXml],
  ['listClaims', `${claims}.csv`],
  ['listClaims', `${claims}.xml;statusId=x`],
  ['checkClaims', `${claims}/check`, json({ claims: [claimOf('a'), claimOf('b', { programId: 999 })] })],
  ['checkClaims', `${claims}/check`, xml(xmlOf('claims', [claimOf('a')]))],
  ['checkClaims', `${claims}/check`, json({})],
  ['updateClaims', '/1.0/claimUpdates', json(ruling(RULED))],
  ['updateClaims', '/1.0/claimUpdates', json(ruling(RULED))],
  ['updateClaims', '/1.0/claimUpdates', xml(xmlOf('claimUpdates', ruling(REVISED).claimUpdates))],
  ['updateClaims', '/1.0/claimUpdates', xml('<claimUpdates/>')],
  ['deleteClaim', `${claims}/${DELETED};versionNo=0`],
  ['deleteClaim', `${claims}/${DELETED}`],
  ['deleteClaim', `${claims}/${LAST};versionNo=1`],
  ['listNetworkClaims', '/ops/1.0/claims'],
  ['listNetworkClaims', '/ops/1.0/claims;statusId=2,202;limit=2000'],
  ['listNetworkClaims', '/ops/1.0/claims;limit=x'],
  ['releaseClaim', `/ops/1.0/claims/${PENDING}/release;versionNo=0`],
  ['releaseClaim', '/ops/1.0/claims/9999/release;versionNo=0'],
  ['rejectClaim', `/ops/1.0/claims/${PENDING + 1}/reject;versionNo=0;statusId=211;message=no`],
  ['rejectClaim', `/ops/1.0/claims/${PENDING + 1}/reject;versionNo=0`],
  ['listClaimVersions', `${claims}/${LAST}/versions`],
  ['listClaimVersions', `${claims}/${LAST}/versions.xml`],
  ['listClaimVersions', `${claims}/9999/versions`],
  ['listClaimStatuses', '/1.0/claimStatuses'],
  ['listClaimStatuses', '/1.0/claimStatuses.xml;pretty=true'],
  ['listClaimStatuses', '/1.0/claimStatuses;pretty=x'],
  ['listLegacyClaims', `${legacy}/claims`],
  ['listLegacyClaims', `${legacy}/claims.xml`],
  ['listLegacyClaims', `${legacy}/claims;limit=0`],
  ['updateLegacyClaims', `${legacy}/claimUpdates`, json(ruling(LEGACY))],
  ['updateLegacyClaims', `${legacy}/claimUpdates`, json(ruling(LEGACY))],
  ['updateLegacyClaims', `${legacy}/claimUpdates.xml`, json(ruling(LEGACY_XML))],
  ['updateLegacyClaims', `${legacy}/claimUpdates.xml`, json({})],
  ['listLegacyClaimStatuses', `${legacy}/claimStatuses`],
  ['listLegacyClaimStatuses', `${legacy}/claimStatuses.xml`],
];
