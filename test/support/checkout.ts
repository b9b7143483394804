import { cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DIST } from './built';

const ROOT = join(DIST, '..');

/** What a build is made of. */
const SOURCES = [
  'scripts',
  'docs',
  'src',
  'projections',
  'bench',
  'test/support/esdb-writing',
  'test/support/esdb-awkward',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** A copy of this checkout, already built, with the same packages. */
export interface Checkout {
  readonly folder: string;
  /** Its program. */
  readonly program: string;
  remove(): void;
}

export function copyCheckout(): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'affilog-checkout-'));
  for (const name of SOURCES) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const built = realpathSync(DIST);
  cpSync(built, join(folder, basename(built)), { recursive: true });
  symlinkSync(basename(built), join(folder, 'dist'));
  return {
    folder,
    program: join(folder, 'dist/src/main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
