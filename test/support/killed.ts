import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DIST } from './built';

/**
 * Runs the program and kills it as soon as something is so, unless it has ended before; `meanwhile` happens first, while it
 * is stopped. Returns the signal by which it has ended.
 */
export async function killedWhen(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  isSo: () => boolean | Promise<boolean>,
  meanwhile?: () => Promise<void>,
): Promise<string | null> {
  const child = spawn(process.execPath, [join(DIST, 'src/main.js'), ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  let [hasEnded, isAsking] = [false, false];
  let done: Promise<void> | undefined;
  const watch = setInterval(() => {
    if (done !== undefined || isAsking) return;
    isAsking = true;
    void Promise.resolve(isSo()).then((so) => {
      isAsking = false;
      if (!so || hasEnded) return;
      child.kill('SIGSTOP');
      done = (meanwhile?.() ?? Promise.resolve()).finally(() => child.kill('SIGKILL'));
    });
  }, 1);
  const [, signal] = await exited;
  hasEnded = true;
  clearInterval(watch);
  await done;
  return signal;
}
