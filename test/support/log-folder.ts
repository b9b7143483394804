import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenedLog, type openLog } from '../../src/engines/embedded/log/open-log';
import { type LogFixture } from '../contracts/event-log';

/** A temporary folder for one test, and the file for its log. */
export interface LogFolder {
  readonly folder: string;
  readonly file: string;
  readonly remove: () => Promise<void>;
}

export async function logFolder(): Promise<LogFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-log-'));
  return { folder, file: join(folder, 'log.sqlite'), remove: () => rm(folder, { recursive: true }) };
}

/** A log in a temporary folder for the contract, opened from source or from compiled code. */
export async function logFixture(open: typeof openLog, threads: boolean): Promise<LogFixture> {
  const { file, remove } = await logFolder();
  let opened: OpenedLog = await open(file, threads);
  return {
    log: opened.log,
    reopen: async () => {
      await opened.log.close();
      opened = await open(file, threads);
      return opened.log;
    },
    close: async () => {
      await opened.log.close();
      await remove();
    },
  };
}
