import fc from 'fast-check';
import { TestApp } from '../support/app';
import { cases } from '../support/size';
import { CLAIM_NETWORK, CLAIM_TOKENS, claimClientOf, claimOf } from './claim-network';
import { SEED } from './searches';
import {
  DAY,
  NOW,
  refusalOf,
  voucher,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  type VoucherClient,
  voucherClientOf,
} from './voucher-network';

const CLIENTS = Object.keys(VOUCHER_TOKENS) as readonly VoucherClient[];
/** Those who have a voucher and a claim of program 101. */
const SERVED = new Set<VoucherClient>(['nord', 'preisblick', 'preisblickAll', 'deals']);
const NETWORK = {
  ...CLAIM_NETWORK,
  tokens: [
    ...VOUCHER_NETWORK.tokens.filter(({ system }) => system === 'VOUCHERS'),
    ...CLAIM_NETWORK.tokens.filter(({ system }) => system !== 'VOUCHERS'),
  ],
};

let app: TestApp;
let now = NOW;
const vouchers = voucherClientOf(() => app);
const claims = claimClientOf(() => app);

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

type Item = Readonly<Record<string, unknown>>;

interface List {
  readonly path: string;
  readonly idOf: (item: Item) => number;
  readonly token: (client: VoucherClient) => string;
}

const VOUCHERS: List = {
  path: '/1.0/vouchers',
  idOf: ({ id }) => Number(id),
  token: (client) => VOUCHER_TOKENS[client],
};
const CLAIMS: List = {
  path: '/1.0/claims',
  idOf: ({ claimId }) => Number(claimId),
  token: (client) => CLAIM_TOKENS[client],
};

/** What a client has of a list that it follows, as `docs/following.md` says. */
class Copy {
  readonly items = new Map<number, Item>();
  since = '*';
  resets = 0;

  constructor(
    private readonly list: List,
    readonly client: VoucherClient,
    private readonly keys: string,
  ) {}

  /** Asks once. */
  async step(): Promise<{
    readonly listed: readonly Item[];
    readonly removed: readonly number[];
    readonly hasMore: boolean;
  }> {
    const { path, idOf } = this.list;
    const answer = await app.get(`${path};since=${this.since}${this.keys}`, {
      token: this.list.token(this.client),
    });
    expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
    const { headers } = answer;
    if (headers['x-since-reset'] === 'true') {
      this.items.clear();
      this.resets += 1;
    }
    const removed = String(headers['x-removed'] ?? '')
      .split(',')
      .filter((id) => id !== '')
      .map(Number);
    for (const id of removed) this.items.delete(id);
    const listed = answer.json<readonly Item[]>();
    for (const item of listed) this.items.set(idOf(item), item);
    this.since = String(headers['x-next-since']);
    return { listed, removed, hasMore: headers['x-has-more'] === 'true' };
  }

  async follow(): Promise<void> {
    while ((await this.step()).hasMore);
  }

  /** The list as anybody reads it. */
  async whole(): Promise<ReadonlyMap<number, Item>> {
    const answer = await app.get(this.list.path, { token: this.list.token(this.client) });
    return new Map(answer.json<readonly Item[]>().map((item) => [this.list.idOf(item), item]));
  }

  /** How many it has: all that are listed. */
  async compared(): Promise<number> {
    expect(sorted(this.items)).toEqual(sorted(await this.whole()));
    return this.items.size;
  }
}

/** Without what an answer makes of a claim at its time. */
const sorted = (items: ReadonlyMap<number, Item>): readonly (readonly [number, Item])[] =>
  [...items].sort(([a], [b]) => a - b).map(([id, item]) => [id, { ...item, daysToAutoApprove: undefined }]);

