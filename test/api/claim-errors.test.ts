import { claimService } from '../../src/services/claims/claims.controller';
import { claimFaultTable } from '../../src/domain/claims/faults';
import { type Response, type TestApp, type TestRequest } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { APPROVED, ERROR_CASES, OPEN, ruling } from './claim-error-cases';
import {
  CLAIM_TOKENS,
  type ClaimClient,
  claimClientOf,
  claimOf,
  claimWorld,
  errorsIn,
  type Listed,
  xmlOf,
} from './claim-network';
import { CLAIM_ERRORS } from './claim-tables';
import { VOUCHER_TOKENS } from './voucher-network';
import { appWithClaims, isPartyTo, type KnownClaim, type KnownClaims } from './claim-listings';
import { SEED } from './searches';

describe('claim errors', () => {
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
      const bad = [
        claimOf('open'),
        claimOf('x', { orderValue: 'x', eventId: '' }),
        claimOf('y', { epi: 5.5 }),
      ];
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
});

describe('claim error bodies', () => {
  const world = claimWorld();
  const OPEN = 1;
  beforeAll(async () => {
    expect((await world.create('open')).claimId).toBe(OPEN);
  });

  const codesIn = (answer: Response) => errorsIn(answer).map((error) => error.split(' ')[0]);

  describe('error bodies (Document 3, Errors)', () => {
    const accept = { accept: 'application/xml; charset=utf-8' };

    it('of creations and updates are, in XML, a Response in the namespace of uts', async () => {
      const posted = await world.xml(
        '/claims',
        xmlOf('claims', [claimOf('a', { programId: 'x' })]),
        'preisblick',
      );
      const updated = await world.xml('/claimUpdates', xmlOf('claimUpdates', [{ claimId: 'x' }]), 'nord');
      const legacy = await world.xml('/uts/claimUpdates', '<x/>', 'nord');
      expect(posted.body).toBe(
        '<?xml version="1.0" encoding="UTF-8"?><Response xmlns="https://api.example/1.0/uts"><errors><e>' +
          "<code>UTS_260</code><message>claims[0].programId: expected an integer, got 'x'</message>" +
          '</e></errors></Response>',
      );
      expect([posted, updated, legacy].map(({ statusCode }) => statusCode)).toEqual([400, 400, 400]);
      const documents = [posted, updated, legacy].map(({ body }) => body);
      expect(await faultsBySchema(world.app, 'ClaimErrors_v1_0.xsd', documents)).toEqual([]);
    });

    it('of deletions are, in XML, errors with error elements', async () => {
      const path = `/claims/${OPEN}`;
      const refused = await world.send('DELETE', `${path};versionNo=9`, 'preisblick', { headers: accept });
      const missing = await world.send('DELETE', path, 'preisblick', { headers: accept });
      const noToken = await world.app.delete(`/1.0${path}`, { headers: accept });
      expect(missing.body).toBe(
        '<?xml version="1.0" encoding="UTF-8"?><errors><error><code>UTS_200</code>' +
          `<message>versionNo is missing: /1.0${path};versionNo=…</message></error></errors>`,
      );
      const documents = [refused, missing, noToken].map(({ body }) => body);
      expect(await faultsBySchema(world.app, 'ClaimDeletionErrors_v1_0.xsd', documents)).toEqual([]);
    });

    it('are in the format that Accept prefers, whatever was posted (decisions A1)', async () => {
      const json = { 'content-type': 'application/json; charset=utf-8' };
      const xml = { 'content-type': 'application/xml; charset=utf-8' };
      const types = await Promise.all(
        [
          { headers: { ...json, ...accept }, body: '{' },
          { headers: { ...xml, accept: 'application/json' }, body: '<' },
          { headers: xml, body: '<' },
          { headers: { ...json, accept: '*/*' }, body: '{' },
        ].map(
          async (request) =>
            (await world.send('POST', '/claims', 'preisblick', request)).headers['content-type'],
        ),
      );
      const [asJson, asXml] = ['application/json; charset=utf-8', 'application/xml; charset=utf-8'];
      expect(types).toEqual([asXml, asJson, asXml, asJson]);
    });

    it('on legacy paths are in the format of the extension (Document 3, Conventions)', async () => {
      const xml = await world.send('GET', '/uts/claims.xml;statusId=x', 'nord');
      const json = await world.send('GET', '/uts/claims.json;statusId=x', 'nord', { headers: accept });
      expect([xml.body.slice(38, 47), codesIn(json)]).toEqual(['<Response', ['UTS_260']]);
    });
  });

  describe('a body without a content type', () => {
    it('is UTS_370, and an empty one UTS_420 (Document 3, Errors: UTS_370, UTS_420)', async () => {
      const url = `/1.0/claims?token=${CLAIM_TOKENS.preisblick}`;
      const without = await world.app.http.inject({ method: 'POST', url, payload: '{"claims":[]}' });
      const empty = await world.send('POST', '/claims', 'preisblick', {
        headers: { 'content-type': '' },
        body: '{}',
      });
      expect([without, empty].map((answer) => [answer.statusCode, codesIn(answer)])).toEqual([
        [415, ['UTS_370']],
        [415, ['UTS_420']],
      ]);
    });
  });
});

