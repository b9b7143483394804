import { inRandomOrder } from '../support/random-order';
import { type Response, TestApp } from '../support/app';
import { OVER_SERVERS } from '../support/engines';
import { cases } from '../support/size';
import {
  DAY,
  idsOf,
  NOW,
  refusalOf,
  voucher,
  VOUCHER_CLIENTS,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  type VoucherClient,
  voucherClientOf,
  voucherWorld,
} from './voucher-network';

const world = voucherWorld();

describe('voucher listing', () => {
  const { create, list, passTo } = world;

  /** Ids listed at a time. */
  async function at(time: number, keys = '', as?: VoucherClient): Promise<readonly number[]> {
    passTo(time);
    return idsOf(await list(keys, as));
  }

  it('a voucher is listed from the first to the last millisecond of its publication (decisions V3, V16)', async () => {
    const id = await create({
      publishStartDate: NOW + DAY,
      publishEndDate: NOW + 2 * DAY,
      startDate: NOW + 3 * DAY,
    });
    expect(await at(NOW + DAY - 1)).toEqual([]);
    expect(await at(NOW + DAY)).toEqual([id]);
    expect(await at(NOW + 2 * DAY)).toEqual([id]);
    expect(await at(NOW + 2 * DAY + 1)).toEqual([]);
    expect(await at(NOW + 2 * DAY + 1, ';minEndDate=0')).toEqual([]);
    expect(await at(NOW - DAY, '', 'nord')).toEqual([id]);
  });

  it('without a publication window it is listed until it has ended (decisions V3, V10, V16)', async () => {
    const id = await create({ startDate: NOW + DAY, endDate: NOW + 2 * DAY });
    expect(await at(NOW)).toEqual([id]);
    expect(await at(NOW + 2 * DAY)).toEqual([id]);
    expect(await at(NOW + 2 * DAY + 1)).toEqual([]);
    expect(await at(NOW + 2 * DAY + 1, ';minEndDate=0')).toEqual([id]);
    expect(await at(NOW + 2 * DAY + 1, `;maxStartDate=${NOW + DAY}`)).toEqual([id]);
    expect(await at(NOW + 2 * DAY + 1, '', 'nord')).toEqual([id]);
  });

  it('minEndDate and maxStartDate are inclusive bounds, in milliseconds or ISO 8601 (Document 2, List keys)', async () => {
    const id = await create({ startDate: NOW, endDate: NOW + DAY });
    expect(await at(NOW, `;minEndDate=${NOW + DAY}`)).toEqual([id]);
    expect(await at(NOW, `;minEndDate=${NOW + DAY + 1}`)).toEqual([]);
    expect(await at(NOW, `;maxStartDate=${NOW}`)).toEqual([id]);
    expect(await at(NOW, `;maxStartDate=${NOW - 1}`)).toEqual([]);
    expect(
      await at(NOW, ';minEndDate=2026-03-02T12:00:00Z;maxStartDate=2026-03-01T12:00:00Z', 'nord'),
    ).toEqual([id]);
    expect(await at(NOW, ';maxStartDate=2026-03-01T11:59:59.999Z', 'nord')).toEqual([]);
  });

  it('a date as maxStartDate includes its day, to the last millisecond (decisions A17)', async () => {
    const midnight = Date.parse('2026-03-02');
    const today = await create({ startDate: midnight - 1, endDate: NOW + 2 * DAY });
    await create({ startDate: midnight, endDate: NOW + 2 * DAY });
    expect(await at(NOW, ';maxStartDate=2026-03-01')).toEqual([today]);
    expect(await at(NOW, ';maxStartDate=2026-02-28')).toEqual([]);
  });

  it('activeAt lists vouchers valid at that time, for advertisers too, even before their publication (decisions V17)', async () => {
    const id = await create({ endDate: NOW + DAY });
    const planned = await create({ publishStartDate: NOW + DAY + 1 });
    for (const as of ['preisblick', 'nord'] as const) {
      expect(await at(NOW, `;activeAt=${NOW - DAY}`, as)).toEqual([id]);
      expect(await at(NOW, `;activeAt=${NOW + DAY}`, as)).toEqual([id]);
      expect(await at(NOW, `;activeAt=${NOW + DAY + 1}`, as)).toEqual([planned]);
    }
  });

  it('a change of connections and programs affects the next listing (decisions V10, V18)', async () => {
    const [any, only] = [await create(), await create({ siteIds: [1101] })];
    expect(idsOf(await list())).toEqual([only, any]);
    await world.app.import(
      { ...VOUCHER_NETWORK, connections: [{ siteId: 1202, programId: 101 }] },
      { prune: true },
    );
    expect(idsOf(await list())).toEqual([]);
    expect(idsOf(await list('', 'deals'))).toEqual([any]);
    const programs = VOUCHER_NETWORK.programs.map((one) => ({ ...one, status: 'paused' }));
    await world.app.import({ ...VOUCHER_NETWORK, programs });
    expect(idsOf(await list('', 'deals'))).toEqual([]);
    expect(idsOf(await list('', 'nord'))).toEqual([only, any]);
    await world.app.import(VOUCHER_NETWORK, { prune: true });
  });
});

