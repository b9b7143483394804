import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/**
 * Frees the files of connections that have been closed. SQLite keeps a file open until the statements prepared on it
 * are finalized, which the driver does when they are collected as garbage: an idle thread might never do that. It takes
 * as long as one full collection of this thread's heap, so it is for rare events such as a file that was removed.
 */
export function releaseClosedFiles(): void {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc') as () => void;
  collect();
}