describe('every token and every claim', () => {
  const CLIENTS = Object.keys(CLAIM_TOKENS) as readonly ClaimClient[];
  const PUBLISHERS = [
    'preisblick',
    'preisblickAll',
    'deals',
    'lonely',
  ] as const satisfies readonly ClaimClient[];
  const ADVERTISERS = ['nord', 'casa'] as const satisfies readonly ClaimClient[];

  /** No claim has ever had this id. */
  const UNKNOWN = 999_999;

  let app: TestApp;
  let known: KnownClaims;
  const { send, json } = claimClientOf(() => app);

  beforeAll(async () => {
    ({ app, known } = await appWithClaims(SEED));
  });
  afterAll(() => app.close());

  /** A claim of each site, advertiser and kind of status: 2, 3, 1XX, 2XX. */
  function samples(): readonly number[] {
    const byKind = new Map<string, number>();
    for (const { claimId, siteId, advertiserId, statusId } of known.values())
      byKind.set(
        [siteId, advertiserId, statusId < 100 ? statusId : Math.floor(statusId / 100) * 100].join(),
        claimId,
      );
    return [...byKind.values()];
  }

  function deleted(): readonly number[] {
    const last = Math.max(...known.keys());
    return Array.from({ length: last }, (_, at) => at + 1).filter((id) => !known.has(id));
  }

  /** The only error of an answer, without what the request has named by itself. */
  function refusal(answer: Response, id: number): readonly unknown[] {
    const [error = '', ...others] = errorsIn(answer);
    expect(others).toEqual([]);
    return [answer.statusCode, error.replaceAll(new RegExp(`\\b${id}\\b`, 'g'), '#')];
  }

  /** Requests about one claim, as one of the clients. */
  const REQUESTS: readonly {
    readonly name: string;
    readonly as: readonly ClaimClient[];
    readonly ask: (id: number, as: ClaimClient) => Promise<Response>;
  }[] = [
    { name: 'versions', as: CLIENTS, ask: (id, as) => send('GET', `/claims/${id}/versions`, as) },
    {
      name: 'updates by publishers',
      as: PUBLISHERS.filter((client) => client !== 'lonely'),
      ask: (claimId, as) => {
        const own = as === 'deals' ? { affiliateSiteId: 1202 } : {};
        const update = { ...claimOf('other', own), claimId, versionNo: 99 };
        return json('/claimUpdates', { claimUpdates: [update] }, as);
      },
    },
    {
      name: 'updates by advertisers',
      as: ADVERTISERS,
      ask: (claimId, as) =>
        json('/claimUpdates', { claimUpdates: [{ claimId, statusIdClaim: 3, versionNo: 99 }] }, as),
    },
    {
      name: 'deletions',
      as: PUBLISHERS,
      ask: (id, as) => send('DELETE', `/claims/${id};versionNo=99`, as),
    },
    // Approves its own claims, whose version is 0: last.
    {
      name: 'updates on legacy paths',
      as: ADVERTISERS,
      ask: (claimId, as) =>
        json('/uts/claimUpdates.json', { claimUpdates: [{ claimId, statusIdClaim: 3 }] }, as),
    },
  ];

  it('lists have the claims of the caller, all of them and no others (decisions C1, C8)', async () => {
    for (const client of CLIENTS) {
      const own = [...known.values()].filter((one) => isPartyTo(one, client)).map(({ claimId }) => claimId);
      for (const path of ['/claims', `/claims;claimId=${[...known.keys()].join(',')}`]) {
        const listed = (await send('GET', path, client)).json<Listed[]>().map(({ claimId }) => claimId);
        expect([client, listed.toSorted((a, b) => a - b)]).toEqual([client, own]);
      }
    }
  });

  it('versions are those from when the caller was a party (decisions C13)', async () => {
    for (const client of CLIENTS) {
      for (const [id, one] of known) {
        if (!isPartyTo(one, client)) continue;
        const versions = (await send('GET', `/claims/${id}/versions`, client)).json<Listed[]>();
        expect(versions.at(-1)).toMatchObject({ claimId: id, statusId: one.statusId });
        const sites = new Set(versions.map((version) => version['affiliateSiteId']));
        if (client === 'preisblick') expect([...sites]).toEqual([1101]);
        const programs = versions.map((version) => Number(version['programId']));
        if (client === 'nord') expect(programs.filter((program) => program >= 200)).toEqual([]);
        if (client === 'casa') expect(programs.filter((program) => program !== 201)).toEqual([]);
      }
    }
  });

  it.each(REQUESTS)(
    '$name: someone else’s claim is UTS_404, an unknown or deleted one UTS_402 (decisions C9, C12)',
    async ({ as, ask }) => {
      for (const client of as) {
        const unknown = refusal(await ask(UNKNOWN, client), UNKNOWN);
        expect(unknown).toEqual([404, expect.stringMatching(/^UTS_402 /)]);
        for (const id of deleted().slice(0, 3)) expect(refusal(await ask(id, client), id)).toEqual(unknown);
        const foreign = new Set<string>();
        for (const id of samples()) {
          const answer = await ask(id, client);
          const codes = answer.statusCode === 200 ? [] : errorsIn(answer).map((error) => error.slice(0, 7));
          const isOwn = isPartyTo(known.get(id) as KnownClaim, client);
          expect([client, id, codes.includes('UTS_404'), codes.includes('UTS_402')]).toEqual([
            client,
            id,
            !isOwn,
            false,
          ]);
          if (!isOwn) foreign.add(JSON.stringify(refusal(answer, id)));
        }
        // Nothing about the claim is revealed: all answers are alike.
        expect(foreign.size).toBeLessThanOrEqual(1);
      }
    },
  );
});
