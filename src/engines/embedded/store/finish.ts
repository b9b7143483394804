import { setImmediate } from 'node:timers/promises';
import { type GenerationFile } from './generation-file';

/** Rows indexed in one transaction: other work of this thread goes on in between. */
const AT_ONCE = 10_000;

/**
 * Builds what searching needs: the index of tokens from what the fill has left, row by row in their order, then the
 * indexes that listings are read from. What has been indexed is kept, so that it goes on after a crash.
 */
export async function finish(generation: GenerationFile): Promise<void> {
  while (!generation.finished()) {
    generation.file.writing(() => {
      indexSome(generation);
    });
    await setImmediate();
  }
}

function indexSome(generation: GenerationFile): void {
  const { file, layout } = generation;
  const [last] =
    file.first('SELECT max(row) FROM (SELECT row FROM unindexed ORDER BY row LIMIT ?)', AT_ONCE) ?? [];
  if (typeof last === 'number') {
    file.run(
      'INSERT OR REPLACE INTO tokens (rowid, t) SELECT row, tokens FROM unindexed WHERE row <= ?',
      last,
    );
    file.run('DELETE FROM unindexed WHERE row <= ?', last);
    return;
  }
  file.execute(layout.indexes());
  generation.note('finished', 'yes');
}
