import { setImmediate } from 'node:timers/promises';
import { type GenerationFile } from './generation-file';

/** Pages of the index of tokens merged in one transaction. */
const PAGES = 500;

/**
 * Builds what a fill has done without: the indexes that listings are read from. The index of tokens is merged into
 * one piece, so that each token is looked up in one place. Between two steps other work of this thread goes on.
 */
export async function finish(generation: GenerationFile): Promise<void> {
  const { file, layout } = generation;
  if (generation.finished()) return;
  const changes = (): number => Number(file.first('SELECT total_changes()')?.[0]);
  // A negative number begins to merge all there is, a positive one goes on; it is done when hardly anything changes.
  for (let pages = -PAGES, before = -PAGES; changes() - before >= 2; pages = PAGES) {
    before = changes();
    file.run(`INSERT INTO tokens (tokens, rank) VALUES ('merge', ?)`, pages);
    await setImmediate();
  }
  for (const index of layout.indexes()) {
    file.execute(index);
    await setImmediate();
  }
  generation.note('finished', 'yes');
}
