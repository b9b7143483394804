import { TestApp } from '../support/app';
import { cases } from '../support/size';
import { inRandomOrder } from '../support/random-order';
import { claims } from '../../projections/claims';
import { rebuild } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { vouchers } from '../../projections/vouchers';
import { SEED } from './searches';
import {
  appWithVouchers,
  type Asked,
  connected,
  type KnownVouchers,
  type Posted,
  randomListings,
  VOUCHERS,
} from './voucher-listings';
import {
  DAY,
  idsOf,
  NOW,
  VOUCHER_CLIENTS,
  VOUCHER_NETWORK,
  type VoucherClient,
  voucherClientOf,
} from './voucher-network';
import {
  answerOf,
  appWithClaims,
  type KnownClaims,
  type NameOf,
  randomClaimListings,
} from './claim-listings';
import { CLAIM_NETWORK, CLAIM_TOKENS, type ClaimClient, type Listed } from './claim-network';

describe('vouchers', () => {
  const LISTINGS = cases(500, 300);

  /** While the vouchers are posted it is active. */
  const PAUSED = 104;

  const SITES_OF: Readonly<Record<Exclude<VoucherClient, 'nord' | 'casa'>, readonly number[]>> = {
    preisblick: [1101],
    preisblickAll: [1101, 1102],
    deals: [1201, 1202, 1203],
    lonely: [1301],
  };

  /** The words of a text, cut and folded (decisions P4). */
  function wordsIn(text: string): readonly string[] {
    const folded = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss');
    return folded.match(/[\p{L}\p{N}_]+/gu) ?? [];
  }

  /** What must be listed, found by looking at every voucher; `updated` is when each was posted. */
  function answerOf(keys: Asked, client: VoucherClient, known: KnownVouchers): readonly number[] {
    const isOwner = client === 'nord' || client === 'casa';
    const usableOn = (site: number, { programId, siteIds = [] }: Posted) =>
      connected(site, programId) && (siteIds.length === 0 || siteIds.includes(site));
    const mine = (site: number) =>
      isOwner || (client.startsWith('preis') ? [1101, 1102] : SITES_OF[client]).includes(site);
    const at = keys.activeAt ?? (isOwner ? undefined : NOW);
    const isBounded = keys.minEndDate !== undefined || keys.maxStartDate !== undefined;
    const listed = [...known].filter(([id, one]) => {
      const {
        startDate,
        endDate,
        siteIds = [],
        publishStartDate = -Infinity,
        publishEndDate = Infinity,
      } = one;
      const text = wordsIn([one.title, 'Nothing to pay for delivery', one.description, one.code].join(' '));
      return (
        (isOwner
          ? (one.programId === 201) === (client === 'casa')
          : one.programId !== PAUSED && SITES_OF[client].some((site) => usableOn(site, one))) &&
        (at === undefined || (publishStartDate <= at && at <= publishEndDate)) &&
        (at === undefined || isBounded || at <= endDate) &&
        endDate >= (keys.minEndDate ?? -Infinity) &&
        startDate <= (keys.maxStartDate ?? Infinity) &&
        (keys.id?.includes(id) ?? true) &&
        (keys.programId?.some((programId) => programId === one.programId) ?? true) &&
        (keys.voucherTypeId?.includes(one.voucherTypeId) ?? true) &&
        (keys.siteSpecific === undefined || keys.siteSpecific === siteIds.length > 0) &&
        (keys.siteId?.some((site) => mine(site) && usableOn(site, one)) ?? true) &&
        (keys.languageId === undefined || keys.languageId.toLowerCase() === one.languageId?.toLowerCase()) &&
        (keys.keywords?.some((value) => wordsIn(value).every((word) => text.includes(word))) ?? true)
      );
    });
    const latest = listed.sort(([a, one], [b, other]) => other.updated - one.updated || b - a);
    const ids = latest.map(([id]) => id);
    const sorted = keys.random === undefined ? ids : inRandomOrder(keys.random, ids);
    const size = Math.min(1000, keys.pageSize ?? 1000);
    const from = (keys.page ?? 0) * size;
    return sorted.slice(from, from + size);
  }

  let app: TestApp;
  let known: KnownVouchers;
  const { list } = voucherClientOf(() => app);

  beforeAll(async () => {
    ({ app, known } = await appWithVouchers(SEED));
  });
  afterAll(() => app.close());

  it(`${LISTINGS} random listings match a search through every voucher, including order (decisions V3 to V12; SEARCH_SEED=${SEED})`, async () => {
    expect(known.size).toBe(VOUCHERS);
    let found = 0;
    for (const { keys, target, client } of randomListings(LISTINGS, SEED)) {
      const ids = idsOf(await list(target, client));
      expect({ target, client, ids }).toEqual({ target, client, ids: answerOf(keys, client, known) });
      found += ids.length > 0 ? 1 : 0;
    }
    expect(found).toBeGreaterThan(LISTINGS / 6);
  });
});

describe('claims', () => {
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
    for (const { keys, target, client } of randomClaimListings(Math.ceil(LISTINGS / 3), seed, CLIENTS)) {
      const answer = await app.get(`/1.0/claims${target}`, { token: CLAIM_TOKENS[client] });
      const { ids, total } = answerOf(keys, client, known, nameOf);
      const found = {
        ids: answer.json<Listed[]>().map(({ claimId }) => claimId),
        total: Number(answer.headers['x-total-count']),
      };
      expect({ target, client, ...found }).toEqual({ target, client, ids, total });
      rows += ids.length;
    }
    expect(rows).toBeGreaterThan(LISTINGS / 3);
  }

  it('random listings use every key (decisions C8)', () => {
    const used = randomClaimListings(500, 1, CLIENTS).flatMap(({ keys }) =>
      Object.entries(keys).flatMap(([name, value]) => (value === undefined ? [] : [name])),
    );
    expect(new Set(used).size).toBe(12);
  });

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
    const [rebuilt] = await rebuild(log, store, [claims], {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
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
});

describe('rebuilt vouchers', () => {
  let app: TestApp;
  let now = NOW;
  const { create, list, remove } = voucherClientOf(() => app);

  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
  });
  afterAll(() => app.close());

  it('a rebuild from the log gives the same listings, including random orders (decisions V6)', async () => {
    for (let number = 0; number < 20; number += 1) {
      now += 1000;
      const sites = [undefined, [1101], [1202, 1203]][number % 3];
      await create({
        sourceId: `n${number}`,
        siteIds: sites,
        title: `Lamp ${number}`,
        publishEndDate: NOW + number * DAY,
      });
    }
    for (const number of [2, 5, 11]) {
      now += 1000;
      await create({ sourceId: `n${number}`, title: 'Edited', endDate: NOW + 9 * DAY });
    }
    for (const id of [4, 12]) await remove(id);
    await create({ programId: 201 }, 'casa');
    await app.settled();

    const listings = async () => {
      const all: object[] = [];
      for (const client of VOUCHER_CLIENTS)
        for (const keys of ['', ';random=7', ';random=8;pageSize=5;page=1', ';keywords=edited'])
          all.push({ client, keys, listed: await list(keys, client) });
      return all;
    };
    const live = await listings();
    expect(await list('', 'deals')).not.toEqual([]);
    const { log, store } = app.engines;
    const [rebuilt] = await rebuild(log, store, [vouchers], {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
    expect(rebuilt).toMatchObject({ documents: 19, comparison: { differing: 0 } });
    expect(await listings()).toEqual(live);
  });
});
