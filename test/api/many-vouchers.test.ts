import { TestApp } from '../support/app';
import { NOW, voucher, VOUCHER_NETWORK, VOUCHER_TOKENS, voucherClientOf } from './voucher-network';

let app: TestApp;
const { list } = voucherClientOf(() => app);

beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
});
afterAll(() => app.close());

it('a listing has 1,000 vouchers unless it is asked for fewer, and any page can be had (Document 2, Limits: List pageSize default; decisions V16)', async () => {
  const many = Array.from({ length: 1000 }, () => voucher({ description: 'x' }));
  for (const count of [1000, 5]) {
    const body = JSON.stringify(many.slice(0, count));
    const answer = await app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS.nord, body });
    expect(answer.statusCode).toBe(200);
  }
  await app.settled();
  expect(await list()).toHaveLength(1000);
  expect(await list(';pageSize=5000', 'nord')).toHaveLength(1000);
  expect(await list(';page=1')).toHaveLength(5);
  expect(await list(';page=100')).toEqual([]);
}, 120_000);
