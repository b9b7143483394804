import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command } from 'commander';
import { claimWorld } from '../api/claim-network';
import { FEEDS } from '../api/network';
import { commandsOf } from '../../src/cli/run-cli';
import { automatedClaims } from '../api/automated-claims';
import { run } from './run';

/** Lists, with what they need. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  settings: [],
  'mappings list': ['--feed', String(FEEDS.german)],
  'mappings suggest': ['--name', 'Lamps'],
  'tokens list': [],
  'claims list': [],
  'notifications receivers': [],
  'notifications deliveries': [],
  'as-of list': [],
  'parked list': [],
  'projections list': [],
  'feeds list': [],
  'feeds loads': [String(FEEDS.german)],
  'feeds source list': [],
  'notifications subscriptions': [],
  documents: ['claims', '1'],
  actions: [],
  'log stats': [],
  'log check': [],
};

/** What text has besides: a head, or that there is nothing. */
const OTHER_LINES: Readonly<Record<string, number>> = {
  'parked list': 1,
  'as-of list': 1,
  'feeds loads': 1,
  'feeds source list': 1,
  'projections list': 1,
  'log stats': 1,
  'log check': 1,
};

const world = claimWorld();
automatedClaims(world);

function leavesOf(command: Command, path = ''): readonly [string, Command][] {
  if (command.commands.length === 0) return [[path, command]];
  return command.commands.flatMap((sub) => leavesOf(sub, `${path} ${sub.name()}`.trim()));
}

beforeAll(async () => {
  for (const model of ['deliveries', 'receivers', 'receiver-health'])
    expect((await affilog('rebuild', model)).code).toBe(0);
});

const affilog = (...args: readonly string[]) => run(args, { DATA_DIR: world.app.folder });

describe('lists of the command line (decisions X119)', () => {
  const parts = { environment: {}, stdout: process.stdout, stderr: process.stderr, threads: false };
  const unused = {
    stopSignal: () => new AbortController().signal,
    start: () => Promise.reject(new Error()),
  };
  const leaves = leavesOf(commandsOf({ ...parts, ...unused }));

  it('all have --json', () => {
    const lists = leaves.filter(([, command]) =>
      /^(List|Suggest|Check |Print (how many|the settings))/.test(command.description()),
    );
    expect(lists.map(([path]) => path).sort()).toEqual(Object.keys(LISTS).sort());
    for (const [path, command] of lists)
      expect([path, command.options.some(({ long }) => long === '--json')]).toEqual([path, true]);
  });

  it('are what alerts name as remedies, with options that they have', () => {
    const text = readFileSync(join(__dirname, '../../docs/alerts.yml'), 'utf8');
    const named = Array.from(text.matchAll(/`affilog ([^`]+)`/g), ([, command = '']) => command);
    expect(named.length).toBeGreaterThan(3);
    for (const line of named) {
      const words = line.split(' ');
      const [path, command] =
        leaves.find(([path]) => `${line} `.startsWith(`${path} `) || path === `${line} list`) ?? [];
      expect([line, path]).toEqual([line, expect.any(String)]);
      const options = words.filter((word) => word.startsWith('--'));
      for (const option of options)
        expect([line, command?.options.some(({ long }) => long === option)]).toEqual([line, true]);
    }
  });

  it.each(Object.entries(LISTS))('%s prints an object for each line of text', async (path, args) => {
    if (path === 'claims list' || path === 'actions') {
      const { claimId } = await world.create(`listed ${path}`, { expectedCommission: 100 });
      expect((await affilog('claims', 'release', String(claimId))).code).toBe(0);
      await world.create(`kept ${path}`, { expectedCommission: 100 });
    }
    const linesOf = async (...more: readonly string[]): Promise<readonly string[]> => {
      const { code, out } = await affilog(...path.split(' '), ...args, ...more);
      expect(code).toBe(0);
      return out.split('\n').slice(0, -1);
    };
    // Indented lines are remarks on the item before.
    const text = (await linesOf()).filter((line) => !line.startsWith(' '));
    const items = (await linesOf('--json')).map((line) => JSON.parse(line) as unknown);
    expect(items).toHaveLength(text.length - (OTHER_LINES[path] ?? 0));
    for (const item of items) expect(item).toEqual(expect.any(Object));
    if (
      ['documents', 'feeds list', 'settings', 'tokens list', 'claims list', 'actions', 'log stats'].includes(
        path,
      )
    )
      expect(items.length).toBeGreaterThan(0);
  });
});