describe('The keys of a listing (Document 2, List keys)', () => {
  const { create, list, passTo } = voucherWorld();

  it('id, programId and voucherTypeId take several values (Document 2, List keys)', async () => {
    const [a, b, c] = [
      await create({ voucherTypeId: 3 }),
      await create({ programId: 102 }),
      await create({ voucherTypeId: 5 }),
    ];
    expect(idsOf(await list(`;id=${a},${b}`, 'nord'))).toEqual([b, a]);
    expect(idsOf(await list(`;id=${a};id=${c}`, 'nord'))).toEqual([c, a]);
    expect(idsOf(await list(';programId=102', 'nord'))).toEqual([b]);
    expect(idsOf(await list(';programId=101,102', 'preisblick'))).toEqual([c, a]);
    expect(idsOf(await list(';programId=201', 'nord'))).toEqual([]);
    expect(idsOf(await list(';voucherTypeId=3,5', 'nord'))).toEqual([c, a]);
  });

  it('keywords are searched in title, descriptions and code, ignoring marks and case (decisions V11, P4)', async () => {
    const ids = [
      await create({ title: 'Größe XL' }),
      await create({ shortDescription: 'Lampen, günstig' }),
      await create({ description: 'all lámps on SALE' }),
      await create({ voucherTypeId: 1, code: 'SALE-7' }),
      await create({ title: 'ビジネスシューズ 10%', shortDescription: 'Kopfhörer' }),
    ];
    const found = async (words: string) => {
      const listed = idsOf(await list(`;keywords=${encodeURI(words)}`));
      return ids.flatMap((id, place) => (listed.includes(id) ? [place] : []));
    };
    expect(await found('grosse')).toEqual([0]);
    expect(await found('GUNSTIG')).toEqual([1]);
    expect(await found('sale')).toEqual([2, 3]);
    expect(await found('lamps+sale')).toEqual([2]);
    expect(await found('xl,7')).toEqual([0, 3]);
    expect(await found('シューズ')).toEqual([4]);
    expect(await found('ビジネスシューズ,kopfhoerer')).toEqual([4]);
    expect(await found('シュース')).toEqual([]);
    expect(await found('*')).toEqual([0, 1, 2, 3, 4]);
    expect(await found('sal')).toEqual([]);
  });

  it('siteSpecific separates vouchers for some sites from those for any (decisions V5, V11)', async () => {
    const any = await create();
    const one = await create({ siteIds: [1101] });
    const two = await create({ siteIds: [1101, 1202] });
    const shown = await list(';siteSpecific=true');
    expect(shown.map(({ id, siteSpecific, exclusive }) => [id, siteSpecific, exclusive])).toEqual([
      [two, true, false],
      [one, true, true],
    ]);
    expect(idsOf(await list(';siteSpecific=false'))).toEqual([any]);
    expect(idsOf(await list(';siteSpecific=false', 'nord'))).toEqual([any]);
  });

  it('siteId lists vouchers that a connected site may use (decisions V11)', async () => {
    const any = await create();
    const first = await create({ siteIds: [1202] });
    const second = await create({ siteIds: [1203] });
    const swedish = await create({ programId: 102 });
    const on = async (sites: string, as: VoucherClient) => idsOf(await list(`;siteId=${sites}`, as));
    expect(await on('1202', 'deals')).toEqual([first, any]);
    expect(await on('1202,1203', 'deals')).toEqual([second, first, any]);
    expect(await on('1201', 'deals')).toEqual([swedish]);
    expect(await on('1101', 'deals')).toEqual([]);
    expect(await on('1102', 'preisblick')).toEqual([]);
    expect(await on('1203', 'nord')).toEqual([second, any]);
    expect(await on('9999', 'nord')).toEqual([]);
  });

  it('languageId filters for all callers, ignoring case (decisions V11)', async () => {
    const id = await create({ languageId: 'DE' });
    await create({ languageId: 'sv' });
    await create();
    for (const as of ['nord', 'preisblick'] as const)
      for (const code of ['de', 'De']) expect(idsOf(await list(`;languageId=${code}`, as))).toEqual([id]);
  });

  it('the latest update comes first, then the higher id; pages start at 0 (decisions V12; Document 2, Limits: List page default)', async () => {
    const ids = [];
    for (let number = 0; number < 11; number += 1) ids.push(await create({ sourceId: `n${number}` }));
    passTo(NOW + 1000);
    await create({ sourceId: 'n3', title: 'Changed' });
    const order = [ids[3]!, ...ids.filter((_, number) => number !== 3).reverse()];
    expect(idsOf(await list())).toEqual(order);
    expect(idsOf(await list(';pageSize=4'))).toEqual(order.slice(0, 4));
    expect(idsOf(await list(';pageSize=4;page=2'))).toEqual(order.slice(8));
    expect(idsOf(await list(';pageSize=4;page=3'))).toEqual([]);
  });

  it('random orders by its seed, the same over all pages (decisions V6)', async () => {
    const ids = [];
    for (let number = 0; number < 12; number += 1) ids.push(await create());
    const one = idsOf(await list(';random=7'));
    expect(one).toEqual(inRandomOrder(7, ids));
    expect(idsOf(await list(';random=7;pageSize=5;page=1'))).toEqual(one.slice(5, 10));
    expect(idsOf(await list(';random=8'))).not.toEqual(one);
    expect([...one].sort((a, b) => a - b)).toEqual(idsOf(await list()).toReversed());
  });

  it('the link of a token without a site has the first connected site that may use the voucher (decisions V13)', async () => {
    const any = await create();
    const second = await create({ siteIds: [1203] });
    const links = await list('', 'deals');
    expect(links.map(({ id, defaultTrackUri }) => [id, defaultTrackUri])).toEqual([
      [second, 'https://clk.affilog.example/click?a(1203)p(101)ttid(13)'],
      [any, 'https://clk.affilog.example/click?a(1202)p(101)ttid(13)'],
    ]);
  });
});

