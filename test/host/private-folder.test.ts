import { chmod, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeToOthers } from '../../src/host/private-folder';

let folder: string;
const at = (...names: readonly string[]): string => join(folder, ...names);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'private-'));
  for (const name of ['log.sqlite', 'log.sqlite-wal', 'log.sqlite-shm', 'deliveries.sqlite', 'notify.key']) {
    await writeFile(at(name), '');
    await chmod(at(name), 0o644);
  }
  for (const name of ['read', 'cache', 'spool', 'alive']) {
    await mkdir(at(name));
    await writeFile(at(name, 'one'), '');
    await chmod(at(name, 'one'), 0o666);
    await chmod(at(name), 0o755);
  }
  await chmod(folder, 0o755);
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const modeOf = async (...names: readonly string[]): Promise<number> =>
  (await lstat(at(...names))).mode & 0o7777;

describe('a data folder that others can read (decisions X99)', () => {
  it('is closed to them with all its files', async () => {
    expect(await closeToOthers(folder)).toEqual([]);
    expect(await modeOf()).toBe(0o700);
    for (const name of ['log.sqlite', 'log.sqlite-wal', 'log.sqlite-shm', 'deliveries.sqlite', 'notify.key'])
      expect([name, await modeOf(name)]).toEqual([name, 0o600]);
    for (const name of ['read', 'cache', 'spool', 'alive'])
      expect([name, await modeOf(name), await modeOf(name, 'one')]).toEqual([name, 0o700, 0o600]);
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
    expect(lines).toHaveLength(1 + 5 + 2 * 4);
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
