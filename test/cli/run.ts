import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Directory } from '../../src/network/directory';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { runCli } from '../../src/cli/run-cli';
import { type StartProcess } from '../../src/app/serve';
import { eventsOf } from '../support/temporary-log';
import { written } from '../support/written';

/** Output and exit code of a run. */
export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs the program in this process. Starting a server is an error unless `start` is given. `terminal`: what is typed in
 * one.
 */
export async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  {
    start = unexpectedStart,
    stopping = new AbortController(),
    terminal,
  }: { start?: StartProcess; stopping?: AbortController; terminal?: string } = {},
): Promise<Run> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const stopSignal = (): AbortSignal => stopping.signal;
  const stdin = Object.assign(new PassThrough(), { isTTY: terminal !== undefined });
  if (terminal !== undefined) stdin.end(terminal);
  const code = await runCli(args, { environment, stdout, stderr, stdin, stopSignal, start, threads: false });
  return { code, out: written(stdout), err: written(stderr) };
}

const unexpectedStart: StartProcess = () => Promise.reject(new Error('unexpected start'));

/** A temporary folder for each test. */
export function cliFolder() {
  let folder = '';
  const dataDir = (): string => join(folder, 'data');
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'affilog-cli-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  return {
    dataDir,
    /** Environment with the data folder. */
    settings: (): { readonly DATA_DIR: string } => ({ DATA_DIR: dataDir() }),
    pathOf: (name: string): string => join(folder, name),
    /** Writes a file, JSON by default, and returns its path. */
    fileOf: async (content: unknown, name = 'network.json'): Promise<string> => {
      const file = join(folder, name);
      const isRaw = typeof content === 'string' || Buffer.isBuffer(content);
      await writeFile(file, isRaw ? content : JSON.stringify(content));
      return file;
    },
    /** The directory as of the log in the data folder. */
    directory: async (): Promise<Directory> => {
      const { log } = await openLog(join(dataDir(), 'log.sqlite'), false);
      const directory = new Directory();
      for (const event of await eventsOf(log)) directory.apply(event);
      await log.close();
      return directory;
    },
  };
}
