import { DAY, idsOf, NOW, VOUCHER_NETWORK, type VoucherClient, voucherWorld } from './voucher-network';

const world = voucherWorld();
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
  expect(await at(NOW, ';minEndDate=2026-03-02T12:00:00Z;maxStartDate=2026-03-01T12:00:00Z', 'nord')).toEqual(
    [id],
  );
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
