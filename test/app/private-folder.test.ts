import { chmod, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeToOthers } from '../../src/app/private-folder';

const ID = '0b5f8d6e-1f3a-4c1e-9a54-2f6f0c7d9e11';
const STORE = ['registry.sqlite', 'offers-g12.sqlite', 'offers-g12.sqlite-wal', 'offers-g12.sqlite-shm'];
/** A file of each kind that the program makes in the folders of a data folder. */
const FILES = {
  // Of builds that had one store there.
  read: STORE,
  'read/layout-12': STORE,
  cache: ['feed-7.fingerprints', 'feed-7.fingerprints.new'],
  spool: [`${ID}.spool`, `${ID}.download`],
  alive: ['leases.sqlite', 'leases.sqlite-journal', `${ID}.lock`, `${ID}.lock-journal`],
  uncounted: ['', '.uncounted', '.1795000000001.counting'].map((end) => `1795000000000_22-7_${ID}${end}`),
} as const;
const FOLDERS = Object.keys(FILES) as (keyof typeof FILES)[];

let folder: string;
const at = (...names: readonly string[]): string => join(folder, ...names);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'private-'));
  for (const name of [
    'log.sqlite',
    'log.sqlite-wal',
    'log.sqlite-shm',
    'deliveries.sqlite',
    'notify.key',
    'importing',
  ]) {
    await writeFile(at(name), '');
    await chmod(at(name), 0o644);
  }
  for (const name of FOLDERS) await openFolder([name], FILES[name]);
  await chmod(folder, 0o755);
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A folder and files that others can read. */
async function openFolder(path: readonly string[], files: readonly string[]): Promise<void> {
  await mkdir(at(...path), { recursive: true });
  for (const file of files) {
    await writeFile(at(...path, file), '');
    await chmod(at(...path, file), 0o666);
  }
  await chmod(at(...path), 0o755);
}

const modeOf = async (...names: readonly string[]): Promise<number> =>
  (await lstat(at(...names))).mode & 0o7777;

