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
} from './voucher-network';

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
      posted.map((kind, place) => voucher({ ...fieldsOf(kind, `${owner}${place}`), sourceId: `s${place}` })),
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