describe('voucher matrix', () => {
  interface Kind {
    readonly programId: number;
    readonly siteIds: readonly number[] | undefined;
    readonly window: { readonly publishStartDate?: number; readonly publishEndDate?: number };
  }

  const OWNERS = ['nord', 'casa'] as const;
  /** Of each owner: several of each kind. */
  const COUNT = cases(500, 250);
  const ownerOf = ({ programId }: Kind): VoucherClient => (programId === 201 ? 'casa' : 'nord');
  const isOwner = (client: VoucherClient) => OWNERS.some((owner) => owner === client);

  const SITES: Readonly<Record<VoucherClient, readonly number[]>> = {
    ...{ nord: [], casa: [], lonely: [1301] },
    ...{ preisblick: [1101], preisblickAll: [1101, 1102], deals: [1201, 1202, 1203] },
  };

  const connected = (siteId: number, programId: number) =>
    VOUCHER_NETWORK.connections.some((one) => one.siteId === siteId && one.programId === programId);

  /** Whether a voucher is for the eyes of a client (decisions V10, V18). */
  function sees(client: VoucherClient, kind: Kind): boolean {
    if (isOwner(client)) return ownerOf(kind) === client;
    const { programId, siteIds, window } = kind;
    const { publishStartDate = NOW, publishEndDate = NOW } = window;
    if (programId === PAUSED || publishStartDate > NOW || publishEndDate < NOW) return false;
    return SITES[client].some((site) => connected(site, programId) && (siteIds?.includes(site) ?? true));
  }

  /** While the vouchers are posted it is active, afterwards paused. */
  const PAUSED = 104;

  /** Publication windows: open, of now, and two that now is outside of. */
  const WINDOWS = [
    {},
    { publishStartDate: NOW, publishEndDate: NOW + DAY },
    { publishStartDate: NOW + 1 },
    { publishEndDate: NOW - 1 },
  ] as const;

  const KINDS: readonly Kind[] = [101, 102, 103, PAUSED, 201].flatMap((programId) =>
    [undefined, [1101], [1102], [1201], [1202], [1203], [1101, 1202], [1202, 1203]]
      .filter((siteIds = []) => siteIds.every((siteId) => connected(siteId, programId)))
      .flatMap((siteIds) => WINDOWS.map((window) => ({ programId, siteIds, window }))),
  );

  /** What is posted of a voucher; its word is one that no other has. */
  const fieldsOf = ({ window, ...kind }: Kind, word: string) => ({ ...kind, ...window, description: word });

  let app: TestApp;
  const { get, list, remove, post } = voucherClientOf(() => app);
  const known = new Map<number, Kind>();
  const words = new Map<number, string>();
  let ids: readonly number[];

  const bulk = (client: VoucherClient, vouchers: readonly object[]) =>
    app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS[client], body: JSON.stringify(vouchers) });

  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
    const programs = VOUCHER_NETWORK.programs.map((one) => ({ ...one, status: 'active' }));
    await app.import({ ...VOUCHER_NETWORK, programs });
    for (const owner of OWNERS) {
      const own = KINDS.filter((kind) => ownerOf(kind) === owner);
      const posted = Array.from({ length: COUNT }, (_, place) => own[place % own.length]!);
      const answer = await bulk(
        owner,
        posted.map((kind, place) =>
          voucher({ ...fieldsOf(kind, `${owner}${place}`), sourceId: `s${place}` }),
        ),
      );
      answer.json<{ id: number }[]>().forEach(({ id }, place) => {
        known.set(id, posted[place]!);
        words.set(id, `${owner}${place}`);
      });
    }
    ids = [...known.keys()].sort((a, b) => b - a);
    await app.import(VOUCHER_NETWORK);
    await app.settled();
  });
  afterAll(() => app.close());

  interface Refused {
    readonly errors?: readonly { readonly code: string }[];
  }

  /** Versions, edits and deletions are the log's: over servers every eighth voucher has to do. */
  const isTried = (id: number): boolean => !OVER_SERVERS || id % 8 === 0;

  /** The statuses of requests about each voucher that is chosen. */
  async function statuses(
    chosen: readonly number[],
    ask: (id: number) => Promise<Response>,
  ): Promise<ReadonlySet<number>> {
    const found = new Set<number>();
    for (let at = 0; at < chosen.length; at += 50) {
      const answers = await Promise.all(chosen.slice(at, at + 50).map(ask));
      for (const { statusCode } of answers) found.add(statusCode);
    }
    return found;
  }

  const theirs = (client: VoucherClient) => ids.filter((id) => sees(client, known.get(id)!));
  const owned = (client: VoucherClient) => ids.filter((id) => ownerOf(known.get(id)!) === client);
  const foreign = (client: VoucherClient) => ids.filter((id) => ownerOf(known.get(id)!) !== client);

  describe.each(VOUCHER_CLIENTS)(`Of ${2 * COUNT} vouchers of two advertisers, %s`, (client) => {
    it('lists exactly the visible vouchers, with any keys (decisions V5, V10)', async () => {
      expect(known.size).toBe(2 * COUNT);
      const forAny = theirs(client).filter((id) => known.get(id)!.siteIds === undefined);
      const listings = [
        ...[
          '',
          ';keywords=delivery',
          `;id=${ids.join(',')}`,
          ';minEndDate=0',
          ';programId=101,102,103,104,201',
        ].map((keys) => [keys, theirs(client)] as const),
        [';siteSpecific=false', forAny] as const,
      ];
      for (const [keys, wanted] of listings)
        expect([keys.slice(0, 20), idsOf(await list(keys, client))]).toEqual([keys.slice(0, 20), wanted]);
      const inXml = (await get('.xml', client)).body.matchAll(/<voucher><id>(\d+)/g);
      expect([...inXml].map(([, id]) => Number(id))).toEqual(theirs(client));
    });

    it('finds each visible voucher by id and by word, and no other', async () => {
      const listing = (all: readonly number[]): readonly string[] => [
        `;id=${all.join(',')}`,
        `;keywords=${all.map((id) => words.get(id)!).join(',')}`,
      ];
      const seen = theirs(client);
      const unseen = ids.filter((id) => !sees(client, known.get(id)!));
      for (const wanted of [seen, []])
        for (const keys of listing(wanted.length > 0 ? seen : unseen))
          expect(idsOf(await list(keys, client))).toEqual(wanted);
      for (const id of ids.filter((_, place) => place % (OVER_SERVERS ? 100 : 20) === 0))
        for (const keys of listing([id]))
          expect([keys, idsOf(await list(keys, client))]).toEqual([keys, seen.filter((one) => one === id)]);
    });

    it('sees versions of its own vouchers only (decisions V17)', async () => {
      const versions = (id: number) => get(`/${id}/versions`, client);
      expect([...(await statuses(owned(client).filter(isTried), versions))]).toEqual(
        isOwner(client) ? [200] : [],
      );
      expect([...(await statuses(foreign(client).filter(isTried), versions))]).toEqual([404]);
    });

    it('cannot edit or delete those of others, and writes nothing by trying', async () => {
      const head = await app.engines.log.head();
      const others = foreign(client);
      expect([...(await statuses(others.filter(isTried), (id) => remove(id, client)))]).toEqual([400]);
      const edit = (id: number) =>
        voucher({ ...fieldsOf(known.get(id)!, 'mine'), title: 'Mine', sourceId: String(id) });
      for (const id of others.filter((_, place) => place % 50 === 0))
        expect(refusalOf(await post(edit(id), client)).codes).toBe('400 102');
      const answer = await bulk(client, others.map(edit));
      // Publishers are refused as a whole (decisions V18).
      const refusals = isOwner(client) ? answer.json<Refused[]>() : [answer.json<Refused>()];
      expect(refusals).toHaveLength(isOwner(client) ? others.length : 1);
      expect(new Set(refusals.map(({ errors }) => errors?.[0]?.code))).toEqual(new Set(['102']));
      expect(await app.engines.log.head()).toBe(head);
    });
  });

  it('an advertiser who posts ids of another’s vouchers for its own program gets new vouchers (decisions V2)', async () => {
    const before = await list('', 'nord');
    const stolen = owned('nord')
      .filter(isTried)
      .map((id) => voucher({ programId: 201, sourceId: String(id), title: 'Mine' }));
    const made = (await bulk('casa', stolen)).json<{ id: number }[]>();
    await app.settled();
    expect(made.filter(({ id }) => known.has(id))).toEqual([]);
    expect(await list('', 'nord')).toEqual(before);
  });
});
