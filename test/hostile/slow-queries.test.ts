import { searchManyWords } from '../support/heavy-read-attacks';
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

it('searches for 1,000 words are stopped in time and do not block others (decisions X70, X71)', async () => {
  const outcome = await searchManyWords(server, { products: 100_000, words: 1_000, requests: 10 });
  onTime(outcome);
  expect(outcome.answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
  for (const { status } of outcome.slow) expect([200, 400]).toContain(status);
});
