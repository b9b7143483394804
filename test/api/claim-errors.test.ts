import { claimService } from '../../src/services/claims/claims.module';
import { claimFaultTable } from '../../src/domain/claims/faults';
import { type Response, type TestRequest } from '../support/app';
import { APPROVED, ERROR_CASES, OPEN, ruling } from './claim-error-cases';
import { CLAIM_TOKENS, type ClaimClient, claimOf, claimWorld, errorsIn } from './claim-network';
import { CLAIM_ERRORS } from './claim-tables';
import { VOUCHER_TOKENS } from './voucher-network';

const world = claimWorld();

beforeAll(async () => {
  const claims = [
    await world.create('open'),
    await world.create('approved'),
    await world.create('foreign', { affiliateSiteId: 1202 }, 'deals'),
  ];
  expect(claims).toMatchObject([1, 2, 3].map((claimId) => ({ claimId, statusId: 2 })));
  const answer = await world.rule([{ claimId: APPROVED, statusIdClaim: 3, versionNo: 0 }]);
  expect([answer.statusCode, answer.body]).toEqual([200, '']);
});

async function send(request: string, as: ClaimClient, details: TestRequest = {}): Promise<Response> {
  const [method, path] = request.split(' ') as ['GET', string];
  const target = path.startsWith('/..') ? path.slice(3) : `/1.0${path}`;
  return world.app.request(method, target, { token: CLAIM_TOKENS[as], ...details });
}

/** Of an error list in either format. */
const codesIn = ({ body }: Response): readonly string[] =>
  [...body.matchAll(/"code":"(\w+)"|<code>(\w+)</g)].map(([, json, xml]) => json ?? xml ?? '');

describe('errors of claims (Document 3, Errors; decisions C7)', () => {
  it.each(ERROR_CASES.map(([expected, what, ...request]) => [expected, what, request] as const))(
    '%s: %s',
    async (expected, _, [request, as, details]) => {
      const answer = await send(request, as, details);
      const codes = codesIn(answer);
      const [status, code = ''] = expected.split(' ');
      expect([String(answer.statusCode), codes]).toEqual([status, expect.arrayContaining([code])]);
      expect(answer.body).not.toMatch(/"message":""|<message><|<message\/>/);
    },
  );

  it('left everything as it was', async () => {
    const listed = await world.list('', 'nord');
    expect(listed.map(({ orderNumber, versionNo }) => [orderNumber, versionNo])).toEqual([
      ['foreign', 0],
      ['approved', 1],
      ['open', 0],
    ]);
  });

  it('have a case each, of the codes that requests may cause', () => {
    const tested = new Set(ERROR_CASES.map(([expected]) => expected.split(' ')[1]));
    const untested = CLAIM_ERRORS.filter((code) => !tested.has(code));
    // Of failures of ours, and of operations that the document does not have (decisions C7).
    expect(untested).toEqual([
      ...['UTS_230', 'UTS_301', 'UTS_302', 'UTS_303', 'UTS_371', 'UTS_380', 'UTS_398', 'UTS_399'],
    ]);
  });

  it('have the HTTP status of their row (decisions C7)', () => {
    const statuses = Object.values(claimFaultTable).map(([code, status]) => [code, status] as const);
    const of = (status: number) =>
      statuses.filter(([, one]) => one === status).map(([code]) => code.slice(4));
    expect([400, 403, 404, 409, 415, 500].map((status) => of(status).sort().join(' '))).toEqual([
      '200 210 211 212 213 240 260 265 270 291 300 394 430',
      '304 306 395 396 403 404',
      '400 402',
      '397 405',
      '370 410 420',
      '230 380 398 399',
    ]);
  });

  it('of a bug are UTS_230, as shared code answers them (Document 3, Errors: UTS_230; decisions A12)', () => {
    const { unexpected } = claimService.faults;
    expect([unexpected().code, unexpected().status]).toEqual(['UTS_230', 500]);
  });

  it('name what was sent, what was expected and the remedy', async () => {
    const messages = async (path: string, as: ClaimClient) => errorsIn(await send(path, as));
    expect(await messages(`DELETE /claims/${OPEN}`, 'preisblick')).toEqual([
      `UTS_200 versionNo is missing: /1.0/claims/${OPEN};versionNo=…`,
    ]);
    expect(await messages('DELETE /claims/one;versionNo=0', 'preisblick')).toEqual([
      'UTS_260 claimId=one: expected the id of a claim, an integer',
    ]);
    const old = await send('POST /claimUpdates', 'nord', ruling({ versionNo: 3 }));
    expect(errorsIn(old)).toEqual([
      expect.stringMatching(/^UTS_405 .*versionNo is 3, .*latest version .* is 0$/),
    ]);
  });

  it('of a body are answered all at once (decisions C3, C7)', async () => {
    const bad = [claimOf('open'), claimOf('x', { orderValue: 'x', eventId: '' }), claimOf('y', { epi: 5.5 })];
    const answer = await world.file(bad);
    expect(errorsIn(answer)).toEqual([
      'UTS_240 claims[1].eventId must be set',
      expect.stringMatching(/^UTS_260 claims\[1\].orderValue: expected an amount .* got 'x'$/),
      "UTS_430 claims[2].epi: expected a string, got '5.5'",
      expect.stringMatching(/^UTS_397 claims\[0\]: there is a claim .* orderNumber "open"/),
    ]);
  });
});

describe('tokens of claims (Document 3, Authentication; decisions A4, C1)', () => {
  it.each([
    ['no token', '', '400 1'],
    ['an unknown token', `?token=${'d'.repeat(40)}`, '403 2'],
    ['a token for vouchers', `?token=${VOUCHER_TOKENS.nord}`, '403 2'],
    [
      'a token of 39 characters (Document 3, Limits: Token length)',
      `?token=${CLAIM_TOKENS.nord.slice(1)}`,
      '403 2',
    ],
  ])('%s is refused', async (_, query, expected) => {
    for (const path of [
      '/1.0/claims',
      '/1.0/claimStatuses',
      '/1.0/uts/claims.json',
      '/1.0/claims/1/versions',
    ]) {
      const answer = await world.app.get(`${path}${query}`);
      expect(`${answer.statusCode} ${codesIn(answer).join()}`).toBe(expected);
    }
  });
});

describe('the order of checks (decisions A8)', () => {
  const wrong = { body: '{', headers: { 'content-type': 'text/plain' } };
  it.each<[string, string, ClaimClient, TestRequest, string]>([
    ['path before method', 'PUT /claims/1/none', 'nord', wrong, 'UTS_400'],
    ['method before kind', 'PUT /claims', 'nord', wrong, '405'],
    ['kind before keys', 'POST /claims;mode=x', 'nord', wrong, 'UTS_395'],
    ['keys before content type', 'POST /claims;mode=x', 'preisblick', wrong, 'UTS_430'],
    ['content type before body', 'POST /claims', 'preisblick', wrong, 'UTS_370'],
    ['body last', 'POST /claims', 'preisblick', { body: '{' }, 'UTS_210'],
  ])('is %s', async (_, request, as, details, code) => {
    expect(codesIn(await send(request, as, details))).toEqual([code]);
  });
});