describe('following a list of vouchers or claims by since (decisions X135)', () => {
  it('has what was posted, edited and removed since, and nothing else', async () => {
    const copy = new Copy(VOUCHERS, 'preisblick', ';pageSize=1');
    const [kept, edited, gone] = [
      await vouchers.create({ sourceId: 'kept' }),
      await vouchers.create({ sourceId: 'edited' }),
      await vouchers.create({ sourceId: 'gone' }),
    ];
    await copy.follow();
    expect([...copy.items.keys()]).toEqual([kept, edited, gone]);
    expect(await copy.step()).toEqual({ listed: [], removed: [], hasMore: false });
    await vouchers.create({ sourceId: 'edited', title: 'Half the price' });
    await vouchers.remove(gone);
    await app.settled();
    expect(await copy.step()).toMatchObject({
      listed: [{ id: edited, title: 'Half the price' }],
      hasMore: true,
    });
    expect(await copy.step()).toEqual({ listed: [], removed: [gone], hasMore: false });
    expect(copy.resets).toBe(1);
    for (const id of [kept, edited]) await vouchers.remove(id);
  });

  it('has what time shows and hides', async () => {
    const copy = new Copy(VOUCHERS, 'preisblick', '');
    const own = new Copy(VOUCHERS, 'nord', '');
    const id = await vouchers.create({ publishStartDate: NOW + DAY, endDate: NOW + 2 * DAY });
    await copy.follow();
    await own.follow();
    expect([...copy.items.keys(), ...own.items.keys()]).toEqual([id]);
    now = NOW + DAY;
    expect(await copy.step()).toMatchObject({ listed: [{ id }], removed: [] });
    now = NOW + 2 * DAY;
    expect(await copy.step()).toEqual({ listed: [], removed: [], hasMore: false });
    now += 1;
    expect(await copy.step()).toEqual({ listed: [], removed: [id], hasMore: false });
    expect(await copy.step()).toEqual({ listed: [], removed: [], hasMore: false });
    expect(await own.step()).toEqual({ listed: [], removed: [], hasMore: false });
    now = NOW;
    await vouchers.remove(id);
  });

  it('says that a voucher is for other sites now, and nothing of those that never were for the caller', async () => {
    const copy = new Copy(VOUCHERS, 'preisblick', '');
    await copy.follow();
    const id = await vouchers.create({ sourceId: 'moved', siteIds: [1101] });
    await copy.follow();
    await vouchers.create({ sourceId: 'moved', siteIds: [1202] });
    const other = await vouchers.create({ sourceId: 'other', siteIds: [1202] });
    await vouchers.create({ sourceId: 'other', siteIds: [1202], title: 'Another' });
    await app.settled();
    expect(await copy.step()).toEqual({ listed: [], removed: [id], hasMore: false });
    for (const one of [id, other]) await vouchers.remove(one);
    await app.settled();
    expect(await copy.step()).toEqual({ listed: [], removed: [id], hasMore: false });
  });

  it('begins anew where connections, programs or keys have changed, and says so', async () => {
    const id = await vouchers.create();
    const copy = new Copy(VOUCHERS, 'preisblick', '');
    await copy.follow();
    await app.import({ ...NETWORK, connections: [{ siteId: 1202, programId: 101 }] }, { prune: true });
    await copy.follow();
    expect([copy.resets, ...copy.items.keys()]).toEqual([2]);
    await app.import(NETWORK, { prune: true });
    await copy.follow();
    expect([copy.resets, ...copy.items.keys()]).toEqual([3, id]);
    const { since } = copy;
    const answer = await vouchers.get(`;since=${since};voucherTypeId=3`);
    expect([answer.headers['x-since-reset'], answer.json()]).toEqual(['true', []]);
    const short = await vouchers.get(`;since=${since.replace(/^p0+/, 'p')}`);
    expect([short.headers['x-since-reset'], short.json()]).toEqual([undefined, []]);
    const foreign = await vouchers.get(`;since=p${'9'.repeat(19)}${since.slice(20)}`);
    expect([foreign.headers['x-since-reset'], foreign.json()]).toMatchObject(['true', [{ id }]]);
    await vouchers.remove(id);
  });

  it.each([
    [
      ';since=2026-01-01',
      '400 101',
      'since=2026-01-01: expected *, or the X-Next-Since of an answer to since',
    ],
    [';since=*;page=1', '400 101', 'page: cannot be combined with since, which lists what can be used now'],
    [';since=*;activeAt=0', '400 101', 'activeAt: cannot be combined with since'],
  ])('vouchers%s is refused: %s', async (keys, codes, message) => {
    const refusal = refusalOf(await vouchers.get(keys));
    expect(refusal).toMatchObject({ codes, message: expect.stringContaining(message) as string });
  });

  it.each([
    [';since=17', '400 UTS_430'],
    [';since=*;sortBy=claimId', '400 UTS_430'],
  ])('claims%s is refused: %s', async (keys, codes) => {
    expect(refusalOf(await claims.send('GET', `/claims${keys}`, 'nord')).codes).toBe(codes);
  });

  it(`copies stay equal to the lists through random changes, also of time and of the network (SEARCH_SEED=${SEED})`, async () => {
    const copies = CLIENTS.flatMap((client) => [
      new Copy(VOUCHERS, client, ';pageSize=3'),
      new Copy(CLAIMS, client, ';limit=2'),
    ]);
    const steps = fc.sample(step, { seed: SEED, numRuns: cases(400, 60) });
    for (const [at, one] of steps.entries()) {
      await take(one, at);
      await app.settled();
      for (const copy of copies) {
        if ((at + copies.indexOf(copy)) % 3 !== 0) continue;
        await copy.follow();
        await copy.compared();
      }
    }
    // Whatever came of the random changes, the last copies of both publishers have a voucher and a claim.
    await app.import(NETWORK, { prune: true });
    await vouchers.create({ sourceId: 'last', startDate: now, endDate: now + DAY });
    for (const [client, affiliateSiteId] of [
      ['preisblick', 1101],
      ['deals', 1202],
    ] as const) {
      const answer = await claims.file([claimOf(`last of ${client}`, { affiliateSiteId })], client);
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
    }
    await app.settled();
    for (const copy of copies) {
      await copy.follow();
      const count = await copy.compared();
      if (SERVED.has(copy.client)) expect(count).toBeGreaterThan(0);
    }
  });
});

