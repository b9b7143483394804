import { type Command } from 'commander';
import { commandsOf } from '../../src/cli/run-cli';
import { shellUser } from '../../src/cli/settings';
import { ACTIONS, type ListedAction } from '../../src/operations/actions';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { smallNetwork } from '../support/small-network';
import { eventsOf } from '../support/temporary-log';
import { cliFolder, type Run, run } from './run';

/** Commands that change nothing that an operator would look for in the list. */
const OTHERS = [
  ...['network export', 'network schema', 'mappings list', 'mappings suggest', 'tokens list'],
  ...[
    'transactions show',
    'transactions totals',
    'claims list',
    'notifications receivers',
    'notifications deliveries',
  ],
  ...[
    'notifications explain',
    'feeds source list',
    'as-of list',
    'projections list',
    'parked list',
    'parked show',
    'actions',
    'why product',
  ],
  ...['why voucher', 'why delivery', 'log export', 'log stats', 'log check', 'sql', 'settings', 'receiver'],
  ...['product', 'voucher', 'transaction', 'claim', 'subscription', 'feed', 'program'].map(
    (kind) => `history ${kind}`,
  ),
  ...['feeds list', 'feeds loads', 'notifications subscriptions', 'notifications show'],
  ...['projections verification', 'server', 'documents'],
  // What it does is in the log already.
  'serve',
  // It is an advertiser's client of the API.
  'products import',
  // The log that they make is that of another one, event by event.
  ...['log copy', 'log import'],
];

function leavesOf(command: Command, path = ''): readonly [string, Command][] {
  if (command.commands.length === 0) return [[path, command]];
  return command.commands.flatMap((sub) => leavesOf(sub, `${path} ${sub.name()}`.trim()));
}

describe('affilog actions (decisions X117)', () => {
  const { settings, dataDir, fileOf } = cliFolder();
  const affilog = (...args: readonly string[]): Promise<Run> => run(args, settings());
  const listed = async (...args: readonly string[]): Promise<readonly ListedAction[]> =>
    (await affilog('actions', '--json', ...args)).out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ListedAction);
  const imported = async (): Promise<void> => {
    expect(await affilog('network', 'import', await fileOf(smallNetwork()))).toMatchObject({ code: 0 });
  };

  it('every command either is recorded, with --reason, or is known to change nothing', () => {
    const parts = { environment: {}, stdout: process.stdout, stderr: process.stderr };
    const unused = {
      stopSignal: () => new AbortController().signal,
      start: () => Promise.reject(new Error()),
    };
    const leaves = leavesOf(commandsOf({ ...parts, ...unused, threads: false }));
    const recorded = Object.keys(ACTIONS);
    expect(leaves.map(([path]) => path).sort()).toEqual([...recorded, ...OTHERS].sort());
    for (const [path, command] of leaves)
      expect([path, command.options.some(({ long }) => long === '--reason')]).toEqual([
        path,
        recorded.includes(path),
      ]);
  });

  it('when, who, what and why: recorded before the change', async () => {
    await imported();
    const args = ['tokens', 'issue', '--organisation', '5', '--system', 'VOUCHERS', '--site', '51'];
    const { out } = await affilog(...args, '--reason', 'For the new partner');
    const [issue, network, ...others] = await listed();
    expect(others).toEqual([]);
    expect(issue).toEqual({
      number: expect.any(Number),
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      action: 'tokens issue',
      by: { user: shellUser() },
      reason: 'For the new partner',
      asked: { organisation: '5', system: 'VOUCHERS', site: '51' },
      state: 'done',
      ended: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(network).toMatchObject({
      action: 'network import',
      state: 'done',
      asked: { file: expect.any(String) },
    });
    const { log } = await openLog(join(dataDir(), 'log.sqlite'), false);
    const events = await eventsOf(log);
    await log.close();
    const types = events.map(({ type }) => type);
    expect(types[0]).toBe('OperatorActed');
    expect(types.slice(-3)).toEqual(['OperatorActed', 'TokenIssued', 'OperatorActionEnded']);
    const recorded = JSON.stringify(events.filter(({ stream }) => stream === 'operator-actions'));
    const { hash } = JSON.parse(events.find(({ type }) => type === 'TokenIssued')!.data) as { hash: string };
    expect(recorded).not.toContain(out.trim());
    expect(recorded).not.toContain(hash);
    expect((await affilog('tokens', 'revoke', hash, '--yes')).code).toBe(0);
    expect((await listed('--most', '1'))[0]).toMatchObject({ asked: { fingerprint: hash.slice(0, 12) } });
  });

  it('a dry run, what is refused and what changes nothing are not recorded', async () => {
    expect(await affilog('tokens', 'revoke', '0123456789ab')).toMatchObject({ code: 2 });
    expect(await listed()).toEqual([]);
    await imported();
    await imported();
    expect((await affilog('network', 'import', await fileOf({}), '--prune', '--dry-run')).code).toBe(0);
    expect(await affilog('rebuild', 'vouchers', '--dry-run')).toMatchObject({ code: 0 });
    const long = await affilog('parked', 'retry', '--reason', 'x'.repeat(1001));
    expect([long.code, long.err]).toEqual([
      2,
      expect.stringContaining('reason: expected a text of 1 to 1000'),
    ]);
    expect(await listed()).toHaveLength(1);
  });

  it('paths are not recorded: of files and folders only the last name, of an error only what all may know', async () => {
    await imported();
    expect((await listed())[0]?.asked).toEqual({ file: 'network.json' });
    const folder = join(dataDir(), '..', 'daily');
    expect(await affilog('backup', folder)).toMatchObject({ code: 0 });
    await writeFile(join(folder, 'log', 'events-000001.ndjson.gz'), 'damaged');
    const failed = await affilog('backup', folder);
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining(folder)]);
    const [second, first] = await listed();
    expect(first).toMatchObject({ action: 'backup', asked: { to: 'daily' }, state: 'done' });
    expect(second).toMatchObject({
      ...{ action: 'backup', asked: { to: 'daily' }, state: 'failed' },
      failure: 'it failed: the output of the command, or the log of the server, says why',
    });
    const { log } = await openLog(join(dataDir(), 'log.sqlite'), false);
    const events = await eventsOf(log);
    await log.close();
    expect(JSON.stringify(events.filter(({ stream }) => stream === 'operator-actions'))).not.toContain('/');
  });

  it('one that fails is listed with the reason, a rebuild too; pages continue', async () => {
    await imported();
    expect((await affilog('rebuild', 'vouchers')).code).toBe(0);
    const file = await fileOf('feedId,name,categoryId\n', 'mappings.csv');
    expect((await affilog('mappings', 'import', file)).code).toBe(0);
    const [rebuild, network] = await listed();
    expect(rebuild).toMatchObject({ action: 'rebuild', asked: { projection: 'vouchers' }, state: 'done' });
    expect(await listed('--before', String(rebuild?.number))).toEqual([network]);
    expect(await listed('--action', 'network import')).toEqual([network]);
    const text = await affilog('actions', '--most', '1');
    expect(text.out).toMatch(/^\d+\t[^\t]+Z\tuser [^\t]+\trebuild\tprojection=vouchers\tdone\n$/);
  });
});
