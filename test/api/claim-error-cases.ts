import { type TestRequest } from '../support/app';
import { CLAIM_TOKENS, type ClaimClient, claimOf } from './claim-network';

/** Ids of the first claims of a network: one awaits approval, one is approved, one is another publisher's. */
export const OPEN = 1;
export const APPROVED = 2;
const FOREIGN = 3;

/** The expected status and code, what is wrong, the request below `/1.0`, who sends it, and its body. */
type ErrorCase = readonly [
  expected: string,
  what: string,
  request: string,
  as: ClaimClient,
  details?: TestRequest,
];

const typed = (contentType: string, body = '{"claims":[]}', headers: object = {}): TestRequest => ({
  body,
  headers: { 'content-type': contentType, ...headers },
});
const claims = (...items: readonly object[]): TestRequest => ({ body: JSON.stringify({ claims: items }) });
const updates = (...items: readonly object[]): TestRequest => ({
  body: JSON.stringify({ claimUpdates: items }),
});
/** An update of the open claim by its advertiser. */
export const ruling = (changes: object = {}): TestRequest =>
  updates({ claimId: OPEN, statusIdClaim: 3, versionNo: 0, ...changes });
/** By its publisher. */
const revision = (changes: object = {}): TestRequest =>
  updates({ ...claimOf('revised'), claimId: OPEN, versionNo: 0, ...changes });
const UTF8 = '; charset=utf-8';
const POST = 'POST /claims';
const UPDATE = 'POST /claimUpdates';
const LEGACY = 'POST /uts/claimUpdates';

