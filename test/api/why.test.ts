import { type Visibility } from '../../src/network/visibility';
import { type Response, TestApp } from '../support/app';
import { type Client, FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';
import { DAY, idsOf, NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

let app: TestApp;
let now = NOW;
beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

const { post, search } = clientOf(() => app);
const { create, remove, list } = voucherClientOf(() => app);

/** Publishers, by a site or by all of theirs, as operators name them. */
const VIEWERS = {
  preisblick: ';siteId=1101',
  preisblickAll: ';publisher=11',
  deals: ';publisher=12',
  lonely: ';publisher=13',
} as const satisfies Partial<Record<Client, string>>;

type ViewerName = keyof typeof VIEWERS;
const viewers = Object.keys(VIEWERS) as readonly ViewerName[];

const why = (what: string, token: string = OTHER_TOKENS.operator): Promise<Response> =>
  app.get(`/ops/1.0/why/${what}`, { token });
const visibilityOf = (answer: Response): Visibility => {
  expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
  return answer.json<Visibility>();
};
/** The conditions that do not hold, each with its remedy. */
const failing = ({ conditions }: Visibility) =>
  Object.fromEntries(
    conditions.flatMap(({ holds, condition, remedy }) => (holds ? [] : [[condition, remedy]])),
  );

describe('why a product is visible or not (decisions X110)', () => {
  beforeAll(async () => {
    for (const [name, fid] of Object.entries(FEEDS)) {
      const by = name === 'italian' ? 'casa' : 'nord';
      await post(fid, [product('mapped'), product('unmapped', { categories: [{ name: 'Headphone' }] })], {
        by,
      });
    }
  });

  it.each(viewers)('is visible to %s just if a search of theirs has it', async (viewer) => {
    for (const fid of Object.values(FEEDS)) {
      const found = await search(`;fid=${fid}`, viewer).then(
        ({ ids }) => ids,
        (): readonly string[] => [],
      );
      for (const spId of ['mapped', 'unmapped', 'none']) {
        const answer = visibilityOf(await why(`product;fid=${fid};spId=${spId}${VIEWERS[viewer]}`));
        expect([fid, spId, answer.visible]).toEqual([fid, spId, found.includes(spId)]);
      }
    }
  });

  it('says of each condition what it depends on, and what helps if it does not hold', async () => {
    const of = async (keys: string) => visibilityOf(await why(`product;${keys}`));
    const mapped = await of(`fid=${FEEDS.german};spId=mapped`);
    expect(mapped.visible).toBe(true);
    expect(mapped.conditions.map(({ condition, found }) => `${condition}: ${found}`)).toEqual([
      expect.stringMatching(
        /^projected: the read model products is live, as of position (\d+); the log ends at \1$/,
      ),
      'stored: Product mapped, 10.00 EUR, last changed at 2026-03-01T12:00:00.000Z',
      'mapped: category 1 is mapped to 1 (Electronics)',
      `feed active: "active" of feed ${FEEDS.german} (Germany) is true`,
      `feed visible: "visible" of feed ${FEEDS.german} (Germany) is true`,
      'connected: 3 sites are connected to program 101',
      'not parked: all its events could be used',
    ]);
    expect(failing(await of(`fid=${FEEDS.inactive};spId=unmapped;siteId=1301`))).toEqual({
      mapped: expect.stringMatching(
        /^affilog mappings map --feed 22003 --name 'Headphone' --category 11; similar ones: 11 \(Electronics > Headphones\)/,
      ),
      'feed active': expect.stringContaining('affilog network import'),
      connected: expect.stringContaining('"connections"'),
    });
    const [, , , , , connected] = (await of(`fid=${FEEDS.german};spId=mapped;publisher=13`)).conditions;
    expect(connected?.found).toBe('publisher 13 (Lonely) has site 1301: none is connected to program 101');
    expect(failing(await of(`fid=${FEEDS.unconnected};spId=none`))).toEqual({
      stored: expect.stringContaining(`/1.0/products/imports;fid=${FEEDS.unconnected}`),
      connected: expect.stringContaining('"connections"'),
    });
  });

  it('is visible as the read model has it, also while that is behind the log, or parked', async () => {
    const other = app.engines;
    const behind = jest.spyOn(other.store, 'checkpoint').mockResolvedValue('0'.repeat(19));
    try {
      const { visible, conditions } = visibilityOf(await why(`product;fid=${FEEDS.german};spId=mapped`));
      const projected = conditions.find(({ condition }) => condition === 'projected');
      expect([visible, projected?.holds]).toEqual([true, false]);
    } finally {
      behind.mockRestore();
    }
  });

  it('is answered to its advertiser, with what advertisers can do; to nobody else', async () => {
    const ask = (fid: number, token: string) =>
      app.get(`/1.0/products/visibility;fid=${fid};spId=unmapped`, { token });
    const own = visibilityOf(await ask(FEEDS.invisible, TOKENS.nord));
    expect(failing(own)).toEqual({
      mapped: expect.stringMatching(
        /^post it with the id of a category of \/1.0\/productCategories; similar ones: 11/,
      ),
      'feed visible': 'ask the network to set it to true',
    });
    expect(JSON.stringify(own)).not.toMatch(/affilog |position|publisher 1/);
    const xml = await app.get(`/1.0/products/visibility.xml;fid=${FEEDS.german};spId=mapped`, {
      token: TOKENS.nord,
    });
    expect([xml.statusCode, xml.body]).toEqual([200, expect.stringContaining('<visible>true</visible>')]);
    expect(outcome(await ask(FEEDS.italian, TOKENS.nord))).toBe('400 PF_392');
    expect(outcome(await ask(FEEDS.german, TOKENS.preisblick))).toBe('400 PF_300');
    expect((await why(`product;fid=${FEEDS.german};spId=mapped`, TOKENS.nord)).statusCode).toBe(403);
  });

  it.each([
    ['product;fid=7;spId=mapped', 'feed 7: expected the id of a feed'],
    [`product;fid=${FEEDS.german};spId=mapped;siteId=7`, 'site 7: expected the id of a site'],
    [
      `product;fid=${FEEDS.german};spId=mapped;publisher=1`,
      'publisher 1: expected the id of an organisation',
    ],
    [
      `product;fid=${FEEDS.german};spId=mapped;publisher=12;siteId=1101`,
      'site 1101: expected a site of publisher 12',
    ],
    ['voucher;id=7000', '7000: expected the id of a voucher'],
  ])('answers %s with 404', async (asked, message) => {
    const { statusCode, body } = await why(asked);
    expect([statusCode, body]).toEqual([404, expect.stringContaining(message)]);
  });
});

describe('why a voucher is visible or not (decisions X110)', () => {
  it('is visible to a publisher just if its listing has it', async () => {
    const vouchers = [
      await create(),
      await create({ siteIds: [1101] }),
      await create({ siteIds: [1202, 1203] }),
      await create({ programId: 102 }),
      await create({ publishStartDate: NOW + DAY, publishEndDate: NOW + 2 * DAY }),
      await create({ endDate: NOW + DAY }),
      await create({ programId: 201 }, 'casa'),
    ];
    const withdrawn = await create();
    await remove(withdrawn);
    const expectSame = async (): Promise<void> => {
      for (const viewer of viewers) {
        const listed = idsOf(await list('', viewer));
        for (const id of [...vouchers, withdrawn]) {
          const { visible } = visibilityOf(await why(`voucher;id=${id}${VIEWERS[viewer]}`));
          expect([viewer, now, id, visible]).toEqual([viewer, now, id, listed.includes(id)]);
        }
      }
    };
    for (now of [NOW, NOW + DAY, NOW + DAY + 1, NOW + 2 * DAY + 1]) await expectSame();
    now = NOW;
    const programs = VOUCHER_NETWORK.programs.map((one) =>
      Reflect.get(one, 'id') === 101 ? { ...one, status: 'paused' } : one,
    );
    await app.import({ ...VOUCHER_NETWORK, programs });
    await expectSame();
    expect(failing(visibilityOf(await why(`voucher;id=${vouchers[2] ?? 0};siteId=1101`)))).toEqual({
      'program active': expect.stringContaining('"active"'),
      'for the site': expect.stringContaining('siteIds'),
    });
    expect(failing(visibilityOf(await why(`voucher;id=${withdrawn}`)))).toEqual({
      published: 'a withdrawn voucher stays so: post another one',
    });
  });
});
