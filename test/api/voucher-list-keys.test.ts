import { inRandomOrder } from '../support/random-order';
import { idsOf, NOW, type VoucherClient, voucherWorld } from './voucher-network';

const { create, list, passTo } = voucherWorld();

describe('The keys of a listing (Document 2, List keys)', () => {
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
    ];
    const found = async (words: string) => {
      const listed = idsOf(await list(`;keywords=${words}`));
      return ids.flatMap((id, place) => (listed.includes(id) ? [place] : []));
    };
    expect(await found('grosse')).toEqual([0]);
    expect(await found('GUNSTIG')).toEqual([1]);
    expect(await found('sale')).toEqual([2, 3]);
    expect(await found('lamps+sale')).toEqual([2]);
    expect(await found('xl,7')).toEqual([0, 3]);
    expect(await found('*')).toEqual([0, 1, 2, 3]);
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
