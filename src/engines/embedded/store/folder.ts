import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { EngineUnavailable } from '../../../kernel/event-log';

/** File operations of the store. All raise `EngineUnavailable`, without a path in the message. */
export function makeFolder(folder: string): void {
  onDisk(() => mkdirSync(folder, { recursive: true }));
}

export function filesIn(folder: string): readonly string[] {
  return onDisk(() => readdirSync(folder));
}

/** Removes files if they exist. */
export function removeFiles(paths: readonly string[]): void {
  onDisk(() => {
    for (const path of paths) rmSync(path, { force: true });
  });
}

function onDisk<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new EngineUnavailable(`the read store is not available: its folder cannot be used (${code})`, {
      cause: error,
    });
  }
}
