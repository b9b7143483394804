import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { copyFile, symlink } from 'node:fs/promises';
import {
  folderWithNetwork,
  NETWORK,
  ownServer,
  PUBLISHER,
  removeFolder,
  runProgram,
  Server,
  temporaryFolder,
} from '../../support/server';

const NEW_TOKEN = 'c'.repeat(40);

describe('The program (ARCHITECTURE, Outside interface)', () => {
  const own = ownServer();

  async function statusFor(token: string): Promise<number> {
    const answer = await fetch(`${own.server.url}/1.0/products;fid=22?token=${token}`);
    await answer.arrayBuffer();
    return answer.status;
  }

  it('prints its URL and serves the data folder', async () => {
    expect(own.server.stdoutLines).toEqual([`listening on ${own.server.url}`]);
    expect(await statusFor(PUBLISHER)).toBe(200);
  });

  it('uses its listening address as base URL by default (decisions A9)', async () => {
    const answer = await fetch(`${own.server.url}/1.0/products.xml`);
    expect(await answer.text()).toContain(`<Response xmlns="${own.server.url}/1.0/products">`);
  });

  it('applies a network imported while it runs', async () => {
    expect(await statusFor(NEW_TOKEN)).toBe(403);
    const file = join(own.folder, 'more.json');
    const token = { token: NEW_TOKEN, organisationId: 11, system: 'PRODUCTS' };
    await writeFile(file, JSON.stringify({ tokens: [token] }));
    const imported = await runProgram(['network', 'import', file], { DATA_DIR: own.folder });
    const stdout = 'created: 1 token\n  token organisation 11, PRODUCTS\nimported: 1 events\n';
    expect(imported).toEqual({ code: 0, stdout, stderr: '' });
    while ((await statusFor(NEW_TOKEN)) !== 200);
  });

  it('imports only what has changed, also while the server runs', async () => {
    const file = join(own.folder, 'same.json');
    await writeFile(file, JSON.stringify(NETWORK));
    const repeated = await runProgram(['network', 'import', file], { DATA_DIR: own.folder });
    expect(repeated).toEqual({ code: 0, stdout: 'nothing has changed\n', stderr: '' });
  });

  it('rebuilds a read model while the server runs', async () => {
    const rebuilt = await runProgram(['rebuild', 'products'], { DATA_DIR: own.folder });
    expect(rebuilt).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^products: generation \d+, 0 documents, /),
    });
    expect(await statusFor(PUBLISHER)).toBe(200);
  });

  it('does not start on a port in use: one line, exit code 1', async () => {
    const other = await folderWithNetwork();
    const { port } = new URL(own.server.url);
    expect(await runProgram(['serve', '--port', port], { DATA_DIR: other })).toEqual({
      code: 1,
      stdout: '',
      stderr: `affilog: listen EADDRINUSE: address already in use 127.0.0.1:${port}: choose another port with --port\n`,
    });
    await removeFolder(other);
  });

  it('does not start with a file as data folder: one line, exit code 1', async () => {
    const file = join(own.folder, 'file');
    await writeFile(file, '');
    const { code, stdout, stderr } = await runProgram(['serve'], { DATA_DIR: file });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^affilog: .*\n$/);
  });

  it('does not start with an invalid setting: one line that names it, exit code 2', async () => {
    expect(
      await runProgram(['serve'], { DATA_DIR: own.folder, EVENT_LOG: 'esdb://me:secret@host:port' }),
    ).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^affilog: EVENT_LOG: expected esdb:[^\n]*\n$/),
    });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 at %s', async (signal) => {
    const other = await folderWithNetwork();
    const ending = await Server.start(other);
    expect(await ending.end(signal)).toBe(0);
    await removeFolder(other);
  });
});

it('The program does not start with read models of another log (decisions X31)', async () => {
  const folder = await folderWithNetwork();
  const server = await Server.start(folder);
  await server.end();
  for (const file of await readdir(folder)) if (file.startsWith('log.sqlite')) await rm(join(folder, file));
  expect(await runProgram(['serve'], { DATA_DIR: folder, PORT: '0' })).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^affilog: READ_STORE contains read models of another log .*\n$/),
  });
  await removeFolder(folder);
});

describe('./affilog', () => {
  const ROOT = join(__dirname, '../../..');
  let folder: string;
  beforeEach(async () => (folder = await temporaryFolder()));
  afterEach(() => removeFolder(folder));

  it('runs the built program from any folder, through links too, and returns its exit code', async () => {
    await symlink(join(ROOT, 'affilog'), join(folder, 'linked'));
    const { status, stdout } = spawnSync(join(folder, 'linked'), ['--version'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '0.1.0\n']);
    expect(spawnSync(join(ROOT, 'affilog'), ['unknown']).status).toBe(2);
  });

  it('names the build if there is none', async () => {
    await copyFile(join(ROOT, 'affilog'), join(folder, 'affilog'));
    const { status, stderr } = spawnSync(join(folder, 'affilog'), ['--version'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, 'affilog: not built yet: run npm ci && npm run build\n']);
  });
});
