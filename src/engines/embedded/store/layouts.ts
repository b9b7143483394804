import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { closeDatabase, onDisk, openDatabase } from '../connection';
import { LAYOUT_VERSION } from './layout';

const FOLDER = /^layout-\d+$/;
const GENERATION = /-g\d+\.sqlite(-wal|-shm|-journal)?$/;

/**
 * The folder of the store with this layout. Each layout has one, so that builds with different layouts can use a data
 * folder side by side: none ever sees, let alone reads, generations of another.
 */
export function layoutFolder(folder: string, layout = LAYOUT_VERSION): string {
  return join(folder, `layout-${layout}`);
}

/**
 * Removes the generations of other layouts beside a store, except those of a store that is open in any process. Earlier
 * builds had theirs in the folder itself. The registry, which is small, stays: whoever opens it meanwhile, or later,
 * finds no generations.
 */
export function removeOtherLayouts(directory: string, subject: string): void {
  const folder = dirname(directory);
  const layouts = onDisk(subject, () => readdirSync(folder)).filter((name) => FOLDER.test(name));
  const stores = [folder, ...layouts.map((name) => join(folder, name))];
  for (const store of stores) if (store !== directory) removeUnlessOpen(store, subject);
}

function removeUnlessOpen(store: string, subject: string): void {
  const files = (): readonly string[] => readdirSync(store).filter((name) => GENERATION.test(name));
  if (onDisk(subject, files).length === 0) return;
  try {
    // Fails while anybody has it open: SQLite holds a lock on a file with a WAL as long as it is connected.
    const registry = openDatabase(join(store, 'registry.sqlite'), { timeout: 0 }, (database) => {
      database.exec('PRAGMA locking_mode = EXCLUSIVE; DELETE FROM generations');
    });
    try {
      for (const name of files()) rmSync(join(store, name), { force: true });
    } finally {
      closeDatabase(registry);
    }
  } catch {
    // In use, or damaged: the next sweep tries again.
  }
}
