import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { readConfig } from '../../../src/settings/config';
import { built } from '../../support/built';

/** Threads of this process (Linux). */
const threads = (): number => readdirSync('/proc/self/task').length;

test('an API that cannot be opened ends the threads that it has started', async () => {
  const { openApi } = built('src/app/api') as typeof import('../../../src/app/api');
  const { baseOver } = built('src/app/opened') as typeof import('../../../src/app/opened');
  const { openEngines } = built('src/engines/open') as typeof import('../../../src/engines/open');
  const dataDir = await mkdtemp(join(tmpdir(), 'affilog-api-'));
  const config = readConfig({ DATA_DIR: dataDir });
  const base = baseOver(SYSTEM_CLOCK, await openEngines({ ...config, threads: true, readers: 1 }));
  const reported: unknown[] = [];
  try {
    await base.follower.ready;
    // A folder where there should be files of downloads: it cannot be removed like them.
    await mkdir(join(dataDir, 'spool/left.download'), { recursive: true });
    const before = threads();
    const options = {
      ...base,
      clock: SYSTEM_CLOCK,
      config,
      threads: true,
      report: (failure: unknown) => reported.push(failure),
    };
    await expect(openApi(options)).rejects.toThrow(/left\.download/);
    while (threads() > before) await turn();
    expect(reported).toEqual([]);
  } finally {
    await base.close();
    await rm(dataDir, { recursive: true });
  }
});