/** What is wrong with a request by itself. */
const OF_REQUESTS: readonly ErrorCase[] = [
  ['400 UTS_200', 'a deletion without versionNo', `DELETE /claims/${OPEN}`, 'preisblick'],
  ['400 UTS_200', 'an empty versionNo', `DELETE /claims/${OPEN};versionNo=`, 'preisblick'],
  [
    '400 UTS_200',
    'XML without a field',
    POST,
    'preisblick',
    typed(`text/xml${UTF8}`, '<claims><claim/></claims>'),
  ],
  ['400 UTS_200', 'status 201 without a message', UPDATE, 'nord', ruling({ statusIdClaim: 201 })],
  ['400 UTS_210', 'a body that is not JSON', POST, 'preisblick', { body: '{"claims":' }],
  ['400 UTS_210', 'an empty body', UPDATE, 'nord', typed(`application/json${UTF8}`, '')],
  ['400 UTS_211', 'a body of something else', POST, 'preisblick', { body: '[]' }],
  ['400 UTS_211', 'another list', UPDATE, 'nord', { body: '{"claims":[]}' }],
  ['400 UTS_211', 'updates that are no list', LEGACY, 'nord', { body: '{"claimUpdates":{}}' }],
  ['400 UTS_212', 'CSV without names of fields', POST, 'preisblick', typed(`text/csv${UTF8}`, '1,2\n3,4\n')],
  [
    '400 UTS_213',
    'more faults than are listed',
    POST,
    'preisblick',
    claims(...Array.from({ length: 201 }, () => ({}))),
  ],
  [
    '400 UTS_240',
    'JSON without a field',
    POST,
    'preisblick',
    claims(claimOf('a', { orderValue: undefined })),
  ],
  ['400 UTS_240', 'an update without versionNo', UPDATE, 'nord', ruling({ versionNo: undefined })],
  ['400 UTS_260', 'an id that is no number', 'DELETE /claims/one;versionNo=0', 'preisblick'],
  ['400 UTS_260', 'a version that is no number', `DELETE /claims/${OPEN};versionNo=x`, 'preisblick'],
  ['400 UTS_260', 'a key that is no number', 'GET /claims;statusId=open', 'nord'],
  ['400 UTS_260', 'a field that is no number', POST, 'preisblick', claims(claimOf('a', { programId: 'x' }))],
  ['400 UTS_265', 'a key that is no date', 'GET /claims;minUpdateDate=2026-02-30', 'nord'],
  [
    '400 UTS_265',
    'a field that is no date',
    POST,
    'preisblick',
    claims(claimOf('a', { timeStampEvent: '1.1.' })),
  ],
  ['400 UTS_270', 'a list with another separator', 'GET /claims;statusId=1%7C2', 'nord'],
  ['400 UTS_291', 'a body that is not XML', POST, 'preisblick', typed(`application/xml${UTF8}`, '<claims>')],
  ['400 UTS_300', 'two tokens (decisions C1)', `GET /claims?token=${CLAIM_TOKENS.casa}`, 'nord'],
  ['415 UTS_370', 'a body of another type', POST, 'preisblick', typed(`text/plain${UTF8}`)],
  ['415 UTS_370', 'updates in CSV', UPDATE, 'nord', typed(`text/csv${UTF8}`)],
  ['404 UTS_400', 'an unknown path', 'GET /claims/1/none', 'nord'],
  ['404 UTS_400', 'a path without the id of its claim', 'GET /claims//versions', 'nord'],
  ['404 UTS_400', 'an unknown legacy path', 'GET /uts/claims/1/versions', 'nord'],
  ['415 UTS_410', 'a body in another charset', POST, 'preisblick', typed('application/json; charset=latin1')],
  [
    '415 UTS_410',
    'a compressed body',
    UPDATE,
    'nord',
    typed(`application/json${UTF8}`, 'x', { 'content-encoding': 'gzip' }),
  ],
  ['415 UTS_420', 'a content type that is none', POST, 'preisblick', typed(`json${UTF8}`)],
  ['415 UTS_420', 'a content type without a subtype', LEGACY, 'nord', typed(`application/${UTF8}`)],
  [
    '400 UTS_430',
    'an unknown key without a value (decisions A14)',
    'POST /claimUpdates;foo',
    'nord',
    ruling(),
  ],
  ['400 UTS_430', 'a field that is too long', POST, 'preisblick', claims(claimOf('x'.repeat(241)))],
  ['400 UTS_430', 'an unknown order of the list', 'GET /claims;sortBy=colour', 'nord'],
  ['400 UTS_430', 'an order that legacy lists have not', 'GET /uts/claims;sortBy=orderNumber', 'nord'],
  [
    '400 UTS_430',
    'an unknown key of a write (decisions A14)',
    'POST /claims;mode=all',
    'preisblick',
    claims(),
  ],
  ['400 UTS_430', 'pretty that is no boolean', 'GET /claims;pretty=yes', 'nord'],
  [
    '400 UTS_430',
    'an expected commission for another event (decisions C6)',
    POST,
    'preisblick',
    claims(claimOf('a', { eventId: 301 })),
  ],
  ['404 3', 'another version (Document 3, Versioning)', 'GET /../2.0/claims', 'nord'],
  ['404 4', 'a version inside the module (decisions A8)', 'GET /claims/9.9', 'nord'],
  ['404 7', 'a legacy path without a module (decisions A8)', 'GET /uts', 'nord'],
  ['404 7', 'an unknown extension (decisions A1)', 'GET /claims.txt', 'nord'],
  ['404 UTS_400', 'an extension that is not offered (decisions A1)', 'GET /uts/claims.csv', 'nord'],
  ['405 405', 'PUT (decisions A8)', 'PUT /claims', 'preisblick'],
  ['405 405', 'GET of one claim (decisions A8)', `GET /claims/${OPEN}`, 'preisblick'],
  ['405 405', 'claims posted to a legacy path (decisions A8)', 'POST /uts/claims', 'preisblick', claims()],
  [
    '406 406',
    'a type that is not offered (decisions A1)',
    'GET /claims',
    'nord',
    { headers: { accept: 'text/html' } },
  ],
  [
    '413 413',
    'a body of more than 900 KB (decisions C3)',
    POST,
    'preisblick',
    { body: ' '.repeat(900 * 1024 + 1) },
  ],
];

