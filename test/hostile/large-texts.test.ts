import { listLargeVouchers, searchLargeProducts } from '../support/heavy-read-attacks';
import { HEAVY_NETWORK, PATIENCE_MS } from '../support/heavy-reads';
import { folderWithNetwork, removeFolder, Server } from '../support/server';

let folder: string;
let server: Server;
beforeEach(async () => {
  folder = await folderWithNetwork({}, HEAVY_NETWORK);
  server = await Server.start(folder);
});
afterEach(async () => {
  expect(await server.end()).toBe(0);
  await removeFolder(folder);
});

const onTime = ({ live, ready }: { readonly live: number; readonly ready: number }): void => {
  expect(Math.max(live, ready)).toBeLessThan(PATIENCE_MS);
};

it('1,000 vouchers with two texts of 65,535 characters to escape are listed (decisions X72)', async () => {
  const outcome = await listLargeVouchers(server, 1_000);
  onTime(outcome);
  expect(outcome.answers.map(({ status, count }) => [status, count])).toEqual([
    [200, 1_000],
    [200, 1_000],
    [200, 1_001],
  ]);
});

it('1,000 products of 250,000 characters to escape are found (decisions X72)', async () => {
  const outcome = await searchLargeProducts(server, 1_000);
  onTime(outcome);
  expect(outcome.answers.map(({ status, count }) => [status, count])).toEqual([
    [200, 1_000],
    [200, 1_000],
    [200, 1_001],
  ]);
});