describe('a data folder that others can read (decisions X99)', () => {
  it('is closed to them with all its files', async () => {
    expect(await closeToOthers(folder)).toEqual([]);
    expect(await modeOf()).toBe(0o700);
    for (const name of ['log.sqlite', 'log.sqlite-wal', 'log.sqlite-shm', 'deliveries.sqlite', 'notify.key'])
      expect([name, await modeOf(name)]).toEqual([name, 0o600]);
    for (const name of FOLDERS)
      for (const file of FILES[name])
        expect([file, await modeOf(name), await modeOf(name, file)]).toEqual([file, 0o700, 0o600]);
  });

  it('is closed with the snapshot that is asked in SQL', async () => {
    const names = ['0123456789abcdef', `temporary-${ID}`];
    for (const name of names) await openFolder(['analytics', name], ['manifest.json']);
    await chmod(at('analytics'), 0o755);
    expect(await closeToOthers(folder)).toEqual([]);
    for (const path of [[], ['analytics'], ...names.map((name) => ['analytics', name])])
      expect([path, await modeOf(...path)]).toEqual([path, 0o700]);
  });

  it('stays as it is if it has other files, which is reported; its own files are closed', async () => {
    await writeFile(at('backup.sqlite'), '');
    await chmod(at('backup.sqlite'), 0o644);
    const [line, ...others] = await closeToOthers(folder);
    expect(line).toMatch(
      /^the data folder is open to other users \(mode 755\) and is not for this program alone, it has "backup\.sqlite": its mode is not changed\. Set DATA_DIR to a folder of its own, or chmod 700$/,
    );
    expect(others).toEqual([]);
    expect([await modeOf(), await modeOf('backup.sqlite'), await modeOf('log.sqlite')]).toEqual([
      ...[0o755, 0o644, 0o600],
    ]);
  });

  it('stays as it is if it is a folder for temporary files of all users', async () => {
    await chmod(folder, 0o1777);
    const [line] = await closeToOthers(folder);
    expect(line).toMatch(
      /^the data folder is open to other users \(mode 1777\) and is not for this program alone: /,
    );
    expect(await modeOf()).toBe(0o1777);
  });

  it('has no effect on what links in it name', async () => {
    const other = await mkdtemp(join(tmpdir(), 'elsewhere-'));
    await writeFile(join(other, 'theirs'), '');
    await chmod(join(other, 'theirs'), 0o644);
    await chmod(other, 0o755);
    await rm(at('read'), { recursive: true });
    await symlink(other, at('read'));
    await rm(at('notify.key'));
    await symlink(join(other, 'theirs'), at('notify.key'));
    expect([...(await closeToOthers(folder))].sort()).toEqual([
      'notify.key in the data folder is a link to what other users can read',
      'read in the data folder is a link to what other users can read',
    ]);
    expect((await stat(other)).mode & 0o777).toBe(0o755);
    expect((await stat(join(other, 'theirs'))).mode & 0o777).toBe(0o644);
    await rm(other, { recursive: true });
  });

  it('is reported if it belongs to another user', async () => {
    const own = jest.spyOn(process, 'getuid').mockReturnValue(4711);
    const lines = await closeToOthers(folder);
    own.mockRestore();
    expect(lines).toHaveLength(1 + 6 + FOLDERS.length + Object.values(FILES).flat().length);
    expect(lines[0]).toMatch(
      /^the data folder is open to other users \(mode 755\) and belongs to user \d+, not to 4711: its mode is not changed$/,
    );
    expect(await modeOf('notify.key')).toBe(0o644);
  });

  it('is left alone, without a word, as long as it has other files only', async () => {
    await mkdir(at('other'));
    await chmod(at('other'), 0o755);
    await writeFile(at('other', 'file'), '');
    expect(await closeToOthers(at('other'))).toEqual([]);
    expect(await modeOf('other')).toBe(0o755);
  });

  it.each([
    ['with others beside them', ['lib', 'log']],
    ['alone', []],
  ])('is left alone if it is not ours, though folders in it have names of ours, %s', async (_, beside) => {
    const tree = { cache: ['pages'], 'cache/apt': ['index'], spool: ['root'], 'spool/cron': ['jobs'] };
    for (const name of beside) await openFolder(['var', name], []);
    for (const [path, files] of Object.entries(tree)) await openFolder(['var', ...path.split('/')], files);
    await chmod(at('var'), 0o755);
    expect(await closeToOthers(at('var'))).toEqual([]);
    expect(await modeOf('var')).toBe(0o755);
    for (const [path, files] of Object.entries(tree)) {
      expect([path, await modeOf('var', path)]).toEqual([path, 0o755]);
      for (const file of files) expect([file, await modeOf('var', path, file)]).toEqual([file, 0o666]);
    }
  });

  it.each([
    'log.sqlite',
    'deliveries.sqlite',
    'notify.key',
    'read/registry.sqlite',
    'read/layout-1/registry.sqlite',
  ])('is closed but for what is not ours in its folders if it has %s', async (mark) => {
    await openFolder(['var', 'lib'], []);
    await openFolder(['var', 'cache'], ['feed-7.fingerprints', 'index']);
    await openFolder(['var', 'cache', 'apt'], []);
    await openFolder(['var', 'read'], []);
    await openFolder(['var', ...mark.split('/').slice(0, -1)], [mark.split('/').at(-1) ?? '']);
    await chmod(at('var'), 0o755);
    const lines = await closeToOthers(at('var'));
    expect(lines).toEqual([
      expect.stringMatching(/^the data folder is open .*, it has "lib": /),
      expect.stringMatching(/^cache in the data folder is open .*, it has "(apt|index)": /),
    ]);
    expect(await modeOf('var', 'cache', 'feed-7.fingerprints')).toBe(0o600);
    expect(await modeOf('var', ...mark.split('/'))).toBe(0o600);
    expect(await modeOf('var', 'read')).toBe(0o700);
    expect(await modeOf('var', 'cache')).toBe(0o755);
    expect(await modeOf('var', 'cache', 'apt')).toBe(0o755);
    expect(await modeOf('var', 'cache', 'index')).toBe(0o666);
  });

  it('is closed when it is empty', async () => {
    await mkdir(at('empty'));
    await chmod(at('empty'), 0o755);
    expect(await closeToOthers(at('empty'))).toEqual([]);
    expect(await modeOf('empty')).toBe(0o700);
  });

  it('may be missing', async () => {
    expect(await closeToOthers(at('none'))).toEqual([]);
    expect(await closeToOthers(at('notify.key'))).toEqual([]);
  });
});
