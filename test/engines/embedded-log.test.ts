import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { eventLogContract } from '../contracts/event-log';

eventLogContract('SQLite in this thread', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-log-'));
  const file = join(folder, 'log.sqlite');
  let { log } = await openLog(file, false);
  return {
    log,
    reopen: async () => {
      await log.close();
      return ({ log } = await openLog(file, false)).log;
    },
    close: async () => {
      await log.close();
      await rm(folder, { recursive: true });
    },
  };
});
