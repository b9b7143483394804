import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');

/** Applies the rule to codes in files, and prints the numbers of the lines that violate it. */
const LINT = `
  import { Linter } from 'eslint';
  import config from './eslint.config.mjs';
  const rules = config.filter(({ rules = {} }) => 'no-restricted-globals' in rules);
  const lint = ([file, code]) => new Linter().verify(code, [{ files: ['**/*.ts'] }, ...rules], file);
  const found = JSON.parse(process.argv[1]).map((one) => lint(one).map(({ line }) => line));
  console.log(JSON.stringify(found));
`;

function lint(...codes: readonly (readonly [file: string, lines: readonly string[]])[]): unknown {
  const sent = JSON.stringify(codes.map(([file, lines]) => [file, lines.join('\n')]));
  const args = ['--input-type=module', '-e', LINT, '--', sent];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }));
}

const TAKEN = [
  'Date.now();',
  'new Date();',
  'Date();',
  'Math.random();',
  'performance.now();',
  'setTimeout(work, 1);',
  'setInterval(work, 1);',
  'setImmediate(work);',
  'AbortSignal.timeout(1);',
  'process.hrtime();',
  'crypto.randomUUID();',
  "import 'node:timers';",
  "import { setTimeout as pause } from 'node:timers/promises';",
  "import { performance as time } from 'node:perf_hooks';",
  "import { randomUUID } from 'node:crypto';",
  "import { randomBytes } from 'node:crypto';",
  "import { SYSTEM_CLOCK } from '../runtime/clock';",
];

const GIVEN = ['clock.now();', 'new Date(0);', "import { createHash } from 'node:crypto';", 'clock.uuid();'];

const ALL = TAKEN.map((_, at) => at + 1);

test('time, timers and chance that do not come from a clock are errors, except in the clock and the outermost code', () => {
  const within = ['kernel', 'runtime', 'projector', 'processes', 'delivery/sending', 'services/claims'];
  const files = within.map((folder) => `src/${folder}/a.ts`);
  expect(lint(...files.map((file) => [file, TAKEN] as const))).toEqual(files.map(() => ALL));
  expect(lint(...files.map((file) => [file, GIVEN] as const))).toEqual(files.map(() => []));
  expect(lint(['src/runtime/clock.ts', TAKEN], ['src/app/a.ts', TAKEN])).toEqual([[], []]);
});
