import { chmod, lstat, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import { DIST } from '../../support/built';
import { ADVERTISER, NETWORK, removeFolder, runShell, Server, temporaryFolder } from '../../support/server';

const AFFILOG = [process.execPath, join(DIST, 'src/main.js')];

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => removeFolder(folder));

/** Every file and folder of the data folder that anyone but its owner may use, by its path and mode. */
async function openToOthers(path: string): Promise<readonly string[]> {
  const found = await readdir(path, { recursive: true, withFileTypes: true });
  const paths = [path, ...found.map((entry) => join(entry.parentPath, entry.name))];
  const modes = await Promise.all(paths.map(async (one) => [one, (await lstat(one)).mode & 0o777] as const));
  return modes.flatMap(([one, mode]) =>
    (mode & 0o077) === 0 ? [] : [`${relative(path, one)} ${mode.toString(8)}`],
  );
}

it('what the program writes is for its owner only, whatever its umask, also what SQLite makes beside a file; what is open is closed (decisions X99)', async () => {
  const [network, data] = [join(folder, 'network.json'), join(folder, 'data')];
  await writeFile(network, JSON.stringify(NETWORK));
  const imported = await runShell(`umask 0; DATA_DIR='${data}' $AFFILOG network import '${network}'`);
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  expect(await openToOthers(data)).toEqual([]);

  // As an earlier version has left it.
  await chmod(data, 0o755);
  await chmod(join(data, 'log.sqlite'), 0o644);
  const command = ['/bin/sh', '-c', 'umask 0; exec "$0" "$@"', ...AFFILOG, 'serve'];
  const server = await Server.start(data, { command });
  // So many that bodies are spooled, and fingerprints cached.
  const products = [...generateProducts({ count: 10_500, categories: [{ id: '1' }] })];
  const posted = await fetch(`${server.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
    ...{ method: 'POST', body: JSON.stringify({ products }) },
    headers: { 'content-type': 'application/json;charset=utf-8' },
  });
  await posted.arrayBuffer();
  expect(posted.status).toBe(200);
  const made = [
    'log.sqlite-wal',
    'log.sqlite-shm',
    'deliveries.sqlite',
    'notify.key',
    'read',
    'alive',
    'spool',
    'cache',
  ];
  expect(await readdir(data)).toEqual(expect.arrayContaining(made));
  expect(await openToOthers(data)).toEqual([]);
  expect(server.stderr).toBe('');
  await server.end();
});

it('a server reports at its start that its data folder is open and not for it alone (decisions X99)', async () => {
  const [shared, data] = [join(folder, 'shared'), join(folder, 'data')];
  await mkdir(shared);
  await chmod(shared, 0o755);
  await writeFile(join(shared, 'notes.txt'), '');
  await rename(join(data, 'log.sqlite'), join(shared, 'log.sqlite'));
  const server = await Server.start(shared);
  await server.end();
  expect(server.stderr).toMatch(/the data folder is open to other users \(mode 755\).*\\"notes\.txt\\"/);
});
