import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { memoryOf } from './process-memory';

const PROGRAM = join(__dirname, '../src/main.js');

/** Further settings, as environment variables. */
export type Settings = Readonly<Record<string, string>>;

/** Starts the built program with a data folder and the arguments of a command. */
export function launch(
  dataDir: string,
  args: readonly string[],
  settings: Settings = {},
  stdio: StdioOptions = ['ignore', 'pipe', 'inherit'],
): ChildProcess {
  const env = {
    ...process.env,
    ...settings,
    DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'warn',
  };
  return spawn(process.execPath, [PROGRAM, ...args], { env, stdio });
}

/** Waits for a process to exit; raises unless it has succeeded. */
export async function ended(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} exited with ${String(code)}`);
}

/** How often the memory of a command is read (ms). */
const POLL_MS = 10;

/** Runs a command in a process of its own, without its output; returns the peak of its resident memory in MB. */
export async function peakMemoryOf(dataDir: string, args: readonly string[]): Promise<number> {
  const child = launch(dataDir, args, {}, 'ignore');
  const isOver = ended(child).then(() => true);
  let peak = 0;
  while (!(await Promise.race([isOver, pause(POLL_MS, false)]))) {
    // A process that has ended has none.
    const memory = memoryOf(child.pid ?? 0, 'VmHWM');
    if (memory > peak) peak = memory;
  }
  return peak;
}
