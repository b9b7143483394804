import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from '@swc/core';
import { cases, FULL_SIZE } from '../support/size';
import { PROMISES } from './checks';

/** The world takes over the chance of its process, so it runs in others. */
const world = (...args: readonly string[]) =>
  promisify(execFile)(process.execPath, [join(__dirname, 'run.cjs'), ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });

const SEEDS = cases(2_000, 300);
/** At full size others each time: a failure names its seed, for `npm run world -- --seed`. */
const FROM = FULL_SIZE ? Math.floor(Math.random() * 2 ** 31) : 1_000;

/** Seeds that have failed once, for the product or the world. */
const FAILED = [
  16, 34, 88, 1_004, 1_104, 1_205, 1_214, 1_232, 2_002, 2_064, 2_078, 2_079, 5_027, 10_100, 10_405, 10_527,
  10_879, 10_940, 10_961, 10_466, 10_970, 10_999, 11_126, 11_426, 11_457, 11_476, 11_552, 11_578, 11_655,
  11_663, 200_113, 302_189, 303_616, 500_461, 500_521,
];

it(`${SEEDS} worlds keep all promises, whatever fails and whoever dies`, async () => {
  const seeds = ['--also', FAILED.join(), '--from', String(FROM), '--seeds', String(SEEDS)];
  const failed = await world(...seeds).then(
    () => '',
    (error: unknown) => {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      return stdout + stderr;
    },
  );
  expect(failed).toBe('');
}, 3_600_000);

it('a seed always tells the same, byte for byte', async () => {
  const [one, other] = await Promise.all([world('--seed', '7'), world('--seed', '7')]);
  expect(one.stdout).toContain('all faults end');
  expect(other.stdout).toBe(one.stdout);
});

it('docs/promises.md has what worlds check', () => {
  const sections = Object.entries(PROMISES).map(
    ([name, checks]) => `## ${name}\n\n${checks.map(({ promise }) => `- ${promise}`).join('\n')}\n`,
  );
  const [, ...written] = readFileSync(join(__dirname, '../../docs/promises.md'), 'utf8').split(/^(?=## )/m);
  expect(written.map((section) => section.trim())).toEqual(sections.map((section) => section.trim()));
});

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- it is read before TypeScript is
const MUTANTS = require('./mutants.cjs') as readonly Mutant[];

// A mutant that does not compile ends its process, which would count as found.
it.each(MUTANTS)('mutant: $name, has its place and compiles', ({ file, from, to }) => {
  const source = readFileSync(join(__dirname, '../..', file), 'utf8');
  expect(source.split(from)).toHaveLength(2);
  const jsc = { parser: { syntax: 'typescript', decorators: true } } as const;
  expect(() =>
    transformSync(
      source.replace(from, () => to),
      { jsc },
    ),
  ).not.toThrow();
});
