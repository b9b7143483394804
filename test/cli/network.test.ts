import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { networkOf } from '../../src/network/network-facts';
import { type NetworkFile } from '../../src/network/network-file';
import { smallNetwork } from '../support/small-network';
import { cliFolder, run } from './run';

const { settings, fileOf, directory } = cliFolder();
const EXAMPLE = join(__dirname, '../../examples/network.json');

const network = (...args: readonly string[]) => run(['network', ...args], settings());
const importFile = async (file: object, ...flags: readonly string[]) =>
  network('import', await fileOf(file), ...flags);

describe('A network import that removes something (decisions X93)', () => {
  const fewer = (): NetworkFile => ({ ...smallNetwork(), mappings: [] });
  const removed =
    'removed: 2 mappings\n  mapping feed 301, "Lys & reflekser" 42\n  mapping feed 401, "Luci  posteriori" 421\n';
  const answering = async (terminal: string) =>
    run(['network', 'import', '--prune', await fileOf(fewer())], settings(), { terminal });
  const countMappings = async (): Promise<number> => networkOf(await directory()).mappings.length;
  beforeEach(() => importFile(smallNetwork()));

  it('is refused without a terminal and without --yes: exit code 2, the remedy, nothing changed', async () => {
    expect(await importFile(fewer(), '--prune')).toEqual({
      code: 2,
      out: removed,
      err: 'affilog: 2 to be removed or replaced, see above: nothing has been changed; add --yes to confirm, or --dry-run to only see it\n',
    });
    expect(await countMappings()).toBe(2);
  });

  it('asks on a terminal, and continues only after yes', async () => {
    const no = await answering('n\n');
    expect(no).toMatchObject({ code: 1, out: removed });
    expect(no.err).toMatch(/Continue\? \[y\/N\][^]*affilog: nothing has been changed\n$/);
    expect(await answering('')).toMatchObject({ code: 1 });
    expect(await countMappings()).toBe(2);
    expect(await answering('y\n')).toMatchObject({ code: 0, out: `${removed}imported: 2 events\n` });
    expect(await countMappings()).toBe(0);
  });

  it('changes nothing with --dry-run', async () => {
    expect(await importFile(fewer(), '--prune', '--dry-run', '--yes')).toEqual({
      code: 0,
      out: `${removed}dry run: nothing has been changed\n`,
      err: '',
    });
    expect(await countMappings()).toBe(2);
  });

  it('needs no confirmation when it removes nothing', async () => {
    const file = smallNetwork();
    file.feeds[2]!.visible = true;
    expect(await importFile(file, '--prune')).toEqual({
      code: 0,
      out: 'changed: 1 feed\n  feed 303 "Fjord hidden": visible false -> true\nimported: 1 events\n',
      err: '',
    });
  });

  it('prints the first twenty of each sort in full', async () => {
    const feeds = Array.from({ length: 25 }, (_, at) => ({
      id: 500 + at,
      programIds: [31],
      name: `Feed ${at}`,
      language: 'nb',
    }));
    const { out } = await importFile({ feeds });
    const lines = out.split('\n');
    expect(lines[0]).toBe('created: 25 feeds');
    expect(lines[20]).toBe('  feed 519 "Feed 19"');
    expect(lines.slice(21)).toEqual(['  and 5 more', 'imported: 25 events', '']);
  });
});

describe('affilog network export (decisions X93)', () => {
  const exported = async (): Promise<NetworkFile> => JSON.parse((await network('export')).out) as NetworkFile;

  it('prints a file without tokens that imports to no change, also with --prune', async () => {
    await importFile(smallNetwork());
    await network('import', '--prune', '--yes', await fileOf({ ...smallNetwork(), mappings: [] }));
    await importFile(smallNetwork());
    const file = await exported();
    expect(JSON.stringify(file)).not.toMatch(/token|[0-9a-f]{40}/i);
    expect(file.programs?.[0]?.events?.[2]).toMatchObject({ commission: { fixed: 2.55 } });
    expect(file.programs?.[2]).toMatchObject({ status: 'paused' });
    for (const flags of [[], ['--prune']])
      expect(await importFile(file, ...flags)).toEqual({ code: 0, out: 'nothing has changed\n', err: '' });
    expect(networkOf(await directory()).tokens).toHaveLength(6);
  });

  it('has whether the invoices of a closed program were paid', async () => {
    const [program, ...programs] = smallNetwork().programs;
    const closed = { ...program, status: 'closed', invoicesPaid: true };
    await importFile({ ...smallNetwork(), programs: [closed, ...programs] });
    expect(await importFile(await exported())).toMatchObject({ code: 0, out: 'nothing has changed\n' });
  });

  it('creates the same network in another installation', async () => {
    await importFile(smallNetwork());
    const file = await exported();
    const other = { DATA_DIR: `${settings().DATA_DIR}-2` };
    await run(['network', 'import', await fileOf(file)], other);
    expect(JSON.parse((await run(['network', 'export'], other)).out)).toEqual(file);
  });

  it('leaves out mappings to categories that were removed; imports continue to work', async () => {
    await importFile(smallNetwork());
    const { code } = await run(
      [
        'categories',
        'import',
        '--prune',
        '--yes',
        await fileOf('4 - Bicycles\n42 - Bicycles > Lights', 'tree.txt'),
      ],
      settings(),
    );
    expect(code).toBe(0);
    const file = await exported();
    expect(file.mappings).toEqual([{ feedId: 301, name: 'Lys & reflekser', categoryId: '42' }]);
    expect(await importFile(file)).toMatchObject({ code: 0, out: 'nothing has changed\n' });
  });
});

it('a pruned file without the list of tokens removes only tokens of removed organisations and sites (decisions X93)', async () => {
  await importFile(smallNetwork());
  const { sites, connections, ...others } = smallNetwork();
  const file: NetworkFile = {
    ...others,
    sites: sites.filter(({ id }) => id !== 52),
    connections: connections.filter(({ siteId }) => siteId !== 52),
  };
  delete file.tokens;
  const { out } = await importFile(file, '--prune', '--yes');
  expect(out).toMatch(/^removed: 2 connections, 1 site, 1 token\n/m);
  expect(networkOf(await directory()).tokens).toHaveLength(5);
});

it('examples/network.json has tokens for all systems, imports, and its export is itself without tokens', async () => {
  const file = JSON.parse(readFileSync(EXAMPLE, 'utf8')) as NetworkFile;
  expect(await network('import', EXAMPLE)).toMatchObject({ code: 0, err: '' });
  expect(await network('import', '--prune', EXAMPLE)).toEqual({
    code: 0,
    out: 'nothing has changed\n',
    err: '',
  });
  const { feeds } = JSON.parse((await network('export')).out) as NetworkFile;
  const systems = (id: number): unknown[] =>
    file.tokens?.flatMap(({ organisationId, system }) => (organisationId === id ? [system] : [])) ?? [];
  for (const { id, kind } of file.organisations ?? [])
    expect([id, systems(id)]).toEqual([
      id,
      kind === 'operator' ? ['CONVERSIONS', 'OPS'] : ['PRODUCTS', 'VOUCHERS', 'CONVERSIONS', 'CLAIMS'],
    ]);
  expect(feeds?.map(({ id }) => id)).toEqual(file.feeds?.map(({ id }) => id));
});
