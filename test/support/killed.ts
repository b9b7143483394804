import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DIST } from './built';

interface MomentOptions {
  readonly nth?: number | undefined;
  readonly signal?: NodeJS.Signals;
  /** None counts as long as there is no file with this path. */
  readonly once?: string;
}

/** The environment in which a program gets a signal, by default SIGKILL, at a moment of its work (`at-moment.cjs`). */
export function signalAt(
  moment: string,
  { nth = 1, signal = 'SIGKILL', once }: MomentOptions = {},
): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--require ${JSON.stringify(join(__dirname, 'at-moment.cjs'))}`,
    AT_MOMENT: JSON.stringify({ moment, nth, signal, once }),
  };
}

/**
 * Runs the program and kills it at a moment; `meanwhile` happens first, while it is stopped. Returns the signal by
 * which it has ended: null if there was no such moment.
 */
export async function killedAt(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  moment: string,
  {
    nth = 1,
    meanwhile,
  }: { readonly nth?: number; readonly meanwhile?: (pid: number) => Promise<void> | void } = {},
): Promise<string | null> {
  const signal = meanwhile === undefined ? 'SIGKILL' : 'SIGSTOP';
  const child = spawn(process.execPath, [join(DIST, 'src/main.js'), ...args], {
    env: { PATH: process.env.PATH, ...environment, ...signalAt(moment, { nth, signal }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  try {
    for await (const text of child.stderr.setEncoding('utf8'))
      if (meanwhile !== undefined && String(text).includes('STOPPED\n')) {
        await meanwhile(child.pid ?? 0);
        child.kill('SIGKILL');
      }
  } finally {
    child.kill('SIGKILL');
  }
  return (await exited)[1];
}

/**
 * Runs the program and kills it as soon as something is so in a server, unless it has ended before. Returns the signal
 * by which it has ended. For what the process itself does there is `killedAt`.
 */
export async function killedWhen(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  isSo: () => boolean | Promise<boolean>,
): Promise<string | null> {
  const child = spawn(process.execPath, [join(DIST, 'src/main.js'), ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  let isAsking = false;
  const watch = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    void Promise.resolve(isSo()).then((so) => {
      isAsking = false;
      if (so) child.kill('SIGKILL');
    });
  }, 1);
  const [, signal] = await exited;
  clearInterval(watch);
  return signal;
}
