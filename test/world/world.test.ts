import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from '@swc/core';
import { cases, FULL_SIZE } from '../support/size';
import { PROMISES } from './checks';
import { PLANS } from './plan';

/** The world takes over the chance of its process, so it runs in others. */
const world = (...args: readonly string[]) =>
  promisify(execFile)(process.execPath, [join(__dirname, 'run.cjs'), ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });

const SEEDS = cases(2_000, 300);
/** At full size others each time: a failure names its seed, for `npm run world -- --seed`. */
const FROM = FULL_SIZE ? Math.floor(Math.random() * 2 ** 31) : 1_000;

/** Seeds that have failed, with the plans of now: `PLANS`. With others the worlds of these seeds are others too. */
const FAILED = { plans: 'f8eb9222', seeds: [34, 88, 11_016, 11_476, 11_663] };

/** Faults of the product that worlds have found with other plans: the seeds of then, and what finds each now. */
const FOUND = [
  ['1004 2064 10100 10879 10940', 'test/projections/claims.test.ts', 'has each claim that does not change'],
  ['10405', 'test/runtime/lease-holder.test.ts', 'a lease is over once the clock was set back so far that'],
  [
    '10466 11126',
    'test/domain/keys/reservation.test.ts',
    'is of the first time when a command is executed again',
  ],
  [
    '11016',
    'test/servers/elasticsearch-shared.test.ts',
    'leases hold whatever the system clocks of machines say',
  ],
  ['10970', 'test/services/subscriptions/repeated-posts.test.ts', 'is answered with that one once it is'],
  ['10999 11552', 'test/projector/rebuild.test.ts', 'begins again if it was interrupted when it had more'],
  ['11476', 'test/projector/rebuild.test.ts', 'gives up what another one has continued and completed'],
  [
    '11655',
    'test/delivery/scheduling/held-deliveries.test.ts',
    'is a retry that comes due while the success',
  ],
  ['11663', 'test/runtime/lease-holder.test.ts', 'a request that is under way when the clock is set back'],
  [
    '200113',
    'test/delivery/scheduling/dead-letters.test.ts',
    'is none when the message is delivered while it is',
  ],
  [
    '302189 303616',
    'test/api/unsent-messages.test.ts',
    'makes no message again that a process has asked for',
  ],
  [
    '500461 500521',
    'test/runtime/lease-holder.test.ts',
    'a lease that has ended has another term once it is',
  ],
] as const;

it.each(FOUND)('what worlds %s have found, is found by %s now', (_, file, title) => {
  expect(readFileSync(join(__dirname, '../..', file), 'utf8')).toContain(title);
});

it('seeds that have failed are of the plans of now: when plans change, what finds their faults goes to FOUND', () => {
  expect(PLANS).toBe(FAILED.plans);
});

it(`${SEEDS} worlds keep all promises, whatever fails and whoever dies`, async () => {
  const seeds = ['--also', FAILED.seeds.join(), '--from', String(FROM), '--seeds', String(SEEDS)];
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
