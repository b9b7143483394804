import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { releaseClosedFiles } from '../../src/engines/embedded/connection';
import { type OpenedLog, type openLog } from '../../src/engines/embedded/log/open-log';
import { type LogFixture } from '../contracts/event-log';

/** A folder for one test with the file of its log. */
export interface LogFolder {
  readonly folder: string;
  readonly file: string;
  readonly remove: () => Promise<void>;
}

export async function logFolder(): Promise<LogFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-log-'));
  return { folder, file: join(folder, 'log.sqlite'), remove: () => rm(folder, { recursive: true }) };
}

/**
 * Copies a data folder whose engines this process has closed, as after its end: no write-ahead logs are left to vanish.
 */
export async function copyFolder(from: string, to: string): Promise<void> {
  releaseClosedFiles();
  await cp(from, to, { recursive: true });
}

/** A log in a temporary folder for the contract suite, opened by source or compiled code. */
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
