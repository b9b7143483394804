import { attackSize } from '../../support/attack-run';
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
import { folderWithNetwork, ownServer, removeFolder, Server } from '../../support/server';

const own = ownServer({ each: true, network: HEAVY_NETWORK });

const onTime = ({ live, ready }: { readonly live: number; readonly ready: number }): void => {
  expect(Math.max(live, ready)).toBeLessThan(PATIENCE_MS);
};

const ABANDONED = attackSize({
  small: [{ products: 200, characters: 20_000, requests: 100, readers: 40 }],
  large: [20_000, 1_000].map((characters) => ({ products: 1_000, characters, requests: 400, readers: 200 })),
});

it.each(ABANDONED)(
  'abandoned searches for $products products of $characters characters are cancelled, and others are answered (decisions X70)',
  async ({ readers, ...searches }) => {
    const outcome = await abandonSearches(own.server, searches);
    onTime(outcome);
    expect(outcome.answers.map(({ status }) => status)).toEqual([200]);
    const read = await readTogether(own.server, readers);
    onTime(read);
    expect(new Set(read.answers.map(({ status }) => status))).toEqual(new Set([200]));
  },
);

it('searches for very many words are stopped in time and do not block other requests (decisions X70, X71)', async () => {
  const outcome = await searchManyWords(
    own.server,
    attackSize({
      small: { products: 5_000, words: 900, requests: 4 },
      large: { products: 100_000, words: 1_000, requests: 10 },
    }),
  );
  onTime(outcome);
  expect(outcome.answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
  for (const { status } of outcome.slow) expect([200, 400]).toContain(status);
});

it('large texts are answered completely (decisions X72)', async () => {
  const { vouchers, products } = attackSize({
    small: { vouchers: 100, products: 40 },
    large: { vouchers: 1_000, products: 1_000 },
  });
  const listed = await listLargeVouchers(own.server, vouchers);
  const found = await searchLargeProducts(own.server, products);
  for (const outcome of [listed, found]) onTime(outcome);
  expect([...listed.answers, ...found.answers].map(({ status, count }) => [status, count])).toEqual(
    [vouchers, vouchers, vouchers + 1, products, products, products + 1].map((count) => [200, count]),
  );
});

it('slow readers of a long history do not end a process with a small heap (decisions T6, X70)', async () => {
  const { readers, amendments, heapMb } = attackSize({
    small: { readers: 20, amendments: 400, heapMb: 128 },
    large: { readers: 60, amendments: 1_500, heapMb: 192 },
  });
  const long = await folderWithNetwork({}, HISTORY_NETWORK);
  await writeHistory(long, amendments, 54_000);
  const command = [process.execPath, `--max-old-space-size=${heapMb}`, `${DIST}/src/main.js`, 'serve'];
  const small = await Server.start(long, { command });
  const outcome = await readHistories(small, readers);
  onTime(outcome);
  expect(outcome.answers.map(({ status, count }) => [status, count])).toEqual(
    Array(2).fill([200, amendments + 2]),
  );
  expect(await small.end()).toBe(0);
  await removeFolder(long);
});