const day = fc.integer({ min: -2, max: 6 });
const step = fc.oneof(
  fc.record({
    do: fc.constant('post' as const),
    sourceId: fc.integer({ min: 1, max: 12 }),
    sites: fc.constantFrom(undefined, [1101], [1202], [1101, 1202]),
    from: fc.option(day),
    days: fc.option(fc.integer({ min: 1, max: 6 })),
    end: fc.integer({ min: 1, max: 8 }),
  }),
  fc.record({ do: fc.constant('remove' as const), which: fc.nat() }),
  fc.record({ do: fc.constant('wait' as const), half: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('connect' as const), sites: fc.subarray([1101, 1202]) }),
  fc.record({ do: fc.constant('file' as const), client: fc.constantFrom('preisblick', 'deals') }),
  fc.record({ do: fc.constant('rule' as const), which: fc.nat(), statusId: fc.constantFrom(3, 5) }),
  fc.record({ do: fc.constant('withdraw' as const), which: fc.nat() }),
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What cannot be done, or is refused, changes nothing. */
async function take(one: Step, at: number): Promise<void> {
  switch (one.do) {
    case 'post': {
      const date = (days: number | null) => (days === null ? undefined : now + days * DAY);
      const dates = {
        publishStartDate: date(one.from),
        publishEndDate: date(one.days === null ? null : (one.from ?? 0) + one.days),
        endDate: now + Math.max(one.end, (one.from ?? 0) + 1) * DAY,
      };
      const { sourceId, sites } = one;
      const posted = {
        sourceId: `random ${sourceId}`,
        siteIds: sites,
        startDate: now,
        title: `Step ${at}`,
        ...dates,
      };
      await vouchers.post(voucher(posted));
      return;
    }
    case 'remove': {
      const listed = await vouchers.list('', 'nord');
      const chosen = listed[one.which % Math.max(1, listed.length)];
      if (chosen !== undefined) await vouchers.remove(chosen.id);
      return;
    }
    case 'wait':
      now += (one.half * DAY) / 2;
      return;
    case 'connect': {
      const others = NETWORK.connections.filter(({ programId }) => programId !== 101);
      const connections = [...others, ...one.sites.map((siteId) => ({ siteId, programId: 101 }))];
      await app.import({ ...NETWORK, connections }, { prune: true });
      return;
    }
    case 'file': {
      const site = one.client === 'deals' ? { affiliateSiteId: 1202 } : {};
      await claims.file([claimOf(`R-${at}`, site)], one.client);
      return;
    }
    case 'rule': {
      const listed = await claims.list('', 'nord');
      const chosen = listed[one.which % Math.max(1, listed.length)];
      const { claimId, versionNo } = chosen ?? {};
      if (chosen !== undefined) await claims.rule([{ claimId, versionNo, statusIdClaim: one.statusId }]);
      return;
    }
    case 'withdraw': {
      const client = one.which % 2 === 0 ? 'preisblick' : 'deals';
      const listed = await claims.list('', client);
      const chosen = listed[one.which % Math.max(1, listed.length)];
      if (chosen !== undefined)
        await claims.send('DELETE', `/claims/${chosen.claimId};versionNo=${chosen.versionNo}`, client);
    }
  }
}
