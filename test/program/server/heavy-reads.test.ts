import {
  abandonSearches,
  listLargeVouchers,
  readTogether,
  searchLargeProducts,
  searchManyWords,
} from '../../support/heavy-read-attacks';
import { DIST } from '../../support/built';
import { HEAVY_NETWORK, PATIENCE_MS } from '../../support/heavy-reads';
import { HISTORY_NETWORK, readHistories, writeHistory } from '../../support/long-histories';
import { folderWithNetwork, removeFolder, Server } from '../../support/server';

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

it('abandoned searches are cancelled, and others are answered (decisions X70)', async () => {
  const outcome = await abandonSearches(server, { products: 200, characters: 20_000, requests: 100 });
  onTime(outcome);
  expect(outcome.answers.map(({ status }) => status)).toEqual([200]);
  const readers = await readTogether(server, 40);
  onTime(readers);
  expect(new Set(readers.answers.map(({ status }) => status))).toEqual(new Set([200]));
});

it('searches for very many words do not block other requests (decisions X70, X71)', async () => {
  const outcome = await searchManyWords(server, { products: 5_000, words: 900, requests: 4 });
  onTime(outcome);
  expect(outcome.answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
  for (const { status } of outcome.slow) expect([200, 400]).toContain(status);
});

it('large texts are answered completely (decisions X72)', async () => {
  const listed = await listLargeVouchers(server, 100);
  const found = await searchLargeProducts(server, 40);
  for (const outcome of [listed, found]) onTime(outcome);
  expect([...listed.answers, ...found.answers].map(({ status, count }) => [status, count])).toEqual(
    [100, 100, 101, 40, 40, 41].map((count) => [200, count]),
  );
});

it('slow readers of a long history do not end a process with a small heap (decisions T6, X70)', async () => {
  const long = await folderWithNetwork({}, HISTORY_NETWORK);
  await writeHistory(long, 400, 54_000);
  const command = [process.execPath, '--max-old-space-size=128', `${DIST}/src/main.js`, 'serve'];
  const small = await Server.start(long, { command });
  const outcome = await readHistories(small, 20);
  onTime(outcome);
  expect(outcome.answers.map(({ status, count }) => [status, count])).toEqual(Array(2).fill([200, 402]));
  expect(await small.end()).toBe(0);
  await removeFolder(long);
});
