import { vouchers } from '../../projections/vouchers';
import { rebuild } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { DAY, NOW, VOUCHER_CLIENTS, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

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
