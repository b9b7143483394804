import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { optionalDependencies } from '../../../package.json';
import { OTHER_TOKENS } from '../../api/network';
import { DIST } from '../../support/built';
import {
  folderWithNetwork,
  NETWORK,
  type ProgramResult,
  removeFolder,
  runShell,
  Server,
  temporaryFolder,
} from '../../support/server';

const INSTALL = `DuckDB is not installed: run \`npm install --no-save @duckdb/node-api@${optionalDependencies['@duckdb/node-api']}\` in the folder of the program`;
const OPS = OTHER_TOKENS.operator;

let program: string;
let folder: string;
let main: string;
beforeAll(async () => {
  program = await temporaryFolder();
  folder = await folderWithNetwork(
    {},
    {
      ...NETWORK,
      organisations: [...NETWORK.organisations, { id: 9, kind: 'operator', name: 'Operators' }],
      tokens: [...NETWORK.tokens, { token: OPS, organisationId: 9, system: 'OPS' }],
    },
  );
  cpSync(realpathSync(DIST), join(program, 'dist'), { recursive: true });
  mkdirSync(join(program, 'node_modules'));
  const modules = join(DIST, '../node_modules');
  for (const name of readdirSync(modules).filter((one) => one !== '@duckdb'))
    symlinkSync(join(modules, name), join(program, 'node_modules', name));
  main = join(program, 'dist/src/main.js');
});
afterAll(async () => {
  await removeFolder(program);
  await removeFolder(folder);
});

const affilog = (command: string): Promise<ProgramResult> =>
  runShell(`'${process.execPath}' '${main}' ${command} --data-dir '${folder}'`);

describe('A program without DuckDB (decisions X115)', () => {
  it('says how to install it where it is needed, and names no path', async () => {
    for (const command of [`sql 'SELECT 1'`, `log export '${join(program, 'parquet')}' --format parquet`]) {
      const { code, stderr } = await affilog(command);
      expect([command, code, stderr]).toEqual([command, 1, expect.stringContaining(`affilog: ${INSTALL}`)]);
      expect(stderr).not.toContain(program);
    }
  });

  it('does all else: the log is counted, checked and exported, and the API answers', async () => {
    for (const command of ['log stats', 'log check', 'projections list', 'tokens list'])
      expect([command, await affilog(command)]).toEqual([
        command,
        expect.objectContaining({ code: 0, stderr: '' }),
      ]);
    for (const format of ['ndjson', 'csv'])
      expect(await affilog(`log export '${join(program, format)}' --format ${format}`)).toMatchObject({
        code: 0,
      });
    const server = await Server.start(folder, { command: [process.execPath, main, 'serve'] });
    const ask = (path: string) => fetch(`${server.url}/ops/1.0/${path}?token=${OPS}`);
    expect((await ask('log;limit=1')).status).toBe(200);
    expect((await ask('history/feed/22')).status).toBe(200);
    const asked = await ask('sql;q=SELECT%201');
    expect([asked.status, await asked.text()]).toEqual([500, expect.stringContaining(INSTALL)]);
    expect(await server.end()).toBe(0);
  });
});
