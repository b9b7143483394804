import { directoryAt } from '../../../src/network/directory';
import { openEngines } from '../../../src/engines/open';
import { folderWithNetwork, removeFolder, Server } from '../../support/server';
import { smallNetwork } from '../../support/small-network';
import { approved, eventsOfTransaction, report, sale } from '../../support/transactions';

const DAY = 86_400_000;

test('a server approves what is due when it starts, and what becomes due within a second (decisions T4)', async () => {
  const folder = await folderWithNetwork({}, smallNetwork());
  const settings = { dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const engines = await openEngines(settings);
  const { log } = engines;
  const reported = async (end: number): Promise<string> =>
    report(log, await directoryAt(log), new Date(end - 14 * DAY), sale());
  const after = await log.head();
  await reported(Date.now() - DAY);
  const server = await Server.start(folder);
  try {
    await approved(log, { after, count: 1 });
    const end = Date.now() + 100;
    const id = await reported(end);
    await approved(log, { after, count: 2 });
    const [, , moved] = await eventsOfTransaction(log, id);
    expect(Date.parse(moved?.data.at ?? '')).toBeGreaterThanOrEqual(end);
    const health = (await (await fetch(`${server.url}/health/ready`)).json()) as object;
    expect(health).not.toHaveProperty('automation');
    expect([server.stderr, await server.end()]).toEqual(['', 0]);
  } finally {
    await server.end('SIGKILL');
    await engines.close();
    await removeFolder(folder);
  }
});
