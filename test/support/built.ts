import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The folder of the compiled program: worker threads and child processes run from there. */
export const DIST = join(__dirname, '../../dist');

/** A compiled module, named like its source: `src/engines/open`. */
export function built(module: string): unknown {
  const file = join(DIST, `${module}.js`);
  if (!existsSync(file)) throw new Error(`${module} is not built: run "npm run build" before this test`);
  return createRequire(__filename)(file);
}
