import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { fill } from '../../contracts/event-log/events';
import { DIST } from '../../support/built';
import { NETWORK, removeFolder, runProgram, Server, temporaryFolder } from '../../support/server';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => removeFolder(folder));

test('a snapshot that is killed loses and doubles nothing (decisions X115)', async () => {
  await runProgram(['log', 'stats'], { DATA_DIR: folder });
  const { log } = await openLog(join(folder, 'log.sqlite'), false);
  await fill(log, 'feed-1', 150_000);
  await log.close();
  const statement =
    'SELECT count(*) AS n, count(DISTINCT position) AS positions, max(position) AS last FROM events';
  let killed = 0;
  for (let after = 700; after < 3_000; after += 450) {
    const child = spawn(process.execPath, [join(DIST, 'src/main.js'), 'sql', statement], {
      env: { PATH: process.env.PATH, DATA_DIR: folder },
      stdio: 'ignore',
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), after);
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    clearTimeout(timer);
    killed += signal === null ? 0 : 1;
  }
  expect(killed).toBeGreaterThan(0);
  const { code, stdout } = await runProgram(['sql', statement, '--format', 'json'], { DATA_DIR: folder });
  expect([code, stdout]).toEqual([0, '{"n":150000,"positions":150000,"last":150000}\n']);
}, 120_000);

test('a statement over HTTP that uses too much ends its own process only (decisions X116)', async () => {
  const token = '9'.repeat(40);
  const network = {
    ...NETWORK,
    organisations: [...NETWORK.organisations, { id: 99, kind: 'operator', name: 'Desk' }],
    tokens: [...NETWORK.tokens, { token, organisationId: 99, system: 'OPS' }],
  };
  const file = join(folder, 'network.json');
  writeFileSync(file, JSON.stringify(network));
  const data = join(folder, 'data');
  const imported = await runProgram(['network', 'import', file], { DATA_DIR: data });
  expect(imported.code).toBe(0);
  const server = await Server.start(data);
  const ask = async (q: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`${server.url}/ops/1.0/sql?token=${token}&q=${encodeURIComponent(q)}`);
    return [answer.status, await answer.text()];
  };
  const ok = 'SELECT count(*) > 0 AS some FROM ProgramDefined';
  expect(await ask(ok)).toEqual([200, '{"some":true}\n']);
  expect(await ask('SELECT range(0, 1000000000)')).toEqual([
    400,
    expect.stringContaining('needs too much memory: select less'),
  ]);
  const logging = "SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '/nowhere/log')";
  expect((await ask(logging))[0]).toBeLessThan(500);
  expect(await ask('SELECT * FROM nothing')).toEqual([
    400,
    expect.stringContaining('nothing does not exist'),
  ]);
  expect(await ask('SELECT name FROM programs')).toEqual([200, '{"name":"Seller DE"}\n']);
  expect(await server.end()).toBe(0);
  expect(server.stderr).toBe('');
}, 120_000);
