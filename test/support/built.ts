import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the compiled program: worker threads and child processes run from there. */
export const DIST = join(__dirname, '../../dist');

/** A compiled module, named like its source: `src/engines/open`. */
export function built(module: string): unknown {
  const file = join(DIST, `${module}.js`);
  if (!existsSync(file)) throw new Error(`${module} is not built: run "npm run build" before this test`);
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- its path is known only here, and it may be missing
  return require(file);
}
