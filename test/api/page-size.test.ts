import { TestApp } from '../support/app';
import { FEEDS, TOKENS } from './network';
import { CONVERSION_NETWORK, CONVERSION_TOKENS } from './transaction-network';
import { VOUCHER_TOKENS } from './voucher-network';

const TOKEN_OF = {
  nord: TOKENS.nord,
  vouchers: VOUCHER_TOKENS.nord,
  conversions: CONVERSION_TOKENS.nord,
} as const;

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: CONVERSION_NETWORK });
});
afterAll(() => app.close());

const products = `/1.0/products;fid=${FEEDS.german}`;

it.each([
  [products, 'nord', undefined],
  [`${products};pageSize=1000`, 'nord', undefined],
  [`${products};pageSize=1001`, 'nord', '1000'],
  [`${products};pageSize=1001;cursor=*`, 'nord', '1000'],
  [`/1.0/products.csv;fid=${FEEDS.german};pageSize=5000`, 'nord', '1000'],
  [`/1.0/products.xml;fid=${FEEDS.german};pageSize=5000;groupOffersByProduct=true`, 'nord', '1000'],
  [`${products};limit=1000`, 'nord', undefined],
  [`${products};limit=5000`, 'nord', '100'],
  [`${products};limit=5000;pageSize=7`, 'nord', '7'],
  ['/1.0/vouchers', 'vouchers', undefined],
  ['/1.0/vouchers;pageSize=1000', 'vouchers', undefined],
  ['/1.0/vouchers;pageSize=1001', 'vouchers', '1000'],
  ['/1.0/vouchers.ics;pageSize=9999', 'vouchers', '1000'],
  ['/1.0/conversions/transactions;pageSize=1000', 'conversions', undefined],
  ['/1.0/conversions/transactions.xml;pageSize=1001', 'conversions', '1000'],
] as const)('%s for %s: X-Page-Size is %s (decisions P3, V16)', async (target, caller, size) => {
  const { statusCode, headers } = await app.get(target, { token: TOKEN_OF[caller] });
  expect([statusCode, headers['x-page-size']]).toEqual([200, size]);
});
