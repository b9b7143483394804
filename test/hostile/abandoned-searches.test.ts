import { abandonSearches, readTogether } from '../support/heavy-read-attacks';
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

it.each([
  [20_000, 400],
  [1_000, 400],
])(
  'abandoned searches for 1,000 products of %i characters are cancelled (decisions X70)',
  async (characters, requests) => {
    const outcome = await abandonSearches(server, { products: 1_000, characters, requests });
    onTime(outcome);
    expect(outcome.answers.map(({ status }) => status)).toEqual([200]);
    const readers = await readTogether(server, 200);
    onTime(readers);
    expect(new Set(readers.answers.map(({ status }) => status))).toEqual(new Set([200]));
  },
);
