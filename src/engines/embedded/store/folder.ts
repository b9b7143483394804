import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { EngineUnavailable } from '../../../kernel/event-log';

/** What the store does with files as such. All raise `EngineUnavailable`, without a path. */
export function makeFolder(folder: string): void {
  onDisk(() => mkdirSync(folder, { recursive: true }));
}

export function filesIn(folder: string): readonly string[] {
  return onDisk(() => readdirSync(folder));
}

/** Removes files; those that are not there are no matter. */
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
