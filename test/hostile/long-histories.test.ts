import { DIST } from '../support/built';
import { PATIENCE_MS } from '../support/heavy-reads';
import { HISTORY_NETWORK, readHistories, writeHistory } from '../support/long-histories';
import { folderWithNetwork, removeFolder, Server } from '../support/server';

const AMENDMENTS = 1_500;

it('60 slow readers of a history of 81 MB do not end a process with a heap of 192 MB (decisions T6, X70)', async () => {
  const folder = await folderWithNetwork({}, HISTORY_NETWORK);
  await writeHistory(folder, AMENDMENTS, 54_000);
  const command = [process.execPath, '--max-old-space-size=192', `${DIST}/src/main.js`, 'serve'];
  const server = await Server.start(folder, { command });
  const { live, ready, answers } = await readHistories(server, 60);
  expect(Math.max(live, ready)).toBeLessThan(PATIENCE_MS);
  expect(answers.map(({ status, count }) => [status, count])).toEqual(Array(2).fill([200, AMENDMENTS + 2]));
  expect(await server.end()).toBe(0);
  await removeFolder(folder);
});
