import { type Response, type TestApp } from '../support/app';
import { appWithClaims, isPartyTo, type KnownClaim, type KnownClaims } from './claim-listings';
import {
  CLAIM_TOKENS,
  claimClientOf,
  type ClaimClient,
  claimOf,
  errorsIn,
  type Listed,
} from './claim-network';
import { SEED } from './searches';

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

describe('every token and every claim', () => {
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