/** What is wrong with it for its caller, or in the present state. */
const OF_STATES: readonly ErrorCase[] = [
  ['403 UTS_304', 'a publisher on a legacy path (decisions C1)', 'GET /uts/claims', 'preisblick'],
  ['403 UTS_304', 'updates of a publisher on a legacy path', LEGACY, 'preisblick', ruling()],
  ['403 UTS_306', 'a status that is not for advertisers', UPDATE, 'nord', ruling({ statusIdClaim: 2 })],
  [
    '403 UTS_306',
    'a status that is on the current path only',
    LEGACY,
    'nord',
    ruling({ statusIdClaim: 212 }),
  ],
  ['400 UTS_394', 'an unknown status', UPDATE, 'nord', ruling({ statusIdClaim: 203 })],
  ['403 UTS_395', 'claims of an advertiser (decisions C1)', POST, 'nord', claims(claimOf('a'))],
  ['403 UTS_395', 'a check by an advertiser', 'POST /claims/check', 'nord', claims(claimOf('a'))],
  ['403 UTS_395', 'a deletion by an advertiser', `DELETE /claims/${OPEN};versionNo=0`, 'nord'],
  [
    '403 UTS_396',
    'a site of another',
    POST,
    'preisblickAll',
    claims(claimOf('a', { affiliateSiteId: 1202 })),
  ],
  [
    '403 UTS_396',
    'another site than the token’s',
    POST,
    'preisblick',
    claims(claimOf('a', { affiliateSiteId: 1102 })),
  ],
  [
    '403 UTS_396',
    'an update with a site of another',
    UPDATE,
    'preisblick',
    revision({ affiliateSiteId: 1202 }),
  ],
  ['409 UTS_397', 'a claim that there is', POST, 'preisblick', claims(claimOf('open'))],
  ['409 UTS_397', 'a claim of another publisher', POST, 'preisblick', claims(claimOf('foreign'))],
  ['409 UTS_397', 'a claim twice', POST, 'preisblick', claims(claimOf('a'), claimOf('a'))],
  [
    '409 UTS_397',
    'an update to the key of another',
    UPDATE,
    'preisblick',
    revision({ orderNumber: 'foreign' }),
  ],
  ['404 UTS_402', 'an unknown claim', UPDATE, 'nord', ruling({ claimId: 999_999 })],
  ['404 UTS_402', 'versions of an unknown claim', 'GET /claims/999999/versions', 'nord'],
  ['404 UTS_402', 'the deletion of an unknown claim', 'DELETE /claims/999999;versionNo=0', 'preisblick'],
  [
    '403 UTS_403',
    'a program without a connection',
    POST,
    'lonely',
    claims(claimOf('a', { affiliateSiteId: 1301 })),
  ],
  ['403 UTS_404', 'a claim of another publisher', UPDATE, 'preisblick', revision({ claimId: FOREIGN })],
  ['403 UTS_404', 'a claim of another advertiser', UPDATE, 'casa', ruling()],
  ['403 UTS_404', 'versions of another’s claim', `GET /claims/${OPEN}/versions`, 'casa'],
  ['403 UTS_404', 'the deletion of another’s claim', `DELETE /claims/${FOREIGN};versionNo=0`, 'preisblick'],
  ['409 UTS_405', 'a version that is not the latest', UPDATE, 'nord', ruling({ versionNo: 1 })],
  ['409 UTS_405', 'a claim that is approved', UPDATE, 'nord', ruling({ claimId: APPROVED, versionNo: 1 })],
  [
    '409 UTS_405',
    'an approved claim of a publisher',
    UPDATE,
    'preisblick',
    revision({ claimId: APPROVED, versionNo: 1 }),
  ],
  [
    '409 UTS_405',
    'the deletion of an approved claim',
    `DELETE /claims/${APPROVED};versionNo=1`,
    'preisblick',
  ],
  ['409 UTS_405', 'the deletion of an old version', `DELETE /claims/${OPEN};versionNo=7`, 'preisblick'],
  ['409 UTS_405', 'a legacy update of a later version', LEGACY, 'nord', ruling({ claimId: APPROVED })],
];

export const ERROR_CASES = [...OF_REQUESTS, ...OF_STATES];
