import { claims } from '../../projections/claims';
import { rebuild } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type TestApp } from '../support/app';
import { cases } from '../support/size';
import {
  answerOf,
  appWithClaims,
  type KnownClaims,
  type NameOf,
  randomClaimListings,
} from './claim-listings';
import { CLAIM_NETWORK, CLAIM_TOKENS, type ClaimClient, type Listed } from './claim-network';
import { SEED } from './searches';

const LISTINGS = cases(500, 300);

const CLIENTS = Object.keys(CLAIM_TOKENS) as readonly ClaimClient[];

let app: TestApp;
let known: KnownClaims;

beforeAll(async () => {
  ({ app, known } = await appWithClaims(SEED));
});
afterAll(() => app.close());

interface Named {
  readonly id: number;
  readonly name: string;
}

const NAMED = CLAIM_NETWORK as unknown as Readonly<Record<'programs' | 'sites', readonly Named[]>>;
const PROGRAM_NAMES: Readonly<Record<number, string>> = { 101: 'Ö', 102: 'Zeta', 104: 'Zeta' };
const feeds: readonly { readonly programIds: readonly number[] }[] = CLAIM_NETWORK.feeds;
const connections: readonly { readonly siteId: number; readonly programId: number }[] =
  CLAIM_NETWORK.connections;

/** Other names, the same one for two programs and two sites; and one program and one site are gone. */
const RENAMED = {
  ...CLAIM_NETWORK,
  programs: NAMED.programs
    .filter(({ id }) => id !== 103)
    .map((program) => ({ ...program, name: PROGRAM_NAMES[program.id] ?? 'alpha' })),
  sites: NAMED.sites
    .filter(({ id }) => id !== 1203)
    .map((site) => ({ ...site, name: [1102, 1201].includes(site.id) ? 'Same' : `Site ${-site.id}` })),
  connections: connections.filter(({ siteId, programId }) => siteId !== 1203 && programId !== 103),
  feeds: feeds.filter(({ programIds }) => !programIds.includes(103)),
};

const namesIn =
  (network: typeof NAMED): NameOf =>
  (list, id) =>
    network[list].find((one) => one.id === id)?.name ?? String(id);

async function expectListings(seed: number, nameOf: NameOf): Promise<void> {
  let rows = 0;
  const used = new Set<string>();
  for (const { keys, target, client } of randomClaimListings(Math.ceil(LISTINGS / 3), seed, CLIENTS)) {
    const answer = await app.get(`/1.0/claims${target}`, { token: CLAIM_TOKENS[client] });
    const { ids, total } = answerOf(keys, client, known, nameOf);
    const found = {
      ids: answer.json<Listed[]>().map(({ claimId }) => claimId),
      total: Number(answer.headers['x-total-count']),
    };
    expect({ target, client, ...found }).toEqual({ target, client, ids, total });
    rows += ids.length;
    for (const [name, value] of Object.entries(keys)) if (value !== undefined) used.add(name);
  }
  expect(used.size).toBe(12);
  expect(rows).toBeGreaterThan(LISTINGS / 3);
}

it(`random listings match a search through every claim, including order (decisions C8; SEARCH_SEED=${SEED})`, async () => {
  expect(known.size).toBeGreaterThan(150);
  await expectListings(SEED, namesIn(NAMED));
});

it('so do those after names were changed, and programs and sites removed (decisions C8)', async () => {
  await app.import(RENAMED, { prune: true });
  await expectListings(SEED + 1, namesIn(RENAMED));
});

it('so do those after a rebuild', async () => {
  const { log, store } = app.engines;
  const [rebuilt] = await rebuild(log, store, [claims], { clock: SYSTEM_CLOCK, owner: 'test', code: 'test' });
  expect(rebuilt).toMatchObject({ documents: known.size, comparison: { differing: 0 } });
  await expectListings(SEED + 2, namesIn(RENAMED));
});

it('legacy lists have the same claims in the same order (Document 3, Legacy advertiser paths)', async () => {
  for (const client of ['nord', 'casa'] as const)
    for (const keys of ['', ';sortBy=program name;sortOrder=asc;offset=3', ';statusId=2,3;limit=5']) {
      const token = CLAIM_TOKENS[client];
      const [current, legacy] = await Promise.all(
        ['/1.0/claims', '/1.0/uts/claims.json'].map((path) =>
          app.get(`${path}${encodeURI(keys)}`, { token }),
        ),
      );
      const idsOf = (answer: typeof current) => answer?.json<Listed[]>().map(({ claimId }) => claimId);
      expect(idsOf(legacy)).toEqual(idsOf(current));
      expect(legacy?.headers['x-total-count']).toBe(current?.headers['x-total-count']);
    }
});
